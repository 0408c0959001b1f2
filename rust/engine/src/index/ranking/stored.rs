//! Reading FTS5's index as it is stored, which holds all that ranking needs, sorted.
//!
//! The format is described in SQLite's source (`fts5_index.c`) and cannot change, since files have
//! it. An index is a few *runs*, each with terms in order and, for each, entries in the order of
//! rows; where several runs have an entry for a term and a row, the newest counts, and an empty
//! one says that there is none any more.

use rusqlite::Connection;

use super::failure::{Failure, Unfit};
use super::postings::take_number;

/// The record that lists the runs.
const STRUCTURE: i64 = 10;
/// The record of totals.
const AVERAGES: i64 = 1;
/// In the number of a page, the bits of its place in the run.
const PAGE_BITS: u32 = 37;
/// What leads every term: the main index, not one of prefixes.
const MAIN: u8 = b'0';
/// How many bytes a page has as a rule.
const PAGE_BYTES: u64 = 4050;
/// A page begins with two numbers of two bytes.
const HEADER: usize = 4;

/// How much is stored: rows, and tokens in all columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Totals {
    pub rows: u64,
    pub tokens: u64,
}

/// What FTS5 counts as rows and tokens.
pub(super) fn totals(connection: &Connection) -> Result<Totals, Failure> {
    let record = record(connection, AVERAGES)?;
    read_totals(&record).ok_or(Unfit::Damaged.into())
}

fn read_totals(record: &[u8]) -> Option<Totals> {
    if record.is_empty() {
        return Some(Totals { rows: 0, tokens: 0 });
    }
    let mut rest = record;
    let rows = take_number(&mut rest)?;
    let mut tokens = 0_u64;
    while !rest.is_empty() {
        tokens = tokens.checked_add(take_number(&mut rest)?)?;
    }
    Some(Totals { rows, tokens })
}

fn record(connection: &Connection, id: i64) -> rusqlite::Result<Vec<u8>> {
    connection
        .prepare_cached("SELECT block FROM knowledge_fts_data WHERE id = ?")?
        .query_row([id], |row| row.get(0))
}

/// The row of each chunk in order, and how many tokens it has.
pub(super) fn lengths(connection: &Connection) -> Result<(Vec<i64>, Vec<u32>), Failure> {
    let (mut rows, mut lengths) = (Vec::new(), Vec::new());
    let mut statement =
        connection.prepare_cached("SELECT id, sz FROM knowledge_fts_docsize ORDER BY id")?;
    let mut found = statement.query([])?;
    while let Some(found) = found.next()? {
        let sizes = found.get_ref(1)?.as_blob().map_err(|_| Unfit::Damaged)?;
        lengths.push(sum(sizes).ok_or(Unfit::Damaged)?);
        rows.push(found.get(0)?);
    }
    Ok((rows, lengths))
}

fn sum(mut sizes: &[u8]) -> Option<u32> {
    let mut sum = 0_u32;
    while !sizes.is_empty() {
        sum = sum.checked_add(u32::try_from(take_number(&mut sizes)?).ok()?)?;
    }
    Some(sum)
}

/// A run's place among the pages.
#[derive(Debug, PartialEq, Eq)]
struct Pages {
    run: i64,
    first: i64,
    last: i64,
}

/// All runs, the newest first.
pub(super) fn runs(connection: &Connection) -> Result<Vec<Run>, Failure> {
    let structure = read_structure(&record(connection, STRUCTURE)?).ok_or(Unfit::Damaged)?;
    let runs = structure.iter().map(|pages| Run::read(connection, pages));
    runs.collect()
}

/// How many bytes all runs take, at most.
pub(super) fn run_bytes(connection: &Connection) -> Result<u64, Failure> {
    let structure = record(connection, STRUCTURE)?;
    let structure = read_structure(&structure).ok_or(Unfit::Damaged)?;
    let pages = structure
        .iter()
        .map(|pages| pages.last.abs_diff(pages.first) + 1);
    Ok(pages.sum::<u64>().saturating_mul(PAGE_BYTES))
}

fn read_structure(record: &[u8]) -> Option<Vec<Pages>> {
    // Four bytes that count changes of the configuration come first.
    let mut rest = record.get(4..)?;
    let mut next = || take_number(&mut rest).and_then(|number| i64::try_from(number).ok());
    let (levels, _runs, _writes) = (next()?, next()?, next()?);
    let mut runs = Vec::new();
    for _ in 0..levels {
        let (_merging, count) = (next()?, next()?);
        let mut level = Vec::new();
        for _ in 0..count {
            let (run, first, last) = (next()?, next()?, next()?);
            // A run of which everything is merged into another has no pages.
            if first > 0 {
                level.push(Pages { run, first, last });
            }
        }
        runs.extend(level.into_iter().rev());
    }
    rest.is_empty().then_some(runs)
}

/// One run, its pages put together, and how far it is read.
#[derive(Debug, Default)]
pub(super) struct Run {
    bytes: Vec<u8>,
    /// Where each term begins, and whether it is the first of its page: then it is written out,
    /// the others continue the one before.
    terms: Vec<(usize, bool)>,
    /// Where rows are written out that are not the first of their term; others are differences.
    rows: Vec<usize>,
    next_term: usize,
    next_row: usize,
    term: Vec<u8>,
    /// Where the entries of the term are.
    entries: std::ops::Range<usize>,
}

/// What a run says of a term and a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    pub row: i64,
    /// Place of the run, the newest first.
    pub run: usize,
    /// Where in the run's bytes the position list begins and ends.
    pub start: usize,
    pub end: usize,
}

impl Run {
    fn read(connection: &Connection, pages: &Pages) -> Result<Self, Failure> {
        let mut run = Self::default();
        let mut statement = connection.prepare_cached(
            "SELECT id, block FROM knowledge_fts_data WHERE id BETWEEN ? AND ? ORDER BY id",
        )?;
        let id = |page: i64| (pages.run << PAGE_BITS) + page;
        let mut found = statement.query([id(pages.first), id(pages.last)])?;
        let mut expected = id(pages.first);
        while let Some(found) = found.next()? {
            if found.get::<_, i64>(0)? != expected {
                return Err(Unfit::Damaged.into());
            }
            let page = found.get_ref(1)?.as_blob().map_err(|_| Unfit::Damaged)?;
            run.add_page(page).ok_or(Unfit::Damaged)?;
            expected += 1;
        }
        if expected != id(pages.last) + 1 {
            return Err(Unfit::Damaged.into());
        }
        Ok(run)
    }

    /// A page: where its first row is written out, where its footer begins, the rest of the
    /// entries of the last term, terms with their entries, and as a footer where terms begin.
    fn add_page(&mut self, page: &[u8]) -> Option<()> {
        let two = |at: usize| Some(u16::from_be_bytes([*page.get(at)?, *page.get(at + 1)?]).into());
        let (first_row, end): (usize, usize) = (two(0)?, two(2)?);
        let content = page.get(HEADER..end)?;
        let mut footer = page.get(end..)?;
        let start = self.bytes.len();
        // Places in a page count its header.
        let place = |at: usize| (at >= HEADER && at <= end).then(|| start + at - HEADER);
        if first_row > 0 {
            self.rows.push(place(first_row)?);
        }
        let (mut at, mut first) = (0, true);
        while !footer.is_empty() {
            at += usize::try_from(take_number(&mut footer)?).ok()?;
            self.terms.push((place(at)?, first));
            first = false;
        }
        self.bytes.extend_from_slice(content);
        Some(())
    }

    /// The term read last.
    pub fn term(&self) -> &[u8] {
        &self.term
    }

    /// A position list of this run.
    pub fn positions(&self, entry: &Entry) -> &[u8] {
        &self.bytes[entry.start..entry.end]
    }

    /// Read the next term; false when there are no more.
    pub fn advance(&mut self) -> Result<bool, Unfit> {
        let Some((start, first)) = self.terms.get(self.next_term).copied() else {
            return Ok(false);
        };
        self.next_term += 1;
        let end = self
            .terms
            .get(self.next_term)
            .map_or(self.bytes.len(), |(end, _)| *end);
        let mut rest = self.bytes.get(start..end).ok_or(Unfit::Damaged)?;
        let mut next = || {
            let number = take_number(&mut rest).ok_or(Unfit::Damaged)?;
            usize::try_from(number).map_err(|_| Unfit::Damaged)
        };
        let kept = if first { 0 } else { next()? };
        let new = next()?;
        let added = rest.get(..new).ok_or(Unfit::Damaged)?;
        // The mark of the main index, which is not part of the term, is never kept apart.
        let (kept, added) = match added.split_first() {
            Some((&MAIN, added)) if kept == 0 => (0, added),
            Some(_) if kept > 0 => (kept - 1, added),
            _ => return Err(Unfit::Damaged),
        };
        if kept > self.term.len() {
            return Err(Unfit::Damaged);
        }
        self.term.truncate(kept);
        self.term.extend_from_slice(added);
        self.entries = end - (rest.len() - new)..end;
        Ok(true)
    }

    /// Add the entries of the term, by row. `run` is the place of this run.
    pub fn entries(&mut self, run: usize, entries: &mut Vec<Entry>) -> Result<(), Unfit> {
        let end = self.entries.end;
        let bytes = self.bytes.get(..end).ok_or(Unfit::Damaged)?;
        let mut rest = bytes.get(self.entries.start..).ok_or(Unfit::Damaged)?;
        let mut row = None;
        while !rest.is_empty() {
            let at = end - rest.len();
            while self.rows.get(self.next_row).is_some_and(|row| *row < at) {
                self.next_row += 1;
            }
            let written_out = self.rows.get(self.next_row) == Some(&at);
            #[allow(
                clippy::cast_possible_wrap,
                reason = "negative rows are stored as large ones"
            )]
            let number = take_number(&mut rest).ok_or(Unfit::Damaged)? as i64;
            let this = match row {
                Some(before) if !written_out => i64::wrapping_add(before, number),
                _ => number,
            };
            let size = take_number(&mut rest).ok_or(Unfit::Damaged)? / 2;
            let start = end - rest.len();
            let size = usize::try_from(size).map_err(|_| Unfit::Damaged)?;
            rest = rest.get(size..).ok_or(Unfit::Damaged)?;
            if row.is_some_and(|before| before >= this) {
                return Err(Unfit::Damaged);
            }
            row = Some(this);
            entries.push(Entry {
                row: this,
                run,
                start,
                end: start + size,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_structure_lists_its_runs_the_newest_first() {
        // Two levels: run 3 on pages 1 to 2 and run 4 on page 1; run 1, all merged, and run 2.
        let record = [
            0, 0, 0, 9, 2, 4, 7, 0, 2, 3, 1, 2, 4, 1, 1, 0, 2, 1, 0, 0, 2, 1, 5,
        ];
        let pages = |run, first, last| Pages { run, first, last };
        assert_eq!(
            read_structure(&record),
            Some(vec![pages(4, 1, 1), pages(3, 1, 2), pages(2, 1, 5)])
        );
        assert_eq!(read_structure(&record[..record.len() - 1]), None);
        assert_eq!(read_structure(&[]), None);
    }

    #[test]
    fn totals_are_summed() {
        let totals = |rows, tokens| Some(Totals { rows, tokens });
        assert_eq!(read_totals(&[]), totals(0, 0));
        assert_eq!(read_totals(&[3, 1, 0, 2, 0, 0x81, 0]), totals(3, 131));
        assert_eq!(read_totals(&[3, 0x81]), None);
    }
}
