//! The postings of all chunks of one generation of an index.

use std::sync::Arc;

use rusqlite::Connection;

use super::build::{self, merge};
use super::counts::Counts;
use super::failure::{Failure, Unfit, is_interrupt};
use super::segment::Segment;
use crate::index::cache::Version;
use crate::index::changes;
use crate::text::tokenizer::TokenizerKind;

/// A part is merged into the one before it unless that has more than so many times its chunks.
const GROWTH: usize = 4;

/// A search reads so many changed chunks again; when more changed, all is read anew.
const REFRESHED_ROWS: usize = 1024;

/// Everything that ranking needs of one generation. Generations share what did not change.
#[derive(Debug)]
pub(in crate::index) struct Snapshot {
    generation: i64,
    parts: Vec<Part>,
    /// Whether it has everything; where what is stored is damaged or too much, FTS5 must rank.
    is_fit: bool,
}

/// What snapshots are made of beside the file.
pub(in crate::index) struct Source {
    tokenizer: TokenizerKind,
    /// What a test wants to know of loads.
    #[cfg(test)]
    pub on_load: std::sync::Mutex<Option<Arc<dyn Fn() + Send + Sync>>>,
}

impl Source {
    pub fn new(tokenizer: TokenizerKind) -> Self {
        Self {
            tokenizer,
            #[cfg(test)]
            on_load: std::sync::Mutex::default(),
        }
    }

    #[cfg(test)]
    fn note_load(&self) {
        let note = self.on_load.lock().unwrap().clone();
        if let Some(note) = note {
            note();
        }
    }

    #[cfg(not(test))]
    #[allow(clippy::unused_self, reason = "tests look at it")]
    fn note_load(&self) {}
}

impl Version for Snapshot {
    type Source = Source;

    const NAME: &'static str = "ranking";

    fn generation(&self) -> i64 {
        self.generation
    }

    fn load(source: &Source, connection: &Connection) -> rusqlite::Result<Self> {
        let generation = changes::generation(connection)?;
        source.note_load();
        match build::from_stored(connection) {
            Ok(segment) => Ok(Self::new(generation, segment)),
            Err(Failure::Sqlite(error)) if is_interrupt(&error) => Err(error),
            // Remembered, so that nobody tries it again.
            Err(_) => Ok(Self {
                generation,
                parts: Vec::new(),
                is_fit: false,
            }),
        }
    }

    fn follow(
        self: &Arc<Self>,
        source: &Source,
        connection: &Connection,
        generation: i64,
    ) -> rusqlite::Result<Option<Self>> {
        if !self.is_fit {
            return Ok(None);
        }
        let Some(rows) = changes::since(connection, self.generation)? else {
            return Ok(None);
        };
        if rows.len() > REFRESHED_ROWS {
            return Ok(None);
        }
        let followed = build::from_texts(connection, source.tokenizer, &rows)
            .and_then(|segment| Ok(self.after(generation, &rows, segment)?));
        match followed {
            Ok(snapshot) => Ok(Some(snapshot)),
            Err(Failure::Sqlite(error)) => Err(error),
            Err(Failure::Unfit) => Ok(None),
        }
    }
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
    fn new(generation: i64, segment: Segment) -> Self {
        Self {
            generation,
            parts: vec![Part::new(segment)],
            is_fit: true,
        }
    }

    /// Whether it can rank.
    pub fn is_fit(&self) -> bool {
        self.is_fit
    }

    /// A later generation, in which these rows are what `segment` says of them, or gone.
    fn after(&self, generation: i64, rows: &[i64], segment: Segment) -> Result<Self, Unfit> {
        let mut parts = self.parts.clone();
        for part in &mut parts {
            for row in rows {
                part.drop_row(*row);
            }
        }
        parts.push(Part::new(segment));
        parts.retain(|part| part.rows > 0);
        let mut snapshot = Self {
            generation,
            parts,
            is_fit: true,
        };
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

    pub(super) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// How many chunks there are, and how many tokens they have.
    pub(super) fn counts(&self) -> Counts {
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
