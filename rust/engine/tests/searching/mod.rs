//! Searching a small index in memory.
#![allow(dead_code, reason = "each file of tests uses its part")]

use hedgerow_engine::chunks::{Chunk, Filters, GroupBy};
use hedgerow_engine::index::Index;
use hedgerow_engine::query::{Connective, Matching};
use hedgerow_engine::retrieval::{
    Embedding, Fusion, FuzzyChunks, Mode, Request, Reranker, SearchResult, Setup, search,
};
use hedgerow_engine::text::tokenizer::TokenizerKind;

/// More than there is in any index here.
pub const ALL: usize = 1000;

pub const NORTH: [f32; 2] = [0.0, 1.0];

/// A chunk with a vector.
pub fn chunk(id: &str, path: &str, content: &str, vector: [f32; 2]) -> Chunk {
    Chunk {
        id: id.to_owned(),
        path: path.to_owned(),
        content: content.to_owned(),
        embedding: Some(vector.to_vec()),
        ..Chunk::default()
    }
}

/// An index of these chunks in memory.
pub fn index(chunks: &[Chunk]) -> Index {
    let index = Index::in_memory(TokenizerKind::Porter).unwrap();
    index.upsert(&chunks.iter().collect::<Vec<_>>()).unwrap();
    index
}

/// The defaults of the specification.
pub fn setup<'a>(index: &'a Index, fuzzy: &'a FuzzyChunks) -> Setup<'a> {
    Setup {
        collection: index,
        aliases: None,
        default_operator: Connective::Or,
        matching: Matching::Spec,
        fusion: Fusion::Rrf,
        neighbors: false,
        speakers: false,
        dates: false,
        reweight: true,
        fuzzy,
        embedder: None,
    }
}

/// A request for all hits, without a reranker.
pub fn request<'a>(query: &'a str, embedding: Embedding<'a>, filters: &'a Filters) -> Request<'a> {
    Request {
        query,
        augmented: None,
        date_hints: &[],
        asker: None,
        today: None,
        recency: None,
        mode: Mode::Auto,
        embedding,
        candidate_k: 60,
        wanted: usize::MAX,
        reranker: Reranker::Absent,
        skip_retry_ladder: false,
        filters,
        group_by: None,
    }
}

/// The options of a case.
#[derive(Clone, Copy)]
pub struct Ask<'a> {
    pub mode: Mode,
    pub fusion: Fusion,
    pub vector: Option<&'a [f32]>,
    pub candidate_k: usize,
    pub group_by: Option<GroupBy<'a>>,
    pub filters: &'a Filters,
}

/// Score fusion of all there is.
pub fn ask<'a>(vector: Option<&'a [f32]>, filters: &'a Filters) -> Ask<'a> {
    Ask {
        mode: Mode::Auto,
        fusion: Fusion::Score,
        vector,
        candidate_k: ALL,
        group_by: None,
        filters,
    }
}

/// Run the search of the request.
pub fn find(index: &Index, query: &str, ask: &Ask<'_>) -> SearchResult {
    let setup = Setup {
        fusion: ask.fusion,
        ..setup(index, &FuzzyChunks::Own)
    };
    let embedding = ask.vector.map_or(Embedding::Absent, Embedding::Vector);
    let request = Request {
        mode: ask.mode,
        candidate_k: ask.candidate_k,
        reranker: Reranker::Ready,
        group_by: ask.group_by,
        ..request(query, embedding, ask.filters)
    };
    search(&setup, &request).unwrap()
}
