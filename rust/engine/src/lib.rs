//! hedgerow's engine: the query language, the embedded index and the ranking.
//!
//! It knows nothing of Python, prints nothing, reads no clock and draws no random numbers, except for the
//! identity of a file: the same input over the same index gives the same bytes. The modules, bottom up:
//! [`sync`] (locks, atomics and threads), [`text`], [`calendar`], [`query`], [`storage`] (the SQLite file), [`chunks`], then
//! [`bm25`], [`vectors`], [`fuzzy`] and [`sources`], which know nothing of each other, [`static_table`] (vectors
//! of words), [`index`] (the handle), [`retrieval`]. Each may use those before it, never those after.

pub mod bm25;
pub mod calendar;
pub mod chunks;
pub mod error;
pub mod fuzzy;
pub mod index;
pub mod interrupt;
mod named;
pub mod query;
pub mod retrieval;
pub mod rule;
pub mod rules;
pub mod sources;
pub mod static_table;
pub mod storage;
pub mod sync;
pub mod text;
pub mod top_k;
pub mod unit_vector;
pub mod vectors;

pub use error::{Error, ErrorCode, ErrorKind, Fix, Result};
