//! The words of an index, as far as a query asks for them.

use std::fmt::{self, Debug, Formatter};

use super::expression::Phrase;
use crate::error::Result;

/// The words of an index.
pub trait Vocabulary {
    /// The number of texts of the index that have the phrase, counted no further than `most`. Those that a search
    /// may not find are among them.
    fn count(&self, phrase: &Phrase, most: usize) -> Result<usize>;

    /// Return those of some phrases that a text has which a search may find.
    fn held(&self, phrases: Vec<Phrase>) -> Result<Vec<Phrase>>;

    /// Words of the texts that a search may find which become `word` by one edit or two (a letter more, less or another, two
    /// letters exchanged) and have its first letter: those with the fewest edits, the most frequent first,
    /// in lower case.
    fn nearest(&self, word: &str) -> Result<Vec<String>>;
}

impl Debug for dyn Vocabulary + '_ {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Vocabulary")
    }
}
