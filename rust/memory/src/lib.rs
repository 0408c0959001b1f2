//! The files of a folder as chunks, and the memory root on them (spec/ingest.md, spec/memory.md).

pub mod folder;
pub mod ledger;
pub mod skip;
pub mod sync;
