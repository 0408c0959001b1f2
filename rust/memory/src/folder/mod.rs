//! The files below a folder (spec/ingest.md, "Which files").

mod patterns;
mod place;
mod signature;
mod walk;

pub use patterns::Patterns;
pub use signature::{Signature, now};
pub(crate) use walk::MARKS_OF_TOOLS;
pub use walk::{Listing, PassedBy, Reason, Rules, list};
