//! The postings of some chunks, term by term, in a few flat arrays.

use std::sync::OnceLock;

use super::load_error::NotLoadable;
use super::outline::Outline;
use super::postings::weigh;
use crate::text::tokenizer::TokenizerKind;

/// The start of the position list is stored for 1 posting in this number.
const BLOCK: usize = 128;
/// Marks a number that is too large for a byte and kept apart.
const LARGE: u8 = u8::MAX;

/// For every term, in order, which chunks hold it, how much it counts in each, and at which positions.
///
/// A chunk is identified by its slot in `rows`, a term by its slot in the order of terms. The
/// postings of term `t` are those from `firsts[t]` to before `firsts[t + 1]`, by chunk.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Segment {
    /// The row of each chunk, ascending.
    rows: Vec<i64>,
    /// The number of tokens of each chunk.
    lengths: Vec<u32>,
    /// The bytes of the terms, one after the other, and where each ends.
    texts: Vec<u8>,
    ends: Vec<u32>,
    firsts: Vec<u32>,
    /// The chunk of each posting.
    chunks: Vec<u32>,
    /// The total weight of the occurrences of each posting.
    weights: Bytes,
    /// How long the position list of each posting is.
    sizes: Bytes,
    /// Where the position list of every 128th posting begins.
    blocks: Vec<u32>,
    positions: Vec<u8>,
    /// The tokenizer of the terms.
    tokenizer: TokenizerKind,
    /// The outline of each term, made when a word is first compared with the terms.
    outlines: OnceLock<Vec<Option<Outline>>>,
}

/// Numbers of which nearly all fit into a byte.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Bytes {
    small: Vec<u8>,
    /// Slot and number of the others.
    large: Vec<(u32, u32)>,
}

impl Bytes {
    fn push(&mut self, slot: u32, number: u32) {
        match u8::try_from(number) {
            Ok(number) if number < LARGE => self.small.push(number),
            _ => {
                self.small.push(LARGE);
                self.large.push((slot, number));
            }
        }
    }

    /// Append others, the first of them at this slot.
    fn append(&mut self, others: &Self, first: u32) {
        self.small.extend_from_slice(&others.small);
        let large = others.large.iter();
        self.large
            .extend(large.map(|(slot, number)| (slot + first, *number)));
    }

    pub fn get(&self, slot: usize) -> u32 {
        match self.small[slot] {
            LARGE => self.get_large(slot),
            number => u32::from(number),
        }
    }

    /// An upper bound of the numbers from `start` to before `end`; 0 for an empty range.
    pub fn highest(&self, start: usize, end: usize) -> u32 {
        // Unlike `max`, this fold becomes instructions over many numbers at once.
        match self.small[start..end]
            .iter()
            .fold(0, |most, number| most.max(*number))
        {
            LARGE => u32::MAX,
            number => u32::from(number),
        }
    }

    #[cold]
    fn get_large(&self, slot: usize) -> u32 {
        let found = self
            .large
            .binary_search_by(|(at, _)| (*at as usize).cmp(&slot));
        found.map_or(u32::from(LARGE), |found| self.large[found].1)
    }

    /// The sum of the numbers from `start` to before `end`.
    fn sum(&self, start: usize, end: usize) -> u32 {
        let small: u32 = self.small[start..end].iter().copied().map(u32::from).sum();
        let large = self.large.partition_point(|(at, _)| (*at as usize) < start);
        let large = self.large[large..].iter();
        let large = large.take_while(|(at, _)| (*at as usize) < end);
        small
            + large
                .map(|(_, number)| number - u32::from(LARGE))
                .sum::<u32>()
    }

    fn bytes(&self) -> usize {
        self.small.capacity() + self.large.capacity() * size_of::<(u32, u32)>()
    }
}

impl Segment {
    /// Return the number of chunks.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The row of a chunk.
    pub fn row(&self, chunk: u32) -> i64 {
        self.rows[chunk as usize]
    }

    /// The chunk of a row.
    pub fn chunk(&self, row: i64) -> Option<u32> {
        let slot = self.rows.binary_search(&row).ok()?;
        u32::try_from(slot).ok()
    }

    /// The chunks of those of these rows, ascending, that the segment has.
    pub fn chunks_of(&self, rows: impl Iterator<Item = i64>) -> impl Iterator<Item = u32> {
        let mut start = 0;
        rows.filter_map(move |row| {
            let ahead = self.rows.get(start..)?;
            // Rows are distinct, so that the chunks between two of them number at most their
            // difference.
            let gap = row.saturating_sub(*ahead.first()?).saturating_add(1);
            let near = ahead.len().min(usize::try_from(gap).unwrap_or(0));
            let found = ahead[..near].binary_search(&row);
            let (Ok(at) | Err(at)) = found;
            start += at;
            u32::try_from(start).ok().filter(|_| found.is_ok())
        })
    }

    /// Return the number of tokens of each chunk.
    pub fn lengths(&self) -> &[u32] {
        &self.lengths
    }

    /// Return the tokenizer of the terms.
    pub fn tokenizer(&self) -> TokenizerKind {
        self.tokenizer
    }

    /// Whether a term has the positions of other tokens.
    pub fn is_colocated(&self, term: usize) -> bool {
        self.tokenizer.is_colocated(self.text(term))
    }

    /// Return the number of different terms.
    pub fn terms(&self) -> usize {
        self.ends.len()
    }

    /// The bytes of a term.
    pub fn text(&self, term: usize) -> &[u8] {
        let start = term.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.texts[start as usize..self.ends[term] as usize]
    }

    /// The first term that does not come before `text`.
    pub fn seek(&self, text: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.terms());
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.text(middle) < text {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The postings of a term.
    pub fn postings(&self, term: usize) -> std::ops::Range<usize> {
        self.firsts[term] as usize..self.firsts[term + 1] as usize
    }

    /// The chunk of each posting.
    pub fn chunks(&self) -> &[u32] {
        &self.chunks
    }

    /// Return the total weight of the occurrences of each posting.
    pub fn weights(&self) -> &Bytes {
        &self.weights
    }

    /// Return the positions of a posting's term in its chunk, in FTS5's encoding.
    pub fn positions(&self, posting: usize) -> &[u8] {
        let block = posting / BLOCK;
        let before = self.sizes.sum(block * BLOCK, posting);
        let start = (self.blocks[block] + before) as usize;
        &self.positions[start..start + self.sizes.get(posting) as usize]
    }

    /// Return the outline of each term, for comparing words.
    pub fn outlines(&self) -> &[Option<Outline>] {
        let outline = |term| Outline::of(self.text(term));
        self.outlines
            .get_or_init(|| (0..self.terms()).map(outline).collect())
    }

    /// Return the bytes of memory in use.
    pub fn bytes(&self) -> usize {
        let outlines = self.outlines.get().map_or(0, Vec::capacity);
        outlines * size_of::<Option<Outline>>()
            + self.rows.capacity() * size_of::<i64>()
            + (self.lengths.capacity()
                + self.ends.capacity()
                + self.firsts.capacity()
                + self.chunks.capacity()
                + self.blocks.capacity())
                * size_of::<u32>()
            + self.texts.capacity()
            + self.weights.bytes()
            + self.sizes.bytes()
            + self.positions.capacity()
    }
}

/// Makes a segment: terms come in order, and the postings of each by chunk.
#[derive(Debug)]
pub(super) struct Builder {
    segment: Segment,
    /// The number of tokens of each chunk so far, without colocated ones, which FTS5 does not count.
    counted: Vec<u32>,
    /// Whether the term is a colocated token.
    is_colocated: bool,
    tokenizer: TokenizerKind,
}

impl Builder {
    /// Return a builder for this number of chunks, whose terms are tokens of `tokenizer`.
    pub fn new(chunks: usize, tokenizer: TokenizerKind) -> Self {
        Self {
            counted: vec![0; chunks],
            is_colocated: false,
            tokenizer,
            segment: Segment::default(),
        }
    }

    /// Reserve memory for about this number of tokens.
    pub fn reserve(&mut self, tokens: u64) -> Result<(), NotLoadable> {
        // Growing step by step would copy everything several times. Unused memory is freed at the
        // end.
        let tokens = usize::try_from(tokens).unwrap_or_default();
        let segment = &mut self.segment;
        let no_room = |_| NotLoadable::OutOfMemory;
        segment.chunks.try_reserve(tokens).map_err(no_room)?;
        segment.weights.small.try_reserve(tokens).map_err(no_room)?;
        segment.sizes.small.try_reserve(tokens).map_err(no_room)?;
        let positions = tokens.saturating_mul(3);
        segment.positions.try_reserve(positions).map_err(no_room)
    }

    /// Begin a term; the one before is dropped if it was given no postings.
    pub fn begin(&mut self, text: &[u8]) -> Result<(), NotLoadable> {
        let segment = &mut self.segment;
        let posting = u32::try_from(segment.chunks.len()).map_err(|_| NotLoadable::TooLarge)?;
        if segment.firsts.last() == Some(&posting) {
            segment.firsts.pop();
            segment.ends.pop();
            segment
                .texts
                .truncate(segment.ends.last().map_or(0, |end| *end as usize));
        }
        self.is_colocated = self.tokenizer.is_colocated(text);
        segment.firsts.push(posting);
        segment.texts.extend_from_slice(text);
        segment
            .ends
            .push(u32::try_from(segment.texts.len()).map_err(|_| NotLoadable::TooLarge)?);
        Ok(())
    }

    /// Add a posting of the term.
    pub fn push(&mut self, chunk: u32, positions: &[u8]) -> Result<(), NotLoadable> {
        let (weight, count) = weigh(positions).ok_or(NotLoadable::Damaged)?;
        let counted = self.counted.get_mut(chunk as usize);
        let counted = counted.ok_or(NotLoadable::Damaged)?;
        if !self.is_colocated {
            *counted += count;
        }
        let segment = &mut self.segment;
        let posting = u32::try_from(segment.chunks.len()).map_err(|_| NotLoadable::TooLarge)?;
        if (posting as usize).is_multiple_of(BLOCK) {
            let start =
                u32::try_from(segment.positions.len()).map_err(|_| NotLoadable::TooLarge)?;
            segment.blocks.push(start);
        }
        let size = u32::try_from(positions.len()).map_err(|_| NotLoadable::TooLarge)?;
        u32::try_from(segment.positions.len() + positions.len())
            .map_err(|_| NotLoadable::TooLarge)?;
        segment.chunks.push(chunk);
        segment.weights.push(posting, weight);
        segment.sizes.push(posting, size);
        segment.positions.extend_from_slice(positions);
        Ok(())
    }

    /// Append the next terms, from a segment without chunks.
    pub fn append(&mut self, next: &Segment) -> Result<(), NotLoadable> {
        let to = &mut self.segment;
        let ends_at = |length: usize, more: usize| {
            let end = length
                .checked_add(more)
                .and_then(|end| u32::try_from(end).ok());
            end.map(|_| length).ok_or(NotLoadable::TooLarge)
        };
        let text = ends_at(to.texts.len(), next.texts.len())?;
        let posting = ends_at(to.chunks.len(), next.chunks.len())?;
        let position = ends_at(to.positions.len(), next.positions.len())?;
        #[allow(clippy::cast_possible_truncation, reason = "even the ends fit")]
        let (text, first) = (text as u32, posting as u32);
        to.ends.extend(next.ends.iter().map(|end| end + text));
        to.firsts.extend(
            next.firsts[..next.terms()]
                .iter()
                .map(|posting| posting + first),
        );
        let (mut start, mut from) = (position, 0);
        let boundaries =
            (posting.next_multiple_of(BLOCK) - posting..next.chunks.len()).step_by(BLOCK);
        for boundary in boundaries {
            start += next.sizes.sum(from, boundary) as usize;
            from = boundary;
            to.blocks
                .push(u32::try_from(start).map_err(|_| NotLoadable::TooLarge)?);
        }
        to.texts.extend_from_slice(&next.texts);
        to.chunks.extend_from_slice(&next.chunks);
        to.weights.append(&next.weights, first);
        to.sizes.append(&next.sizes, first);
        to.positions.extend_from_slice(&next.positions);
        Ok(())
    }

    /// Take the terms so far, as a segment without chunks. The counts stay.
    pub fn take(&mut self) -> Result<Segment, NotLoadable> {
        self.end()?;
        Ok(std::mem::take(&mut self.segment))
    }

    /// Return the number of tokens of each chunk so far.
    pub fn counted(&self) -> &[u32] {
        &self.counted
    }

    /// Count tokens of terms that were appended.
    pub fn count(&mut self, counted: &[u32]) {
        for (all, more) in self.counted.iter_mut().zip(counted) {
            *all = all.saturating_add(*more);
        }
    }

    /// Drop the last term if it has no postings, and note where the postings end.
    fn end(&mut self) -> Result<(), NotLoadable> {
        self.begin(&[])?;
        self.segment.ends.pop();
        Ok(())
    }

    /// Return the segment of some of the terms of these rows, without lengths of chunks.
    pub fn finish_terms(mut self, rows: Vec<i64>) -> Result<Segment, NotLoadable> {
        self.end()?;
        Ok(Segment {
            rows,
            tokenizer: self.tokenizer,
            ..self.segment
        })
    }

    /// The segment with the chunks of these rows, ascending; damaged unless each was given as many
    /// tokens as it has.
    pub fn finish(mut self, rows: Vec<i64>, lengths: Vec<u32>) -> Result<Segment, NotLoadable> {
        self.end()?;
        if self.counted != lengths {
            return Err(NotLoadable::Damaged);
        }
        let mut segment = self.segment;
        segment.rows = rows;
        segment.lengths = lengths;
        segment.tokenizer = self.tokenizer;
        segment.rows.shrink_to_fit();
        segment.lengths.shrink_to_fit();
        segment.texts.shrink_to_fit();
        segment.ends.shrink_to_fit();
        segment.firsts.shrink_to_fit();
        segment.chunks.shrink_to_fit();
        segment.weights.small.shrink_to_fit();
        segment.sizes.small.shrink_to_fit();
        segment.blocks.shrink_to_fit();
        segment.positions.shrink_to_fit();
        Ok(segment)
    }
}

/// The slot of a row in `rows`, looked for from `near` on.
#[inline]
pub(super) fn chunk_of(rows: &[i64], row: i64, near: u32) -> Result<u32, NotLoadable> {
    let near = near as usize;
    // Rows mostly follow each other without a gap.
    let guess = rows.first().and_then(|first| row.checked_sub(*first));
    if let Some(guess) = guess.and_then(|guess| usize::try_from(guess).ok())
        && rows.get(guess) == Some(&row)
    {
        return u32::try_from(guess).map_err(|_| NotLoadable::TooLarge);
    }
    let mut step = 1;
    while rows.get(near + step).is_some_and(|found| *found < row) {
        step *= 2;
    }
    let end = rows.len().min(near + step + 1);
    let found = rows.get(near..end).ok_or(NotLoadable::Damaged)?;
    let slot = found
        .binary_search(&row)
        .map_err(|_| NotLoadable::Damaged)?;
    u32::try_from(near + slot).map_err(|_| NotLoadable::TooLarge)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn chunks_of_rows_are_those_of_each(
            rows in prop::collection::btree_set(-50_i64..400, 0..80),
            wanted in prop::collection::btree_set(
                prop_oneof![-60_i64..420, Just(i64::MIN), Just(i64::MAX)], 0..60,
            ),
        ) {
            let builder = Builder::new(rows.len(), TokenizerKind::Porter);
            let lengths = vec![0; rows.len()];
            let segment = builder.finish(rows.into_iter().collect(), lengths).unwrap();
            let each: Vec<u32> = wanted.iter().filter_map(|row| segment.chunk(*row)).collect();
            let together = segment.chunks_of(wanted.into_iter());
            prop_assert_eq!(together.collect::<Vec<_>>(), each);
        }
    }

    #[test]
    fn room_that_is_refused_is_an_error() {
        let refused = Builder::new(0, TokenizerKind::Porter)
            .reserve(u64::MAX)
            .unwrap_err();
        assert_eq!(refused, NotLoadable::OutOfMemory);
        assert_eq!(refused.reason(), "there is not enough memory");
        Builder::new(0, TokenizerKind::Porter)
            .reserve(1000)
            .unwrap();
    }
}
