//! The request of a search, and its setup.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::collection::Collection;
use super::fuzzy::FuzzyChunks;
use crate::chunks::{Filters, GroupBy, Selection};
use crate::named_enum;
use crate::query::{AliasTable, Connective, Matching};
use crate::rule;

/// The shares of the best totals of neighbors at distances 1 and 2 that are added to a document.
pub(super) const SHARES: [f64; 2] = [0.4, 0.2];

rule! {
    /// Texts before and after a good result in its file rank higher: an answer seldom repeats the words of its question.
    pub static NEIGHBORS = "neighbors" { SHARES }
}

named_enum! {
    /// The legs that take part.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    pub enum Mode {
        /// Both where there is an embedder, else keywords.
        #[default]
        Auto = "auto",
        /// Keywords alone.
        Bm25 = "bm25",
        /// Vectors alone decide.
        Semantic = "semantic",
        /// Both.
        Hybrid = "hybrid",
    }
}

named_enum! {
    /// How the legs become one ranking.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    pub enum Fusion {
        /// By ranks: reciprocal rank fusion.
        #[default]
        Rrf = "rrf",
        /// By what ranks leave out: how well the words match, and how near the meaning is.
        Score = "score",
    }
}

/// The most chunks of a leg for each path that it may contain, if chunks are grouped after their
/// neighbors counted.
const MAX_CHUNKS_PER_PATH: usize = 16;

/// The setup shared by every search of a retriever.
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is an independent option"
)]
pub struct Setup<'a> {
    /// The collection to search.
    pub collection: &'a dyn Collection,
    /// Alternatives for terms.
    pub aliases: Option<&'a AliasTable>,
    /// The operator between tokens without one.
    pub default_operator: Connective,
    /// How words are matched.
    pub matching: Matching,
    /// How the legs become one ranking.
    pub fusion: Fusion,
    /// Whether the neighbors of a chunk count for it.
    pub neighbors: bool,
    /// Whether the speaker of a chunk counts. With score fusion alone.
    pub speakers: bool,
    /// Whether the days and periods that a question names count. With score fusion alone.
    pub dates: bool,
    /// Whether scores are multiplied by the intent of the query.
    pub reweight: bool,
    /// The chunks of the fuzzy rung.
    pub fuzzy: &'a FuzzyChunks,
    /// The name of the embedder of the requests' vectors, if it has one: an error unless it is that of
    /// the index's vectors.
    pub embedder: Option<&'a str>,
}

impl Setup<'_> {
    /// Whether the neighbors of a chunk count.
    pub fn counts_neighbors(&self) -> bool {
        self.neighbors && NEIGHBORS.is_on()
    }

    /// Whether the speaker of a chunk counts.
    pub(super) fn counts_speakers(&self) -> bool {
        self.fusion == Fusion::Score && self.speakers
    }

    /// Whether the day of a chunk counts.
    pub(super) fn counts_dates(&self) -> bool {
        self.fusion == Fusion::Score && self.dates
    }

    /// Whether every search needs the speaker and date of chunks.
    fn needs_turns(&self) -> bool {
        self.counts_speakers() || self.counts_dates()
    }
}

/// The vector of the query, computed before the engine was called, or the reason that it is
/// missing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Embedding<'a> {
    /// No embedder is set, or the mode needs none.
    Absent,
    /// The embedder failed.
    Failed,
    /// The query has no vector.
    Empty,
    /// The query's vector.
    Vector(&'a [f32]),
}

/// Whether the hits go on to a reranker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reranker {
    /// The caller switched it off.
    Off,
    /// There is none.
    Absent,
    /// The reranker runs, unless a reason stops it.
    Ready,
}

/// How fast the score of a chunk decreases with its age.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recency {
    /// The age, in days and at least 1, at which a score is halved.
    pub half_life: u32,
    /// The last day of ages, in days since 1970.
    pub day: i32,
}

/// A search.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The query as the user wrote it.
    pub query: &'a str,
    /// The text with its dates, if it has any: this is parsed.
    pub augmented: Option<&'a str>,
    /// The dates in the text.
    pub date_hints: &'a [String],
    /// The name of the asking speaker.
    pub asker: Option<&'a str>,
    /// The day of the question, in days since 1970 in the zone of the asker: *last week* counts from it. None if it is
    /// unknown.
    pub today: Option<i32>,
    /// How the age of a chunk counts. None if it does not.
    pub recency: Option<Recency>,
    /// The legs that take part.
    pub mode: Mode,
    /// The query's vector.
    pub embedding: Embedding<'a>,
    /// How long each leg may be; at least 1.
    pub candidate_k: usize,
    /// The number of hits to return; no more texts are read than these need.
    pub wanted: usize,
    /// Whether a reranker is to see the head.
    pub reranker: Reranker,
    /// Leave the ladder out when the query finds nothing.
    pub skip_retry_ladder: bool,
    /// The filters of the hits.
    pub filters: &'a Filters,
    /// The chunks that count as one document, of which the best is found.
    pub group_by: Option<GroupBy<'a>>,
}

impl<'a> Request<'a> {
    /// Return the limits and filters of either leg.
    pub(super) fn selection(&self, setup: &Setup<'_>) -> Selection<'a> {
        let chunks_per_path = if self.groups_late(setup) {
            MAX_CHUNKS_PER_PATH
        } else {
            1
        };
        Selection {
            limit: self.candidate_k.saturating_mul(chunks_per_path),
            filters: self.filters,
            // Neighbors and speakers are of chunks, so that groups are made only after these have counted.
            group_by: self.group_by.filter(|_| !self.groups_late(setup)),
            statistics: setup.fusion == Fusion::Score,
            matching: setup.matching,
        }
    }

    /// Cut the hits of a leg, best first, to the chunks of the most paths that it may contain.
    pub(super) fn cut<T>(
        &self,
        setup: &Setup<'_>,
        found: &mut Vec<T>,
        group_of: impl Fn(&T) -> Option<i64>,
    ) {
        if !self.groups_late(setup) {
            return;
        }
        let mut seen = HashSet::new();
        let behind = found.iter().position(|one| {
            seen.extend(group_of(one));
            seen.len() > self.candidate_k
        });
        found.truncate(behind.unwrap_or(found.len()));
    }

    /// Whether the search needs the speaker and date of chunks.
    pub fn needs_turns(&self, setup: &Setup<'_>) -> bool {
        setup.needs_turns() || self.recency.is_some()
    }

    /// Whether groups are made of the fused chunks, instead of by each leg.
    pub(super) fn groups_late(&self, setup: &Setup<'_>) -> bool {
        self.group_by.is_some() && (setup.counts_neighbors() || self.needs_turns(setup))
    }
}
