//! Facts: what a memory states about itself and about other memories (spec/memory.md, "Sync", "What holds").

pub(crate) mod document;
pub(crate) mod file;
pub(crate) mod key;
pub(crate) mod marks;
pub(crate) mod names;
pub(crate) mod scope;

pub use file::{FileFacts, TIME_FIELDS, is_retracted, memory_time, session_id};
pub use marks::{Validity, Why};
pub use names::{FileTitles, Names};
pub use scope::{Scope, Visibility, scope_id};
