//! Finding slugs that look like a word, by their trigrams (spec/retrieval.md, "The ladder").

mod merge;
mod segment;
mod slugs;
#[cfg(test)]
mod tests;

pub use segment::THRESHOLD;

pub(crate) use merge::merge_when_due;
pub(crate) use segment::{SlugEntry, SlugSegment};
pub(crate) use slugs::Slugs;
