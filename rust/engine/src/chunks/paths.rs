//! Which chunks share a path, kept in memory for searches that group by it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, OptionalExtension};

use super::read::each_path;
use crate::storage::cache::RowVersion;
use crate::storage::generations::{self, RowRanges};
use crate::storage::row_blocks::{RowBlocks, Values};

/// The paths of one generation of an index, each with a number.
#[derive(Debug)]
pub(crate) struct Paths {
    generation: i64,
    /// The number of each row's path.
    of_rows: RowBlocks<Values<i64>>,
    /// The rows of each path, by its number.
    rows: RowBlocks<Values<Vec<i64>>>,
    /// The number of every path that there is or was: it stays, so versions share them.
    numbers: Arc<Mutex<HashMap<String, i64>>>,
}

impl RowVersion for Paths {
    type Source = ();
    const NAME: &'static str = "paths";

    fn generation(&self) -> i64 {
        self.generation
    }

    fn rows(&self) -> usize {
        self.of_rows.len()
    }

    fn load((): &(), connection: &Connection) -> rusqlite::Result<Self> {
        let mut paths = Self {
            generation: generations::generation(connection)?,
            of_rows: RowBlocks::default(),
            rows: RowBlocks::default(),
            numbers: Arc::default(),
        };
        let mut of_rows = Vec::new();
        each_path(connection, |path, rows| {
            let number = paths.number_for(path);
            of_rows.extend(rows.iter().map(|row| (*row, number)));
            let mut members = rows.to_vec();
            members.sort_unstable();
            paths.rows.set(number, members);
        })?;
        of_rows.sort_unstable();
        for (row, number) in of_rows {
            paths.of_rows.set(row, number);
        }
        Ok(paths)
    }

    fn apply_changes(
        self: &Arc<Self>,
        (): &(),
        connection: &Connection,
        generation: i64,
        changed: &RowRanges,
    ) -> rusqlite::Result<Option<Self>> {
        let mut next = Self {
            generation,
            of_rows: self.of_rows.clone(),
            rows: self.rows.clone(),
            numbers: Arc::clone(&self.numbers),
        };
        let mut find =
            connection.prepare_cached("SELECT path FROM knowledge_chunks WHERE row = ?")?;
        for row in changed.iter() {
            let path: Option<String> = find.query_row([row], |found| found.get(0)).optional()?;
            next.put(row, path.as_deref());
        }
        Ok(Some(next))
    }
}

impl Paths {
    /// Note the path of a row; None when there is no such row any more.
    fn put(&mut self, row: i64, path: Option<&str>) {
        let number = path.map(|path| self.number_for(path));
        let before = self.of_rows.get(row).copied();
        if before == number {
            return;
        }
        if let Some(before) = before {
            let mut members = self.members(before).to_vec();
            members.retain(|member| *member != row);
            if members.is_empty() {
                self.rows.remove(before, &());
            } else {
                self.rows.set(before, members);
            }
        }
        let Some(number) = number else {
            return self.of_rows.remove(row, &());
        };
        let mut members = self.members(number).to_vec();
        if let Err(at) = members.binary_search(&row) {
            members.insert(at, row);
        }
        self.rows.set(number, members);
        self.of_rows.set(row, number);
    }

    /// The number of a path, a new one if it had none.
    fn number_for(&self, path: &str) -> i64 {
        let mut numbers = self.numbers();
        if let Some(number) = numbers.get(path) {
            return *number;
        }
        let number = i64::try_from(numbers.len()).unwrap_or(i64::MAX);
        numbers.insert(path.to_owned(), number);
        number
    }

    fn numbers(&self) -> MutexGuard<'_, HashMap<String, i64>> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of a row's path.
    pub fn of_row(&self, row: i64) -> Option<i64> {
        self.of_rows.get(row).copied()
    }

    /// Every row with the number of its path, in the order of rows.
    pub fn of_rows(&self) -> impl Iterator<Item = (i64, i64)> {
        self.of_rows.iter().map(|(row, number)| (row, *number))
    }

    /// The rows of a path, ascending.
    pub fn members(&self, number: i64) -> &[i64] {
        self.rows.get(number).map_or(&[], Vec::as_slice)
    }

    /// The number of a path that a chunk has.
    pub fn number(&self, path: &str) -> Option<i64> {
        let number = self.numbers().get(path).copied();
        number.filter(|number| !self.members(*number).is_empty())
    }

    /// The first row of each path, in order and cut.
    pub fn first_rows<T>(&self, ranked: Vec<(i64, T)>, limit: usize) -> Vec<(i64, T)> {
        let mut seen = HashSet::new();
        ranked
            .into_iter()
            .filter(|(row, _)| seen.insert(self.of_row(*row)))
            .take(limit)
            .collect()
    }
}

/// What stands for the group of a row; without grouping the row itself.
pub(crate) fn group_key(paths: Option<&Paths>, row: i64) -> Option<i64> {
    paths.map_or(Some(row), |paths| paths.of_row(row))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::chunks::{Chunk, GroupBy};
    use crate::index::Index;
    use crate::index::session::Needs;
    use crate::text::tokenizer::TokenizerKind;

    fn chunk(id: u8, path: u8) -> Chunk {
        Chunk {
            id: id.to_string(),
            path: format!("😀{path}.md"),
            content: "same".to_owned(),
            ..Chunk::default()
        }
    }

    /// The rows of each path as the file has them.
    fn stored(connection: &Connection) -> rusqlite::Result<BTreeMap<String, Vec<i64>>> {
        let mut statement =
            connection.prepare("SELECT path, row FROM knowledge_chunks ORDER BY row")?;
        let mut found = statement.query([])?;
        let mut stored: BTreeMap<String, Vec<i64>> = BTreeMap::new();
        while let Some(found) = found.next()? {
            stored.entry(found.get(0)?).or_default().push(found.get(1)?);
        }
        Ok(stored)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn they_follow_every_change(
            steps in prop::collection::vec(
                prop::collection::vec((0_u8..30, 0_u8..8, any::<bool>()), 1..6),
                1..12,
            ),
        ) {
            let index = Index::in_memory(TokenizerKind::Porter).unwrap();
            let needs = Needs { group_by: Some(GroupBy::Path), ..Needs::default() };
            for step in steps {
                for (id, path, deletes) in step {
                    if deletes {
                        index.delete(&[id.to_string()]).unwrap();
                    } else {
                        index.upsert(&[&chunk(id, path)]).unwrap();
                    }
                }
                let checked = index.session(needs, |session| {
                    let paths = session.paths.as_deref().unwrap();
                    let stored = session.read(stored)?;
                    for (path, rows) in &stored {
                        let number = paths.number(path).unwrap();
                        assert_eq!(paths.members(number), rows);
                        assert!(rows.iter().all(|row| paths.of_row(*row) == Some(number)));
                    }
                    let all: usize = stored.values().map(Vec::len).sum();
                    Ok((paths.of_rows().count(), all, paths.number("elsewhere")))
                });
                let (rows, expected, elsewhere) = checked.unwrap();
                prop_assert_eq!((rows, elsewhere), (expected, None));
            }
        }
    }
}
