//! What a search needs of whatever holds chunks: the index in a file, or a collection elsewhere
//! ([`super::remote`]).

use std::sync::Arc;

use crate::bm25::MatchedRows;
use crate::chunks::{Filters, Selection, Side, Texts};
use crate::error::Result;
use crate::index::session::Needs;
use crate::query::{MatchExpression, Phrase, StopWords};
use crate::text::tokenizer::TokenizerKind;
use crate::vectors::NearestRows;

/// Whatever holds chunks and can be searched.
pub trait Collection: Sync {
    /// The tokenizer of its texts.
    fn tokenizer(&self) -> TokenizerKind;

    /// The words that plain queries are not searched for.
    fn stopwords(&self) -> &StopWords;

    /// Have `work` read one state, in which everything needed is at hand.
    fn read(&self, needs: Needs, work: &mut dyn FnMut(&dyn Reader)) -> Result<()>;
}

/// A chunk whose slug resembles a word.
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

    /// Announce the search by keywords that follows the comparison of vectors, so that a collection
    /// elsewhere can be asked for both at once.
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

    /// The cosine of the row or group of each key, whether near or not; None where there is no vector.
    /// Called only if the nearest were selected with statistics.
    fn cosines(&self, nearest: &NearestRows, keys: &[Option<i64>]) -> Result<Vec<Option<f64>>>;

    /// The chunks that pass the filters and whose slugs resemble any of the words, best first; equal
    /// ones by path, then by id. None if the slugs have to be read first: [`Self::lacks_slugs`].
    fn similar_slugs(
        &self,
        words: &[String],
        limit: usize,
        filters: &Filters,
    ) -> Result<Option<Vec<SimilarSlug>>>;

    /// Whether slugs were asked for and not at hand: then the search begins anew and needs them.
    fn lacks_slugs(&self) -> bool;

    /// How to step from these rows, and from those beside them, along their paths.
    fn beside<'r>(&'r self, filters: &Filters, rows: &[i64]) -> Result<Step<'r>>;

    /// The key of a row's group where groups are made after neighbors have counted; otherwise None.
    fn group_of(&self, row: i64) -> Option<i64>;

    /// The row of an id.
    fn row(&self, id: &str) -> Result<Option<i64>>;

    /// The id of a row.
    fn id(&self, row: i64) -> Result<String>;

    /// The key that a chunk of this id and path would have; None if no document in the collection could
    /// be the same.
    fn key_of(&self, id: &str, path: &str) -> Result<Option<i64>>;

    /// Whether a row passes the filters.
    fn passes(&self, row: i64, filters: &Filters) -> Result<bool>;

    /// Whether a row holds a phrase.
    fn holds(&self, row: i64, phrase: &Phrase) -> Result<bool>;

    /// The texts of rows, in their order, each given with what found it. To be called late and for few
    /// rows.
    fn texts(&self, rows: &[(i64, &str)]) -> Result<Vec<Arc<Texts>>>;
}
