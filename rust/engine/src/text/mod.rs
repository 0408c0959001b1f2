//! Text as the query language defines it, in JavaScript's terms (spec/normalise.md).

pub mod category;
pub mod edits;
pub mod glob;
pub mod lower;
pub mod marks;
mod marks_by_token;
pub mod normalise;
pub mod pattern;
mod registered;
pub mod slug;
pub mod snippet;
pub mod speech;
pub mod suggest;
pub mod tokenizer;
pub mod trigram;
pub mod utf16;
pub mod whitespace;
pub mod words;

pub use registered::register;
