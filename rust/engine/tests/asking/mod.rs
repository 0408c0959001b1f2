//! Searching a small index in memory.

use hedgerow_engine::chunks::{Chunk, Filters, GroupBy};
use hedgerow_engine::index::Index;
use hedgerow_engine::query::{Connective, Matching};
use hedgerow_engine::retrieval::{
    Embedding, Found, Fusion, FuzzyChunks, Mode, Request, Reranker, Setup, search,
};
use hedgerow_engine::text::tokenizer::TokenizerKind;

/// More than there is in any index here.
pub const ALL: usize = 1000;

/// An index of these chunks in memory.
pub fn index(chunks: &[Chunk]) -> Index {
    let index = Index::in_memory(TokenizerKind::Porter).unwrap();
    index.upsert(&chunks.iter().collect::<Vec<_>>()).unwrap();
    index
}

/// The options of a case.
#[derive(Clone, Copy)]
pub struct Ask<'a> {
    pub mode: Mode,
    pub fusion: Fusion,
    pub vector: Option<&'a [f32]>,
    pub candidate_k: usize,
    pub group_by: Option<GroupBy>,
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

/// The search that is asked for.
pub fn find(index: &Index, query: &str, ask: &Ask<'_>) -> Found {
    let setup = Setup {
        collection: index,
        aliases: None,
        default_operator: Connective::Or,
        matching: Matching::Spec,
        fusion: ask.fusion,
        neighbors: false,
        reweight: true,
        fuzzy: &FuzzyChunks::Own,
        embedder: None,
    };
    let request = Request {
        query,
        augmented: None,
        date_hints: &[],
        mode: ask.mode,
        embedding: ask.vector.map_or(Embedding::Absent, Embedding::Vector),
        candidate_k: ask.candidate_k,
        wanted: usize::MAX,
        reranker: Reranker::Ready,
        skip_retry_ladder: false,
        filters: ask.filters,
        group_by: ask.group_by,
    };
    search(&setup, &request).unwrap()
}
