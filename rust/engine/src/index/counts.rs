//! Counts over all chunks and vectors, cached for one generation of the file.

use std::sync::Arc;

use roaring::RoaringTreemap;
use rusqlite::{Connection, OptionalExtension};

use super::embed::UNEMBEDDED;
use super::handle::{GenerationCounts, Index};
use crate::error::Result;
use crate::storage::cache::Lookup;
use crate::storage::generations::{self, RowRanges};
use crate::sync::lock;

impl Index {
    /// The numbers of distinct paths and of chunks that have a vector, in the generation that
    /// `connection` sees. The first call reads all vectors, later ones those of changed rows.
    pub(super) fn counts(&self, connection: &Connection) -> rusqlite::Result<(u64, u64)> {
        let now = generations::generation(connection)?;
        let last = || lock(&self.counts);
        let known = last().clone();
        let counted = match known {
            Some(known) if known.generation == now => known,
            known => GenerationCounts {
                generation: now,
                paths: self.path_count(connection, now)?,
                with_vector: rows_with_vector(connection, known)?,
            },
        };
        let counts = (counted.paths, counted.with_vector.len());
        *last() = Some(counted);
        Ok(counts)
    }

    /// The number of distinct paths. Reads an index of SQLite's unless the paths are in memory.
    fn path_count(&self, connection: &Connection, generation: i64) -> rusqlite::Result<u64> {
        if self.paths.newest().is_some()
            && let Lookup::Hit(paths) = self.paths.get(connection, generation)?
        {
            return Ok(paths.len() as u64);
        }
        let sql = "SELECT count(DISTINCT path) FROM knowledge_chunks";
        connection.query_row(sql, [], |found| found.get(0))
    }

    /// Whether every chunk has been embedded, with or without a vector as the result.
    ///
    /// After a call that returned true, the next one looks only at the chunks that changed since.
    pub fn is_embedded(&self) -> Result<bool> {
        self.database.read(|connection| {
            let generation = generations::generation(connection)?;
            let last = || lock(&self.embedded_at);
            let known = *last();
            let changed = match known {
                Some(known) => generations::since(connection, known, usize::MAX)?,
                None => None,
            };
            let is_embedded = !lacks_embeddings(connection, changed.as_ref())?;
            if is_embedded {
                *last() = Some(generation);
            }
            Ok::<bool, rusqlite::Error>(is_embedded)
        })
    }

    /// Whether any chunk has a vector.
    pub fn has_vectors(&self) -> Result<bool> {
        self.database.read(|connection| {
            connection
                .prepare_cached(
                    "SELECT EXISTS (SELECT 1 FROM embeddings WHERE length(vector) > 1)",
                )?
                .query_row([], |found| found.get(0))
        })
    }
}

/// The rows of chunks that have a vector, given those of an earlier generation if they are known.
fn rows_with_vector(
    connection: &Connection,
    known: Option<GenerationCounts>,
) -> rusqlite::Result<Arc<RoaringTreemap>> {
    if let Some(known) = known {
        let most = generations::max_incremental_rows(
            usize::try_from(known.with_vector.len()).unwrap_or(usize::MAX),
        );
        if let Some(changed) = generations::since(connection, known.generation, most)? {
            let mut rows = known.with_vector;
            let changing = Arc::make_mut(&mut rows);
            let sql = "SELECT length(vector) > 1 FROM embeddings WHERE row = ?";
            let mut find = connection.prepare_cached(sql)?;
            for row in changed.iter() {
                match find.query_row([row], |found| found.get(0)).optional()? {
                    Some(true) => changing.insert(row.cast_unsigned()),
                    Some(false) | None => changing.remove(row.cast_unsigned()),
                };
            }
            return Ok(rows);
        }
    }
    let sql = "SELECT row FROM embeddings WHERE length(vector) > 1 ORDER BY row";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([], |found| found.get(0).map(i64::cast_unsigned))?;
    rows.collect::<rusqlite::Result<_>>().map(Arc::new)
}

/// Whether one of these rows, or of all rows, is a chunk that has not been embedded.
fn lacks_embeddings(connection: &Connection, rows: Option<&RowRanges>) -> rusqlite::Result<bool> {
    let Some(rows) = rows else {
        // New chunks are the most likely to lack a vector.
        let sql = format!(
            "SELECT EXISTS (SELECT 1 FROM knowledge_chunks WHERE {UNEMBEDDED} ORDER BY row DESC)"
        );
        let mut statement = connection.prepare_cached(&sql)?;
        return statement.query_row([], |found| found.get(0));
    };
    let sql = format!("SELECT 1 FROM knowledge_chunks WHERE row = ? AND {UNEMBEDDED}");
    let mut statement = connection.prepare_cached(&sql)?;
    for row in rows.iter() {
        if statement.exists([row])? {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::chunks::{Chunk, GroupBy};
    use crate::index::session::Needs;
    use crate::text::tokenizer::TokenizerKind;

    #[test]
    fn unchanged_rows_are_not_read_again() {
        let index = Index::in_memory(TokenizerKind::Porter).unwrap();
        let chunks = ["a", "b", "c"].map(|id| Chunk {
            id: id.to_owned(),
            path: id.to_owned(),
            embedding: Some(vec![1.0]),
            ..Chunk::default()
        });
        index.upsert(&chunks.each_ref()).unwrap();
        assert!(index.is_embedded().unwrap());
        let counted = index.stats().unwrap();
        // A change that no generation counts shows which rows are read.
        let remove = |connection: &Connection| {
            connection.execute("DELETE FROM embeddings WHERE row = 1", [])
        };
        index.database.write(remove).unwrap();
        assert_eq!(index.stats().unwrap().vectors, counted.vectors);
        assert!(index.is_embedded().unwrap());
        // After a write only its rows are read.
        index.delete(&["c"]).unwrap();
        assert!(index.is_embedded().unwrap());
        assert_eq!(index.stats().unwrap().vectors, counted.vectors - 1);
        let rewritten = Chunk {
            embedding: None,
            content: "new".to_owned(),
            ..chunks[1].clone()
        };
        index.upsert(&[&rewritten]).unwrap();
        assert!(!index.is_embedded().unwrap());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn they_follow_every_change(
            steps in prop::collection::vec((0_u8..9, 0_u8..4, 0_u8..4), 1..40),
            groups: bool,
        ) {
            let index = Index::in_memory(TokenizerKind::Porter).unwrap();
            for (id, path, step) in steps {
                let mut chunk = Chunk {
                    id: id.to_string(),
                    path: path.to_string(),
                    content: format!("text {path}"),
                    ..Chunk::default()
                };
                match step {
                    0 => drop(index.delete(&[id.to_string()]).unwrap()),
                    1 => drop(index.upsert(&[&chunk]).unwrap()),
                    2 => {
                        chunk.embedding = Some(vec![1.0, 2.0]);
                        index.upsert(&[&chunk]).unwrap();
                    }
                    _ => {
                        let missing = index.unembedded_page(0, 9).unwrap().chunks;
                        let missing: Vec<&Chunk> = missing.iter().collect();
                        let vector = if path == 0 { vec![] } else { vec![1.0, 0.0] };
                        let vectors = vec![vector; missing.len()];
                        index.set_embeddings(&missing, &vectors, None).unwrap();
                    }
                }
                if groups {
                    let group_by = Some(GroupBy::Path);
                    let needs = Needs { group_by, ..Needs::default() };
                    index.session(needs, |_| Ok(())).unwrap();
                }
                let missing = index.unembedded_page(0, 9).unwrap().chunks;
                let number = |sql: &str| {
                    let count = |connection: &Connection| {
                        connection.query_row(sql, [], |found| found.get::<_, u64>(0))
                    };
                    index.database.read(count).unwrap()
                };
                let vectors = number("SELECT count(*) FROM embeddings WHERE length(vector) > 1");
                let paths = number("SELECT count(DISTINCT path) FROM knowledge_chunks");
                for _ in 0..2 {
                    prop_assert_eq!(index.is_embedded().unwrap(), missing.is_empty());
                    prop_assert_eq!(index.has_vectors().unwrap(), vectors > 0);
                    let stats = index.stats().unwrap();
                    prop_assert_eq!((stats.paths, stats.vectors), (paths, vectors));
                }
            }
        }
    }
}
