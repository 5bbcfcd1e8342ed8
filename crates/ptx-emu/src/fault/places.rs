//! The lines that a fault is about, for editors and forges.

use super::ProgramFault;
use super::kind::FaultKind;
use crate::position::{CodePosition, SourcePosition};

/// A line of a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultPlace {
    /// The part that it has in the fault: "earlier store", "called here".
    pub role: String,
    /// Line of the PTX text, from 1.
    pub ptx_line: u32,
    /// Line of the source, where the program's debug information tells it.
    pub source: Option<SourcePosition>,
}

impl ProgramFault {
    /// The lines that this fault is about: that of the instruction first, then its caller's, then
    /// those of other threads, such as the other side of a race.
    #[must_use]
    pub fn places(&self) -> Vec<FaultPlace> {
        let mut places = Vec::new();
        add(&mut places, "the fault", &self.place);
        if let (Some(_), Some(caller)) = (&self.place.source, &self.place.called_at) {
            places.push(FaultPlace {
                role: "called here".to_owned(),
                ptx_line: self.place.ptx_line,
                source: Some(caller.clone()),
            });
        }
        for (role, place) in others(&self.kind) {
            add(&mut places, &role, place);
        }
        places
    }
}

fn add(places: &mut Vec<FaultPlace>, role: &str, place: &CodePosition) {
    places.push(FaultPlace {
        role: role.to_owned(),
        ptx_line: place.ptx_line,
        source: place.line().cloned(),
    });
}

/// The lines of other threads, or of other instructions, as the message has them.
fn others(kind: &FaultKind) -> Vec<(String, &CodePosition)> {
    match kind {
        FaultKind::Race {
            earlier, skipped, ..
        } => {
            let mut places = vec![(format!("earlier {}", earlier.kind), &earlier.place)];
            let waits = skipped.iter();
            places.extend(waits.map(|it| (format!("others wait for {}", it.what), &it.place)));
            places
        }
        FaultKind::StaleReadOnlyLoad {
            store, is_later, ..
        } => {
            let when = if *is_later { "later" } else { "earlier" };
            vec![(format!("{when} {}", store.kind), &store.place)]
        }
        FaultKind::CopyUnderWay {
            overwritten: Some(store),
            ..
        } => vec![(format!("overwritten by {}", store.kind), &store.place)],
        FaultKind::CopyUnderWay {
            copy: Some(copy), ..
        } => vec![("copy started here".to_owned(), &copy.place)],
        FaultKind::Uninitialized {
            used: Some((used, place)),
            ..
        } => vec![(format!("{used} it"), place)],
        FaultKind::UnsetValue {
            loaded: Some(loaded),
            ..
        } => vec![("last read of unwritten local memory".to_owned(), loaded)],
        FaultKind::DivergentBarrier { other, .. } => vec![("other barrier".to_owned(), other)],
        FaultKind::InactiveLanes {
            elsewhere: Some(waiting),
            ..
        } => vec![(format!("others wait for {}", waiting.what), &waiting.place)],
        FaultKind::Deadlock { waiting, .. } => waiting
            .iter()
            .map(|group| (format!("waits for {}", group.what), &group.place))
            .collect(),
        _ => Vec::new(),
    }
}
