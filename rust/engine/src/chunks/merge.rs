//! Merging the segments of the full-text index.
//!
//! FTS5 adds a segment for each transaction, and a query looks its terms up in every segment. FTS5's
//! own merges run inside writes: one write in hundreds would rewrite a large part of the index. So
//! they are switched off (`schema.rs`), and there are three others:
//!
//! - A background thread merges in small steps while no caller writes (`storage/maintenance.rs`).
//! - A write merges a little when there are more than [`MANY_SEGMENTS`]. This bounds the segments
//!   where the thread has no time: under constant writes, or in a process that writes once and ends.
//! - A bulk write merges the segments of bulk writes.
//!
//! A segment is on a level. A merge makes one segment of all segments of a level, on the next level.
//! It may take several steps, and later segments of the level wait until it is complete.

use rusqlite::Connection;

use crate::storage::Maintenance;

/// The number of segments on one level that are merged, which FTS5 calls `usermerge`.
///
/// With 4, the largest segment is rewritten after 4, 16, 64 ... writes, with 8 after 8, 64, 512 ...
/// With 16, a large index would have about 40 segments instead of 20, and each takes time in every
/// query.
pub(super) const FAN_OUT: usize = 8;

/// The number of segments above which a write merges by itself.
///
/// Below 8 for each of the four or five levels of a large index, nearly every write would merge, even
/// where the thread has time. Twice as many would slow FTS5's ranking: a query takes some microseconds
/// for each term and segment.
const MANY_SEGMENTS: usize = 32;

/// The least number of pages, of 4 KB, that one step writes: about a millisecond of work.
///
/// Smaller steps would spend most of their time on the first page of each segment, which every step
/// reads and writes again. Larger ones would make the next write wait longer.
const STEP_PAGES: usize = 32;

/// The least number of pages that a bulk write adds: about 60 chunks of 80 words.
///
/// With a smaller number, a few chunks would pay for the merge of eight times as many. With a larger
/// one, writes of fewer pages would leave more to merge than the steps of writes can do.
const BULK_PAGES: usize = 8;

/// The maintenance of the full-text index.
pub(super) const MAINTENANCE: Maintenance = Maintenance {
    after_write: |connection| {
        let mut structure = Structure::read(connection)?;
        let mut pages = structure.write_pages();
        if structure.may_have_bulk_writes() {
            // FTS5 writes the segment of this transaction before it merges.
            merge(connection, 0)?;
            structure = Structure::read(connection)?;
            pages = structure.bulk_pages().or(pages);
        }
        if let Some(pages) = pages {
            merge(connection, pages)?;
        }
        Ok(structure.next_level().is_some())
    },
    step: |connection| {
        let before = Structure::read(connection)?;
        if before.next_level().is_none() {
            return Ok(false);
        }
        merge(connection, before.step_pages())?;
        let after = Structure::read(connection)?;
        // A merge that changes nothing would be tried for ever.
        Ok(after.next_level().is_some() && after != before)
    },
};

/// Merge until `pages` pages are written, or nothing is left to merge.
fn merge(connection: &Connection, pages: usize) -> rusqlite::Result<()> {
    // FTS5 reads a 32-bit number, of which the negative ones mean something else.
    let pages = i32::try_from(pages).unwrap_or(i32::MAX);
    connection
        .prepare_cached("INSERT INTO knowledge_fts (knowledge_fts, rank) VALUES ('merge', ?)")?
        .execute([pages])?;
    Ok(())
}

/// A level of the full-text index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SegmentLevel {
    segments: usize,
    /// The number of its segments, from the oldest, that an incomplete merge reads; 0 if there is none.
    merging: usize,
    /// The pages of all its segments.
    pages: usize,
    /// The pages of its newest segment.
    newest: usize,
}

/// The levels of the full-text index. New segments are on the first.
#[derive(Debug, PartialEq, Eq)]
struct Structure(Vec<SegmentLevel>);

impl Structure {
    /// Read FTS5's structure row, of some hundred bytes. Empty if it is damaged, which FTS5 reports
    /// when it writes.
    fn read(connection: &Connection) -> rusqlite::Result<Self> {
        connection
            .prepare_cached("SELECT block FROM knowledge_fts_data WHERE id = 10")?
            .query_row([], |row| {
                let record = row.get_ref(0)?.as_blob().unwrap_or_default();
                Ok(Self(levels(record).unwrap_or_default()))
            })
    }

    fn segments(&self) -> usize {
        self.0.iter().map(|level| level.segments).sum()
    }

    /// The level that FTS5 merges next; None if there is nothing to merge.
    ///
    /// That is the level with the most segments up to the first incomplete merge, which counts by the
    /// segments that it reads.
    fn next_level(&self) -> Option<usize> {
        let (mut best, mut most) = (None, FAN_OUT - 1);
        for (number, level) in self.0.iter().enumerate() {
            if level.merging > 0 {
                // FTS5 also continues a merge of fewer segments, if no level before has more.
                let before = self.0.iter().take(number);
                let is_next = before.map(|level| level.segments).max() < Some(level.merging);
                return if is_next { Some(number) } else { best };
            }
            if level.segments > most {
                (best, most) = (Some(number), level.segments);
            }
        }
        best
    }

    /// The pages that a write merges; None if it leaves all merges to the thread.
    fn write_pages(&self) -> Option<usize> {
        let is_due = self.segments() > MANY_SEGMENTS && self.next_level().is_some();
        is_due.then(|| self.step_pages())
    }

    /// Whether a bulk write may find enough segments of bulk writes to merge.
    fn may_have_bulk_writes(&self) -> bool {
        self.0.first().is_some_and(|level| {
            level.segments + 1 >= FAN_OUT && level.pages >= BULK_PAGES * (FAN_OUT - 1)
        })
    }

    /// Return the pages that a bulk write merges after its own segment is written; None for any other write.
    ///
    /// A bulk write adds at least as many pages as the average of the other segments. The merge of all of
    /// them therefore takes at most [`FAN_OUT`] times as long as the write, in one of as many bulk writes.
    /// The pages count once for each level, as in FTS5's automatic merges: every level rewrites a page once,
    /// so merges keep up with writes.
    fn bulk_pages(&self) -> Option<usize> {
        let level = self.0.first()?;
        let is_bulk = level.segments >= FAN_OUT
            && level.newest >= BULK_PAGES
            && level.newest.saturating_mul(level.segments) >= level.pages;
        is_bulk.then(|| level.pages.saturating_mul(self.0.len()))
    }

    /// The pages that a step writes.
    ///
    /// Every step reads the first page of each segment that it merges and writes most of them again.
    /// With half as many pages as segments, these are at most two thirds of the work. It also bounds
    /// the segments that wait for an incomplete merge on level 0: while it has P pages left, writers
    /// alone add about the root of 4 P segments.
    fn step_pages(&self) -> usize {
        STEP_PAGES.max(self.segments() / 2)
    }
}

/// The levels in FTS5's record of its structure; None if it is damaged.
fn levels(record: &[u8]) -> Option<Vec<SegmentLevel>> {
    // Four bytes that count changes of the configuration come first.
    let mut rest = record.get(4..)?;
    let mut next = || take_number(&mut rest);
    let (count, _segments, _writes) = (next()?, next()?, next()?);
    let mut levels = Vec::new();
    for _ in 0..count {
        let (merging, segments) = (next()?, next()?);
        let (mut pages, mut newest) = (0_usize, 0);
        for _ in 0..segments {
            let (_segment, first, last) = (next()?, next()?, next()?);
            // A segment that is merged completely has no pages.
            newest = match first {
                0 => 0,
                _ => last.checked_sub(first)?.checked_add(1)?,
            };
            pages = pages.checked_add(newest)?;
        }
        levels.push(SegmentLevel {
            segments,
            merging,
            pages,
            newest,
        });
    }
    rest.is_empty().then_some(levels)
}

/// Take a number off the front of `bytes`: seven bits a byte, highest first. FTS5's are of 32 bits here.
fn take_number(bytes: &mut &[u8]) -> Option<usize> {
    let mut number = 0_usize;
    for (offset, byte) in bytes.iter().take(5).enumerate() {
        number = number.checked_mul(0x80)? | usize::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            *bytes = bytes.get(offset + 1..)?;
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests;
