//! What a search asks of a place that holds chunks. The index in a file is one; another is a
//! collection elsewhere ([`super::remote`]).

use std::sync::Arc;

use crate::bm25::MatchedRows;
use crate::chunks::{Filters, Selection, Side, Texts};
use crate::error::Result;
use crate::index::session::Needs;
use crate::query::{MatchExpression, Phrase, StopWords};
use crate::text::tokenizer::TokenizerKind;
use crate::vectors::NearestRows;

/// A place that holds chunks.
pub trait Collection: Sync {
    /// What its texts are split by.
    fn tokenizer(&self) -> TokenizerKind;

    /// What bare queries lose.
    fn stopwords(&self) -> &StopWords;

    /// Let `work` read one state, in which what is needed is at hand.
    fn read(&self, needs: Needs, work: &mut dyn FnMut(&dyn Reader)) -> Result<()>;
}

/// A chunk whose slug is like a word.
#[derive(Debug, Clone, PartialEq)]
pub struct SimilarSlug {
    /// The chunk.
    pub row: i64,
    /// What it shares with the same document of another leg.
    pub key: Option<i64>,
    /// Its path.
    pub path: String,
    /// The similarity with the most similar word.
    pub similarity: f64,
}

/// Goes from a row to the one beside it that passes the filters.
pub type Step<'r> = Box<dyn FnMut(i64, Side) -> Option<i64> + 'r>;

/// One state of a collection, whatever is written meanwhile. A row is a number that stands for a chunk
/// in this state, and means nothing in another.
pub trait Reader {
    /// Refuse another embedder than the one the vectors are of.
    fn check_embedder(&self, embedder: &str) -> Result<()>;

    /// Take note of what will be searched for by keywords once the vectors were compared. What
    /// is elsewhere can then be asked for both at once.
    fn expect(&self, _: &MatchExpression) {}

    /// The best rows of a selection by BM25, best first.
    fn match_rows(
        &self,
        expression: &MatchExpression,
        selection: &Selection<'_>,
    ) -> Result<MatchedRows>;

    /// The best rows of a selection for each query by the cosine of their vectors; equal ones by path,
    /// then by id.
    fn nearest_rows(
        &self,
        queries: &[&[f32]],
        selection: &Selection<'_>,
    ) -> Result<Vec<Result<NearestRows>>>;

    /// The cosine of what has each of these keys, be it near or not; None where there is no vector.
    /// Asked only where the nearest were selected with statistics.
    fn cosines(&self, nearest: &NearestRows, keys: &[Option<i64>]) -> Result<Vec<Option<f64>>>;

    /// The chunks that pass the filters whose slugs are like any of the words, best first; equal ones
    /// by path, then by id. None where the slugs have to be read first: [`Self::lacks_slugs`].
    fn similar_slugs(
        &self,
        words: &[String],
        limit: usize,
        filters: &Filters,
    ) -> Result<Option<Vec<SimilarSlug>>>;

    /// Whether something was not found since the slugs were not there: then the search is to begin
    /// anew with them as a need.
    fn lacks_slugs(&self) -> bool;

    /// How to go from these rows, and from those beside them, along their paths.
    fn beside<'r>(&'r self, filters: &Filters, rows: &[i64]) -> Result<Step<'r>>;

    /// What stands for the group of a row that is made after neighbors counted; without grouping None.
    fn group_of(&self, row: i64) -> Option<i64>;

    /// The row of an id.
    fn row(&self, id: &str) -> Result<Option<i64>>;

    /// The id of a row.
    fn id(&self, row: i64) -> Result<String>;

    /// What stands for the group that a chunk of this id and path would be in; None when there is
    /// nothing that it could be one document with.
    fn key_of(&self, id: &str, path: &str) -> Result<Option<i64>>;

    /// Whether a row passes the filters.
    fn passes(&self, row: i64, filters: &Filters) -> Result<bool>;

    /// Whether a row holds a phrase.
    fn holds(&self, row: i64, phrase: &Phrase) -> Result<bool>;

    /// The texts of rows, each with what it was found by, in their order. To be called late and of few
    /// rows.
    fn texts(&self, rows: &[(i64, &str)]) -> Result<Vec<Arc<Texts>>>;
}
