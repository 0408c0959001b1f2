//! hedgerow's memories as a graph, in the file of an index: nodes, the pipeline language that selects
//! them, and the state of agents.
//!
//! The modules, bottom up: [`graph`], [`agents`] (what agents did, kept with the nodes),
//! [`pipeline`]; none uses those after it.

pub mod agents;
pub mod graph;
pub mod pipeline;
mod schema;
