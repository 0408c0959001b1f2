//! The files of a folder as chunks, and the memory root on them (spec/ingest.md, spec/memory.md).

pub mod facts;
pub mod folder;
pub mod ledger;
pub mod names;
pub mod scope;
pub mod skip;
pub mod sync;
pub mod tags;
pub mod text;
pub mod times;
pub mod watch;
