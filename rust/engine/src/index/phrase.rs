//! The chunks whose content holds a phrase, word for word, in no order and without scores.

use super::Index;
use crate::error::Result;
use crate::text::tokenizer::TokenizerKind;

impl Index {
    /// The ids of the chunks whose content may hold these words in a row: all that do are there.
    ///
    /// What the index keeps are stems, or pieces of words: whether a chunk does is for
    /// [`Index::holds_phrase`] to say.
    pub fn phrase_candidates(&self, words: &[String]) -> Result<Vec<String>> {
        self.read(|connection| {
            if self.tokenizer == TokenizerKind::Trigram {
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

    /// Whether the content of a chunk holds these words in a row.
    pub fn holds_phrase(&self, id: &str, words: &[String]) -> Result<bool> {
        let Some(chunk) = self.get(id)? else {
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
