//! The words of an index, as far as a query asks for them.

use std::fmt::{self, Debug, Formatter};

use super::expression::Phrase;
use crate::error::Result;

/// The words of an index. Its texts are those that a search may find.
pub trait Vocabulary {
    /// Whether any text of the index has the phrase.
    fn knows(&self, phrase: &Phrase) -> Result<bool>;

    /// Whether a text has the phrase.
    fn has(&self, phrase: &Phrase) -> Result<bool>;

    /// A word of a text that the phrase of one word finds, in lower case; None if no text has one.
    fn word_of(&self, phrase: &Phrase) -> Result<Option<String>>;

    /// Words of the texts that become `word` by one edit or two (a letter more, less or another, two
    /// letters exchanged) and have its first letter: those with the fewest edits, the most frequent first,
    /// in lower case.
    fn nearest(&self, word: &str) -> Result<Vec<String>>;
}

impl Debug for dyn Vocabulary + '_ {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Vocabulary")
    }
}
