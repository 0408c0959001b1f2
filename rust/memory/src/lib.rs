//! The files of a folder as chunks, and the memory root on them (spec/ingest.md, spec/memory.md).

pub mod day_format;
pub mod edit;
pub mod facts;
pub mod folder;
pub mod format;
mod parallel;
pub mod recall;
pub mod review;
pub mod rules;
pub mod skip;
pub mod sync;
mod text;
pub mod times;
