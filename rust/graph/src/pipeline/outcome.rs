//! The options of a run, and its outcome.

use std::collections::HashSet;
use std::time::Duration;

use crate::graph::Link;
use hedgerow_engine::retrieval::Mode;

/// The options of a run.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The time, in Unix seconds.
    pub now: i64,
    /// The results of the caller's legs for the searches; None to use the legs of the store.
    pub legs: Option<Vec<Ranked>>,
    /// Whether to say what each stage did.
    pub explain: bool,
    /// The ids of nodes that every stage leaves out, ascending.
    pub without: Vec<i64>,
    /// The keys of the nodes, as if the store had no others; None for all.
    pub within: Option<HashSet<String>>,
    /// With `within`, the edges between these nodes; None for those of the store.
    pub links: Option<Vec<Link>>,
}

impl Options {
    /// Whether some nodes are excluded.
    pub(super) fn leaves_out(&self) -> bool {
        !self.without.is_empty()
    }

    /// Whether a node is included.
    pub(super) fn passes(&self, id: i64) -> bool {
        self.without.binary_search(&id).is_err()
    }
}

/// The outcome of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// The keys of the nodes, in order; none after `count`.
    pub keys: Vec<String>,
    /// The score of each.
    pub scores: Vec<f64>,
    /// The number of nodes, after `count`.
    pub count: Option<usize>,
    /// The names of the columns, after `select`.
    pub columns: Option<Vec<String>>,
    /// A row for each node, after `select`.
    pub rows: Option<Vec<Vec<Cell>>>,
    /// Pairs of keys, each with the similarity of the two.
    pub pairs: Vec<(String, String, f64)>,
    /// Notes about missing data.
    pub warnings: Vec<String>,
    /// Whether communities or coordinates are of earlier edges.
    pub stale: bool,
    /// A report for each stage, with `explain`.
    pub stages: Vec<Report>,
}

/// The report of a stage.
#[derive(Debug, Clone)]
pub struct Report {
    /// The stage in its canonical form.
    pub name: String,
    /// The number of nodes before the stage.
    pub rows_in: usize,
    /// The number of nodes after the stage.
    pub rows_out: usize,
    /// The number of nodes examined.
    pub candidates: usize,
    /// How long it took, by a monotonic clock. Takes no part in comparisons.
    pub time: Duration,
}

impl PartialEq for Report {
    fn eq(&self, other: &Self) -> bool {
        let facts = |report: &Self| {
            let Self {
                name,
                rows_in,
                rows_out,
                candidates,
                ..
            } = report;
            (name.clone(), *rows_in, *rows_out, *candidates)
        };
        facts(self) == facts(other)
    }
}

/// A value of a row that is shown.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// A text.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// A number.
    Real(f64),
}

/// A search leg.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leg {
    /// By words.
    Bm25,
    /// By vectors.
    Semantic,
}

impl Leg {
    /// Return the name that callers use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bm25 => "bm25",
            Self::Semantic => "semantic",
        }
    }

    /// The legs of a mode.
    pub fn of(mode: Mode) -> &'static [Self] {
        match mode {
            Mode::Auto | Mode::Hybrid => &[Self::Bm25, Self::Semantic],
            Mode::Bm25 => &[Self::Bm25],
            Mode::Semantic => &[Self::Semantic],
        }
    }
}

/// The results of a leg of the caller: the query, the leg, and keys, best first.
pub type Ranked = (String, Leg, Vec<String>);
