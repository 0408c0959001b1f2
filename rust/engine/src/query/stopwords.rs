//! The stop words (spec/query.md, "Filtering"), a file for each list.

use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;
use std::sync::{Arc, LazyLock};

use crate::error::{Error, ErrorCode, Result};
use crate::rule;
use crate::text::lower::lower;
use crate::text::normalise::normalise;
use crate::text::whitespace;

/// The words that the parser drops from bare English queries.
pub static ENGLISH: LazyLock<WordList> =
    LazyLock::new(|| WordList::new(include_str!("stopwords/english.txt")));

/// The words that the parser drops from bare Dutch queries.
pub static DUTCH: LazyLock<WordList> =
    LazyLock::new(|| WordList::new(include_str!("stopwords/dutch.txt")));

/// The function words of English, which is all that extended matching drops of it.
pub static ENGLISH_FUNCTION: LazyLock<WordList> =
    LazyLock::new(|| WordList::new(include_str!("stopwords/english_function.txt")));

/// The function words of Dutch, which is all that extended matching drops of it.
pub static DUTCH_FUNCTION: LazyLock<WordList> =
    LazyLock::new(|| WordList::new(include_str!("stopwords/dutch_function.txt")));

rule! {
    /// Extended matching drops function words alone, and searches the words of content in the stop list of the specification.
    pub(crate) static FUNCTION_WORDS = "function words" { }
}

/// The words that the retry ladder skips, a different set.
pub static RETRY: LazyLock<WordList> =
    LazyLock::new(|| WordList::new(include_str!("stopwords/retry.txt")));

/// Whether `token` (lower-case) is in one of the lists of the parser.
pub fn is_stopword(token: &str) -> bool {
    ENGLISH.contains(token) || DUTCH.contains(token)
}

/// The stop words of bare queries: both lists of the specification by default.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum StopWords {
    /// English and Dutch.
    #[default]
    EnglishAndDutch,
    /// English alone.
    English,
    /// Dutch alone.
    Dutch,
    /// No word at all.
    None,
    /// Given words, in lower case.
    Words(Arc<BTreeSet<String>>),
}

/// The most bytes of the words of a caller together.
const WORDS_LIMIT: usize = 1 << 20;

impl StopWords {
    /// A list of the caller's: single words, in any case.
    pub fn words<W: AsRef<str>>(words: impl IntoIterator<Item = W>) -> Result<Self> {
        let mut kept = BTreeSet::new();
        let mut bytes = 0;
        for word in words {
            let given = word.as_ref();
            let word = lower(normalise(given).into_owned());
            bytes += word.len();
            if bytes > WORDS_LIMIT {
                return Err(refused(
                    "stopwords take more than 1 MiB together; give fewer".to_owned(),
                ));
            }
            if word.is_empty() || given.contains(whitespace::is_whitespace) {
                return Err(refused(format!(
                    "stopwords must be single words, and {given:?} is not one"
                )));
            }
            kept.insert(word);
        }
        Ok(Self::Words(Arc::new(kept)))
    }

    /// The lists of a name.
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "en+nl" => Ok(Self::EnglishAndDutch),
            "en" => Ok(Self::English),
            "nl" => Ok(Self::Dutch),
            "none" => Ok(Self::None),
            _ => Err(refused(format!(
                "stopwords must be \"en+nl\", \"en\", \"nl\", \"none\" or a list of words, not \
                 {name:?}"
            ))),
        }
    }

    /// The name of the lists; None for the words of a caller.
    pub fn name(&self) -> Option<&'static str> {
        match self {
            Self::EnglishAndDutch => Some("en+nl"),
            Self::English => Some("en"),
            Self::Dutch => Some("nl"),
            Self::None => Some("none"),
            Self::Words(_) => None,
        }
    }

    /// Whether extended matching drops `token` (lower-case): of a language its function words alone.
    pub fn contains_function_word(&self, token: &str) -> bool {
        match self {
            Self::EnglishAndDutch => {
                ENGLISH_FUNCTION.contains(token) || DUTCH_FUNCTION.contains(token)
            }
            Self::English => ENGLISH_FUNCTION.contains(token),
            Self::Dutch => DUTCH_FUNCTION.contains(token),
            Self::None => false,
            Self::Words(words) => words.contains(token),
        }
    }

    /// Whether `token` (lower-case) is one of them.
    pub fn contains(&self, token: &str) -> bool {
        match self {
            Self::EnglishAndDutch => is_stopword(token),
            Self::English => ENGLISH.contains(token),
            Self::Dutch => DUTCH.contains(token),
            Self::None => false,
            Self::Words(words) => words.contains(token),
        }
    }
}

fn refused(message: String) -> Error {
    Error::new(ErrorCode::InvalidOption, message)
}

impl Default for &StopWords {
    fn default() -> Self {
        &StopWords::EnglishAndDutch
    }
}

/// As a file keeps them: the name, or the words as a JSON array.
impl Display for StopWords {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match (self.name(), self) {
            (None, Self::Words(words)) => {
                let text = serde_json::to_string(&**words).map_err(|_| fmt::Error)?;
                f.write_str(&text)
            }
            (name, _) => f.write_str(name.unwrap_or_default()),
        }
    }
}

impl FromStr for StopWords {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match serde_json::from_str(text) {
            // The words were checked when they were set, and normalising twice can change a word.
            Ok(words) => Ok(Self::Words(Arc::new(words))),
            Err(_) => Self::named(text),
        }
    }
}

/// A sorted list of words, looked up for every word of every query.
pub struct WordList {
    words: Vec<&'static str>,
    /// For each first byte, the index of its first word; one more at the end.
    starts: [usize; 257],
    /// For each first byte, the lengths of its words as a set of bits.
    lengths: [u64; 256],
}

impl WordList {
    /// The lines of a text, ascending, each shorter than 64 bytes.
    fn new(text: &'static str) -> Self {
        let words: Vec<&str> = text.lines().collect();
        let mut lengths = [0; 256];
        for word in &words {
            lengths[usize::from(word.as_bytes()[0])] |= 1 << word.len();
        }
        let starts = std::array::from_fn(|byte| {
            words.partition_point(|word| usize::from(word.as_bytes()[0]) < byte)
        });
        Self {
            words,
            starts,
            lengths,
        }
    }

    /// Whether the list holds `word`.
    pub fn contains(&self, word: &str) -> bool {
        let Some(&first) = word.as_bytes().first() else {
            return false;
        };
        let first = usize::from(first);
        // Most words end here.
        if word.len() >= 64 || self.lengths[first] & (1 << word.len()) == 0 {
            return false;
        }
        self.words[self.starts[first]..self.starts[first + 1]].contains(&word)
    }

    /// The words, sorted.
    pub fn words(&self) -> &[&'static str] {
        &self.words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_chosen_is_kept_as_text() {
        let own = StopWords::words(["DNS", "e\u{301}t\u{e9}", "dns"]).unwrap();
        assert_eq!(own.to_string(), r#"["dns","été"]"#);
        assert!(own.contains("été") && own.contains("dns") && !own.contains("the"));
        let composed_late = StopWords::words(["e\u{200B}\u{301}"]).unwrap();
        assert!(composed_late.contains("e\u{301}"));
        let long = StopWords::words(["\u{130}".repeat(WORDS_LIMIT / 3)]).unwrap();
        let named = ["en+nl", "en", "nl", "none"].map(|name| StopWords::named(name).unwrap());
        assert_eq!(named[0], StopWords::default());
        for chosen in named.into_iter().chain([own, composed_late, long]) {
            assert_eq!(chosen.to_string().parse::<StopWords>().unwrap(), chosen);
        }
        for (word, expected) in [
            ("the", [true, true, false, false]),
            ("door", [true, false, true, false]),
            ("hedgehog", [false; 4]),
        ] {
            let found = ["en+nl", "en", "nl", "none"]
                .map(|name| StopWords::named(name).unwrap().contains(word));
            assert_eq!(found, expected, "{word}");
        }
    }

    #[test]
    fn extended_matching_drops_function_words_alone() {
        for (word, expected) in [
            ("the", [true, true, false, false]),
            ("van", [true, false, true, false]),
            ("door", [false; 4]),
            ("watch", [false; 4]),
            ("show", [false; 4]),
        ] {
            let found = ["en+nl", "en", "nl", "none"]
                .map(|name| StopWords::named(name).unwrap().contains_function_word(word));
            assert_eq!(found, expected, "{word}");
        }
        let own = StopWords::words(["watch"]).unwrap();
        assert!(own.contains_function_word("watch") && !own.contains_function_word("the"));
    }

    #[test]
    fn what_is_no_list_of_words_is_refused() {
        for (words, message) in [
            (
                vec![""],
                "stopwords must be single words, and \"\" is not one",
            ),
            (
                vec!["two words"],
                "stopwords must be single words, and \"two words\" is not one",
            ),
            (
                vec!["\u{200B}"],
                "stopwords must be single words, and \"\\u{200b}\" is not one",
            ),
            (
                vec!["\u{130}"; WORDS_LIMIT / 3 + 1],
                "stopwords take more than 1 MiB together; give fewer",
            ),
        ] {
            let error = StopWords::words(words).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidOption);
            assert_eq!(error.message(), message);
        }
        let error = StopWords::named("de").unwrap_err();
        assert_eq!(
            error.message(),
            "stopwords must be \"en+nl\", \"en\", \"nl\", \"none\" or a list of words, not \"de\""
        );
    }

    #[test]
    fn the_lists_are_the_fixtures() {
        for (list, fixture) in [
            (
                &ENGLISH,
                include_str!("../../../../spec/fixtures/stopwords/en.json"),
            ),
            (
                &DUTCH,
                include_str!("../../../../spec/fixtures/stopwords/nl.json"),
            ),
            (
                &ENGLISH_FUNCTION,
                include_str!("../../../../spec/fixtures/stopwords/en-function.json"),
            ),
            (
                &DUTCH_FUNCTION,
                include_str!("../../../../spec/fixtures/stopwords/nl-function.json"),
            ),
            (
                &RETRY,
                include_str!("../../../../spec/fixtures/stopwords/retry.json"),
            ),
        ] {
            let expected: Vec<&str> = serde_json::from_str(fixture).unwrap();
            assert_eq!(list.words(), expected);
            assert!(expected.is_sorted() && expected.iter().all(|word| list.contains(word)));
            assert!(
                !["", "hedgehog", "zz", "東"]
                    .into_iter()
                    .any(|word| list.contains(word))
            );
        }
    }
}
