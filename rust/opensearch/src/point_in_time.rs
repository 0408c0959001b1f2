//! The queries that a search sends to the server.

use hedgerow_engine::Result;
use hedgerow_engine::bm25::Counts;
use hedgerow_engine::chunks::Chunk;
use hedgerow_engine::vectors::CosineStats;

use crate::keyword_query::KeywordQuery;
use crate::token_phrase::TokenPhrase;

/// A state of a collection on a server. The filters of a search are chosen when the state is opened: every
/// method but `counts` and `chunks` sees only chunks that pass them.
pub trait PointInTime: Sync {
    /// Reject an embedder other than the one that made the vectors of the collection.
    fn check_embedder(&self, embedder: &str) -> Result<()>;

    /// The number of dimensions of every vector. None if the collection never had a vector.
    fn dimensions(&self) -> Result<Option<usize>>;

    /// Counts over all chunks, whatever the filters. The document frequencies are in the order of
    /// `phrases`.
    fn counts(&self, phrases: &[TokenPhrase]) -> Result<Counts>;

    /// About the best `limit` chunks that match `query`.
    fn keyword_hits(&self, query: &KeywordQuery, limit: usize) -> Result<Preselection<KeywordHit>>;

    /// About the nearest `limit` chunks to `vector`, which has length 1, and how the cosines of all chunks
    /// are spread if `spread` asks for it. The search asks for the counts of `expected` next, so that one
    /// request can read all.
    fn vector_hits(
        &self,
        vector: &[f32],
        limit: usize,
        spread: Option<SpreadOf>,
        expected: &[TokenPhrase],
    ) -> Result<(Preselection<VectorHit>, Option<ServerSpread>)>;

    /// The vectors of chunks, in the order of their ids. None for a chunk without a vector.
    fn vectors(&self, ids: &[String]) -> Result<Vec<Option<Vec<f32>>>>;

    /// The chunks of `ids`, in the order of `ids`. None for an id that does not exist.
    fn chunks(&self, ids: &[String]) -> Result<Vec<Option<Chunk>>>;

    /// All chunks of `paths`, in any order.
    fn in_paths(&self, paths: &[String]) -> Result<Vec<PathEntry>>;

    /// The distinct paths, in any order.
    fn paths(&self) -> Result<Vec<String>>;
}

/// The cosines whose spread a search needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpreadOf {
    /// That of each chunk.
    Chunks,
    /// The highest of each path.
    Paths,
}

/// The spread of cosines as the server computes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServerSpread {
    /// The number of chunks with a vector.
    pub chunks: u64,
    /// Of all chunks; of paths a sample if there are many.
    pub stats: CosineStats,
}

/// Hits that the server selected by approximate scores.
#[derive(Debug, Clone, PartialEq)]
pub struct Preselection<T> {
    /// The hits, in any order.
    pub hits: Vec<T>,
    /// The lowest score of the hits if there may be more hits. None if these are all.
    pub floor: Option<f64>,
    /// Whether the server skipped chunks that may have better scores. Then the search accepts the hits
    /// and asks for no more.
    pub approximate: bool,
}

/// A chunk that matches a keyword query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeywordHit {
    /// The id of the chunk.
    pub id: String,
    /// The path of the chunk.
    pub path: String,
    /// The number of tokens in the chunk.
    pub length: u32,
    /// The frequency of each phrase of the query in the chunk. An occurrence counts as often as the
    /// weight of its column.
    pub frequencies: Vec<u32>,
}

/// A chunk that has a vector.
#[derive(Debug, Clone, PartialEq)]
pub struct VectorHit {
    /// The id of the chunk.
    pub id: String,
    /// The path of the chunk.
    pub path: String,
    /// The vector of the chunk, of length 1.
    pub vector: Vec<f32>,
}

/// The position of a chunk in its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathEntry {
    /// The id of the chunk.
    pub id: String,
    /// The path of the chunk.
    pub path: String,
    /// The ordinal of the chunk.
    pub ordinal: i64,
}
