//! Ranking by BM25 in memory (spec/index.md, "Ranking in memory").
//!
//! FTS5 is the store and the truth. A `Snapshot` holds its postings of one generation of the
//! index: first read from FTS5's own tables (`load`), then updated by reading the texts of the
//! few changed chunks (`build`). An expression becomes a [`Plan`], its phrases are looked up in
//! each part of the snapshot (`phrase`), and their gains are added by FTS5's formula (`counts`)
//! in FTS5's order (`score`): ids, order and scores are the same to the bit. Without a snapshot
//! of the generation, FTS5 ranks with the same formula (`function`).

mod allowed;
mod backend_status;
mod build;
mod counts;
mod deleted;
mod estimate;
mod fts5_segment;
mod function;
mod load;
mod load_error;
mod max_score;
mod merging;
mod outline;
mod phrase;
mod phrase_counts;
mod phrase_search;
mod plan;
mod postings;
mod ranking;
mod schema;
mod score;
mod scored_row;
mod search;
mod segment;
mod segment_view;
mod snapshot;
mod snapshot_manager;
mod stored;
mod term_batch;
#[cfg(test)]
mod tests;
mod tiers;
mod vocabulary;
mod word_numbers;

pub(crate) use counts::SHORT_TEXTS;
pub use counts::{Counts, term_score};
pub use phrase::PhraseTokens;
pub use phrase_counts::PhraseCounts;
pub use phrase_search::ContentPhrase;
pub use plan::{Conjunction, Plan, ScoredPhrase};
pub use ranking::Ranking;
pub use schema::BM25;
pub use search::MatchedRows;

pub(crate) use scored_row::MATCHED;
pub(crate) use search::Bm25;
pub(crate) use snapshot::Snapshot;
pub(crate) use snapshot_manager::{Backend, SnapshotManager};
pub(crate) use vocabulary::{ENDINGS, NearTerm};
