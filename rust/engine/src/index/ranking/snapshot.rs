//! The postings of all chunks of one generation of an index.

use std::sync::Arc;

use super::build::merge;
use super::counts::Counts;
use super::failure::Unfit;
use super::segment::Segment;

/// A part is merged into the one before it unless that has more than so many times its chunks.
const GROWTH: usize = 4;

/// Everything that ranking needs of one generation. Generations share what did not change.
#[derive(Debug)]
pub(super) struct Snapshot {
    pub generation: i64,
    parts: Vec<Part>,
}

/// A segment, and which of its chunks have another form in a later part, or none any more.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub segment: Arc<Segment>,
    /// A bit for each chunk; empty while none is gone.
    gone: Vec<u64>,
    /// How many chunks are not gone, and how many tokens they have.
    rows: usize,
    tokens: u64,
}

impl Part {
    fn new(segment: Segment) -> Self {
        Self {
            gone: Vec::new(),
            rows: segment.len(),
            tokens: segment.lengths().iter().copied().map(u64::from).sum(),
            segment: Arc::new(segment),
        }
    }

    /// Whether every chunk of the segment counts.
    pub fn is_whole(&self) -> bool {
        self.gone.is_empty()
    }

    /// Whether a chunk does not count any more.
    pub fn is_gone(&self, chunk: u32) -> bool {
        let word = self.gone.get(chunk as usize / 64);
        word.is_some_and(|word| word >> (chunk % 64) & 1 == 1)
    }

    fn drop_row(&mut self, row: i64) {
        let Some(chunk) = self.segment.chunk(row) else {
            return;
        };
        if !self.is_gone(chunk) {
            self.gone.resize(self.segment.len().div_ceil(64), 0);
            self.gone[chunk as usize / 64] |= 1 << (chunk % 64);
            self.rows -= 1;
            self.tokens -= u64::from(self.segment.lengths()[chunk as usize]);
        }
    }
}

impl Snapshot {
    /// A snapshot of one segment.
    pub fn new(generation: i64, segment: Segment) -> Self {
        Self {
            generation,
            parts: vec![Part::new(segment)],
        }
    }

    /// A later generation, in which these rows are what `segment` says of them, or gone.
    pub fn after(&self, generation: i64, rows: &[i64], segment: Segment) -> Result<Self, Unfit> {
        let mut parts = self.parts.clone();
        for part in &mut parts {
            for row in rows {
                part.drop_row(*row);
            }
        }
        parts.push(Part::new(segment));
        parts.retain(|part| part.rows > 0);
        let mut snapshot = Self { generation, parts };
        snapshot.tidy()?;
        Ok(snapshot)
    }

    /// Keep parts few, each much larger than the next, and free of what is gone: merging costs a
    /// change little when many follow each other, and searching has few parts to look into.
    fn tidy(&mut self) -> Result<(), Unfit> {
        let mut from = self.parts.len();
        let mut tail = 0;
        for (place, part) in self.parts.iter().enumerate().rev() {
            // A part half of which is gone is made anew, and with it those behind.
            if tail * GROWTH >= part.rows || part.rows * 2 < part.segment.len() {
                from = place;
            }
            tail += part.rows;
        }
        let behind = self.parts.split_off(from);
        if let [part] = behind.as_slice()
            && part.is_whole()
        {
            self.parts.extend(behind);
        } else if !behind.is_empty() {
            let segments: Vec<&Segment> = behind.iter().map(|part| &*part.segment).collect();
            let merged = merge(&segments, |part, chunk| behind[part].is_gone(chunk))?;
            self.parts.push(Part::new(merged));
        }
        Ok(())
    }

    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// How many chunks there are, and how many tokens they have.
    pub fn counts(&self) -> Counts {
        Counts {
            rows: self.parts.iter().map(|part| part.rows as u64).sum(),
            tokens: self.parts.iter().map(|part| part.tokens).sum(),
            holders: Vec::new(),
        }
    }

    /// How many bytes of memory it takes.
    pub fn bytes(&self) -> usize {
        let part = |part: &Part| part.segment.bytes() + part.gone.capacity() * size_of::<u64>();
        self.parts.iter().map(part).sum()
    }
}
