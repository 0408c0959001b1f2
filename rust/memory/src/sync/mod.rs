//! Syncs: files into an index and a store, and the ledger of the files that were read (spec/memory.md, "Sync").

pub(crate) mod file_node;
pub(crate) mod files_index;
pub(crate) mod freshness;
pub(crate) mod index;
pub(crate) mod ledger;
pub(crate) mod nodes;
pub(crate) mod reading;
pub(crate) mod root;
pub(crate) mod run;
pub(crate) mod store;

pub use files_index::{FilesRun, FoundFile, LONGEST_QUEUE, Report};
pub use freshness::FileCheck;
pub use ledger::Ledger;
pub use nodes::{LinkedFile, Nodes};
pub use root::{NodeState, RootSync, written_files};
pub use run::Folder;
