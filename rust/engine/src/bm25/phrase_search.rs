//! The chunks whose content holds a phrase, word for word, in no order and without scores.

use rusqlite::Connection;

use crate::error::Result;
use crate::text::tokenizer::TokenizerKind;

/// The ids of all chunks whose content holds these words in a row, and perhaps of others.
///
/// The index keeps stems, or trigrams: only the [`phrase_words`] of its content show whether a chunk
/// holds the words.
pub(crate) fn phrase_candidates(
    connection: &Connection,
    tokenizer: TokenizerKind,
    words: &[String],
) -> rusqlite::Result<Vec<String>> {
    if tokenizer == TokenizerKind::Trigram {
        return connection
            .prepare_cached("SELECT id FROM knowledge_chunks")?
            .query_map([], |row| row.get(0))?
            .collect();
    }
    // Words are letters and digits only: there is nothing to escape.
    let expression = format!("content : \"{}\"", words.join(" "));
    connection
        .prepare_cached(
            "SELECT chunk.id FROM knowledge_fts
              CROSS JOIN knowledge_chunks AS chunk ON chunk.row = knowledge_fts.rowid
              WHERE knowledge_fts MATCH ?",
        )?
        .query_map([expression], |row| row.get(0))?
        .collect()
}

/// The words of a text in lower case and without accents, but not stemmed.
pub fn phrase_words(text: &str) -> Result<Vec<String>> {
    let mut words = Vec::new();
    TokenizerKind::Unicode61.tokenize(text, |word| {
        words.push(String::from_utf8_lossy(word).into_owned());
        true
    })?;
    Ok(words)
}
