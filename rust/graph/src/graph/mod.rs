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
pub mod manifold;
pub mod measure;
mod names;
pub mod node;
pub mod nodes;
pub mod ranking;
pub(crate) mod read;
mod rows;
mod snapshot;
pub mod spectral;
pub mod spectrum;
pub mod spread;
mod topology;
pub mod types;
mod visits;
pub mod write;

use std::path::Path;
use std::sync::{Arc, Mutex};

use hedgerow_engine::bm25::BM25;
use hedgerow_engine::chunks::CHUNKS;
use hedgerow_engine::error::Result;
use hedgerow_engine::index::{Index, Methods};
use hedgerow_engine::retrieval::FuzzyChunks;
use hedgerow_engine::storage::{Location, Subjects};
use hedgerow_engine::text::tokenizer::TokenizerKind;
use hedgerow_engine::vectors::VECTORS;

use crate::schema::{AGENTS, NODES};

pub use node::{Category, Node, Outcome};
pub use read::Neighbours;
pub use snapshot::{Needs, Snapshot};
pub use topology::Topology;
pub use types::TYPES;
pub use visits::NEVER;
pub use write::{Edge, Visit};

/// What a store keeps in its file.
const SUBJECTS: Subjects = &[&CHUNKS, &BM25, &VECTORS, &NODES, &AGENTS];

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
        Self::open_at(Location::file(path, false, SUBJECTS)?)
    }

    /// Make a store in memory, gone with the handle.
    pub fn in_memory() -> Result<Self> {
        Self::open_at(Location::memory(SUBJECTS))
    }

    fn open_at(location: Location) -> Result<Self> {
        let (tokenizer, methods) = (TokenizerKind::default(), Methods::default());
        Index::open_at(location, tokenizer, false, methods).map(Self::of)
    }

    fn of(index: Index) -> Self {
        Self {
            kept: snapshot::Kept::new(index.database().background()),
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
