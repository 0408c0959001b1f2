//! Which chunks have a phrase, and how much it counts in each.

use std::borrow::Cow;
use std::ops::Range;

use super::postings::{read_positions, weight_at};
use super::segment::{Bytes, Segment};
use crate::error::Result;
use crate::interrupt::{self, Pace};
use crate::query::Phrase;
use crate::text::tokenizer::{LONGEST_TOKEN, TokenizerKind};

/// The tokens of a phrase. A phrase without tokens matches nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PhraseTokens {
    texts: Vec<Vec<u8>>,
    prefix: bool,
}

/// The chunks of a segment that have a phrase, ascending, deleted ones among them.
#[derive(Debug)]
pub(super) struct PhrasePostings<'p> {
    pub chunks: Cow<'p, [u32]>,
    pub weights: Weights<'p>,
}

/// What a phrase counts for in each of its chunks.
#[derive(Debug)]
pub(super) enum Weights<'p> {
    /// Those of postings from a slot on.
    Stored(&'p Bytes, usize),
    Own(Vec<u32>),
}

impl Weights<'_> {
    pub fn get(&self, slot: usize) -> u32 {
        match self {
            Self::Stored(weights, first) => weights.get(first + slot),
            Self::Own(weights) => weights[slot],
        }
    }
}

impl<'p> PhrasePostings<'p> {
    fn own(pairs: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let (chunks, weights): (Vec<u32>, Vec<u32>) = pairs.into_iter().unzip();
        Self {
            chunks: Cow::Owned(chunks),
            weights: Weights::Own(weights),
        }
    }

    /// The chunks of a segment that have a phrase.
    pub fn find(
        segment: &'p Segment,
        phrase: &PhraseTokens,
        pace: &mut Pace,
    ) -> rusqlite::Result<Self> {
        let terms: Vec<Range<usize>> = phrase.terms(segment);
        match terms.as_slice() {
            [] => Ok(Self::own([])),
            [terms] if terms.len() == 1 => Ok(Self::of_term(segment, terms.start)),
            [terms] => Self::of_any(segment, terms.clone(), pace),
            terms => Self::of_all(segment, terms, pace),
        }
    }

    /// The same, of these chunks alone.
    pub fn within(&self, chunks: &[u32]) -> PhrasePostings<'static> {
        let mut at = 0;
        PhrasePostings::own(chunks.iter().filter_map(|chunk| {
            at = gallop(&self.chunks, at, *chunk);
            let found = self.chunks.get(at) == Some(chunk);
            found.then(|| (*chunk, self.weights.get(at)))
        }))
    }

    fn of_term(segment: &'p Segment, term: usize) -> Self {
        let postings = segment.postings(term);
        Self {
            weights: Weights::Stored(segment.weights(), postings.start),
            chunks: Cow::Borrowed(&segment.chunks()[postings]),
        }
    }

    /// The chunks that have any of the terms.
    fn of_any(segment: &Segment, terms: Range<usize>, pace: &mut Pace) -> rusqlite::Result<Self> {
        let postings = terms.clone().map(|term| segment.postings(term));
        let count: usize = postings.clone().map(|postings| postings.len()).sum();
        let weighted = |posting| (segment.chunks()[posting], segment.weights().get(posting));
        if count > segment.len() / 4 {
            let mut weights = vec![0_u32; segment.len()];
            for postings in postings {
                pace.read(postings.len())?;
                for (chunk, more) in postings.map(weighted) {
                    let weight = &mut weights[chunk as usize];
                    *weight = weight.saturating_add(more);
                }
            }
            let weights = weights.into_iter().zip(0..);
            let held = weights.filter(|(weight, _)| *weight > 0);
            return Ok(Self::own(held.map(|(weight, chunk)| (chunk, weight))));
        }
        pace.read(count)?;
        let mut found: Vec<(u32, u32)> = postings.flatten().map(weighted).collect();
        found.sort_unstable();
        found.dedup_by(|(chunk, weight), kept| {
            let same = *chunk == kept.0;
            if same {
                kept.1 = kept.1.saturating_add(*weight);
            }
            same
        });
        Ok(Self::own(found))
    }

    /// The chunks that have the terms in a row, each of which may be any of a range.
    fn of_all(
        segment: &Segment,
        terms: &[Range<usize>],
        pace: &mut Pace,
    ) -> rusqlite::Result<Self> {
        // Only the last token can be a prefix, so that there are some.
        let words = terms.iter().filter(|terms| terms.len() == 1);
        let of_words = words.map(|terms| &segment.chunks()[segment.postings(terms.start)]);
        let possible = of_words.min_by_key(|chunks| chunks.len());
        let mut tokens = Vec::with_capacity(terms.len());
        for terms in terms {
            let possible = possible.unwrap_or_default();
            tokens.push(Occurrences::of(segment, terms, possible, pace)?);
        }
        let shortest = tokens
            .iter()
            .min_by_key(|token: &&Occurrences<'_>| token.chunks.len());
        let mut candidates = shortest.map_or(Cow::Borrowed(&[][..]), |token| token.chunks.clone());
        if let Cow::Owned(candidates) = &mut candidates {
            candidates.dedup();
        }
        let mut matcher = Matcher::default();
        let mut found = Vec::new();
        for chunk in candidates.iter() {
            pace.read(1)?;
            if tokens.iter_mut().all(|token| token.seek(*chunk)) {
                let weight = matcher.weigh(&tokens);
                found.extend((weight > 0).then_some((*chunk, weight)));
            }
        }
        Ok(Self::own(found))
    }
}

impl PhraseTokens {
    /// Tokenize a phrase. Each token is cut to the number of bytes that FTS5 stores of it. Fails if
    /// the tokenizer fails.
    pub fn of(phrase: &Phrase, tokenizer: TokenizerKind) -> Result<Self> {
        let mut texts = Vec::new();
        tokenizer.tokenize(&phrase.searched_text(), |token| {
            texts.push(token[..token.len().min(LONGEST_TOKEN)].to_vec());
            true
        })?;
        Ok(Self {
            texts,
            prefix: phrase.prefix,
        })
    }

    /// The tokens in order. A character that was cut apart is replaced by U+FFFD.
    pub fn texts(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.texts.iter().map(|text| String::from_utf8_lossy(text))
    }

    /// Whether the last token is a prefix.
    pub fn is_prefix(&self) -> bool {
        self.prefix
    }

    /// The number of tokens.
    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }

    /// Which terms each token is; none at all when one of them is no term.
    fn terms(&self, segment: &Segment) -> Vec<Range<usize>> {
        let mut found = Vec::with_capacity(self.texts.len());
        for (text, number) in self.texts.iter().zip(1..) {
            let start = segment.seek(text);
            let end = if self.prefix && number == self.texts.len() {
                end_of_prefix(segment, text)
            } else if start < segment.terms() && segment.text(start) == text {
                start + 1
            } else {
                start
            };
            if start >= end {
                return Vec::new();
            }
            found.push(start..end);
        }
        found
    }
}

/// The first term behind those that begin with `text`.
fn end_of_prefix(segment: &Segment, text: &[u8]) -> usize {
    let mut behind = text.to_vec();
    while let Some(last) = behind.pop() {
        if let Some(next) = last.checked_add(1) {
            behind.push(next);
            return segment.seek(&behind);
        }
    }
    segment.terms()
}

/// Where one token of a phrase stands: a chunk, and one posting or several for it.
struct Occurrences<'p> {
    segment: &'p Segment,
    chunks: Cow<'p, [u32]>,
    /// The posting of each chunk.
    postings: Postings,
    /// How far the chunks are looked through.
    at: usize,
}

/// Postings that follow each other from a slot on, or any others.
enum Postings {
    From(usize),
    Listed(Vec<usize>),
}

impl<'p> Occurrences<'p> {
    /// Where any of the terms stands; of several terms, only in the chunks that are possible.
    fn of(
        segment: &'p Segment,
        terms: &Range<usize>,
        possible: &[u32],
        pace: &mut Pace,
    ) -> rusqlite::Result<Self> {
        let (chunks, postings) = if terms.len() == 1 {
            let postings = segment.postings(terms.start);
            let first = postings.start;
            (
                Cow::Borrowed(&segment.chunks()[postings]),
                Postings::From(first),
            )
        } else {
            let mut pairs: Vec<(u32, usize)> = Vec::new();
            for term in terms.clone() {
                let postings = segment.postings(term);
                pace.read(postings.len())?;
                let mut at = 0;
                pairs.extend(postings.filter_map(|posting| {
                    let chunk = segment.chunks()[posting];
                    at = gallop(possible, at, chunk);
                    (possible.get(at) == Some(&chunk)).then_some((chunk, posting))
                }));
            }
            let sorted = interrupt::sort(&mut pairs, Ord::cmp);
            interrupt::among_statements(sorted)?;
            let (chunks, postings) = pairs.into_iter().unzip();
            (Cow::Owned(chunks), Postings::Listed(postings))
        };
        Ok(Self {
            segment,
            chunks,
            postings,
            at: 0,
        })
    }

    /// Go forward to a chunk; whether it is there.
    fn seek(&mut self, chunk: u32) -> bool {
        self.at = gallop(&self.chunks, self.at, chunk);
        self.chunks.get(self.at) == Some(&chunk)
    }

    /// All positions in the chunk gone forward to.
    fn positions(&self, scratch: &mut Vec<u64>, positions: &mut Vec<u64>) {
        let postings = match &self.postings {
            Postings::From(first) => {
                return read_positions(self.segment.positions(first + self.at), positions);
            }
            Postings::Listed(postings) => postings,
        };
        let chunk = self.chunks[self.at];
        let here = self.chunks[self.at..]
            .iter()
            .take_while(|found| **found == chunk);
        positions.clear();
        for (_, at) in here.zip(self.at..) {
            read_positions(self.segment.positions(postings[at]), scratch);
            positions.append(scratch);
        }
        positions.sort_unstable();
    }
}

/// The first slot, from `at` on, whose chunk does not come before this one.
pub(super) fn gallop(chunks: &[u32], at: usize, chunk: u32) -> usize {
    let ahead = &chunks[at..];
    let mut step = 1;
    while ahead.get(step).is_some_and(|found| *found < chunk) {
        step *= 2;
    }
    let near = &ahead[..ahead.len().min(step + 1)];
    at + near.partition_point(|found| *found < chunk)
}

/// Finds the positions at which tokens follow each other.
#[derive(Default)]
struct Matcher {
    /// Where the tokens so far do.
    matched: Vec<u64>,
    positions: Vec<u64>,
    scratch: Vec<u64>,
}

impl Matcher {
    /// What the occurrences in the chunk count for together.
    fn weigh(&mut self, tokens: &[Occurrences<'_>]) -> u32 {
        for (token, offset) in tokens.iter().zip(0_u64..) {
            token.positions(&mut self.scratch, &mut self.positions);
            if offset == 0 {
                std::mem::swap(&mut self.matched, &mut self.positions);
                continue;
            }
            let mut rest = self.positions.as_slice();
            self.matched.retain(|position| {
                while let Some((first, behind)) = rest.split_first()
                    && *first < position + offset
                {
                    rest = behind;
                }
                rest.first() == Some(&(position + offset))
            });
            if self.matched.is_empty() {
                return 0;
            }
        }
        self.matched.iter().copied().map(weight_at).sum()
    }
}
