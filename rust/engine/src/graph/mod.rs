//! Memories as a graph (spec/pipeline.md): nodes, the edges between them, and who visited them.
//!
//! [`Store`] writes them into the file of an index; [`Snapshot`] is what the pipeline language
//! reads: nodes in columns, edges as compressed rows. A *place* is where a node stands in the
//! columns. Places are in the order of ids, and sums run in that order, so that they are the same
//! to the bit whatever was asked before.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "places are kept in 32 bits, and counts and times take part in sums"
)]

pub mod agents;
mod build;
pub mod cluster;
pub mod column;
pub mod community;
pub mod confluence;
pub mod edges;
pub mod geodesic;
#[cfg(test)]
mod histories;
pub mod interference;
mod links;
mod load;
pub mod manifold;
pub mod measure;
mod names;
pub mod node;
pub mod nodes;
pub mod ranking;
mod read;
mod rows;
mod snapshot;
pub mod spectral;
pub mod spectrum;
pub mod spread;
mod sync;
mod topology;
pub mod types;
mod visits;
pub mod write;

use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::error::Result;
use crate::index::Index;
use crate::retrieval::FuzzyChunks;
use crate::text::tokenizer::TokenizerKind;

pub use node::{Category, Node, Outcome};
pub use read::Neighbours;
pub use snapshot::{Needs, Snapshot};
pub use sync::NodeSync;
pub use topology::Topology;
pub use types::TYPES;
pub use visits::NEVER;
pub use write::{Edge, Visit};

/// Nodes, edges and visits in the file of an index, for use from many threads at once.
pub struct Store {
    index: Arc<Index>,
    kept: snapshot::Kept,
    fuzzy: FuzzyChunks,
    types: Mutex<Vec<String>>,
}

impl Store {
    /// Open the file of an index, made first when there is none.
    pub fn open(path: &Path) -> Result<Self> {
        Index::open(path, TokenizerKind::default(), false).map(Self::of)
    }

    /// Make a store in memory, gone with the handle.
    pub fn in_memory() -> Result<Self> {
        Index::in_memory(TokenizerKind::default()).map(Self::of)
    }

    fn of(index: Index) -> Self {
        Self {
            kept: snapshot::Kept::new(index.background()),
            index: Arc::new(index),
            fuzzy: FuzzyChunks::own(),
            types: Mutex::default(),
        }
    }

    /// The index that finds the nodes: each live one is a chunk, its key for id and path.
    pub fn index(&self) -> &Arc<Index> {
        &self.index
    }

    /// What searches fall back on when no word is found.
    pub fn fuzzy(&self) -> &FuzzyChunks {
        &self.fuzzy
    }
}
