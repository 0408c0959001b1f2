//! The tokens of a text.

use std::ops::Range;

/// Marks tokens at the position of another: before a stem or a word with symbols, after the last unit of a run.
pub const COLOCATED: char = '\u{1}';

/// A token of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token<'t> {
    /// The bytes that are stored.
    pub text: &'t [u8],
    /// Where it is in the text, in bytes.
    pub range: Range<usize>,
    /// Whether it has the position of the token before it.
    pub colocated: bool,
}
