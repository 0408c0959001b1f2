//! The files below a folder (spec/ingest.md, "Which files").

mod patterns;
mod place;
mod signature;
pub(crate) mod source;
mod walk;
pub(crate) mod watch;

pub use patterns::Patterns;
pub use signature::{Signature, now};
pub use source::{SourceFile, Unreadable, decode, text_of, title_from_name};
pub use walk::{Listing, PassedBy, Reason, Rules, list};
pub use watch::Watch;

pub(crate) use walk::MARKS_OF_TOOLS;
