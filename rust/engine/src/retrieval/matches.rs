//! The keyword hits of a search.

use crate::chunks::Chunk;

/// The keyword hits of one search.
#[derive(Default)]
pub(super) struct Matches<'a> {
    /// Best first.
    pub found: Vec<Match<'a>>,
    /// Whether they are of the fuzzy rung: then the scores are similarities.
    pub fuzzy: bool,
    /// The bound of BM25 for the expression that ran, where score fusion asks for it.
    pub bound: Option<f64>,
}

/// A document that keywords found.
pub(super) struct Match<'a> {
    pub source: TextSource<'a>,
    /// The key shared with the same document of the other leg; None if that leg cannot contain it.
    pub key: Option<i64>,
    pub score: f64,
}

/// Where the texts of a document are.
#[derive(Debug, Clone, Copy)]
pub(super) enum TextSource<'a> {
    /// In a row of the index, not read yet.
    Row(i64),
    /// With the caller, who gave the chunks of the fuzzy rung.
    Given(&'a Chunk),
}
