//! The known word that was probably meant.

/// The least length of a beginning that stands for a longer word, in characters.
const LEAST_BEGINNING: usize = 3;

/// Return the known word nearest to `word`, ignoring case, in time linear in the length of all.
///
/// Near is a word by optimal string alignment: at most a third of the length of `word` away, at least 1 and at
/// most 2. If there is none, a word of which `word` is the beginning is near. Ties prefer a word with the same
/// first letter, then the first in the order of code points.
pub fn nearest<'w>(word: &str, known: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let wanted = word.to_lowercase();
    let length = wanted.chars().count();
    let most = (length / 3).clamp(1, 2);
    let first = wanted.chars().next();
    let near = |known: &'w str| {
        let (lower, known_length) = (known.to_lowercase(), known.chars().count());
        let is_longer = length >= LEAST_BEGINNING && lower.starts_with(&wanted);
        let distance = match known_length.abs_diff(length) {
            difference if difference <= most => strsim::osa_distance(&wanted, &lower),
            difference => difference,
        };
        let rank = (
            distance > most,
            distance,
            lower.chars().next() != first,
            known,
        );
        // A word of one letter is no edit of another.
        ((distance <= most && distance < length) || is_longer).then_some(rank)
    };
    known.into_iter().filter_map(near).min().map(|rank| rank.3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_found() {
        let known = ["type", "limit", "weight", "all", "age", "sort", "link-add"];
        for (word, expected) in [
            ("typ", Some("type")),
            ("limt", Some("limit")),
            ("wieght", Some("weight")),
            ("al", Some("all")),
            ("ag", Some("age")),
            ("all", Some("all")),
            ("Weight", Some("weight")),
            ("link", Some("link-add")),
            ("x", None),
            ("nothing", None),
        ] {
            assert_eq!(nearest(word, known), expected, "{word}");
        }
        assert_eq!(nearest("at", ["it", "ab", "ax"]), Some("ab"));
        assert_eq!(nearest("b", ["a"]), None);
        assert_eq!(
            nearest("hedge", ["hedgerows", "hedgehogs", "hedgy"]),
            Some("hedgy")
        );
    }
}
