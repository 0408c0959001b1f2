//! The word that was meant: the nearest known one, if any is near.

/// The known word nearest to `word`, at most two typing mistakes away, fewer for short words;
/// of equally near ones one with the same first letter, else the first by the alphabet.
pub(super) fn nearest<'w>(word: &str, known: impl IntoIterator<Item = &'w str>) -> Option<String> {
    let letters: Vec<char> = word.chars().collect();
    let most = (letters.len() / 3).clamp(1, 2);
    let first = letters.first();
    known
        .into_iter()
        .map(|known| {
            let distance = distance(&letters, &known.chars().collect::<Vec<_>>());
            (distance, known.chars().next().as_ref() != first, known)
        })
        .filter(|(distance, _, _)| *distance <= most)
        .min()
        .map(|(_, _, known)| known.to_owned())
}

/// How many letters to add, leave out, replace or swap with the next (optimal string alignment).
fn distance(one: &[char], other: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (i, letter) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, known) in other.iter().enumerate() {
            let replaced = last[j] + usize::from(letter != known);
            let mut cost = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && one[i - 1] == *known && *letter == other[j - 1] {
                cost = cost.min(before[j - 1] + 1);
            }
            row.push(cost);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or_default()
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
