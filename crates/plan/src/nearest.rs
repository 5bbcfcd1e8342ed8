//! "Did you mean": the known name nearest to an unknown one.

use std::borrow::Cow;

/// Longer names are not compared: what that costs grows with the product of the lengths, and names
/// may be anybody's.
const MAX_BYTES: usize = 100;

/// The most candidates that are compared.
const MAX_CANDIDATES: usize = 1000;

/// The most names that a message lists.
const MAX_LISTED: usize = 30;

/// The candidate nearest to `name`, if it is near enough.
///
/// The distance is Damerau-Levenshtein's (a swap of two letters counts as one edit). It may be one,
/// or a third of the longer name's letters if that is more. Names of over 100 bytes are near to
/// none.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    if name.len() > MAX_BYTES {
        return None;
    }
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= MAX_BYTES)
        .take(MAX_CANDIDATES)
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|&(distance, candidate)| {
            let longer = name.chars().count().max(candidate.chars().count());
            distance <= (longer / 3).max(1) && distance < longer
        })
        .min()
        .map(|(_, candidate)| candidate.to_owned())
}

/// The end of an "unknown name" message: the nearest name, or else all names, as far as they fit in
/// a message.
pub fn suggestion<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    let candidates: Vec<&str> = candidates.into_iter().collect();
    match nearest(name, candidates.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if candidates.is_empty() => "there are none".to_owned(),
        None => {
            let mut listed: Vec<String> = candidates
                .iter()
                .take(MAX_LISTED)
                .map(|candidate| shortened(candidate).into_owned())
                .collect();
            let more = candidates.len() - listed.len();
            if more > 0 {
                listed.push(format!("and {more} more"));
            }
            format!("there are: {}", listed.join(", "))
        }
    }
}

/// The name, or its first letters where it is longer than a message should quote.
pub(crate) fn shortened(name: &str) -> Cow<'_, str> {
    if name.len() > MAX_BYTES {
        format!("{}...", &name[..name.floor_char_boundary(MAX_BYTES)]).into()
    } else {
        name.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 3] = ["naive", "shmem", "wave2d"];

    #[test]
    fn near_names_are_offered() {
        assert_eq!(nearest("nave", NAMES).as_deref(), Some("naive"));
        assert_eq!(nearest("shemm", NAMES).as_deref(), Some("shmem"));
        assert_eq!(suggestion("wave3d", NAMES), "did you mean `wave2d`?");
    }

    #[test]
    fn far_names_are_not() {
        assert_eq!(nearest("double", NAMES), None);
        assert_eq!(
            suggestion("double", NAMES),
            "there are: naive, shmem, wave2d"
        );
        assert_eq!(suggestion("double", []), "there are none");
    }

    /// Names may come from a submission: what is unknown takes no time, and fills no message.
    #[test]
    fn long_names_and_lists_cost_nothing() {
        let long = "x".repeat(2_000_000);
        assert_eq!(nearest(&long, [long.as_str()]), None);
        let end = suggestion("double", [long.as_str()]);
        assert_eq!(end, format!("there are: {}...", "x".repeat(100)));
        let many: Vec<String> = (0..100_000).map(|i| format!("kernel_{i:090}")).collect();
        let of_many = suggestion("double", many.iter().map(String::as_str));
        assert!(of_many.ends_with("9, and 99970 more"), "{of_many}");
        assert!(of_many.len() < 5000);
    }
}
