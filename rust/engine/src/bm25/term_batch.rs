//! Terms of FTS5's index with their entries in all runs, copied out of the file.

use std::ops::Range;

use rusqlite::Connection;

use super::fts5_segment::Fts5Segment;
use super::load_error::{LoadError, NotLoadable};
use super::postings::take_number;
use super::segment::{Builder, chunk_of};
use super::stored;

/// Some terms that follow each other.
#[derive(Debug, Default)]
pub(super) struct TermBatch {
    /// The bytes of terms and lists.
    bytes: Vec<u8>,
    /// Offsets of rows that are written out in full although they are not the first of their list; all
    /// others are differences.
    rows: Vec<usize>,
    /// The entries of one term in one run: where their bytes are, and which of `rows` are theirs.
    lists: Vec<(Range<usize>, Range<usize>)>,
    /// Where the bytes of a term are, and its lists, the newest first.
    terms: Vec<(Range<usize>, Range<usize>)>,
}

/// Reads all terms in order.
pub(super) struct Batches<'c> {
    connection: &'c Connection,
    /// The newest first; those with terms to come.
    runs: Vec<Fts5Segment>,
    bytes: usize,
}

impl<'c> Batches<'c> {
    /// Return batches of about `bytes` bytes.
    pub fn new(connection: &'c Connection, bytes: usize) -> Result<Self, LoadError> {
        Self::of(connection, bytes, stored::runs(connection)?)
    }

    /// Batches of the terms from `term` on, and a few before it.
    pub fn from(connection: &'c Connection, bytes: usize, term: &[u8]) -> Result<Self, LoadError> {
        Self::of(connection, bytes, stored::runs_from(connection, term)?)
    }

    fn of(
        connection: &'c Connection,
        bytes: usize,
        all: Vec<Fts5Segment>,
    ) -> Result<Self, LoadError> {
        let mut runs = Vec::new();
        for mut run in all {
            if run.advance(connection)? {
                runs.push(run);
            }
        }
        Ok(Self {
            connection,
            runs,
            bytes,
        })
    }

    /// Return the next terms; None at the end.
    pub fn next(&mut self) -> Result<Option<TermBatch>, LoadError> {
        let mut batch = TermBatch::default();
        while batch.bytes.len() < self.bytes && !self.runs.is_empty() {
            self.add_term(&mut batch)?;
        }
        Ok((!batch.terms.is_empty()).then_some(batch))
    }

    fn add_term(&mut self, batch: &mut TermBatch) -> Result<(), LoadError> {
        let Some(term) = self.runs.iter().map(Fts5Segment::term).min() else {
            return Ok(());
        };
        let start = batch.bytes.len();
        batch.bytes.extend_from_slice(term);
        let (text, first) = (start..batch.bytes.len(), batch.lists.len());
        let mut ended = false;
        for run in &mut self.runs {
            if run.term() == &batch.bytes[text.clone()] {
                batch
                    .lists
                    .push(run.copy_list(&mut batch.bytes, &mut batch.rows));
                ended |= !run.advance(self.connection)?;
            }
        }
        if ended {
            self.runs.retain(|run| !run.is_at_end());
        }
        batch.terms.push((text, first..batch.lists.len()));
        Ok(())
    }
}

impl TermBatch {
    /// The last of the terms.
    pub fn last_term(&self) -> Option<&[u8]> {
        let (text, _) = self.terms.last()?;
        Some(&self.bytes[text.clone()])
    }

    /// Add all terms to a builder; `rows` are those of its chunks.
    pub fn decode(&self, rows: &[i64], builder: &mut Builder) -> Result<(), NotLoadable> {
        let mut cursors = Vec::new();
        for (text, lists) in &self.terms {
            builder.begin(&self.bytes[text.clone()])?;
            cursors.clear();
            for (bytes, rows) in &self.lists[lists.clone()] {
                let mut cursor = EntryCursor {
                    bytes: &self.bytes[..bytes.end],
                    at: bytes.start,
                    rows: &self.rows[rows.clone()],
                    entry: None,
                };
                if cursor.advance()? {
                    cursors.push(cursor);
                }
            }
            merge(&mut cursors, rows, builder)?;
        }
        Ok(())
    }
}

/// The entry of a run for a term and a row.
#[derive(Debug, Clone, Copy)]
struct TermEntry<'b> {
    row: i64,
    positions: &'b [u8],
}

/// A list of entries by row, read one by one.
struct EntryCursor<'b> {
    bytes: &'b [u8],
    at: usize,
    rows: &'b [usize],
    /// The one that is read; None before the first and after the last.
    entry: Option<TermEntry<'b>>,
}

impl EntryCursor<'_> {
    /// Go on to the next entry; false when there is none.
    #[inline]
    fn advance(&mut self) -> Result<bool, NotLoadable> {
        let before = self.entry.take().map(|entry| entry.row);
        if self.at == self.bytes.len() {
            return Ok(false);
        }
        let is_written_out = self.rows.first() == Some(&self.at);
        if is_written_out {
            self.rows = &self.rows[1..];
        }
        let mut rest = &self.bytes[self.at..];
        #[allow(
            clippy::cast_possible_wrap,
            reason = "negative rows are stored as large ones"
        )]
        let number = take_number(&mut rest).ok_or(NotLoadable::Damaged)? as i64;
        let row = match before {
            Some(before) if !is_written_out => before.wrapping_add(number),
            _ => number,
        };
        // The lowest bit matters only to tables that rows are deleted from without their texts.
        let size = take_number(&mut rest).ok_or(NotLoadable::Damaged)? / 2;
        let size = usize::try_from(size).map_err(|_| NotLoadable::Damaged)?;
        let positions = rest.get(..size).ok_or(NotLoadable::Damaged)?;
        if before.is_some_and(|before| before >= row) {
            return Err(NotLoadable::Damaged);
        }
        self.at = self.bytes.len() - (rest.len() - size);
        self.entry = Some(TermEntry { row, positions });
        Ok(true)
    }

    fn row(&self) -> i64 {
        self.entry.map_or(i64::MAX, |entry| entry.row)
    }
}

/// Add the entries of a term to a builder by row; of several for one row, that of the first list
/// counts.
fn merge(
    cursors: &mut Vec<EntryCursor<'_>>,
    rows: &[i64],
    builder: &mut Builder,
) -> Result<(), NotLoadable> {
    let mut near = 0;
    let mut put = |entry: TermEntry<'_>| -> Result<(), NotLoadable> {
        // An empty entry says that the row does not hold the term any more.
        if entry.positions.is_empty() {
            return Ok(());
        }
        near = chunk_of(rows, entry.row, near)?;
        builder.push(near, entry.positions)
    };
    while let Some(row) = cursors.iter().map(EntryCursor::row).min() {
        // A cursor usually continues much later: if chunks were only added, after the last row of this list.
        let is_next = |cursor: &EntryCursor<'_>| cursor.row() == row;
        let Some(first) = cursors.iter().position(is_next) else {
            return Ok(());
        };
        let others = cursors
            .iter()
            .enumerate()
            .filter(|(number, _)| *number != first);
        let bound = others.map(|(_, cursor)| cursor.row()).min();
        let mut ended = false;
        if bound == Some(row) {
            cursors[first].entry.map_or(Ok(()), &mut put)?;
            for cursor in cursors.iter_mut().filter(|cursor| cursor.row() == row) {
                ended |= !cursor.advance()?;
            }
        } else {
            let cursor = &mut cursors[first];
            while let Some(entry) = cursor.entry
                && bound.is_none_or(|bound| entry.row < bound)
            {
                put(entry)?;
                ended |= !cursor.advance()?;
            }
        }
        if ended {
            cursors.retain(|cursor| cursor.entry.is_some());
        }
    }
    Ok(())
}
