//! The chunks whose content holds a phrase, word for word, in no order and without scores.

use rusqlite::Connection;

use crate::error::Result;
use crate::query::Phrase;
use crate::text::tokenizer::TokenizerKind;
use crate::text::words::{self, Mode, Parts};

/// Words in a row as a content holds them, without case and accents, but not stemmed.
#[derive(Debug)]
pub struct ContentPhrase {
    words: Vec<String>,
    /// The FTS5 expression that finds all chunks that may contain the phrase; None if FTS5 cannot
    /// find them.
    expression: Option<String>,
    tokenizer: TokenizerKind,
}

impl ContentPhrase {
    /// The phrase of a text in an index with a tokenizer. Fails if the tokenizer fails.
    pub fn of(text: &str, tokenizer: TokenizerKind) -> Result<Self> {
        let words = cut(text, tokenizer)?;
        let phrase = match tokenizer {
            TokenizerKind::Trigram => None,
            TokenizerKind::Words => {
                let parts = Parts::of(text);
                Some(Phrase {
                    prefix: parts.ends_with_unit(),
                    text: parts.text,
                    ..Phrase::default()
                })
            }
            TokenizerKind::Porter | TokenizerKind::Unicode61 => Some(Phrase {
                text: words.join(" "),
                ..Phrase::default()
            }),
        };
        Ok(Self {
            words,
            expression: phrase.map(|phrase| format!("content : {phrase}")),
            tokenizer,
        })
    }

    /// Whether the phrase has zero words.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Whether a content holds the words in a row.
    pub fn is_in(&self, content: &str) -> Result<bool> {
        let found = cut(content, self.tokenizer)?;
        let mut windows = found.windows(self.words.len().max(1));
        Ok(windows.any(|window| window == self.words))
    }

    /// The ids of all chunks whose content holds the phrase, and perhaps of others: the index keeps stems,
    /// or trigrams, so each needs [`Self::is_in`].
    pub(crate) fn candidates(&self, connection: &Connection) -> rusqlite::Result<Vec<String>> {
        let Some(expression) = &self.expression else {
            return connection
                .prepare_cached("SELECT id FROM knowledge_chunks")?
                .query_map([], |row| row.get(0))?
                .collect();
        };
        connection
            .prepare_cached(
                "SELECT chunk.id FROM knowledge_fts
                  CROSS JOIN knowledge_chunks AS chunk ON chunk.row = knowledge_fts.rowid
                  WHERE knowledge_fts MATCH ?",
            )?
            .query_map([expression], |row| row.get(0))?
            .collect()
    }
}

/// The words of a text in lower case and without accents, but not stemmed; of scripts without spaces the
/// characters.
fn cut(text: &str, tokenizer: TokenizerKind) -> Result<Vec<String>> {
    if tokenizer == TokenizerKind::Words {
        return Ok(words::plain_words(text));
    }
    let mut words = Vec::new();
    TokenizerKind::Unicode61.tokenize(text, Mode::Document, |word| {
        words.push(String::from_utf8_lossy(word.text).into_owned());
        true
    })?;
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_a_row_are_in_a_content() {
        let holds = |tokenizer, phrase: &str, content: &str| {
            ContentPhrase::of(phrase, tokenizer)
                .unwrap()
                .is_in(content)
                .unwrap()
        };
        for tokenizer in [TokenizerKind::Porter, TokenizerKind::Words] {
            assert!(holds(tokenizer, "winter Garden", "a winter gárden"));
            assert!(!holds(tokenizer, "winter", "winters"));
            assert!(!holds(tokenizer, "garden winter", "winter garden"));
        }
        for (phrase, content, expected) in [
            ("都庁", "東京都庁に", true),
            ("都", "東京都庁に", true),
            ("京庁", "東京都庁に", false),
            ("кустами", "под кустами", true),
            ("кустам", "под кустами", false),
        ] {
            assert_eq!(holds(TokenizerKind::Words, phrase, content), expected);
        }
    }
}
