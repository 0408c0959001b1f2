//! The known word that was probably meant.

/// Return the known word nearest to `word` by optimal string alignment: at most a third of its length away,
/// at least 1 and at most 2. Ties prefer a word with the same first letter, then the first in the order of
/// code points.
pub fn nearest<'w>(word: &str, known: impl IntoIterator<Item = &'w str>) -> Option<String> {
    let most = (word.chars().count() / 3).clamp(1, 2);
    let first = word.chars().next();
    known
        .into_iter()
        .map(|known| {
            let distance = strsim::osa_distance(word, known);
            (distance, known.chars().next() != first, known)
        })
        .filter(|(distance, _, _)| *distance <= most)
        .min()
        .map(|(_, _, known)| known.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_found() {
        let known = ["type", "limit", "weight", "all", "age", "sort"];
        for (word, expected) in [
            ("typ", Some("type")),
            ("limt", Some("limit")),
            ("wieght", Some("weight")),
            ("al", Some("all")),
            ("ag", Some("age")),
            ("all", Some("all")),
            ("x", None),
            ("nothing", None),
        ] {
            assert_eq!(nearest(word, known).as_deref(), expected, "{word}");
        }
        assert_eq!(nearest("at", ["it", "ab", "ax"]).as_deref(), Some("ab"));
    }
}
