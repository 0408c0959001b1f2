//! The interface between a search and the chunks that it reads. The index in a file implements it,
//! and so can other crates.

use std::sync::Arc;

use crate::bm25::MatchedRows;
use crate::chunks::{Chunk, Filters, FullText, Selection, Side, Texts, Turn};
use crate::error::Result;
use crate::index::session::Needs;
use crate::query::{MatchExpression, Phrase, StopWords, Vocabulary};
use crate::text::tokenizer::TokenizerKind;
use crate::vectors::NearestRows;

/// A set of chunks that can be searched.
pub trait Collection: Sync {
    /// The tokenizer of its texts.
    fn tokenizer(&self) -> TokenizerKind;

    /// The stop words of plain queries.
    fn stopwords(&self) -> &StopWords;

    /// Call `work` with one state of the collection, in which everything that `needs` names is available.
    fn read(&self, needs: Needs<'_>, work: &mut dyn FnMut(&dyn Reader)) -> Result<()>;
}

/// A chunk whose slug resembles a word.
#[derive(Debug, Clone, PartialEq)]
pub struct SimilarSlug {
    /// The row of the chunk.
    pub row: i64,
    /// The key that the same document has in another leg.
    pub key: Option<i64>,
    /// The path of the chunk.
    pub path: String,
    /// The similarity of the slug and the most similar word.
    pub similarity: f64,
}

/// Returns the row before or after another one in its path, among the rows that pass the filters.
pub type Step<'r> = Box<dyn FnMut(i64, Side) -> Option<i64> + 'r>;

/// A state of a collection, which concurrent writes do not change. A row is the number of a chunk in this
/// state, and has no meaning in another one.
pub trait Reader {
    /// How the texts are tokenized.
    fn full_text(&self) -> Result<FullText>;

    /// Reject an embedder other than the one that made the vectors.
    fn check_embedder(&self, embedder: &str) -> Result<()>;

    /// Announce the keyword search that follows the vector search. A collection on a server can then
    /// send one request for both.
    fn expect(&self, _: &MatchExpression) {}

    /// The words of the texts that pass the filters, for other spellings of a query's words. None if the
    /// collection does not offer them.
    fn vocabulary<'r>(&'r self, _: &'r Filters) -> Option<Box<dyn Vocabulary + 'r>> {
        None
    }

    /// Whether it is known that no chunk passes the filters.
    fn passes_none(&self, _: &Filters) -> Result<bool> {
        Ok(false)
    }

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

    /// The cosine for each key, whether or not it was among the nearest. None if it has no vector.
    /// Called only if `nearest` was selected with statistics.
    fn cosines(&self, nearest: &NearestRows, keys: &[Option<i64>]) -> Result<Vec<Option<f64>>>;

    /// The chunks that pass the filters and whose slugs resemble any of the words, best first; equal
    /// ones by path, then by id. None if the slugs must be loaded first ([`Self::lacks_slugs`]).
    fn similar_slugs(
        &self,
        words: &[String],
        limit: usize,
        filters: &Filters,
    ) -> Result<Option<Vec<SimilarSlug>>>;

    /// Whether slugs were requested but not loaded. Then the search starts again and needs them.
    fn lacks_slugs(&self) -> bool;

    /// A function that steps along the paths of `rows`.
    fn adjacent_rows<'r>(&'r self, filters: &Filters, rows: &[i64]) -> Result<Step<'r>>;

    /// Whether any chunk has a speaker or a date, as far as is known. Called only if turns are needed.
    fn has_turns(&self) -> bool {
        true
    }

    /// Return the speaker and date of the chunk of each row. Called only if turns are needed.
    fn turns(&self, rows: &[i64]) -> Result<Vec<Turn>>;

    /// The key of the group of a row if chunks are grouped after their scores are complete. None otherwise.
    fn group_of(&self, row: i64) -> Option<i64>;

    /// The row of an id. None if no chunk has the id.
    fn row(&self, id: &str) -> Result<Option<i64>>;

    /// The id of a row.
    fn id(&self, row: i64) -> Result<String>;

    /// The key of the document that a chunk would be part of. None if the collection has no such
    /// document.
    fn key_of(&self, chunk: &Chunk) -> Result<Option<i64>>;

    /// Whether a row passes the filters.
    fn passes(&self, row: i64, filters: &Filters) -> Result<bool>;

    /// Whether a row has a phrase.
    fn holds(&self, row: i64, phrase: &Phrase) -> Result<bool>;

    /// The texts of rows, in the order of `rows`. Each row comes with a name for error messages. Call this
    /// last and for few rows, because it may read from disk or from a server.
    fn texts(&self, rows: &[(i64, &str)]) -> Result<Vec<Arc<Texts>>>;
}
