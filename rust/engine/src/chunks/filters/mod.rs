//! Conditions on chunks, applied before ranking (spec/filters.md).

mod condition;
mod field;
mod filter;
mod functions;
mod json;
mod parse;
mod problem;
mod rows;
mod where_and_period;

pub(crate) use condition::{Comparison, Condition, Test};
pub(crate) use field::{Field, TestedChunk};
pub use filter::Filters;
pub(super) use functions::{damaged, register, to_json};
#[cfg(test)]
pub(crate) use json::{comparable, compare};
pub(crate) use rows::text_array;
pub use where_and_period::{Period, Where};
