//! The terms of an index that resemble a word which no text has.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::str;

use rusqlite::Connection;

use super::load_error::LoadError;
use super::outline::Outline;
use super::phrase::{PhrasePostings, PhraseTokens, end_of_prefix};
use super::search::Bm25;
use super::segment::{Builder, Segment};
use super::segment_view::SegmentView;
use super::stored;
use super::term_batch::Batches;
use crate::chunks::RowSet;
use crate::interrupt::{CancelTicker, check_reading};
use crate::query::Phrase;
use crate::rule;
use crate::storage::WorkError;
use crate::text::edits::{LETTERS_FOR_TWO_EDITS, edits};
use crate::text::lower::lower;
use crate::text::tokenizer::TokenizerKind;

/// Terms with fewer letters are compared with nothing.
const LEAST_LETTERS: usize = 3;
/// The most terms that are found.
const MOST: usize = 3;

rule! {
    /// A word to which no word of the texts is near is also searched as the word that it begins with.
    pub(crate) static ENDINGS = "endings" { LONGEST_ENDING, LEAST_BEFORE_ENDING }
}
/// The most letters of such an ending. It is shorter than the rest of the word.
const LONGEST_ENDING: usize = 4;
/// The fewest letters before such an ending.
const LEAST_BEFORE_ENDING: usize = 4;

/// Approximate bytes of FTS5's index decoded together.
const BATCH_BYTES: usize = 1 << 18;

/// A term that resembles a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NearTerm {
    pub term: Vec<u8>,
    /// The first row that has it, among those that may be found.
    pub row: i64,
}

/// A term, with the number of its edits, and where its postings are.
#[derive(Debug, Default)]
struct TermCandidate {
    edits: usize,
    /// Parts and the slots of the term in them.
    slots: Vec<(usize, usize)>,
}

impl Bm25<'_> {
    /// Return the number of rows with a phrase among those that may be found. Counts no further than `most`.
    pub fn count(&self, phrase: &Phrase, most: usize) -> Result<usize, WorkError> {
        let tokens = PhraseTokens::of(phrase, self.tokenizer)?;
        let is_allowed = |row: &i64| self.passing.is_none_or(|rows: &RowSet| rows.contains(*row));
        let Some(snapshot) = self.snapshot else {
            return Ok(stored_count(self.connection, phrase, is_allowed, most)?);
        };
        let mut pace = CancelTicker::default();
        let mut count = 0;
        for part in snapshot.parts() {
            let found = PhrasePostings::find(&part.segment, &tokens, &mut pace)?;
            let live = found
                .chunks
                .iter()
                .filter(|chunk| !part.deleted.contains(**chunk));
            let rows = live.map(|chunk| part.segment.row(*chunk));
            count += rows.filter(is_allowed).take(most - count).count();
        }
        Ok(count)
    }

    /// The terms that become the term of a word by one edit or two, begin with its letter and have a row that
    /// may be found: those with the fewest edits, the most frequent first. If there is none, the terms that become the
    /// word itself: the stem of a misspelled word may be another, as *calend* of *calender*. None are found if the
    /// stored terms contradict each other, which a check of the file reports.
    pub fn nearest(&self, phrase: &Phrase) -> Result<Vec<NearTerm>, WorkError> {
        let tokens = PhraseTokens::of(phrase, self.tokenizer)?;
        let word = tokens
            .only_token()
            .and_then(|token| str::from_utf8(token).ok());
        let Some(word) = SpellingTarget::of(word.unwrap_or_default()) else {
            return Ok(Vec::new());
        };
        let text = lower(phrase.text.clone());
        let whole = SpellingTarget::of(&text).filter(|whole| {
            text.is_ascii() && whole.first == word.first && whole.letters != word.letters
        });
        if let Some(snapshot) = self.snapshot {
            return Ok(word.nearest(whole.as_ref(), snapshot.parts(), self.passing)?);
        }
        match stored_terms(self.connection, self.tokenizer, word.first) {
            Ok(segment) => {
                Ok(word.nearest(whole.as_ref(), &[SegmentView::new(segment)], self.passing)?)
            }
            Err(LoadError::Sqlite(error)) => Err(error.into()),
            Err(LoadError::NotLoadable(_)) => Ok(Vec::new()),
        }
    }
}

/// [`Bm25::count`] by FTS5.
fn stored_count(
    connection: &Connection,
    phrase: &Phrase,
    is_allowed: impl Fn(&i64) -> bool,
    most: usize,
) -> rusqlite::Result<usize> {
    let sql = "SELECT rowid FROM knowledge_fts WHERE knowledge_fts MATCH ?";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([phrase.to_string()])?;
    let mut count = 0;
    while count < most
        && let Some(row) = rows.next()?
    {
        count += usize::from(is_allowed(&row.get(0)?));
    }
    Ok(count)
}

/// The terms that FTS5 stored with a first letter, and their postings.
fn stored_terms(
    connection: &Connection,
    tokenizer: TokenizerKind,
    first: &str,
) -> Result<Segment, LoadError> {
    let (rows, _) = stored::lengths(connection)?;
    let mut builder = Builder::new(rows.len(), tokenizer);
    let mut batches = Batches::from(connection, BATCH_BYTES, first.as_bytes())?;
    while let Some(batch) = batches.next()? {
        check_reading()?;
        batch.decode(&rows, &mut builder)?;
        if batch
            .last_term()
            .is_some_and(|term| term > first.as_bytes() && !term.starts_with(first.as_bytes()))
        {
            break;
        }
    }
    Ok(builder.finish_terms(rows)?)
}

/// A word that terms are compared with.
struct SpellingTarget<'w> {
    first: &'w str,
    letters: Vec<char>,
    outline: Outline,
    most: usize,
}

impl<'w> SpellingTarget<'w> {
    /// None for a term that no other can resemble.
    fn of(word: &'w str) -> Option<Self> {
        let letters: Vec<char> = word.chars().collect();
        let most = match letters.len() {
            ..LEAST_LETTERS => return None,
            LEAST_LETTERS..LETTERS_FOR_TWO_EDITS => 1,
            _ => 2,
        };
        Some(Self {
            first: word.get(..letters.first()?.len_utf8())?,
            outline: Outline::of(word.as_bytes())?,
            letters,
            most,
        })
    }

    /// The nearest terms of some parts: those near to this term, else those near to the `whole` word, else a term that
    /// this one begins with.
    fn nearest(
        &self,
        whole: Option<&Self>,
        parts: &[SegmentView],
        allowed: Option<&RowSet>,
    ) -> rusqlite::Result<Vec<NearTerm>> {
        let mut pace = CancelTicker::default();
        for target in [Some(self), whole].into_iter().flatten() {
            let mut candidates = BTreeMap::new();
            for (number, part) in parts.iter().enumerate() {
                target.add_candidates(number, &part.segment, &mut candidates, &mut pace)?;
            }
            let nearest = fewest_edits(candidates, parts, allowed, &mut pace)?;
            if !nearest.is_empty() {
                return Ok(nearest);
            }
        }
        let mut candidates = BTreeMap::new();
        for (number, part) in parts.iter().enumerate() {
            self.add_beginnings(number, &part.segment, &mut candidates);
        }
        fewest_edits(candidates, parts, allowed, &mut pace)
    }

    /// Add the terms that the word begins with. Each letter after them is an edit.
    fn add_beginnings<'s>(
        &self,
        part: usize,
        segment: &'s Segment,
        candidates: &mut BTreeMap<&'s [u8], TermCandidate>,
    ) {
        let longest = if ENDINGS.is_on() { LONGEST_ENDING } else { 0 };
        for ending in 1..=longest {
            let before = self.letters.len().saturating_sub(ending);
            if before < LEAST_BEFORE_ENDING || before <= ending {
                break;
            }
            let start: String = self.letters[..before].iter().collect();
            let slot = segment.seek(start.as_bytes());
            if slot < segment.terms() && segment.text(slot) == start.as_bytes() {
                let candidate = candidates.entry(segment.text(slot)).or_default();
                if candidate.slots.iter().all(|(known, _)| *known != part) {
                    candidate.edits = ending;
                    candidate.slots.push((part, slot));
                }
            }
        }
    }

    /// Add the terms of a segment that are near enough.
    fn add_candidates<'s>(
        &self,
        part: usize,
        segment: &'s Segment,
        candidates: &mut BTreeMap<&'s [u8], TermCandidate>,
        pace: &mut CancelTicker,
    ) -> rusqlite::Result<()> {
        let outlines = segment.outlines();
        let start = segment.seek(self.first.as_bytes());
        let end = end_of_prefix(segment, self.first.as_bytes());
        pace.read(end - start)?;
        let most = u32::try_from(self.most).unwrap_or(u32::MAX);
        let mut letters = Vec::new();
        for (outline, slot) in outlines[start..end].iter().zip(start..) {
            if !outline.is_some_and(|outline| outline.may_be_near(self.outline, most)) {
                continue;
            }
            let term = segment.text(slot);
            letters.clear();
            letters.extend(str::from_utf8(term).unwrap_or_default().chars());
            if let Some(edits) = edits(&self.letters, &letters, self.most) {
                let candidate = candidates.entry(term).or_default();
                candidate.edits = edits;
                candidate.slots.push((part, slot));
            }
        }
        Ok(())
    }
}

/// The terms with the fewest edits that have a row, the most frequent first.
fn fewest_edits(
    candidates: BTreeMap<&[u8], TermCandidate>,
    parts: &[SegmentView],
    allowed: Option<&RowSet>,
    pace: &mut CancelTicker,
) -> rusqlite::Result<Vec<NearTerm>> {
    let mut found = Vec::new();
    for (term, candidate) in candidates {
        let rows = candidate.rows(parts, allowed, pace)?;
        found.extend(rows.map(|(row, frequency)| (candidate.edits, frequency, term, row)));
    }
    let fewest = found.iter().map(|(edits, ..)| *edits).min();
    found.retain(|(edits, ..)| Some(*edits) == fewest);
    // Stable: equal ones stay in the order of their bytes.
    found.sort_by_key(|(_, frequency, ..)| Reverse(*frequency));
    found.truncate(MOST);
    let near = found.into_iter().map(|(_, _, term, row)| NearTerm {
        term: term.to_vec(),
        row,
    });
    Ok(near.collect())
}

impl TermCandidate {
    /// The first row that has the term and may be found, and the number of these rows. None if there is none.
    fn rows(
        &self,
        parts: &[SegmentView],
        allowed: Option<&RowSet>,
        pace: &mut CancelTicker,
    ) -> rusqlite::Result<Option<(i64, usize)>> {
        let mut found: Option<(i64, usize)> = None;
        for (part, slot) in &self.slots {
            let SegmentView {
                segment, deleted, ..
            } = &parts[*part];
            let postings = segment.postings(*slot);
            pace.read(postings.len())?;
            for chunk in &segment.chunks()[postings] {
                let row = segment.row(*chunk);
                if !deleted.contains(*chunk) && allowed.is_none_or(|rows| rows.contains(row)) {
                    found =
                        Some(found.map_or((row, 1), |(first, count)| (first.min(row), count + 1)));
                }
            }
        }
        Ok(found)
    }
}
