//! hedgerow's engine: the query language, the embedded index and the ranking.
//!
//! It knows nothing of Python, prints nothing, reads no clock and draws no random numbers: the
//! same input over the same index gives the same bytes. The floors, bottom up: [`text`],
//! [`query`], [`index`], [`retrieval`], [`graph`], [`pipeline`]; each may use those before it, never
//! those after.

pub mod error;
pub mod graph;
pub mod index;
pub mod interrupt;
pub mod pipeline;
pub mod query;
pub mod retrieval;
pub mod text;

pub use error::{Error, ErrorCode, ErrorKind, Result};
