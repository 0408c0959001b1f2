//! The chunks whose content holds a phrase, word for word, in no order and without scores.

use super::read::chunk_of;
use super::session::Session;
use crate::error::Result;
use crate::text::tokenizer::TokenizerKind;

impl Session<'_> {
    /// The ids of the chunks whose content may contain these words in a row, none of them missing.
    ///
    /// The index has stems or parts of words only, so each needs [`Session::holds_phrase`].
    pub fn phrase_candidates(&self, words: &[String]) -> Result<Vec<String>> {
        self.read(|connection| {
            if self.index.tokenizer == TokenizerKind::Trigram {
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
        })
    }

    /// Whether the content of a chunk contains these words in a row.
    pub fn holds_phrase(&self, id: &str, words: &[String]) -> Result<bool> {
        let Some(chunk) = self.read(|connection| chunk_of(connection, id))? else {
            return Ok(false);
        };
        let found = phrase_words(&chunk.content)?;
        Ok(found.windows(words.len()).any(|window| window == words))
    }
}

/// The words of a text as they stand: folded to lower case and without accents, not to stems.
pub fn phrase_words(text: &str) -> Result<Vec<String>> {
    let mut words = Vec::new();
    TokenizerKind::Unicode61.tokenize(text, |word| {
        words.push(String::from_utf8_lossy(word).into_owned());
        true
    })?;
    Ok(words)
}
