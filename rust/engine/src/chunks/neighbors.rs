//! The previous and next chunk of each in its path, cached for searches that count neighbors
//! (spec/retrieval.md, "Neighbors").

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension};

use super::read::each_path;
use crate::storage::cache::RowVersion;
use crate::storage::generations::{self, RowRanges};
use crate::storage::row_blocks::{RowBlocks, RowValues};

/// No row at all: an `Option` would be twice as large.
const NONE: i64 = i64::MIN;

/// The neighbors of every row of one generation.
#[derive(Debug)]
pub(crate) struct Neighbors {
    generation: i64,
    /// The rows before and after each row: by ordinal, then by row.
    adjacent: RowBlocks<RowValues<[i64; 2]>>,
}

/// On which side of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// Toward the first of its path.
    Before,
    /// Toward the last.
    After,
}

impl Side {
    pub(crate) const BOTH: [Self; 2] = [Self::Before, Self::After];

    fn other(self) -> Self {
        match self {
            Self::Before => Self::After,
            Self::After => Self::Before,
        }
    }
}

impl RowVersion for Neighbors {
    type Source = ();
    const NAME: &'static str = "neighbors";

    fn generation(&self) -> i64 {
        self.generation
    }

    fn rows(&self) -> usize {
        self.adjacent.len()
    }

    fn load((): &(), connection: &Connection) -> rusqlite::Result<Self> {
        let mut neighbors = Self {
            generation: generations::generation(connection)?,
            adjacent: RowBlocks::default(),
        };
        let mut links = Vec::new();
        each_path(connection, |_, rows| link(rows, &mut links))?;
        links.sort_unstable();
        for (row, adjacent) in links {
            neighbors.adjacent.set(row, adjacent);
        }
        Ok(neighbors)
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
            adjacent: self.adjacent.clone(),
        };
        // All that changed goes first, so that those which stay are linked to each other.
        for row in changed.iter() {
            next.unlink(row);
        }
        for row in changed.iter() {
            next.link(connection, row)?;
        }
        Ok(Some(next))
    }
}

impl Neighbors {
    /// Return the neighbor of a row, on one side.
    pub fn adjacent_row(&self, row: i64, side: Side) -> Option<i64> {
        let found = self.adjacent.get(row)?[side as usize];
        (found != NONE).then_some(found)
    }

    fn set(&mut self, row: i64, side: Side, neighbor: Option<i64>) {
        if let Some(adjacent) = self.adjacent.get(row) {
            let mut adjacent = *adjacent;
            adjacent[side as usize] = neighbor.unwrap_or(NONE);
            self.adjacent.set(row, adjacent);
        }
    }

    fn unlink(&mut self, row: i64) {
        let neighbors = Side::BOTH.map(|side| self.adjacent_row(row, side));
        for (side, neighbor) in Side::BOTH.into_iter().zip(neighbors) {
            if let Some(neighbor) = neighbor {
                self.set(neighbor, side.other(), neighbors[side.other() as usize]);
            }
        }
        self.adjacent.remove(row, &());
    }

    /// Link a changed row to its current neighbors. A neighbor that changed too is linked in its
    /// turn.
    fn link(&mut self, connection: &Connection, row: i64) -> rusqlite::Result<()> {
        let exists = connection
            .prepare_cached("SELECT 1 FROM knowledge_chunks WHERE row = ?")?
            .exists([row])?;
        if !exists {
            return Ok(());
        }
        let neighbors = [
            beside_in_file(connection, row, Side::Before)?,
            beside_in_file(connection, row, Side::After)?,
        ];
        self.adjacent
            .set(row, neighbors.map(|neighbor| neighbor.unwrap_or(NONE)));
        for (side, neighbor) in Side::BOTH.into_iter().zip(neighbors) {
            if let Some(neighbor) = neighbor {
                self.set(neighbor, side.other(), Some(row));
            }
        }
        Ok(())
    }
}

/// Link the rows of a path, which are in order.
fn link(rows: &[i64], links: &mut Vec<(i64, [i64; 2])>) {
    for (at, row) in rows.iter().enumerate() {
        let before = at.checked_sub(1).map_or(NONE, |at| rows[at]);
        let after = rows.get(at + 1).copied().unwrap_or(NONE);
        links.push((*row, [before, after]));
    }
}

/// Return the neighbor of a row in the file.
fn beside_in_file(connection: &Connection, row: i64, side: Side) -> rusqlite::Result<Option<i64>> {
    let sql = match side {
        Side::Before => {
            "SELECT other.row FROM knowledge_chunks AS one JOIN knowledge_chunks AS other
                 ON other.path = one.path AND (other.ordinal, other.row) < (one.ordinal, one.row)
             WHERE one.row = ? ORDER BY other.ordinal DESC, other.row DESC LIMIT 1"
        }
        Side::After => {
            "SELECT other.row FROM knowledge_chunks AS one JOIN knowledge_chunks AS other
                 ON other.path = one.path AND (other.ordinal, other.row) > (one.ordinal, one.row)
             WHERE one.row = ? ORDER BY other.ordinal, other.row LIMIT 1"
        }
    };
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_row([row], |found| found.get(0)).optional()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::chunks::Chunk;
    use crate::index::Index;
    use crate::index::session::Needs;
    use crate::text::tokenizer::TokenizerKind;

    fn chunk(id: u8, path: u8, ordinal: i64) -> Chunk {
        Chunk {
            id: format!("😀{id}"),
            path: path.to_string(),
            ordinal,
            content: "same".to_owned(),
            ..Chunk::default()
        }
    }

    /// The rows of each path in order, as the file has them.
    fn stored(connection: &Connection) -> rusqlite::Result<BTreeMap<String, Vec<i64>>> {
        let sql = "SELECT path, row FROM knowledge_chunks ORDER BY path, ordinal, row";
        let mut statement = connection.prepare(sql)?;
        let mut found = statement.query([])?;
        let mut stored: BTreeMap<String, Vec<i64>> = BTreeMap::new();
        while let Some(found) = found.next()? {
            stored.entry(found.get(0)?).or_default().push(found.get(1)?);
        }
        Ok(stored)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn they_follow_every_change(
            steps in prop::collection::vec(
                prop::collection::vec((0_u8..20, 0_u8..3, -2_i64..6, 0_u8..4), 1..6),
                1..12,
            ),
        ) {
            let index = Index::in_memory(TokenizerKind::Porter).unwrap();
            let needs = Needs { neighbors: true, ..Needs::default() };
            for step in steps {
                for (id, path, ordinal, deletes) in step {
                    if deletes == 0 {
                        index.delete(&[format!("😀{id}")]).unwrap();
                    } else {
                        index.upsert(&[&chunk(id, path, ordinal)]).unwrap();
                    }
                }
                let checked = index.session(needs, |session| {
                    let neighbors = session.neighbors.as_deref().unwrap();
                    let stored = session.read(stored)?;
                    let mut links = Vec::new();
                    for rows in stored.values() {
                        link(rows, &mut links);
                    }
                    links.sort_unstable();
                    let kept: Vec<(i64, [i64; 2])> =
                        neighbors.adjacent.iter().map(|(row, adjacent)| (row, *adjacent)).collect();
                    Ok((kept, links))
                });
                let (kept, expected) = checked.unwrap();
                prop_assert_eq!(kept, expected);
            }
        }
    }
}
