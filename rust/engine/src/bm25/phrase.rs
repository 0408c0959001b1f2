//! The chunks of a phrase, with its weight in each.

use std::borrow::Cow;
use std::ops::Range;

use super::postings::{read_positions, weight_at};
use super::segment::{Bytes, Segment};
use crate::error::Result;
use crate::interrupt::{self, CancelTicker};
use crate::query::Phrase;
use crate::text::tokenizer::{LONGEST_TOKEN, TokenizerKind};
use crate::text::words::Mode;

/// The tokens of a phrase. A phrase without tokens matches nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PhraseTokens {
    /// For each position the token and those that may stand there instead of it.
    positions: Vec<Vec<Vec<u8>>>,
    prefix: bool,
    /// Whether it is another spelling of a word of the query.
    is_variant: bool,
}

/// The factor on the term scores of another spelling. A power of 2, so that products are exact.
pub(super) const VARIANT_WEIGHT: f64 = 0.5;

/// The terms that may stand at a position of a phrase.
type Terms = Vec<Range<usize>>;

/// The chunks of a segment that have a phrase, ascending, deleted ones among them.
#[derive(Debug)]
pub(super) struct PhrasePostings<'p> {
    pub chunks: Cow<'p, [u32]>,
    pub weights: Weights<'p>,
}

/// The weight of a phrase in each of its chunks.
#[derive(Debug)]
pub(super) enum Weights<'p> {
    /// The weights of postings from a slot on.
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

    /// An upper bound of the weights from `start` to before `end`; 0 for an empty range.
    pub fn highest(&self, start: usize, end: usize) -> u32 {
        match self {
            Self::Stored(weights, first) => weights.highest(first + start, first + end),
            Self::Own(weights) => weights[start..end].iter().copied().max().unwrap_or(0),
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
        pace: &mut CancelTicker,
    ) -> rusqlite::Result<Self> {
        let positions = phrase.terms(segment);
        match positions.as_slice() {
            [] => Ok(Self::own([])),
            [terms] => match single(terms) {
                Some(term) => Ok(Self::of_term(segment, term)),
                None => Self::of_any(segment, terms, pace),
            },
            positions => Self::of_all(segment, positions, pace),
        }
    }

    /// Return the postings of these chunks alone.
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
    fn of_any(segment: &Segment, terms: &Terms, pace: &mut CancelTicker) -> rusqlite::Result<Self> {
        if terms.len() > 1 || all(terms).any(|term| segment.is_colocated(term)) {
            return Self::of_any_position(segment, terms, pace);
        }
        let postings = all(terms).map(|term| segment.postings(term));
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

    /// The chunks that have any of the terms, several of which may share a position that counts once.
    fn of_any_position(
        segment: &Segment,
        terms: &Terms,
        pace: &mut CancelTicker,
    ) -> rusqlite::Result<Self> {
        let mut postings: Vec<(u32, usize)> = Vec::new();
        for term in all(terms) {
            let of_term = segment.postings(term);
            pace.read(of_term.len())?;
            postings.extend(of_term.map(|posting| (segment.chunks()[posting], posting)));
        }
        // Each term's postings are sorted already, which a stable sort makes use of.
        #[allow(clippy::stable_sort_primitive, reason = "runs are merged")]
        postings.sort();
        let (mut scratch, mut positions) = (Vec::new(), Vec::new());
        let mut found = Vec::new();
        for here in postings.chunk_by(|one, other| one.0 == other.0) {
            let weight = if let [(_, posting)] = here {
                segment.weights().get(*posting)
            } else {
                pace.read(here.len())?;
                let here = here.iter().map(|(_, posting)| *posting);
                merge_positions(segment, here, &mut scratch, &mut positions);
                positions.iter().copied().map(weight_at).sum()
            };
            found.push((here[0].0, weight));
        }
        Ok(Self::own(found))
    }

    /// The chunks that have a term of each position in a row.
    fn of_all(
        segment: &Segment,
        positions: &[Terms],
        pace: &mut CancelTicker,
    ) -> rusqlite::Result<Self> {
        let possible = possible_chunks(segment, positions, pace)?;
        let mut tokens = Vec::with_capacity(positions.len());
        for terms in positions {
            tokens.push(Occurrences::of(segment, terms, Some(&possible), pace)?);
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
        let mode = if phrase.prefix {
            Mode::Prefix
        } else {
            Mode::Query
        };
        let mut positions: Vec<Vec<Vec<u8>>> = Vec::new();
        tokenizer.tokenize(&phrase.searched_text(), mode, |token| {
            let text = token.text[..token.text.len().min(LONGEST_TOKEN)].to_vec();
            match positions.last_mut() {
                Some(alternatives) if token.colocated => alternatives.push(text),
                _ => positions.push(vec![text]),
            }
            true
        })?;
        Ok(Self {
            positions,
            prefix: phrase.prefix,
            is_variant: phrase.variant_of.is_some(),
        })
    }

    /// Return the factor on its term scores.
    pub fn weight(&self) -> f64 {
        if self.is_variant { VARIANT_WEIGHT } else { 1.0 }
    }

    /// The token of a phrase of one word, without those that may stand instead of it.
    pub(crate) fn only_token(&self) -> Option<&[u8]> {
        match self.positions.as_slice() {
            [tokens] => tokens.first().map(Vec::as_slice),
            _ => None,
        }
    }

    /// The tokens in order, without those that may stand instead of them. A character that was cut apart
    /// is replaced by U+FFFD.
    pub fn texts(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let first = self.positions.iter().filter_map(|tokens| tokens.first());
        first.map(|text| String::from_utf8_lossy(text))
    }

    /// Whether the last token is a prefix.
    pub fn is_prefix(&self) -> bool {
        self.prefix
    }

    /// The number of positions.
    pub(super) fn len(&self) -> usize {
        self.positions.len()
    }

    /// The terms of each position; none at all if a position has none.
    fn terms(&self, segment: &Segment) -> Vec<Terms> {
        let mut found = Vec::with_capacity(self.positions.len());
        for (tokens, number) in self.positions.iter().zip(1..) {
            let is_prefix = self.prefix && number == self.positions.len();
            let terms = tokens.iter().map(|text| {
                let start = segment.seek(text);
                let end = if is_prefix {
                    end_of_prefix(segment, text)
                } else if start < segment.terms() && segment.text(start) == text {
                    start + 1
                } else {
                    start
                };
                start..end
            });
            let terms: Terms = terms.filter(|terms| !terms.is_empty()).collect();
            if terms.is_empty() {
                return Vec::new();
            }
            found.push(terms);
        }
        found
    }
}

/// All terms of a position.
fn all(terms: &Terms) -> impl Iterator<Item = usize> + Clone {
    terms.iter().cloned().flatten()
}

/// The only term of a position; None if it has several.
fn single(terms: &Terms) -> Option<usize> {
    match terms.as_slice() {
        [terms] if terms.len() == 1 => Some(terms.start),
        _ => None,
    }
}

/// Chunks among which are all that have a phrase, ascending: those of its rarest position with one term,
/// or else of its rarest.
fn possible_chunks<'p>(
    segment: &'p Segment,
    positions: &[Terms],
    pace: &mut CancelTicker,
) -> rusqlite::Result<Cow<'p, [u32]>> {
    let words = positions.iter().filter_map(single);
    let of_words = words.map(|term| &segment.chunks()[segment.postings(term)]);
    if let Some(chunks) = of_words.min_by_key(|chunks| chunks.len()) {
        return Ok(Cow::Borrowed(chunks));
    }
    let count =
        |terms: &&Terms| -> usize { all(terms).map(|term| segment.postings(term).len()).sum() };
    let Some(rarest) = positions.iter().min_by_key(count) else {
        return Ok(Cow::default());
    };
    let mut chunks = Occurrences::of(segment, rarest, None, pace)?
        .chunks
        .into_owned();
    chunks.dedup();
    Ok(Cow::Owned(chunks))
}

/// Read the positions of postings of one chunk, ascending and each once.
fn merge_positions(
    segment: &Segment,
    postings: impl Iterator<Item = usize>,
    scratch: &mut Vec<u64>,
    positions: &mut Vec<u64>,
) {
    positions.clear();
    for posting in postings {
        read_positions(segment.positions(posting), scratch);
        positions.append(scratch);
    }
    positions.sort_unstable();
    positions.dedup();
}

/// The first term behind those that begin with `text`.
pub(super) fn end_of_prefix(segment: &Segment, text: &[u8]) -> usize {
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
        terms: &Terms,
        possible: Option<&[u32]>,
        pace: &mut CancelTicker,
    ) -> rusqlite::Result<Self> {
        let (chunks, postings) = if let Some(term) = single(terms) {
            let postings = segment.postings(term);
            let first = postings.start;
            (
                Cow::Borrowed(&segment.chunks()[postings]),
                Postings::From(first),
            )
        } else {
            let mut pairs: Vec<(u32, usize)> = Vec::new();
            for term in all(terms) {
                let postings = segment.postings(term);
                pace.read(postings.len())?;
                let mut at = 0;
                pairs.extend(postings.filter_map(|posting| {
                    let chunk = segment.chunks()[posting];
                    let is_possible = possible.is_none_or(|possible| {
                        at = gallop(possible, at, chunk);
                        possible.get(at) == Some(&chunk)
                    });
                    is_possible.then_some((chunk, posting))
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
        let here = here.zip(self.at..).map(|(_, at)| postings[at]);
        merge_positions(self.segment, here, scratch, positions);
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

/// Like [`gallop`], but begins at the slot `guess`: fast if the chunk is near it.
pub(super) fn gallop_near(chunks: &[u32], at: usize, guess: usize, chunk: u32) -> usize {
    let mut end = guess.clamp(at, chunks.len());
    if chunks.get(end).is_some_and(|found| *found < chunk) {
        return gallop(chunks, end, chunk);
    }
    let mut step = 1;
    loop {
        let start = end.saturating_sub(step).max(at);
        if start == at || chunks[start] < chunk {
            return start + chunks[start..end].partition_point(|found| *found < chunk);
        }
        (end, step) = (start, step * 2);
    }
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
    /// Return the total weight of the occurrences in the chunk.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn galloping_finds_the_first_that_is_not_before() {
        // Every ascending list of up to 12 of 4 numbers, which may repeat: 3 counts of each are enough.
        for counts in 0..4_usize.pow(4) {
            let times = |number: u32| counts / 4_usize.pow(number) % 4;
            let list: Vec<u32> = (0..4)
                .flat_map(|number| std::iter::repeat_n(number * 2, times(number)))
                .collect();
            for at in 0..=list.len() {
                for chunk in 0..9 {
                    let mut expected = at;
                    while list.get(expected).is_some_and(|found| *found < chunk) {
                        expected += 1;
                    }
                    assert_eq!(gallop(&list, at, chunk), expected, "{list:?} {at} {chunk}");
                    for guess in 0..list.len() + 2 {
                        let found = gallop_near(&list, at, guess, chunk);
                        assert_eq!(found, expected, "{list:?} {at} {guess} {chunk}");
                    }
                }
            }
        }
    }
}
