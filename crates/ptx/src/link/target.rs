//! The header of linked texts: the newest version, and an architecture that runs them all.

use super::error::LinkError;
use super::symbols::Text;
use crate::parse::outline::capability;

/// The directives of a linked text.
pub(super) struct Header {
    pub version: String,
    /// Empty if no text has one.
    pub target: String,
}

/// The header of these texts together.
pub(super) fn header(texts: &[Text<'_>]) -> Result<Header, LinkError> {
    let newest = texts.iter().map(|text| text.declarations.version).max();
    let (major, minor) = newest.ok_or(LinkError::Nothing)?;
    let mut targets = vec![architecture(texts)?];
    for option in texts.iter().flat_map(|text| &text.declarations.target) {
        if capability(option).is_none() && !targets.contains(option) {
            targets.push(option);
        }
    }
    targets.retain(|name| !name.is_empty());
    let target = match targets[..] {
        [] => String::new(),
        _ => format!(".target {}", targets.join(", ")),
    };
    let version = format!(".version {major}.{minor}");
    Ok(Header { version, target })
}

/// The newest architecture. Text with a letter (`sm_90a`, `sm_100f`) is for devices of that one,
/// or of its family, alone (PTX ISA, `.target`).
fn architecture<'a>(texts: &[Text<'a>]) -> Result<&'a str, LinkError> {
    let of = |text: &Text<'a>| {
        let names = text.declarations.target.iter().copied();
        names
            .filter_map(|name| Some((capability(name)?, name)))
            .next()
    };
    let parts: Vec<_> = texts
        .iter()
        .filter_map(|text| Some((text.name, of(text)?)))
        .collect();
    // Of `sm_100`, `sm_100f` and `sm_100a` the last.
    let letter = |name: &str| ["f", "a"].iter().position(|letter| name.ends_with(letter));
    let newest = parts
        .iter()
        .max_by_key(|(_, (number, name))| (*number, letter(name)));
    let Some((last, (number, name))) = newest else {
        return Ok("");
    };
    for (part, (other, target)) in &parts {
        let runs = match target.as_bytes().last() {
            Some(b'a') => other == number,
            Some(b'f') => other.0 == number.0,
            _ => true,
        };
        if !runs {
            return Err(LinkError::Targets {
                part: (*part).to_owned(),
                target: (*target).to_owned(),
                first: (*last).to_owned(),
                first_target: (*name).to_owned(),
            });
        }
    }
    Ok(name)
}
