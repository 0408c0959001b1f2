//! Retrieval over a collection on a server of OpenSearch (spec/opensearch.md).
//!
//! The server stores, counts and preselects chunks. Everything that makes up a score is computed here,
//! so that ids, order and scores are those of an index of the same chunks. This crate sends no requests:
//! its caller implements [`PointInTime`] with a client of the server and gives it to a
//! [`RemoteCollection`], which the engine searches like an index.

mod collection;
mod keyword_query;
mod keywords;
mod point_in_time;
mod reader;
mod row_numbers;
mod token_phrase;
mod vectors;

pub use collection::RemoteCollection;
pub use keyword_query::KeywordQuery;
pub use point_in_time::{
    KeywordHit, PathEntry, PointInTime, Preselection, ServerSpread, SpreadOf, VectorHit,
};
pub use token_phrase::TokenPhrase;
