//! The files of a folder as chunks, and the memory root on them (spec/ingest.md, spec/memory.md).

pub mod chunks;
pub mod columns;
pub mod conflict;
mod error;
pub mod facts;
pub mod folder;
pub mod front_matter;
pub mod jsonl;
pub mod ledger;
pub mod links;
pub mod markdown;
pub mod marks;
pub mod names;
pub mod nodes;
pub mod page;
pub mod passages;
pub mod plain_text;
pub mod readers;
pub mod recall;
pub mod root_index;
pub mod scope;
pub mod score;
pub mod sections;
pub mod skip;
pub mod snippet;
pub mod source;
pub mod sync;
pub mod tags;
pub mod text;
pub mod times;
pub mod turns;
pub mod watch;

pub use error::EditError;
