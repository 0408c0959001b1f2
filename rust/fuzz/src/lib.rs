//! The functions of fuzzing: each reader of foreign bytes, with any bytes at all.
//!
//! None may panic, hang or use memory without bound. A damaged file is an error that says so, and
//! never one that asks the user to report it.
//!
//! libFuzzer calls these functions (`make fuzz`), and so does `cargo test`, which compiles this
//! file a second time (`rust/graph/tests/fuzz.rs`).
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a target fails by panicking"
)]

mod damage;
mod language;

pub use damage::{postings, rows, template, vectors};
pub use language::{pipeline, query, tokens};

/// A function that must return, whatever it is given.
pub type Target = fn(&[u8]);

/// Every target with its name, which its folder of seeds has too.
pub const TARGETS: [(&str, Target); 6] = [
    ("pipeline", pipeline),
    ("postings", postings),
    ("query", query),
    ("rows", rows),
    ("tokens", tokens),
    ("vectors", vectors),
];
