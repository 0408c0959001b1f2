//! Retrieval over the index (spec/retrieval.md).
//!
//! [`search()`] is the straight line of stages; each stage has a file.

mod batch;
mod candidates;
mod collection;
mod dates;
mod embedded;
mod explanation;
mod explanation_text;
pub mod fuse;
mod fused;
mod fuzzy;
pub mod intent;
mod keywords;
mod ladder;
mod leg_error;
mod legs;
mod matches;
mod multiplier;
mod neighbors;
pub mod order;
mod patterns;
mod recency;
mod request;
mod rerank;
pub mod rerank_text;
pub mod retry;
pub mod reweight;
mod score_fusion;
mod search;
mod speakers;
mod trace;
pub mod trigram_index;
pub mod unanimity;
mod why_not;

use std::sync::LazyLock;

pub use crate::chunks::GroupBy;
use crate::query::stopwords::RETRY;
pub use batch::search_many;
pub use collection::{Collection, Reader, SimilarSlug, Step};
pub use dates::NAMED_PERIODS;
pub use explanation::{
    Because, ByDate, ByKeywords, ByMeaning, ByNeighbor, ByQuestion, ByRecency, BySpeaker,
    ExplainedHit, Explanation, RerankBlend,
};
pub use fuse::reciprocal_rank_fusion;
pub use fuzzy::FuzzyChunks;
pub use intent::Intent;
pub use keywords::{WORDS_OF_PERIODS, has_words};
pub use multiplier::{Condition, Multiplier};
pub(crate) use request::NEIGHBORS;
pub use request::{Embedding, Fusion, Mode, Recency, Request, Reranker, Setup};
pub use rerank::{RerankDocument, RerankScore, Reranking};
pub use rerank_text::rerank_text;
pub use reweight::{ReweightedHit, reweight};
pub(crate) use score_fusion::KEYWORD_COVERAGE;
pub use search::{RankedRows, SearchResult, matching_rows, rank_in, search, search_in};
pub(crate) use speakers::{ANSWERS, FIRST_PERSON, SPEAKERS};
pub use trace::{Attempt, SkippedReason, Stage, Strategy, Timings, Trace};
pub use trigram_index::{TrigramHit, TrigramIndex};
pub use unanimity::{Unanimity, unanimity};
pub use why_not::{WhyNot, why_not};

/// Build the lazily built tables that all searches share. Call this before a fork: a child would wait forever
/// for a table that another thread was building.
pub fn prepare() {
    // An error comes again in the search that needs the patterns.
    let _ = patterns::patterns();
    LazyLock::force(&RETRY);
}
