//! The selection language: stages from left to right over a set of nodes (spec/pipeline.md).
//!
//! Reading it: [`parse()`] and what it calls, one family of stages a file, with [`ast`] for what
//! comes out and `print` for the way back. Running it: [`run()`], with the same families.

mod algorithms;
pub mod ast;
mod fields;
mod filters;
mod generators;
#[cfg(test)]
mod interrupted;
mod matching;
mod needs;
mod outcome;
mod parse;
mod parse_algorithm;
mod parse_filter;
mod parse_generator;
mod parse_transform;
mod print;
mod problem;
mod run;
mod search;
mod set;
mod text;
mod transforms;
mod values;

pub use ast::Pipeline;
pub use outcome::{Cell, Leg, Options, Outcome, Ranked, Report};
pub use parse::{parse, parse_for};
pub use problem::{Problem, ProblemKind};
pub use run::run;
