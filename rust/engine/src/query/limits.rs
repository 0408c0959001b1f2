//! How large a query may be (spec/query.md, "Limits").

use crate::error::{Error, ErrorCode, Result};

/// Bytes of UTF-8 in the text as given.
pub const MAX_TEXT_BYTES: usize = 64 * 1024;
/// Tokens after parsing, a phrase counting as many as it has words.
pub const MAX_TOKENS: usize = 4_096;
/// Tokens after alias expansion.
pub const MAX_EXPANDED_TOKENS: usize = 8_192;

/// Refuse a text that is too long.
pub fn check_text(raw: &str) -> Result<()> {
    if raw.len() <= MAX_TEXT_BYTES {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::QueryTextTooLarge,
        format!(
            "the query has {} bytes of UTF-8 and the limit is {MAX_TEXT_BYTES}; shorten it",
            raw.len()
        ),
    ))
}

/// Refuse a query of too many tokens, whose texts are given.
///
/// FTS5 looks every word of a phrase up, and every part of a word with punctuation inside.
pub fn check_tokens<S: AsRef<str>>(raw: &str, tokens: impl Iterator<Item = S>) -> Result<()> {
    // As many tokens take at least as many bytes.
    if raw.len() <= MAX_TOKENS {
        return Ok(());
    }
    check_count(tokens.map(|token| words(token.as_ref())).sum())
}

/// The words in the text of a token, at least 1: letters and digits in a row are one.
fn words(text: &str) -> usize {
    let separated = text.split(|c: char| !c.is_alphanumeric());
    separated.filter(|word| !word.is_empty()).count().max(1)
}

/// Refuse to look for too many trigrams.
pub fn check_trigrams<'t>(phrases: impl Iterator<Item = &'t str>) -> Result<()> {
    check_count(phrases.map(|text| text.chars().count()).sum())
}

/// Refuse a query of too many tokens.
pub fn check_count(count: usize) -> Result<()> {
    if count <= MAX_TOKENS {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::TooManyTokens,
        format!("the query has {count} tokens and the limit is {MAX_TOKENS}; shorten it"),
    ))
}

/// Refuse a query that aliases made too large.
pub fn check_expanded(count: usize) -> Result<()> {
    if count <= MAX_EXPANDED_TOKENS {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::TooManyAliasTokens,
        format!(
            "the query has {count} tokens after alias expansion and the limit is \
             {MAX_EXPANDED_TOKENS}; shorten it or the lists of alternatives"
        ),
    ))
}
