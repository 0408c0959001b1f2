//! The number of edits between two words (<https://en.wikipedia.org/wiki/Damerau–Levenshtein_distance>).

/// Words with fewer letters are compared by one edit, others by two.
pub const LETTERS_FOR_TWO_EDITS: usize = 8;

/// The number of edits that make one word the other, if it is at most `most`: a letter more, less or another, or
/// two neighbors exchanged. No letter is edited twice. Takes time in the product of a length and `most`.
pub fn edits(one: &[char], other: &[char], most: usize) -> Option<usize> {
    if one.len().abs_diff(other.len()) > most {
        return None;
    }
    let far = most + 1;
    let mut before = vec![far; other.len() + 1];
    let mut last: Vec<usize> = (0..=other.len()).map(|edits| edits.min(far)).collect();
    let mut row = vec![far; other.len() + 1];
    for (at, letter) in one.iter().enumerate() {
        // Cells further from the diagonal have more edits than `most`.
        let (start, end) = (
            (at + 1).saturating_sub(most),
            other.len().min(at + 1 + most),
        );
        row.fill(far);
        if start == 0 {
            row[0] = (at + 1).min(far);
        }
        let mut fewest = row[0];
        for column in start.max(1)..=end {
            let same = usize::from(*letter != other[column - 1]);
            let mut edits = (last[column - 1] + same)
                .min(last[column] + 1)
                .min(row[column - 1] + 1);
            let is_exchanged = at > 0
                && column > 1
                && *letter == other[column - 2]
                && one[at - 1] == other[column - 1];
            if is_exchanged {
                edits = edits.min(before[column - 2] + 1);
            }
            row[column] = edits.min(far);
            fewest = fewest.min(row[column]);
        }
        if fewest == far {
            return None;
        }
        std::mem::swap(&mut before, &mut last);
        std::mem::swap(&mut last, &mut row);
    }
    last.last().copied().filter(|edits| *edits <= most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn count(one: &str, other: &str, most: usize) -> Option<usize> {
        let letters = |word: &str| word.chars().collect::<Vec<_>>();
        edits(&letters(one), &letters(other), most)
    }

    #[test]
    fn edits_are_counted() {
        for (one, other, expected) in [
            ("hanld", "handl", Some(1)),
            ("prune", "prune", Some(0)),
            ("color", "colour", Some(1)),
            ("colour", "color", Some(1)),
            ("hedge", "ledge", Some(1)),
            ("recieving", "receiving", Some(1)),
            ("accomodatoin", "accommodation", Some(2)),
            ("hedge", "hog", None),
            ("ca", "abc", None),
            ("ёжик", "ёжки", Some(1)),
            ("", "ab", Some(2)),
            ("", "", Some(0)),
        ] {
            assert_eq!(count(one, other, 2), expected, "{one} {other}");
        }
        assert_eq!(count("hanld", "handl", 0), None);
    }

    /// The whole table, without a band.
    fn slow(one: &[char], other: &[char]) -> usize {
        let mut table = vec![vec![0; other.len() + 1]; one.len() + 1];
        for i in 0..=one.len() {
            for j in 0..=other.len() {
                table[i][j] = if i == 0 || j == 0 {
                    i + j
                } else {
                    let same = usize::from(one[i - 1] != other[j - 1]);
                    let mut edits = (table[i - 1][j - 1] + same)
                        .min(table[i - 1][j] + 1)
                        .min(table[i][j - 1] + 1);
                    if i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1] {
                        edits = edits.min(table[i - 2][j - 2] + 1);
                    }
                    edits
                };
            }
        }
        table[one.len()][other.len()]
    }

    proptest! {
        #[test]
        fn a_band_of_the_table_is_enough(one in "[abc]{0,9}", other in "[abc]{0,9}", most in 0_usize..4) {
            let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
            let expected = slow(&one, &other);
            prop_assert_eq!(edits(&one, &other, most), (expected <= most).then_some(expected));
        }
    }
}
