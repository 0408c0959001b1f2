//! Memories as a graph (spec/pipeline.md): nodes, their edges, and visits of agents.
//!
//! [`Store`] writes them into the file of an index; [`Snapshot`] is read by the pipeline language:
//! nodes in columns, edges as compressed rows. A *slot* is the index of a node in the columns.
//! Slots are in the order of ids, and sums run in that order, so that equal states give equal bits.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "slots are kept in 32 bits, and counts and times take part in sums"
)]

mod adjacency;
mod build;
mod bulk;
pub mod cluster;
pub mod column;
pub mod community;
pub mod confluence;
pub(crate) mod edge_changes;
pub mod edges;
pub mod geodesic;
#[cfg(test)]
mod histories;
pub mod interference;
pub mod manifold;
pub mod measure;
mod names;
pub mod node;
pub mod nodes;
mod purge;
pub mod ranking;
pub(crate) mod read;
mod snapshot;
pub mod spectral;
pub mod spectrum;
pub mod spread;
mod store;
mod sync;
mod topology;
pub mod types;
mod visits;
pub mod write;

pub use edges::Link;
pub use node::{Category, Node, Outcome};
pub use read::Neighbors;
pub use snapshot::{Needs, Snapshot};
pub use store::Store;
pub use sync::NodeSync;
pub use topology::Topology;
pub use types::TYPES;
pub use visits::NEVER;
pub use write::{EdgeInput, VisitInput};
