//! What a search asks of a collection elsewhere.

use crate::bm25::{Counts, RemoteExpression, RemotePhrase};
use crate::chunks::Chunk;
use crate::error::Result;

/// One state of a collection elsewhere, and what it can be asked. The filters of a search are chosen
/// when the state is opened: all but `counts` and `chunks` see only chunks that pass them.
pub trait PointInTime: Sync {
    /// Refuse another embedder than the one the vectors are of.
    fn check_embedder(&self, embedder: &str) -> Result<()>;

    /// How many numbers a vector has; None before there was one.
    fn dimensions(&self) -> Result<Option<usize>>;

    /// Counts over all chunks, whatever the filters.
    fn counts(&self, phrases: &[RemotePhrase]) -> Result<Counts>;

    /// About the best `limit` chunks that match.
    fn keyword_hits(
        &self,
        search: &RemoteExpression,
        limit: usize,
    ) -> Result<Preselected<KeywordHit>>;

    /// About the nearest `limit` chunks to a vector of length 1. The counts of `expected` are asked for
    /// next, and may be looked up along with the vectors.
    fn vector_hits(
        &self,
        vector: &[f32],
        limit: usize,
        expected: &[RemotePhrase],
    ) -> Result<Preselected<VectorHit>>;

    /// The chunks of these ids, in their order.
    fn chunks(&self, ids: &[String]) -> Result<Vec<Option<Chunk>>>;

    /// All chunks of these paths.
    fn in_paths(&self, paths: &[String]) -> Result<Vec<PathEntry>>;

    /// The different paths.
    fn paths(&self) -> Result<Vec<String>>;
}

/// What a collection preselected by nearly exact scores.
#[derive(Debug, Clone, PartialEq)]
pub struct Preselected<T> {
    /// The best, in any order.
    pub hits: Vec<T>,
    /// The lowest of their scores if there may be more hits; None if these are all.
    pub floor: Option<f64>,
    /// Whether others may have better scores, since not all were looked at: then these are accepted as
    /// they are.
    pub approximate: bool,
}

/// A chunk that matches an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeywordHit {
    /// Its id.
    pub id: String,
    /// Its path.
    pub path: String,
    /// How many tokens it has.
    pub length: u32,
    /// How often it holds each phrase, weighted by columns.
    pub frequencies: Vec<u32>,
}

/// A chunk with a vector.
#[derive(Debug, Clone, PartialEq)]
pub struct VectorHit {
    /// Its id.
    pub id: String,
    /// Its path.
    pub path: String,
    /// Its vector, of length 1.
    pub vector: Vec<f32>,
}

/// A chunk of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathEntry {
    /// Its id.
    pub id: String,
    /// Its path.
    pub path: String,
    /// Its number within the path.
    pub ordinal: i64,
}
