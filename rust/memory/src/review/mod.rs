//! Reviews of all memories of a root: lint, audit, near-duplicates, quotes and secrets (spec/memory.md,
//! "Processing", "Forgetting").

pub(crate) mod audit;
pub(crate) mod chosen;
pub(crate) mod conflict_copies;
pub(crate) mod copies;
pub(crate) mod documents;
pub mod duplicates;
pub(crate) mod fingerprint;
pub(crate) mod lint;
pub(crate) mod quotes;
pub(crate) mod secrets;
pub(crate) mod selection;

pub use audit::audit;
pub use conflict_copies::conflict_copies;
pub use documents::{Documents, StoredDocument};
pub use fingerprint::Fingerprint;
pub use lint::lint;
pub use quotes::{SearchLimits, files_with};
pub use secrets::{find_secrets, without_secrets};
pub use selection::{Selection, topic_words};
