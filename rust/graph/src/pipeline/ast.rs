//! What a pipeline means: its stages, with every value read and checked.

use crate::graph::confluence::Confluence;
use crate::graph::geodesic::Geodesic;
use crate::graph::manifold::Direction;
use crate::graph::ranking::Shape;
use crate::graph::spread::Spread;
use crate::graph::{Category, TYPES};
use hedgerow_engine::retrieval::Mode;
use hedgerow_engine::text::glob::Glob;

/// Stages, run from left to right. Printed, it parses to the same again.
#[derive(Debug, Clone, PartialEq)]
pub struct Pipeline {
    /// The stages, from the one that makes the set.
    pub stages: Vec<Stage>,
    /// Whether the text leaves the first stage, `all`, out.
    pub(super) implicit: bool,
}

/// One stage.
#[derive(Debug, Clone, PartialEq)]
pub enum Stage {
    /// Makes a set.
    Generator(Generator),
    /// Keeps what passes.
    Filter {
        /// Keeps what does not pass instead.
        negated: bool,
        /// What must hold.
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
    /// The nodes that have these terms in their key, or else in what they say.
    Match(Vec<String>),
    /// What a hybrid search finds.
    Search(Search),
    /// These keys, each with its score.
    Seed(Vec<(String, f64)>),
    /// What is joined to a node, at least so strongly.
    Neighbors(String, f64),
    /// Pairs that mean nearly the same, in different communities.
    Interference {
        /// The least cosine.
        min_similarity: f64,
        /// How many pairs.
        max_pairs: usize,
    },
}

/// A hybrid search.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    /// The query.
    pub query: String,
    /// How many results.
    pub limit: usize,
    /// Which legs.
    pub mode: Mode,
}

/// What a node must be.
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    /// One of these types.
    Type(Vec<String>),
    /// One of these categories.
    Category(Vec<Category>),
    /// A key like this.
    Key(Glob),
    /// A provenance like this.
    Provenance(Glob),
    /// In the community of this id.
    Community(i64),
    /// In the community of the node of this key.
    CommunityOf(String),
    /// A number that compares like this.
    Number(NumberField, Comparison, f64),
    /// Changed so long ago, in seconds.
    Age(Comparison, i64),
    /// Made so long ago, in seconds.
    Created(Comparison, i64),
    /// Visited by an agent, within so many seconds where they are given.
    Visited(String, Option<i64>),
    /// The complement of that.
    NotVisited(String, Option<i64>),
}

/// How two values compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "they say it themselves")]
pub enum Comparison {
    Less,
    AtMost,
    Equal,
    AtLeast,
    Greater,
}

impl Comparison {
    /// Every one; longer ones before those they begin with.
    pub(super) const ALL: [(Self, &'static str); 5] = [
        (Self::AtLeast, ">="),
        (Self::AtMost, "<="),
        (Self::Greater, ">"),
        (Self::Less, "<"),
        (Self::Equal, "="),
    ];

    /// Whether it holds.
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

/// A number that nodes are filtered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "they say it themselves")]
pub enum NumberField {
    Weight,
    KeyLen,
    ContentLen,
    Degree,
    Emotion,
    Score,
}

/// What reorders, cuts or shows a set.
#[derive(Debug, Clone, PartialEq)]
pub enum Transform {
    /// By one field or a sum of them.
    Sort(Sort),
    /// The first of the set.
    Limit(usize),
    /// A hybrid search among the set.
    Rank(Search),
    /// How many there are.
    Count,
    /// Rows of these columns.
    Select(Vec<Column>),
}

/// An order.
#[derive(Debug, Clone, PartialEq)]
pub struct Sort {
    /// What it is by.
    pub by: SortBy,
    /// Whether the least comes first.
    pub ascending: bool,
}

/// What an order is by.
#[derive(Debug, Clone, PartialEq)]
pub enum SortBy {
    /// The key.
    Key,
    /// A value as it is.
    Value(Value),
    /// A sum of values that are brought to one scale.
    Sum(Vec<(f64, Value)>),
}

/// A value of a node that can be sorted by.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "they say it themselves")]
pub enum Value {
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
#[allow(missing_docs, reason = "they say it themselves")]
pub enum Column {
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

impl Column {
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

    /// The word users see.
    pub fn as_str(self) -> &'static str {
        let known = Self::ALL.iter().find(|(column, _)| *column == self);
        known.map_or("", |(_, name)| name)
    }
}

/// A way to explore the graph.
#[derive(Debug, Clone, PartialEq)]
pub enum Algorithm {
    /// Spreading activation.
    Spread(Spread),
    /// Where ways from several seeds meet.
    Confluence(Confluence),
    /// What is near by all ways at once.
    Spectral {
        /// Of the coordinates.
        dimensions: usize,
        /// How the result is handed over.
        shape: Shape,
    },
    /// Straightest paths between seeds.
    Geodesic {
        /// Of the coordinates.
        dimensions: usize,
        /// The paths.
        geodesic: Geodesic,
    },
    /// Further along the seeds' line.
    Manifold {
        /// Of the coordinates.
        dimensions: usize,
        /// Which way.
        direction: Direction,
        /// How the result is handed over.
        shape: Shape,
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

    /// The types it names that not every store has, each once.
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
    /// The word it is known by.
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
                Algorithm::Spread(_) => "spread",
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

    /// The word users see.
    pub fn as_str(self) -> &'static str {
        let known = Self::ALL.iter().find(|(field, _)| *field == self);
        known.map_or("", |(_, name)| name)
    }
}
