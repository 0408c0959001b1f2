//! Text as the query language defines it, in JavaScript's terms (spec/normalise.md).

pub mod category;
pub mod glob;
pub mod lower;
pub mod marks;
pub mod normalise;
pub mod pattern;
pub mod slug;
pub mod snippet;
pub mod suggest;
pub mod tokenizer;
pub mod trigram;
pub mod utf16;
pub mod whitespace;
