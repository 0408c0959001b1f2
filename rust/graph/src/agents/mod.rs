//! The work of agents on a store (spec/agents.md): their runs, the nodes that a run claims, and the
//! actions that end it, all in one transaction.

mod action;
mod apply;
mod claims;
mod effects;
mod runs;

pub use action::Action;
pub use apply::{Reasons, RunOutcome};
pub use runs::{AgentRun, Record, RunHistory, RunRequest, RunStatus, StartedRun};
