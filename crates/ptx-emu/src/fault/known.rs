//! Faults that are known and left out.

use super::{FaultKind, ProgramFault};
use crate::config::Sanitize;

/// The kinds that can be left out, by [`FaultKind::name`]: those that a GPU does not notice. The
/// others end a kernel. The last are of commands, which those who run several have to find.
const KINDS: [&str; 18] = [
    "uninitialized read",
    "uninitialized value",
    "race in shared memory",
    "race in global memory",
    "read-only load of changing data",
    // The longer name first, since a line begins with one.
    "copy under way at the end",
    "copy under way",
    "missing proxy fence",
    "barrier reached by a part of the block",
    "barrier in divergent code",
    "invalid barrier",
    "lanes missing",
    "shuffle from an inactive lane",
    "out of bounds",
    "race between commands",
    "memory used before its allocation",
    "memory freed in use",
    "memory not freed",
];

/// A list of faults that are known, which who runs a program cannot or will not mend.
///
/// Each line of its text has a kind, by [`FaultKind::name`], and a place: a source file, with a
/// line if only that is meant, or `kernel:` and a kernel's name as its PTX has it. A `*` in it is
/// any letters. Lines that begin with `#` are the reason for the next ones. A fault is known if the
/// place is that of its instruction, or of a caller that was inlined around it; the other side of a
/// race does not count.
///
/// ```
/// let list = "# It masks what it has compared.\n\
///             uninitialized value  */cuda/detail/set_operations.h\n\
///             race in global memory  kernel:count_*\n";
/// let known = ptx_emu::KnownFaults::parse(list)?;
/// assert_eq!(known.len(), 2);
/// let error = ptx_emu::KnownFaults::parse("race  a.cu:x").unwrap_err();
/// assert!(error.starts_with("line 1: `race  a.cu:x` begins with no kind of fault"));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownFaults(Vec<Known>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Known {
    kind: &'static str,
    place: Place,
    reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Kernel(String),
    File(String, Option<u32>),
}

impl KnownFaults {
    /// Reads a list.
    ///
    /// # Errors
    ///
    /// The first line that makes no sense, with its number.
    pub fn parse(text: &str) -> Result<KnownFaults, String> {
        let mut known = Vec::new();
        let mut reason = String::new();
        // Whether the line before was of the reason.
        let mut goes_on = false;
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            let continued = std::mem::replace(&mut goes_on, line.starts_with('#'));
            if let Some(said) = line.strip_prefix('#') {
                let before = if continued {
                    reason + " "
                } else {
                    String::new()
                };
                reason = before + said.trim();
            } else if !line.is_empty() {
                let (kind, place) = parse(line).map_err(|why| format!("line {number}: {why}"))?;
                known.push(Known {
                    kind,
                    place,
                    reason: reason.clone(),
                });
            }
        }
        Ok(KnownFaults(known))
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no fault is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the entries of another list.
    pub fn add(&mut self, other: KnownFaults) {
        self.0.extend(other.0);
    }

    /// The reason of the first entry that knows this fault; empty if the list gives none.
    ///
    /// A fault that a GPU notices is never known, whatever the list says.
    #[must_use]
    pub fn reason(&self, fault: &ProgramFault) -> Option<&str> {
        if !fault.kind.is_unnoticed_by_a_gpu() {
            return None;
        }
        let own = [&fault.place.source, &fault.place.called_at];
        let places = own.into_iter().flatten();
        let places: Vec<(&str, u32)> = places.map(|source| (&*source.file, source.line)).collect();
        self.reason_of(fault.kind.name(), &fault.kernel, &places)
    }

    /// As [`KnownFaults::reason`], of a fault between kernels: its kind, a name, and the files and
    /// lines that it is of.
    #[must_use]
    pub fn reason_of(&self, kind: &str, name: &str, places: &[(&str, u32)]) -> Option<&str> {
        let mut entries = self.0.iter();
        let known = entries.find(|known| known.kind == kind && known.place.is(name, places))?;
        Some(&known.reason)
    }
}

impl Place {
    fn is(&self, name: &str, places: &[(&str, u32)]) -> bool {
        match self {
            Place::Kernel(pattern) => matches(pattern, name),
            Place::File(pattern, line) => places
                .iter()
                .any(|(file, at)| matches(pattern, file) && line.is_none_or(|line| line == *at)),
        }
    }
}

/// The kind and the place of a line.
fn parse(line: &str) -> Result<(&'static str, Place), String> {
    let split = |kind: &&'static str| {
        let rest = line.strip_prefix(*kind)?;
        rest.starts_with(char::is_whitespace)
            .then(|| (*kind, rest.trim()))
    };
    let Some((kind, place)) = KINDS.iter().find_map(split) else {
        return Err(format!(
            "`{line}` begins with no kind of fault that can be left out: {}",
            KINDS.join(", ")
        ));
    };
    if let Some(kernel) = place.strip_prefix("kernel:") {
        return Ok((kind, Place::Kernel(kernel.to_owned())));
    }
    let numbered = place.rsplit_once(':').and_then(|(file, number)| {
        let number = number.parse().ok()?;
        Some(Place::File(file.to_owned(), Some(number)))
    });
    Ok((
        kind,
        numbered.unwrap_or_else(|| Place::File(place.to_owned(), None)),
    ))
}

/// Whether a text is of a pattern, whose `*` are any letters.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        // No `*` at all.
        return rest.is_empty();
    };
    for part in parts {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

impl Sanitize {
    /// The checks that a launch is repeated with when a fault of this kind is known, so that others
    /// are still found. Without the check of races memory cannot be put back a second time, so that
    /// a known race leaves none.
    #[must_use]
    pub fn without(self, kind: &FaultKind) -> Sanitize {
        let less = match kind {
            FaultKind::Uninitialized { .. } | FaultKind::UnsetValue { .. } => Sanitize {
                uninitialized: false,
                ..self
            },
            FaultKind::PartialBarrier { .. } | FaultKind::DivergentBarrier { .. } => Sanitize {
                barriers: false,
                ..self
            },
            _ => Sanitize::NONE,
        };
        if less == self { Sanitize::NONE } else { less }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_any_letters() {
        for (pattern, text, expected) in [
            ("a.cu", "a.cu", true),
            ("a.cu", "b/a.cu", false),
            ("*a.cu", "b/a.cu", true),
            ("*/thrust/*.h", "/x/thrust/y/z.h", true),
            ("*/thrust/*.h", "/x/cub/z.h", false),
            ("k*", "kernel", true),
            ("*ab*ab", "abab", true),
            ("*ab*ab", "ab", false),
            ("*", "", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn a_race_between_commands_is_known_by_kernel_or_line() {
        let list = "race between commands  */main.cu:12\nmemory freed in use  kernel:cuMemFree*";
        let known = KnownFaults::parse(list).unwrap();
        let reason = |kind, name, place| known.reason_of(kind, name, &[("/a/main.cu", place)]);
        assert_eq!(reason("race between commands", "k", 12), Some(""));
        assert_eq!(reason("race between commands", "k", 13), None);
        assert_eq!(reason("memory freed in use", "cuMemFreeAsync", 1), Some(""));
    }

    #[test]
    fn lines_have_a_kind_and_a_place() {
        let known = KnownFaults::parse("# else\n\n# why\n#  so\nuninitialized read  /a b/c.cu:12\r\n  copy under way at the end kernel:k\n").unwrap();
        let file = Place::File("/a b/c.cu".to_owned(), Some(12));
        let kernel = Place::Kernel("k".to_owned());
        let entry = |kind, place| Known {
            kind,
            place,
            reason: "why so".to_owned(),
        };
        assert_eq!(
            known.0,
            [
                entry("uninitialized read", file),
                entry("copy under way at the end", kernel)
            ]
        );
        let error = KnownFaults::parse("# a\n\ntrap  a.cu").unwrap_err();
        assert!(
            error.starts_with("line 3: `trap  a.cu` begins with no kind"),
            "{error}"
        );
    }
}
