//! Reading FTS5's index from its tables, which have all data of ranking, sorted by term.
//!
//! The format is described in SQLite's source (`fts5_index.c`) and cannot change, since files have
//! it. An index is a few *segments*, each with terms in order and, for each, entries in the order
//! of rows. If several segments have an entry for a term and a row, the newest counts, and an empty
//! one means that it was removed.

use rusqlite::{Connection, OptionalExtension};

use super::fts5_segment::{Fts5Segment, LeafRange, MAIN};
use super::load_error::{LoadError, NotLoadable};
use super::postings::take_number;

/// The record that lists the runs.
const STRUCTURE: i64 = 10;
/// The record of totals.
const AVERAGES: i64 = 1;

/// How much is stored: rows, and tokens in all columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StoredTotals {
    pub rows: u64,
    pub tokens: u64,
}

/// Return FTS5's counts of rows and tokens.
pub(super) fn totals(connection: &Connection) -> Result<StoredTotals, LoadError> {
    let record = record(connection, AVERAGES)?;
    read_totals(&record).ok_or(NotLoadable::Damaged.into())
}

fn read_totals(record: &[u8]) -> Option<StoredTotals> {
    if record.is_empty() {
        return Some(StoredTotals { rows: 0, tokens: 0 });
    }
    let mut rest = record;
    let rows = take_number(&mut rest)?;
    let mut tokens = 0_u64;
    while !rest.is_empty() {
        tokens = tokens.checked_add(take_number(&mut rest)?)?;
    }
    Some(StoredTotals { rows, tokens })
}

fn record(connection: &Connection, id: i64) -> rusqlite::Result<Vec<u8>> {
    connection
        .prepare_cached("SELECT block FROM knowledge_fts_data WHERE id = ?")?
        .query_row([id], |row| row.get(0))
}

/// Return the row of each chunk in order, and its number of tokens.
pub(super) fn lengths(connection: &Connection) -> Result<(Vec<i64>, Vec<u32>), LoadError> {
    let (mut rows, mut lengths) = (Vec::new(), Vec::new());
    let mut statement =
        connection.prepare_cached("SELECT id, sz FROM knowledge_fts_docsize ORDER BY id")?;
    let mut found = statement.query([])?;
    while let Some(found) = found.next()? {
        let sizes = found
            .get_ref(1)?
            .as_blob()
            .map_err(|_| NotLoadable::Damaged)?;
        lengths.push(sum(sizes).ok_or(NotLoadable::Damaged)?);
        let row = found.get(0)?;
        // Rows in a damaged tree may be unordered.
        if rows.last().is_some_and(|last| *last >= row) {
            return Err(NotLoadable::Damaged.into());
        }
        rows.push(row);
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

/// All runs, the newest first.
pub(super) fn runs(connection: &Connection) -> Result<Vec<Fts5Segment>, LoadError> {
    let structure = read_structure(&record(connection, STRUCTURE)?).ok_or(NotLoadable::Damaged)?;
    Ok(structure.into_iter().map(Fts5Segment::new).collect())
}

/// All runs, the newest first, each from the page on that may hold `term`.
pub(super) fn runs_from(
    connection: &Connection,
    term: &[u8],
) -> Result<Vec<Fts5Segment>, LoadError> {
    let structure = read_structure(&record(connection, STRUCTURE)?).ok_or(NotLoadable::Damaged)?;
    let mut statement = connection.prepare_cached(
        "SELECT pgno >> 1 FROM knowledge_fts_idx WHERE segid = ? AND term <= ? ORDER BY term DESC LIMIT 1",
    )?;
    let term = [&[MAIN], term].concat();
    let mut runs = Vec::with_capacity(structure.len());
    for mut pages in structure {
        let page: Option<i64> = statement
            .query_row((pages.run, &term), |row| row.get(0))
            .optional()?;
        pages.first = pages.first.max(page.unwrap_or(0));
        if pages.first > pages.last {
            return Err(NotLoadable::Damaged.into());
        }
        runs.push(Fts5Segment::new(pages));
    }
    Ok(runs)
}

fn read_structure(record: &[u8]) -> Option<Vec<LeafRange>> {
    // Four bytes that count changes of the configuration come first.
    let mut rest = record.get(4..)?;
    let mut next = || take_number(&mut rest);
    let (levels, _runs, _writes) = (next()?, next()?, next()?);
    let mut runs = Vec::new();
    for _ in 0..levels {
        let (_merging, count) = (next()?, next()?);
        let mut level = Vec::new();
        for _ in 0..count {
            // FTS5 numbers segments by 16 bits and pages by 31. Larger numbers mean damage.
            let run = u16::try_from(next()?).ok()?.into();
            let [first, last] = [page(next()?)?, page(next()?)?];
            // A run of which everything is merged into another has no pages.
            if first > 0 {
                level.push(LeafRange { run, first, last });
            }
        }
        runs.extend(level.into_iter().rev());
    }
    rest.is_empty().then_some(runs)
}

fn page(number: u64) -> Option<i64> {
    i32::try_from(number).ok().map(i64::from)
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
        let pages = |run, first, last| LeafRange { run, first, last };
        assert_eq!(
            read_structure(&record),
            Some(vec![pages(4, 1, 1), pages(3, 1, 2), pages(2, 1, 5)])
        );
        assert_eq!(read_structure(&record[..record.len() - 1]), None);
        assert_eq!(read_structure(&[]), None);
    }

    #[test]
    fn numbers_that_fts5_never_gives_are_damage() {
        // A level with one segment.
        let structure = |run: &[u8], first: &[u8], last: &[u8]| {
            let record = [&[0, 0, 0, 9, 1, 1, 0, 0, 1], run, first, last].concat();
            read_structure(&record)
        };
        let (too_large, largest) = (&[0xff; 9], &[0x87, 0xff, 0xff, 0xff, 0x7f]);
        let last = i64::from(i32::MAX);
        let pages = LeafRange {
            run: 65_535,
            first: 1,
            last,
        };
        assert_eq!(
            structure(&[0x83, 0xff, 0x7f], &[1], largest),
            Some(vec![pages])
        );
        assert_eq!(structure(&[0x84, 0x80, 0], &[1], &[1]), None);
        assert_eq!(structure(&[1], too_large, too_large), None);
        assert_eq!(structure(&[1], &[1], &[0x88, 0x80, 0x80, 0x80, 0]), None);
    }

    #[test]
    fn totals_are_summed() {
        let totals = |rows, tokens| Some(StoredTotals { rows, tokens });
        assert_eq!(read_totals(&[]), totals(0, 0));
        assert_eq!(read_totals(&[3, 1, 0, 2, 0, 0x81, 0]), totals(3, 131));
        assert_eq!(read_totals(&[3, 0x81]), None);
    }
}
