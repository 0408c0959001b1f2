//! Which chunks share a path, kept in memory for searches that group by it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rusqlite::Connection;

use super::cache::Version;
use super::changes;

/// The paths of one generation of an index, each with a number.
#[derive(Debug, Default)]
pub(super) struct Paths {
    generation: i64,
    /// Every path once, in the order of its bytes: its place is its number.
    names: Vec<String>,
    /// The number of each row's path.
    of_rows: HashMap<i64, usize>,
}

impl Version for Paths {
    type Source = ();
    const NAME: &'static str = "paths";

    fn generation(&self) -> i64 {
        self.generation
    }

    fn load((): &(), connection: &Connection) -> rusqlite::Result<Self> {
        Self::load(connection, changes::generation(connection)?)
    }

    fn follow(self: &Arc<Self>, (): &(), _: &Connection, _: i64) -> rusqlite::Result<Option<Self>> {
        Ok(None)
    }
}

impl Paths {
    fn load(connection: &Connection, generation: i64) -> rusqlite::Result<Self> {
        let mut paths = Self {
            generation,
            ..Self::default()
        };
        // The index on paths holds all that is read here, in this order.
        let mut statement =
            connection.prepare_cached("SELECT path, row FROM knowledge_chunks ORDER BY path")?;
        let mut found = statement.query([])?;
        while let Some(found) = found.next()? {
            let path = found.get_ref(0)?.as_str()?;
            if paths.names.last().is_none_or(|last| last != path) {
                paths.names.push(path.to_owned());
            }
            paths.of_rows.insert(found.get(1)?, paths.names.len() - 1);
        }
        Ok(paths)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// The number of a row's path.
    pub fn of_row(&self, row: i64) -> Option<usize> {
        self.of_rows.get(&row).copied()
    }

    /// The number of a path.
    pub fn number(&self, path: &str) -> Option<usize> {
        self.names
            .binary_search_by(|name| name.as_str().cmp(path))
            .ok()
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

#[cfg(test)]
mod tests {
    use super::super::session::Needs;
    use super::super::{Chunk, GroupBy, Index};
    use super::*;
    use crate::text::tokenizer::TokenizerKind;

    fn chunk(id: &str, path: &str) -> Chunk {
        Chunk {
            id: id.to_owned(),
            path: path.to_owned(),
            content: "same".to_owned(),
            ..Chunk::default()
        }
    }

    #[test]
    fn they_follow_every_change() {
        let index = Index::in_memory(TokenizerKind::Porter).unwrap();
        let numbers = || {
            let rows = |connection: &Connection| {
                connection
                    .prepare("SELECT row, path FROM knowledge_chunks ORDER BY row")?
                    .query_map([], |row| {
                        Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
                    })?
                    .collect::<rusqlite::Result<Vec<_>>>()
            };
            let needs = Needs {
                group_by: Some(GroupBy::Path),
                ..Needs::default()
            };
            let grouped = index.session(needs, |session| {
                let paths = session.paths.as_deref().unwrap();
                let numbers = session.read(rows)?.into_iter().map(|(row, path)| {
                    assert_eq!(paths.of_row(row), paths.number(&path));
                    paths.of_row(row).unwrap()
                });
                Ok((numbers.collect::<Vec<_>>(), paths.len()))
            });
            grouped.unwrap()
        };
        assert_eq!(numbers(), (vec![], 0));
        // In the order of bytes the emoji comes last, in that of UTF-16 it does not.
        let chunks = [("a", "😀"), ("b", "\u{ff5e}"), ("c", "p"), ("d", "😀")];
        let chunks = chunks.map(|(id, path)| chunk(id, path));
        index.upsert(&chunks.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!(numbers(), (vec![2, 1, 0, 2], 3));
        index.upsert(&[&chunk("c", "\u{ff5e}")]).unwrap();
        assert_eq!(numbers(), (vec![1, 0, 0, 1], 2));
        index.delete(&["b", "c"]).unwrap();
        assert_eq!(numbers(), (vec![0, 0], 1));
    }
}
