//! The words of an index, for queries that spell them in another way.

use super::session::Session;
use crate::bm25::{NearTerm, PhraseTokens};
use crate::chunks::{Filters, Texts};
use crate::error::Result;
use crate::query::{Phrase, Vocabulary};
use crate::text::lower::lower;
use crate::text::tokenizer::{LONGEST_TOKEN, TokenizerKind};
use crate::text::words::Mode;

/// The name of rows of near words in messages.
const SPELLING: &str = "another spelling";

/// The words of the texts that pass some filters, in one state of an index.
pub(crate) struct IndexVocabulary<'s> {
    pub session: &'s Session<'s>,
    pub filters: &'s Filters,
}

impl Vocabulary for IndexVocabulary<'_> {
    fn count(&self, phrase: &Phrase, most: usize) -> Result<usize> {
        let allowed_rows = self.session.allowed_rows(&Filters::default())?;
        let bm25 = self.session.bm25(allowed_rows.as_deref())?;
        self.session.read(|_| bm25.count(phrase, most))
    }

    fn held(&self, mut phrases: Vec<Phrase>) -> Result<Vec<Phrase>> {
        // Most phrases are in no text at all, and so do not need the rows that pass the filters.
        for filters in [&Filters::default(), self.filters] {
            if phrases.is_empty() {
                break;
            }
            let allowed_rows = self.session.allowed_rows(filters)?;
            let bm25 = self.session.bm25(allowed_rows.as_deref())?;
            let mut held = Vec::new();
            for phrase in phrases {
                if self.session.read(|_| bm25.count(&phrase, 1))? > 0 {
                    held.push(phrase);
                }
            }
            phrases = held;
            if self.filters.is_empty() {
                break;
            }
        }
        Ok(phrases)
    }

    fn nearest(&self, word: &str) -> Result<Vec<String>> {
        let allowed_rows = self.session.allowed_rows(self.filters)?;
        let bm25 = self.session.bm25(allowed_rows.as_deref())?;
        let sought = Phrase::of_text(word);
        let near = self.session.read(|_| bm25.nearest(&sought))?;
        let rows: Vec<_> = near.iter().map(|one| (one.row, SPELLING)).collect();
        let mut words = Vec::with_capacity(near.len());
        for (near, texts) in near.iter().zip(self.session.texts(&rows)?) {
            words.extend(word_of(near, &texts, bm25.tokenizer)?);
        }
        Ok(words)
    }
}

/// Return the first word of a text with this term, in lower case; None if the term does not find the word
/// alone.
fn word_of(near: &NearTerm, texts: &Texts, tokenizer: TokenizerKind) -> Result<Option<String>> {
    let tags = texts.tags.join(" ");
    for text in [
        &texts.content,
        &texts.title,
        &texts.summary,
        &tags,
        &texts.path,
    ] {
        let mut range = None;
        tokenizer.tokenize(text, Mode::Document, |token| {
            let stored = &token.text[..token.text.len().min(LONGEST_TOKEN)];
            if !token.colocated && stored == near.term {
                range = Some(token.range);
            }
            range.is_none()
        })?;
        if let Some(word) = range.and_then(|range| text.get(range)) {
            let word = lower(word.to_owned());
            let tokens = PhraseTokens::of(&Phrase::of_text(&word), tokenizer)?;
            let is_same = tokens.only_token() == Some(&near.term);
            return Ok(is_same.then_some(word));
        }
    }
    Ok(None)
}
