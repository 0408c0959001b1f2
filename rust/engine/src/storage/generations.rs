//! What changed since when: how a snapshot in memory finds out that it is out of date, in this
//! process or because of another, and which rows to read again.

use rusqlite::Connection;

use super::settings::{self, CHANGES_AFTER, GENERATION};

/// A transaction that changes more rows than this is not listed: snapshots are made anew.
const LISTED_ROWS: usize = 256;
/// How many transactions the list goes back: more than are written while a large index is read.
const LISTED_GENERATIONS: i64 = 1024;

/// How many changed rows a search follows, for most of what is kept in memory; when more changed, all is
/// read anew.
pub const FOLLOWED_ROWS: usize = 4096;

/// How many transactions changed a chunk or a vector. Equal numbers mean an equal state.
pub fn generation(connection: &Connection) -> rusqlite::Result<i64> {
    Ok(settings::get(connection, GENERATION)?.unwrap_or_default())
}

/// Count a transaction that wrote or deleted these rows, of chunks or of vectors; none, and it
/// is not counted.
pub fn record(connection: &Connection, rows: &[i64]) -> rusqlite::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let generation = generation(connection)?.saturating_add(1);
    let count = generation.to_string();
    settings::set(connection, GENERATION, Some(&count))?;
    if rows.len() > LISTED_ROWS {
        connection.execute("DELETE FROM changes", [])?;
        return settings::set(connection, CHANGES_AFTER, Some(&count));
    }
    let mut insert = connection.prepare_cached("INSERT OR IGNORE INTO changes VALUES (?, ?)")?;
    for row in rows {
        insert.execute([generation, *row])?;
    }
    connection
        .prepare_cached("DELETE FROM changes WHERE generation <= ?")?
        .execute([generation.saturating_sub(LISTED_GENERATIONS)])?;
    Ok(())
}

/// The rows that changed after a generation; None when the list does not go back that far.
pub fn since(connection: &Connection, known: i64) -> rusqlite::Result<Option<Vec<i64>>> {
    let generation = generation(connection)?;
    let after = settings::get(connection, CHANGES_AFTER)?.unwrap_or(0);
    // An earlier hedgerow may have written the file, which kept a shorter list.
    let first: Option<i64> = connection
        .prepare_cached("SELECT min(generation) FROM changes")?
        .query_row([], |row| row.get(0))?;
    let listed_after = first.map_or(generation, |first| first.saturating_sub(1));
    if known > generation || known < after.max(listed_after) {
        return Ok(None);
    }
    connection
        .prepare_cached("SELECT DISTINCT row FROM changes WHERE generation > ? ORDER BY row")?
        .query_map([known], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()
        .map(Some)
}

/// [`since`] where the rows are at most `most`: when more changed, it is quicker to read everything.
pub fn few_since(
    connection: &Connection,
    known: i64,
    most: usize,
) -> rusqlite::Result<Option<Vec<i64>>> {
    Ok(since(connection, known)?.filter(|rows| rows.len() <= most))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::Index;
    use crate::text::tokenizer::TokenizerKind;

    #[test]
    fn the_list_goes_back_as_far_as_it_says() {
        let index = Index::in_memory(TokenizerKind::Porter).unwrap();
        index
            .database()
            .write(|connection| {
                assert_eq!(generation(connection)?, 0);
                assert_eq!(since(connection, 0)?, Some(vec![]));
                record(connection, &[])?;
                assert_eq!(generation(connection)?, 0);
                record(connection, &[7, 3, 7])?;
                record(connection, &[5])?;
                assert_eq!(generation(connection)?, 2);
                assert_eq!(since(connection, 0)?, Some(vec![3, 5, 7]));
                assert_eq!(since(connection, 1)?, Some(vec![5]));
                assert_eq!(since(connection, 2)?, Some(vec![]));
                assert_eq!(since(connection, 3)?, None, "of another file");
                let many: Vec<i64> = (0..=256).collect();
                record(connection, &many)?;
                assert_eq!(since(connection, 2)?, None);
                assert_eq!(since(connection, 3)?, Some(vec![]));
                for _ in 0..1500 {
                    record(connection, &[1, 2])?;
                }
                assert_eq!(since(connection, 1503 - 1025)?, None);
                assert_eq!(since(connection, 1503 - 1024)?, Some(vec![1, 2]));
                // As an earlier hedgerow left it.
                connection.execute("DELETE FROM changes WHERE generation <= 1400", [])?;
                assert_eq!(since(connection, 1399)?, None);
                assert_eq!(since(connection, 1400)?, Some(vec![1, 2]));
                let rows: i64 =
                    connection.query_row("SELECT count(*) FROM changes", [], |row| row.get(0))?;
                assert_eq!(rows, 2 * 103);
                Ok(())
            })
            .unwrap();
    }
}
