//! The light stem of an Arabic word.

/// Articles with their attached prefixes, the longest first.
const PREFIXES: [&str; 6] = ["وال", "بال", "كال", "فال", "لل", "ال"];
/// Endings of plurals, of the feminine and of possession; of two that fit the first counts.
const SUFFIXES: [&str; 8] = ["ها", "ان", "ات", "ون", "ين", "يه", "ه", "ي"];

/// Append the light stem of a folded word: one prefix less, then two suffixes, as long as two letters
/// remain.
pub(super) fn stem_into(word: &str, out: &mut String) {
    let mapped: String = word.chars().map(normal).collect();
    let mut stem = mapped.as_str();
    let without = PREFIXES
        .iter()
        .filter_map(|prefix| mapped.strip_prefix(prefix))
        .find(|rest| has_letters(rest, 2));
    if let Some(rest) = without {
        stem = rest;
    } else if has_letters(stem, 4) {
        stem = stem.strip_prefix('و').unwrap_or(stem);
    }
    for _ in 0..2 {
        let rest = SUFFIXES
            .iter()
            .filter_map(|suffix| stem.strip_suffix(suffix))
            .find(|rest| has_letters(rest, 2));
        stem = rest.unwrap_or(stem);
    }
    out.push_str(stem);
}

/// Return the letter that represents interchangeable letters.
fn normal(c: char) -> char {
    match c {
        'أ' | 'إ' | 'آ' | 'ٱ' => 'ا',
        'ى' | 'ئ' | 'ی' => 'ي',
        'ة' => 'ه',
        'ؤ' => 'و',
        'ک' => 'ك',
        c => c,
    }
}

fn has_letters(text: &str, count: usize) -> bool {
    text.chars().nth(count - 1).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_and_suffixes_come_off() {
        for (word, expected) in [
            ("القنفذ", "قنفذ"),
            ("والكتاب", "كتاب"),
            ("في", "في"),
            ("المكتبة", "مكتب"),
            ("مكتبات", "مكتب"),
            ("وكتاب", "كتاب"),
            ("ولد", "ولد"),
            ("ال", "ال"),
            ("أحمد", "احمد"),
            ("کتابی", "كتاب"),
            ("", ""),
        ] {
            let mut stem = String::new();
            stem_into(word, &mut stem);
            assert_eq!(stem, expected, "{word}");
        }
    }
}
