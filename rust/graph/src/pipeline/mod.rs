//! The selection language: stages from left to right over a set of nodes (spec/pipeline.md).
//!
//! [`parse()`] reads a text into an [`ast`], and `print` writes it back. Each kind of stage has a
//! file `parse_*`. [`run()`] runs it; each kind of stage has a file there too.

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
mod parse_value;
mod piece;
mod print;
mod problem;
mod run;
mod search;
mod set;
mod transforms;

pub use ast::Pipeline;
pub use outcome::{Cell, Leg, Options, Outcome, Ranked, Report};
pub use parse::{parse, parse_canonical, parse_for};
pub use problem::{Problem, ProblemKind};
pub use run::run;
