//! Rows changed since a generation. A cache uses them to update its newest version after writes of
//! this process or another one.

use std::ops::RangeInclusive;

use rusqlite::{Connection, OptionalExtension};

use super::settings::{self, CHANGES_AFTER, GENERATION};

/// The most ranges of rows in the table `changes`; about 1.5 MB of the file. A range is a run of rows written
/// by one transaction. A transaction that adds chunks takes one range, and one that rewrites scattered chunks
/// takes one range a chunk. Caches whose generation is older than the list are reloaded.
const MAX_RANGES: i64 = if cfg!(test) { 1 << 10 } else { 1 << 17 };

/// The number of changed rows that a cache of any size applies. A load has a cost of starting too.
const MIN_INCREMENTAL_ROWS: usize = 4096;
/// The rows of a cache per changed row that it applies at most.
///
/// A changed row costs more than a row of a load: for 24,000 rewritten rows of 122,000, the first
/// search took a third of the processor time of a load. Loading uses all cores and, for keywords,
/// happens while FTS5 answers, so beyond a quarter it is the better choice.
const INCREMENTAL_SHARE: usize = 4;

/// Return the most changed rows that a cache of `rows` rows applies. When more changed, it is
/// reloaded.
pub fn max_incremental_rows(rows: usize) -> usize {
    (rows / INCREMENTAL_SHARE).max(MIN_INCREMENTAL_ROWS)
}

/// Distinct rows as ascending ranges with gaps between them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RowRanges(Vec<RangeInclusive<i64>>);

impl RowRanges {
    /// The ranges of these rows, in any order and with repetitions.
    pub fn of(rows: &[i64]) -> Self {
        let mut rows = rows.to_vec();
        rows.sort_unstable();
        Self::joined(rows.into_iter().map(|row| row..=row))
    }

    /// The union of ranges that ascend by their first rows.
    fn joined(ranges: impl Iterator<Item = RangeInclusive<i64>>) -> Self {
        let mut joined: Vec<RangeInclusive<i64>> = Vec::new();
        for range in ranges {
            match joined.last_mut() {
                Some(last) if *range.start() <= last.end().saturating_add(1) => {
                    *last = *last.start()..=*last.end().max(range.end());
                }
                _ => joined.push(range),
            }
        }
        Self(joined)
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        let lengths = self.0.iter().map(|range| {
            let steps = range.end().abs_diff(*range.start());
            usize::try_from(steps)
                .unwrap_or(usize::MAX)
                .saturating_add(1)
        });
        lengths.fold(0, usize::saturating_add)
    }

    /// Whether there are zero rows.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `row` is one of the rows.
    pub fn contains(&self, row: i64) -> bool {
        let after = self.0.partition_point(|range| *range.start() <= row);
        after
            .checked_sub(1)
            .is_some_and(|at| row <= *self.0[at].end())
    }

    /// The rows in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = i64> + '_ {
        self.0.iter().cloned().flatten()
    }
}

/// The number of transactions that changed a chunk or a vector. Equal numbers mean equal states.
pub fn generation(connection: &Connection) -> rusqlite::Result<i64> {
    Ok(settings::get(connection, GENERATION)?.unwrap_or_default())
}

/// Make the table of changes, empty: the list is complete from the present generation on.
pub(crate) fn create(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "DROP TABLE IF EXISTS changes;
         CREATE TABLE changes (
             entry INTEGER PRIMARY KEY,
             generation INTEGER NOT NULL,
             first INTEGER NOT NULL,
             last INTEGER NOT NULL
         ) STRICT;",
    )?;
    let generation = generation(connection)?;
    settings::set(connection, CHANGES_AFTER, Some(&generation.to_string()))
}

/// Count a transaction that wrote or deleted these rows of chunks or vectors, and list them. A
/// transaction without a row is not counted.
pub fn record(connection: &Connection, rows: &[i64]) -> rusqlite::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let generation = generation(connection)?.saturating_add(1);
    settings::set(connection, GENERATION, Some(&generation.to_string()))?;
    let ranges = RowRanges::of(rows);
    if ranges.0.len() as u64 > MAX_RANGES.unsigned_abs() {
        connection.execute("DELETE FROM changes", [])?;
        return settings::set(connection, CHANGES_AFTER, Some(&generation.to_string()));
    }
    let sql = "INSERT INTO changes (generation, first, last) VALUES (?, ?, ?)";
    let mut insert = connection.prepare_cached(sql)?;
    for range in &ranges.0 {
        insert.execute([generation, *range.start(), *range.end()])?;
    }
    // As many entries go as came, so that no write pays for others.
    let oldest = connection.last_insert_rowid().saturating_sub(MAX_RANGES);
    connection
        .prepare_cached("DELETE FROM changes WHERE entry <= ?")?
        .execute([oldest])?;
    Ok(())
}

/// The rows that changed after the generation `known`. None if the list does not go back that far or
/// has more than `most` rows.
pub fn since(
    connection: &Connection,
    known: i64,
    most: usize,
) -> rusqlite::Result<Option<RowRanges>> {
    if known > generation(connection)? || known < complete_after(connection)? {
        return Ok(None);
    }
    // Entries ascend with generations, and those asked for are the last.
    let sql = "SELECT generation, first, last FROM changes ORDER BY entry DESC";
    let mut statement = connection.prepare_cached(sql)?;
    let mut found = statement.query([])?;
    let mut ranges = Vec::new();
    while let Some(entry) = found.next()? {
        if entry.get::<_, i64>(0)? <= known {
            break;
        }
        let (first, last): (i64, i64) = (entry.get(1)?, entry.get(2)?);
        if first > last {
            // The file is damaged, and a reload does not depend on this table.
            return Ok(None);
        }
        ranges.push(first..=last);
    }
    ranges.sort_unstable_by_key(|range| *range.start());
    let rows = RowRanges::joined(ranges.into_iter());
    Ok((rows.len() <= most).then_some(rows))
}

/// The generation after which every change is listed.
fn complete_after(connection: &Connection) -> rusqlite::Result<i64> {
    let after = settings::get(connection, CHANGES_AFTER)?.unwrap_or(0);
    let sql = "SELECT entry, generation FROM changes ORDER BY entry LIMIT 1";
    let oldest: Option<(i64, i64)> = connection
        .prepare_cached(sql)?
        .query_row([], |found| Ok((found.get(0)?, found.get(1)?)))
        .optional()?;
    Ok(match oldest {
        // Earlier entries are gone, perhaps including entries of the same generation.
        Some((entry, generation)) if entry > 1 => after.max(generation),
        _ => after,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::index::Index;
    use crate::text::tokenizer::TokenizerKind;

    fn rows_since(connection: &Connection, known: i64) -> rusqlite::Result<Option<Vec<i64>>> {
        let rows = since(connection, known, usize::MAX)?;
        Ok(rows.map(|rows| rows.iter().collect()))
    }

    #[test]
    fn the_list_goes_back_as_far_as_it_says() {
        let index = Index::in_memory(TokenizerKind::Porter).unwrap();
        index
            .database()
            .write(|connection| {
                assert_eq!(generation(connection)?, 0);
                assert_eq!(rows_since(connection, 0)?, Some(vec![]));
                record(connection, &[])?;
                assert_eq!(generation(connection)?, 0);
                record(connection, &[7, 3, 7])?;
                record(connection, &[5])?;
                assert_eq!(generation(connection)?, 2);
                assert_eq!(rows_since(connection, 0)?, Some(vec![3, 5, 7]));
                assert_eq!(rows_since(connection, 1)?, Some(vec![5]));
                assert_eq!(rows_since(connection, 2)?, Some(vec![]));
                assert_eq!(rows_since(connection, 3)?, None, "of another file");
                assert_eq!(since(connection, 0, 2)?, None, "more than were asked for");
                // However many rows follow each other, they are one range.
                let many: Vec<i64> = (0..100_000).collect();
                record(connection, &many)?;
                assert_eq!(rows_since(connection, 2)?, Some(many));
                let scattered: Vec<i64> = (0..=MAX_RANGES).map(|row| row * 2).collect();
                record(connection, &scattered)?;
                assert_eq!(rows_since(connection, 3)?, None);
                assert_eq!(rows_since(connection, 4)?, Some(vec![]));
                for _ in 0..MAX_RANGES {
                    record(connection, &[1, 4])?;
                }
                let newest = generation(connection)?;
                let half = newest - MAX_RANGES / 2;
                assert_eq!(rows_since(connection, half)?, None, "part of it is gone");
                assert_eq!(rows_since(connection, half + 1)?, Some(vec![1, 4]));
                let entries: i64 =
                    connection.query_row("SELECT count(*) FROM changes", [], |row| row.get(0))?;
                assert_eq!(entries, MAX_RANGES);
                Ok(())
            })
            .unwrap();
    }

    #[test]
    fn ranges_of_a_damaged_file_end_in_nothing_worse_than_loading() {
        let index = Index::in_memory(TokenizerKind::Porter).unwrap();
        index
            .database()
            .write(|connection| {
                record(connection, &[1])?;
                connection.execute("UPDATE changes SET last = ?", [i64::MAX])?;
                assert_eq!(since(connection, 0, 1 << 40)?, None);
                connection.execute("UPDATE changes SET first = ?", [i64::MIN])?;
                assert_eq!(since(connection, 0, usize::MAX - 1)?, None);
                connection.execute("UPDATE changes SET first = 3, last = 2", [])?;
                assert_eq!(rows_since(connection, 0)?, None);
                Ok(())
            })
            .unwrap();
    }

    proptest! {
        #[test]
        fn ranges_are_the_rows_they_are_made_of(
            rows in prop::collection::vec(0_i64..60, 0..40),
        ) {
            let ranges = RowRanges::of(&rows);
            let expected: BTreeSet<i64> = rows.iter().copied().collect();
            prop_assert_eq!(ranges.iter().collect::<Vec<_>>(), expected.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(ranges.len(), expected.len());
            prop_assert_eq!(ranges.is_empty(), expected.is_empty());
            prop_assert!((0..60).all(|row| ranges.contains(row) == expected.contains(&row)));
            prop_assert!(ranges.0.windows(2).all(|pair| pair[0].end() + 1 < *pair[1].start()));
        }
    }
}
