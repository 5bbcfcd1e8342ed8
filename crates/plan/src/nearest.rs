//! "Did you mean": the known name nearest to an unknown one.

/// The candidate nearest to `name`, if it is near enough.
///
/// The distance is Damerau-Levenshtein's (a swap of two letters counts as one edit). It may be one, or a third of the longer
/// name's letters if that is more.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|&(distance, candidate)| {
            let longer = name.chars().count().max(candidate.chars().count());
            distance <= (longer / 3).max(1) && distance < longer
        })
        .min()
        .map(|(_, candidate)| candidate.to_owned())
}

/// The end of an "unknown name" message: the nearest name, or else all names.
pub fn suggestion<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    let candidates: Vec<&str> = candidates.into_iter().collect();
    match nearest(name, candidates.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if candidates.is_empty() => "there are none".to_owned(),
        None => format!("there are: {}", candidates.join(", ")),
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
}
