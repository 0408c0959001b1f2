//! The steps of a search (spec/trace.md).

use std::time::Duration;

use super::request::{Fusion, Mode};
use crate::named_enum;
use crate::query::Matching;

named_enum! {
    /// A rung of the ladder, in its order; the first is the query itself.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Strategy {
        /// The compiled query.
        Initial = "initial",
        /// The strongest term of the query.
        StrongestTerm = "strongest_term",
        /// The query without punctuation.
        RefreshedSanitised = "refreshed_sanitised",
        /// The strongest term of that.
        RefreshedStrongest = "refreshed_strongest",
        /// Slugs that look like a word of the query.
        TrigramFuzzy = "trigram_fuzzy",
    }
}

/// A search by keywords and its hits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The rung.
    pub strategy: Strategy,
    /// The compiled query, or the text of the rung.
    pub query: String,
    /// The number of hits.
    pub hits: usize,
}

named_enum! {
    /// The stage that failed while another one answered.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Stage {
        /// Search by keywords.
        Bm25 = "bm25",
        /// The embedder or search by vectors.
        Vector = "vector",
        /// The reranker.
        Rerank = "rerank",
    }
}

named_enum! {
    /// Why no reranker runs: the first of these that holds.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum SkippedReason {
        /// Nothing was found.
        EmptyCandidates = "empty_candidates",
        /// The caller switched it off.
        ModeOff = "mode_off",
        /// There is none.
        NoReranker = "no_reranker",
        /// Both legs agree on the head.
        Unanimity = "unanimity",
    }
}

/// How long each stage took, by a monotonic clock. Takes no part in comparisons.
#[derive(Debug, Clone, Copy, Default)]
pub struct Timings {
    /// Embedding the query; of a batch, all its queries.
    pub embed: Duration,
    /// Search by keywords, without the ladder.
    pub bm25: Duration,
    /// The ladder.
    pub ladder: Duration,
    /// Search by vectors.
    pub vector: Duration,
    /// Fusion.
    pub fuse: Duration,
    /// Intents.
    pub reweight: Duration,
    /// The reranker.
    pub rerank: Duration,
}

impl Timings {
    /// The stages in their order, with their milliseconds.
    pub fn milliseconds(&self) -> [(&'static str, f64); 7] {
        [
            ("embed", self.embed),
            ("bm25", self.bm25),
            ("ladder", self.ladder),
            ("vector", self.vector),
            ("fuse", self.fuse),
            ("reweight", self.reweight),
            ("rerank", self.rerank),
        ]
        .map(|(stage, time)| (stage, time.as_secs_f64() * 1000.0))
    }
}

/// Two searches that did the same are equal however long they took.
impl PartialEq for Timings {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// The steps of a search.
#[derive(Debug, Clone, PartialEq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a key of the documented trace"
)]
pub struct Trace {
    /// The mode that was run.
    pub mode: Mode,
    /// How words were matched.
    pub matching: Matching,
    /// How the legs became one ranking.
    pub fusion: Fusion,
    /// Whether neighbors counted.
    pub neighbors: bool,
    /// Whether speakers counted.
    pub speakers: bool,
    /// Whether the days and months that the query names counted.
    pub dates: bool,
    /// The age in days at which a score was halved. None if age did not count.
    pub recency: Option<u32>,
    /// Whether scores were multiplied by the intent of the query.
    pub reweight: bool,
    /// The chunks that counted as one document.
    pub group_by: Option<String>,
    /// The query as given.
    pub original_query: String,
    /// The text that was parsed, where dates were added to it.
    pub augmented_query: Option<String>,
    /// The dates that were added.
    pub date_hints: Vec<String>,
    /// The normative text.
    pub compiled_query: String,
    /// The expression that SQLite ran; empty if nothing was searchable.
    pub match_query: String,
    /// The words of the query that were not searched for, as noise.
    pub not_searched_for: Vec<String>,
    /// A sentence for everything that was not understood, excluded, or spelled in another way.
    pub notices: Vec<String>,
    /// How long each leg may be.
    pub candidate_k: usize,
    /// The k of fusion.
    pub rrf_k: f64,
    /// Every search by keywords.
    pub attempts: Vec<Attempt>,
    /// The length of the BM25 leg.
    pub bm25_count: usize,
    /// The length of the vector leg.
    pub vector_count: usize,
    /// The number of hits after fusion.
    pub fused_count: usize,
    /// Whether keywords alone replaced a mode with vectors.
    pub fell_back_to_bm25: bool,
    /// Whether a vector took part.
    pub embedder_used: bool,
    /// The number of positions of the head where both legs agree, if that stopped the reranker.
    pub unanimity: Option<usize>,
    /// Whether a reranker put the head in order.
    pub reranked: bool,
    /// The name of that reranker.
    pub rerank_provider: Option<String>,
    /// The share of the reranker where its scores were blended with the fused ones.
    pub rerank_weight: Option<f64>,
    /// Why no reranker is to run; None when one is.
    pub rerank_skipped_reason: Option<SkippedReason>,
    /// The first stage that failed.
    pub error_stage: Option<Stage>,
    /// How long it took.
    pub timings: Timings,
}
