//! Retrieval over the index (spec/retrieval.md).

pub mod fuse;
pub mod intent;
mod order;
mod patterns;
pub mod rerank_text;
pub mod retry;
pub mod reweight;
pub mod trigram_index;
pub mod unanimity;

pub use fuse::reciprocal_rank_fusion;
pub use intent::Intent;
pub use rerank_text::rerank_text;
pub use reweight::{Condition, Multiplier, Reweighted, reweight};
pub use trigram_index::{TrigramHit, TrigramIndex};
pub use unanimity::{Unanimity, unanimity};
