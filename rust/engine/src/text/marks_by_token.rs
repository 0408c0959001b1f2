//! Finding phrases in a text by the tokens of `words`, where they are.

use std::collections::HashMap;
use std::ops::Range;

use super::tokenizer::TokenizerKind;
use super::words::{self, Mode};
use crate::error::Result;

/// Finds phrases in texts as the index finds them.
pub(super) struct TokenMarker {
    /// The numbers of the tokens that the phrases have.
    numbers: HashMap<Vec<u8>, usize>,
    phrases: Vec<TokenPhrase>,
    /// The prefixes to match, and whether each is of a run without spaces.
    prefixes: Vec<(String, bool)>,
}

/// A phrase: for each position the numbers of its tokens.
struct TokenPhrase {
    positions: Vec<Vec<usize>>,
    /// The index of the prefix that the last position has instead.
    prefix: Option<usize>,
}

/// A position of a text: the numbers of its tokens that phrases have, and where it is in bytes.
struct Position {
    tokens: Vec<usize>,
    /// The prefixes that a token begins with, and where that is.
    prefixes: Vec<(usize, Range<usize>)>,
    range: Range<usize>,
}

impl TokenMarker {
    /// A marker of phrases, of which some end with a prefix. Fails if the tokenizer fails.
    pub fn new(phrases: impl Iterator<Item = (String, bool)>) -> Result<Self> {
        let mut marker = Self {
            numbers: HashMap::new(),
            phrases: Vec::new(),
            prefixes: Vec::new(),
        };
        for (phrase, prefix) in phrases {
            marker.add(&phrase, prefix)?;
        }
        Ok(marker)
    }

    fn add(&mut self, phrase: &str, prefix: bool) -> Result<()> {
        let mode = if prefix { Mode::Prefix } else { Mode::Query };
        let mut tokens: Vec<Vec<Vec<u8>>> = Vec::new();
        TokenizerKind::Words.tokenize(phrase, mode, |token| {
            match tokens.last_mut() {
                Some(last) if token.colocated => last.push(token.text.to_vec()),
                _ => tokens.push(vec![token.text.to_vec()]),
            }
            true
        })?;
        let last = if prefix { tokens.pop() } else { None };
        let prefix = last.and_then(|last| last.into_iter().next()).map(|last| {
            let last = String::from_utf8_lossy(&last).into_owned();
            let is_run = words::has_run(&last);
            self.prefixes.push((last, is_run));
            self.prefixes.len() - 1
        });
        let mut positions = Vec::with_capacity(tokens.len());
        for tokens in tokens {
            let numbers = tokens.into_iter().map(|token| {
                let next = self.numbers.len();
                *self.numbers.entry(token).or_insert(next)
            });
            positions.push(numbers.collect());
        }
        if !positions.is_empty() || prefix.is_some() {
            self.phrases.push(TokenPhrase { positions, prefix });
        }
        Ok(())
    }

    /// The places of the phrases in a text, in bytes and in no order.
    pub fn places(&self, text: &str) -> Result<Vec<Range<usize>>> {
        let mut found = Vec::new();
        if self.phrases.is_empty() {
            return Ok(found);
        }
        let positions = self.positions(text)?;
        for phrase in &self.phrases {
            let places = positions.windows(phrase.len());
            found.extend(places.filter_map(|here| phrase.place(here)));
        }
        Ok(found)
    }

    fn positions(&self, text: &str) -> Result<Vec<Position>> {
        let mut positions: Vec<Position> = Vec::new();
        TokenizerKind::Words.tokenize(text, Mode::Document, |token| {
            if !token.colocated {
                positions.push(Position {
                    tokens: Vec::new(),
                    prefixes: Vec::new(),
                    range: token.range.clone(),
                });
            }
            if let Some(position) = positions.last_mut() {
                position.tokens.extend(self.numbers.get(token.text));
                for (number, (prefix, is_run)) in self.prefixes.iter().enumerate() {
                    if token.text.starts_with(prefix.as_bytes()) {
                        // Of a run the prefix, of a word all of it.
                        let mut place = token.range.clone();
                        if *is_run {
                            place.end = end_of_prefix(text, &place, prefix);
                        }
                        position.prefixes.push((number, place));
                    }
                }
            }
            true
        })?;
        Ok(positions)
    }
}

/// The end of the part of a run whose units are a prefix; the end of the run if none is.
fn end_of_prefix(text: &str, run: &Range<usize>, prefix: &str) -> usize {
    let run_text = &text[run.clone()];
    let mut ends = run_text.char_indices().map(|(at, c)| at + c.len_utf8());
    let is_prefix = |end: &usize| words::plain_words(&run_text[..*end]).concat() == prefix;
    // The last one: marks that are left out belong to the unit before them.
    ends.rfind(is_prefix).map_or(run.end, |end| run.start + end)
}

impl TokenPhrase {
    fn len(&self) -> usize {
        self.positions.len() + usize::from(self.prefix.is_some())
    }

    /// Where the phrase is, if these positions are it.
    fn place(&self, here: &[Position]) -> Option<Range<usize>> {
        let has_any = |(numbers, position): (&Vec<usize>, &Position)| {
            numbers
                .iter()
                .any(|number| position.tokens.contains(number))
        };
        if !self.positions.iter().zip(here).all(has_any) {
            return None;
        }
        let (first, last) = (here.first()?, here.last()?);
        let Some(prefix) = self.prefix else {
            return Some(first.range.start..last.range.end);
        };
        let (_, end) = last.prefixes.iter().find(|(number, _)| *number == prefix)?;
        let start = if here.len() == 1 { end } else { &first.range };
        Some(start.start..end.end)
    }
}
