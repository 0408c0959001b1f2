//! The parsed pipeline: its stages, with every value read and checked.

use crate::graph::confluence::Confluence;
use crate::graph::geodesic::Geodesic;
use crate::graph::manifold::Direction;
use crate::graph::ranking::Output;
use crate::graph::spread::SpreadingActivation;
use crate::graph::{Category, TYPES};
use hedgerow_engine::retrieval::Mode;
use hedgerow_engine::text::glob::Glob;

/// Stages, run from left to right. Its printed form parses to an equal pipeline.
#[derive(Debug, Clone, PartialEq)]
pub struct Pipeline {
    /// The stages; the first of them makes the set.
    pub stages: Vec<Stage>,
    /// Whether the text left out the first stage, `all`.
    pub(super) implicit: bool,
}

/// A stage.
#[derive(Debug, Clone, PartialEq)]
pub enum Stage {
    /// Makes a set.
    Generator(Generator),
    /// Keeps the nodes that pass.
    Filter {
        /// Whether it keeps the nodes that do not pass instead.
        negated: bool,
        /// The condition.
        filter: Filter,
    },
    /// Orders, cuts or shows.
    Transform(Transform),
    /// Explores the graph from the set.
    Algorithm(Algorithm),
}

/// Where a set comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum Generator {
    /// Every live node.
    All,
    /// The nodes that have these terms in their keys; terms that no key has, in their contents.
    Match(Vec<String>),
    /// The results of a hybrid search.
    Search(Search),
    /// Given keys, each with its score.
    Seed(Vec<(String, f64)>),
    /// The neighbors of a node, by edges of at least this strength.
    Neighbors(String, f64),
    /// Both ends of pairs of similar nodes in different communities.
    Interference {
        /// The smallest cosine of a pair.
        min_similarity: f64,
        /// The most pairs.
        max_pairs: usize,
    },
}

/// A hybrid search.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    /// The query.
    pub query: String,
    /// The most results.
    pub limit: usize,
    /// The legs of the search.
    pub mode: Mode,
}

/// A condition on nodes.
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    /// Nodes of one of the types.
    Type(Vec<String>),
    /// Nodes of one of the categories.
    Category(Vec<Category>),
    /// A key that matches.
    Key(Glob),
    /// A provenance that matches.
    Provenance(Glob),
    /// In the community of this id.
    Community(i64),
    /// In the community of the node of this key.
    CommunityOf(String),
    /// A number of the node that compares with this one.
    Number(NumberField, Comparison, f64),
    /// The seconds since `updated_at`.
    Age(Comparison, i64),
    /// The seconds since `created_at`.
    Created(Comparison, i64),
    /// Last visited by an agent less than this many seconds ago; None for at any time.
    Visited(String, Option<i64>),
    /// The complement of `Visited`.
    NotVisited(String, Option<i64>),
}

/// How two values compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Comparison {
    Less,
    AtMost,
    Equal,
    AtLeast,
    Greater,
}

impl Comparison {
    /// Every comparison; a longer sign comes before one that it begins with.
    pub(super) const ALL: [(Self, &'static str); 5] = [
        (Self::AtLeast, ">="),
        (Self::AtMost, "<="),
        (Self::Greater, ">"),
        (Self::Less, "<"),
        (Self::Equal, "="),
    ];

    /// Whether it holds between two values.
    pub fn holds<T: PartialOrd + Copy>(self, left: T, right: T) -> bool {
        match self {
            Self::Less => left < right,
            Self::AtMost => left <= right,
            Self::Equal => left == right,
            Self::AtLeast => left >= right,
            Self::Greater => left > right,
        }
    }
}

/// A number that nodes can be filtered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum NumberField {
    Weight,
    KeyLen,
    ContentLen,
    Degree,
    Emotion,
    Score,
}

/// A stage that reorders, cuts or shows a set.
#[derive(Debug, Clone, PartialEq)]
pub enum Transform {
    /// By one field or a sum of them.
    Sort(Sort),
    /// The first of the set.
    Limit(usize),
    /// A hybrid search among the set.
    Rank(Search),
    /// The number of nodes.
    Count,
    /// Rows of these columns.
    Select(Vec<ShownColumn>),
}

/// An order.
#[derive(Debug, Clone, PartialEq)]
pub struct Sort {
    /// The value that orders the nodes.
    pub by: SortBy,
    /// Whether the smallest comes first.
    pub ascending: bool,
}

/// A value that orders nodes.
#[derive(Debug, Clone, PartialEq)]
pub enum SortBy {
    /// The key.
    Key,
    /// A node's value.
    Value(SortValue),
    /// A weighted sum of values on one scale.
    Sum(Vec<(f64, SortValue)>),
}

/// A value of a node that can be sorted by.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum SortValue {
    Score,
    Weight,
    Timestamp,
    Created,
    ContentLen,
    KeyLen,
    Degree,
    Emotion,
    Clustering,
    Isolation,
    Priority,
    SpectralPriority,
    Recency(String),
}

/// A column that can be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum ShownColumn {
    Category,
    Community,
    ContentLen,
    Created,
    Degree,
    Emotion,
    Isolation,
    Key,
    Priority,
    Provenance,
    Score,
    Timestamp,
    Type,
    Weight,
}

impl ShownColumn {
    /// Every column by its name.
    pub const ALL: [(Self, &'static str); 14] = [
        (Self::Category, "category"),
        (Self::Community, "community"),
        (Self::ContentLen, "content-len"),
        (Self::Created, "created"),
        (Self::Degree, "degree"),
        (Self::Emotion, "emotion"),
        (Self::Isolation, "isolation"),
        (Self::Key, "key"),
        (Self::Priority, "priority"),
        (Self::Provenance, "provenance"),
        (Self::Score, "score"),
        (Self::Timestamp, "timestamp"),
        (Self::Type, "type"),
        (Self::Weight, "weight"),
    ];

    /// Return the name in the language.
    pub fn as_str(self) -> &'static str {
        let known = Self::ALL.iter().find(|(column, _)| *column == self);
        known.map_or("", |(_, name)| name)
    }
}

/// A way to explore the graph.
#[derive(Debug, Clone, PartialEq)]
pub enum Algorithm {
    /// Spreading activation.
    SpreadingActivation(SpreadingActivation),
    /// Where the paths from several seeds meet.
    Confluence(Confluence),
    /// Nodes near the seeds by all paths together.
    Spectral {
        /// The number of dimensions of the coordinates.
        dimensions: usize,
        /// The options of every algorithm.
        output: Output,
    },
    /// Straightest paths between seeds.
    Geodesic {
        /// The number of dimensions of the coordinates.
        dimensions: usize,
        /// Options of the paths.
        geodesic: Geodesic,
    },
    /// Further along the seeds' line.
    Manifold {
        /// The number of dimensions of the coordinates.
        dimensions: usize,
        /// The direction along the axis.
        direction: Direction,
        /// The options of every algorithm.
        output: Output,
    },
}

impl Pipeline {
    /// The hybrid searches, in the order of the stages.
    pub fn searches(&self) -> impl Iterator<Item = &Search> {
        self.stages.iter().filter_map(|stage| match stage {
            Stage::Generator(Generator::Search(search))
            | Stage::Transform(Transform::Rank(search)) => Some(search),
            _ => None,
        })
    }

    /// The types it names that not every store has: each once, by name.
    pub fn registered_types(&self) -> Vec<&str> {
        let mut types: Vec<&str> = Vec::new();
        for stage in &self.stages {
            if let Stage::Filter {
                filter: Filter::Type(kinds),
                ..
            } = stage
            {
                let own = kinds.iter().map(String::as_str);
                types.extend(own.filter(|kind| !TYPES.contains(kind)));
            }
        }
        types.sort_unstable();
        types.dedup();
        types
    }
}

impl Stage {
    /// Return the name of the stage in the language.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Generator(generator) => match generator {
                Generator::All => "all",
                Generator::Match(_) => "match",
                Generator::Search(_) => "search",
                Generator::Seed(_) => "seed",
                Generator::Neighbors(..) => "neighbors",
                Generator::Interference { .. } => "interference-pairs",
            },
            Self::Filter { filter, .. } => filter.name(),
            Self::Transform(transform) => match transform {
                Transform::Sort(_) => "sort",
                Transform::Limit(_) => "limit",
                Transform::Rank(_) => "rank",
                Transform::Count => "count",
                Transform::Select(_) => "select",
            },
            Self::Algorithm(algorithm) => match algorithm {
                Algorithm::SpreadingActivation(_) => "spread",
                Algorithm::Confluence(_) => "confluence",
                Algorithm::Spectral { .. } => "spectral",
                Algorithm::Geodesic { .. } => "geodesic",
                Algorithm::Manifold { .. } => "manifold",
            },
        }
    }
}

impl Filter {
    fn name(&self) -> &'static str {
        match self {
            Self::Type(_) => "type",
            Self::Category(_) => "category",
            Self::Key(_) => "key",
            Self::Provenance(_) => "provenance",
            Self::Community(_) | Self::CommunityOf(_) => "community",
            Self::Number(field, ..) => field.as_str(),
            Self::Age(..) => "age",
            Self::Created(..) => "created",
            Self::Visited(..) => "visited",
            Self::NotVisited(..) => "not-visited",
        }
    }
}

impl NumberField {
    /// Every field by its name.
    pub(super) const ALL: [(Self, &'static str); 6] = [
        (Self::Weight, "weight"),
        (Self::KeyLen, "key-len"),
        (Self::ContentLen, "content-len"),
        (Self::Degree, "degree"),
        (Self::Emotion, "emotion"),
        (Self::Score, "score"),
    ];

    /// Return the name in the language.
    pub fn as_str(self) -> &'static str {
        let known = Self::ALL.iter().find(|(field, _)| *field == self);
        known.map_or("", |(_, name)| name)
    }
}
