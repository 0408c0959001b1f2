//! What is asked of a search, and with what.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::collection::Collection;
use super::fuzzy::FuzzyChunks;
use crate::chunks::{Filters, GroupBy, Selection};
use crate::named_enum;
use crate::query::{AliasTable, Connective, Matching};

named_enum! {
    /// Which legs take part.
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

/// How many chunks a leg may have for each path that it may hold, where chunks are grouped after
/// their neighbors have counted.
const MAX_CHUNKS_PER_PATH: usize = 16;

/// What every search of one retriever has in common.
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is an option of its own"
)]
pub struct Setup<'a> {
    /// What is searched.
    pub collection: &'a dyn Collection,
    /// Alternatives for terms.
    pub aliases: Option<&'a AliasTable>,
    /// What joins tokens without an operator.
    pub default_operator: Connective,
    /// How words are matched.
    pub matching: Matching,
    /// How the legs become one ranking.
    pub fusion: Fusion,
    /// Whether the chunks beside a chunk count for it.
    pub neighbors: bool,
    /// Whether it counts who said a chunk. With score fusion alone.
    pub speakers: bool,
    /// Whether the days and months that a question names count. With score fusion alone.
    pub dates: bool,
    /// Whether scores are multiplied by what the query asks for.
    pub reweight: bool,
    /// What the fuzzy rung searches.
    pub fuzzy: &'a FuzzyChunks,
    /// The name of the embedder of the requests' vectors, if it has one: an error unless it is that of
    /// the index's vectors.
    pub embedder: Option<&'a str>,
}

impl Setup<'_> {
    /// Whether it counts who said a chunk.
    pub(super) fn counts_speakers(&self) -> bool {
        self.fusion == Fusion::Score && self.speakers
    }

    /// Whether the day of a chunk counts.
    pub(super) fn counts_dates(&self) -> bool {
        self.fusion == Fusion::Score && self.dates
    }

    /// Whether searches need to know who said a chunk, and when.
    pub fn needs_turns(&self) -> bool {
        self.counts_speakers() || self.counts_dates()
    }
}

/// What the embedder made of the query, before the engine was called.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Embedding<'a> {
    /// There is no embedder, or the mode needs none.
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
    /// It runs, unless there is a reason not to.
    Ready,
}

/// One search.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The query as the user wrote it.
    pub query: &'a str,
    /// The same with dates, where there are any: this is what is parsed.
    pub augmented: Option<&'a str>,
    /// Those dates.
    pub date_hints: &'a [String],
    /// The name of the speaker who asks.
    pub asker: Option<&'a str>,
    /// Which legs take part.
    pub mode: Mode,
    /// The query's vector.
    pub embedding: Embedding<'a>,
    /// How long each leg may be; at least 1.
    pub candidate_k: usize,
    /// How many hits to return; no more texts are read than these need.
    pub wanted: usize,
    /// Whether a reranker is to see the head.
    pub reranker: Reranker,
    /// Leave the ladder out when the query finds nothing.
    pub skip_retry_ladder: bool,
    /// What may be found.
    pub filters: &'a Filters,
    /// Which chunks count as one document, of which the best is found.
    pub group_by: Option<GroupBy<'a>>,
}

impl<'a> Request<'a> {
    /// What either leg may hold.
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

    /// Cut what a leg found, best first, to the chunks of as many paths as it may hold.
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

    /// Whether groups are made of the fused chunks, instead of by each leg.
    pub(super) fn groups_late(&self, setup: &Setup<'_>) -> bool {
        self.group_by.is_some() && (setup.neighbors || setup.needs_turns())
    }
}
