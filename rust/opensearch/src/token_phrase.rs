//! Phrases as the tokens that the server indexes.

use hedgerow_engine::Result;
use hedgerow_engine::bm25::PhraseTokens;
use hedgerow_engine::chunks::Chunk;
use hedgerow_engine::query::Phrase;
use hedgerow_engine::text::tokenizer::TokenizerKind;

/// A phrase to search for on the server. Without tokens it matches nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenPhrase {
    /// The tokens in order, as the tokenizer of the collection makes them.
    pub tokens: Vec<String>,
    /// Whether the last token is a prefix.
    pub prefix: bool,
}

impl From<&PhraseTokens> for TokenPhrase {
    fn from(phrase: &PhraseTokens) -> Self {
        Self {
            tokens: phrase.texts().map(Into::into).collect(),
            prefix: phrase.is_prefix(),
        }
    }
}

impl TokenPhrase {
    /// Whether `window`, which has as many tokens as the phrase, is an occurrence of the phrase.
    pub(crate) fn matches(&self, window: &[String]) -> bool {
        let Some((last, others)) = self.tokens.split_last() else {
            return false;
        };
        let Some((end, before)) = window.split_last() else {
            return false;
        };
        let ends = if self.prefix {
            end.starts_with(last)
        } else {
            end == last
        };
        ends && before == others
    }
}

/// The indexed texts of a chunk: path, title, summary, tags, content.
pub(crate) fn columns(chunk: &Chunk) -> [String; 5] {
    [
        chunk.path.clone(),
        chunk.title.clone(),
        chunk.summary.clone(),
        chunk.tag_text(),
        chunk.content.clone(),
    ]
}

/// Whether a chunk has a phrase.
pub(crate) fn has_phrase(chunk: &Chunk, phrase: &Phrase, tokenizer: TokenizerKind) -> Result<bool> {
    let phrase = TokenPhrase::from(&PhraseTokens::of(phrase, tokenizer)?);
    for column in columns(chunk) {
        let tokens = tokenizer.tokens(&column)?;
        let mut windows = tokens.windows(phrase.tokens.len().max(1));
        if windows.any(|window| phrase.matches(window)) {
            return Ok(true);
        }
    }
    Ok(false)
}
