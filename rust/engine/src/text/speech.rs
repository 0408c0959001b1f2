//! Names before colons in transcripts, and words with which questions name a speaker (spec/retrieval.md,
//! "Speakers").

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::category::is_letter_or_digit;
use super::lower::lower;
use super::utf16;

/// The most words of a name before a colon.
const MAX_WORDS: usize = 4;
/// The most UTF-16 code units of a name before a colon. Longer ones are sentences.
const MAX_UNITS: usize = 40;

/// The speaker at the beginning of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opening<'t> {
    /// The name before the first `: ` of the text.
    pub name: &'t str,
    /// Whether no line begins with another name and `: `.
    pub is_only: bool,
}

impl<'t> Opening<'t> {
    /// The opening of a text; None if the text does not begin with a name and `: `.
    pub fn of(text: &'t str) -> Option<Self> {
        let name = name_before_colon(text)?;
        let mut names = text.lines().filter_map(name_before_colon);
        Some(Self {
            name,
            is_only: names.all(|other| other == name),
        })
    }
}

/// The name before the first `: ` of a line.
fn name_before_colon(line: &str) -> Option<&str> {
    // A name ends within this many bytes, so that a long line costs no more than a short one.
    let most = 4 * MAX_UNITS + ": ".len();
    let head = &line.as_bytes()[..line.len().min(most)];
    let colon = head.windows(2).position(|pair| pair == b": ")?;
    let name = &line[..colon];
    is_name(name).then_some(name)
}

/// Whether a text can be the name of a speaker: 1 to 4 words that begin with a letter, one space apart, in at
/// most 40 UTF-16 code units.
pub fn is_name(text: &str) -> bool {
    let mut words = text.split(' ');
    utf16::len(text) <= MAX_UNITS
        && words.clone().count() <= MAX_WORDS
        && !text.contains('\n')
        && words.all(|word| word.starts_with(char::is_alphabetic))
}

/// The words of a text in lower case, without accents and apostrophes, and without a final `'s`.
pub fn folded_words(text: &str) -> impl Iterator<Item = String> {
    let decomposed: String = text
        .nfd()
        .filter(|c| !is_combining_mark(*c))
        .map(|c| if c == '’' { '\'' } else { c })
        .collect();
    let folded = lower(decomposed);
    let words: Vec<String> = folded
        .split(|c| !is_letter_or_digit(c) && c != '\'')
        .map(|word| word.strip_suffix("'s").unwrap_or(word).replace('\'', ""))
        .filter(|word| !word.is_empty())
        .collect();
    words.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_before_the_first_colon() {
        for (text, name) in [
            ("Caroline: Hey Mel!", Some("Caroline")),
            ("Dr. Anna van Dijk: hello", Some("Dr. Anna van Dijk")),
            ("Zoë: 10:30 is fine", Some("Zoë")),
            ("a: b", Some("a")),
            ("Caroline:hello", None),
            ("Caroline:", None),
            ("10: hello", None),
            ("Figure 3: a plot", None),
            ("one two three four five: six", None),
            (": nothing", None),
            ("Anna : hello", None),
            ("Anna\nBob: hello", None),
            ("", None),
            (
                "AbcdefghijAbcdefghijAbcdefghijAbcdefghij: 40",
                Some("AbcdefghijAbcdefghijAbcdefghijAbcdefghij"),
            ),
            ("AbcdefghijAbcdefghijAbcdefghijAbcdefghijk: 41", None),
            // Two UTF-16 units a letter.
            ("𝐀𝐀𝐀𝐀𝐀𝐀𝐀𝐀𝐀𝐀𝐀𝐀𝐀𝐀𝐀𝐀𝐀𝐀𝐀𝐀𝐀: 42", None),
        ] {
            assert_eq!(
                Opening::of(text).map(|opening| opening.name),
                name,
                "{text:?}"
            );
        }
    }

    #[test]
    fn another_name_at_the_beginning_of_a_line_is_noticed() {
        for (text, is_only) in [
            ("Ann: one\nand two", true),
            ("Ann: one\nAnn: two", true),
            ("Ann: one\nBob: two", false),
            ("Ann: one\nas Bob said: two", false),
            ("Ann: one\n- Bob: two", true),
        ] {
            let opening = Opening::of(text).unwrap();
            assert_eq!(opening.is_only, is_only, "{text:?}");
        }
    }

    #[test]
    fn words_are_folded() {
        let words = |text: &str| folded_words(text).collect::<Vec<_>>();
        assert_eq!(
            words("What did José’s sister tell I'm O'Brien's Mary-Jane?"),
            [
                "what", "did", "jose", "sister", "tell", "im", "obrien", "mary", "jane"
            ]
        );
        assert_eq!(words("I've İzmir 's '"), ["ive", "izmir"]);
    }
}
