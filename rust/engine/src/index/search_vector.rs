//! Searching by meaning: the chunks whose vectors are nearest.

use std::cmp::Ordering;
use std::sync::PoisonError;

use rusqlite::{
    CachedStatement, Connection, OptionalExtension, Transaction, TransactionBehavior,
    params_from_iter,
};

use super::chunk::{COLUMNS, Chunk};
use super::filters::Filters;
use super::kernels::Places;
use super::matrix::{self, Matrix, Scored};
use super::search::{Hit, check_limit, without_chunk};
use super::selection::{GroupBy, Selection};
use super::similarities::{PathSimilarities, nearest_and_spread};
use super::space::Space;
use super::spread::Spread;
use super::{Failure, Index, paths, vector};
use crate::error::{ErrorCode, Result};
use crate::text::utf16;

/// The chunks nearest to a vector.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NearestChunks {
    /// The best of them, best first.
    pub hits: Vec<Hit>,
    /// The cosines asked for by name; None where there is no vector.
    pub cosines: Vec<Option<f64>>,
    /// How all cosines are spread, if that was asked.
    pub spread: Spread,
}

impl Index {
    /// The best `limit` chunks by cosine, best first; equal ones by path, then by id, both in
    /// UTF-16 order.
    ///
    /// Every vector that passes the filters is compared, so the best are the best. A query that
    /// is empty or all zeros has no direction and finds nothing.
    pub fn search_vector(
        &self,
        query: &[f32],
        limit: usize,
        filters: &Filters,
    ) -> Result<Vec<Hit>> {
        let selection = Selection::plain(limit, filters);
        Ok(self.nearest_chunks(query, &selection, &[])?.hits)
    }

    /// [`Index::search_vector`] for a selection, and the cosines of some chunks by their ids. Of
    /// grouped chunks the path is the name, and has the cosine of its best chunk.
    pub fn nearest_chunks(
        &self,
        query: &[f32],
        selection: &Selection<'_>,
        names: &[&str],
    ) -> Result<NearestChunks> {
        check_limit(selection.limit)?;
        vector::check(query, "the vector", ErrorCode::InvalidVector)?;
        let direction = vector::unit(query);
        self.on_reader(|reader| {
            let mut cached = self.matrix.lock().unwrap_or_else(PoisonError::into_inner);
            let mut cached_paths = selection
                .group_by
                .map(|GroupBy::Path| self.paths.lock().unwrap_or_else(PoisonError::into_inner));
            let transaction = Transaction::new_unchecked(reader, TransactionBehavior::Deferred)?;
            let matrix = matrix::current(&transaction, &mut cached)?;
            drop(cached);
            let paths = cached_paths
                .as_mut()
                .map(|cached| paths::current(&transaction, cached))
                .transpose()?;
            drop(cached_paths);
            Space::read(&transaction)?.check(query, "the vector")?;
            let search = Search {
                connection: &transaction,
                matrix: &matrix,
                direction: &direction,
                selection,
            };
            let found = match paths {
                _ if direction.is_empty() => NearestChunks {
                    cosines: vec![None; names.len()],
                    ..NearestChunks::default()
                },
                Some(paths) => search.paths(&paths, names)?,
                None if selection.statistics => search.with_spread(names)?,
                None => search.plain()?,
            };
            Ok::<_, Failure>(found)
        })
    }

    /// How many bytes of memory the vectors take now: none before they are first searched.
    pub fn vector_bytes(&self) -> usize {
        let cached = self.matrix.lock().unwrap_or_else(PoisonError::into_inner);
        cached.as_ref().map_or(0, |matrix| matrix.bytes())
    }
}

/// A search under way.
struct Search<'a> {
    connection: &'a Connection,
    matrix: &'a Matrix,
    direction: &'a [f32],
    selection: &'a Selection<'a>,
}

impl Search<'_> {
    /// The nearest chunks and no more.
    fn plain(&self) -> rusqlite::Result<NearestChunks> {
        let Selection { limit, filters, .. } = *self.selection;
        let nearest = if filters.is_empty() {
            (self.matrix).nearest(self.direction, limit, Places::All(self.matrix.len()))
        } else {
            (self.matrix).nearest(self.direction, limit, Places::These(&self.places()?))
        };
        Ok(NearestChunks {
            hits: self.ranked(nearest)?,
            ..NearestChunks::default()
        })
    }

    /// The nearest chunks, and what score fusion asks.
    fn with_spread(&self, ids: &[&str]) -> rusqlite::Result<NearestChunks> {
        let (nearest, spread) = nearest_and_spread(
            self.matrix,
            self.direction,
            self.places()?,
            self.selection.limit,
        );
        let mut row =
            (self.connection).prepare_cached("SELECT row FROM knowledge_chunks WHERE id = ?")?;
        let mut cosine = |id: &&str| -> rusqlite::Result<Option<f64>> {
            let row: Option<i64> = row.query_row([id], |found| found.get(0)).optional()?;
            let places: Vec<usize> = row
                .and_then(|row| self.matrix.place(row))
                .into_iter()
                .collect();
            let scored = self.matrix.similarities(self.direction, &places);
            Ok(scored.first().map(|(_, similarity)| f64::from(*similarity)))
        };
        Ok(NearestChunks {
            hits: self.ranked(nearest)?,
            cosines: ids
                .iter()
                .map(&mut cosine)
                .collect::<rusqlite::Result<_>>()?,
            spread,
        })
    }

    /// The best chunk of each path, and what score fusion asks of paths.
    fn paths(&self, paths: &paths::Paths, names: &[&str]) -> rusqlite::Result<NearestChunks> {
        let similarities =
            PathSimilarities::new(self.matrix, paths, self.direction, &self.places()?)?;
        let spread = if self.selection.statistics {
            similarities.spread()
        } else {
            Spread::default()
        };
        Ok(NearestChunks {
            hits: self.ranked(similarities.nearest(self.selection.limit))?,
            cosines: names
                .iter()
                .map(|path| similarities.of(path).map(f64::from))
                .collect(),
            spread,
        })
    }

    /// The places of the vectors that pass the filters.
    fn places(&self) -> rusqlite::Result<Vec<usize>> {
        if self.selection.filters.is_empty() {
            return Ok((0..self.matrix.len()).collect());
        }
        Ok(self
            .matrix
            .places(&allowed(self.connection, self.selection.filters)?))
    }
}

/// The rows that pass the filters.
fn allowed(connection: &Connection, filters: &Filters) -> rusqlite::Result<Vec<i64>> {
    let conditions = filters.conditions()?;
    let sql = format!(
        "SELECT chunk.row FROM knowledge_chunks AS chunk WHERE TRUE{}",
        conditions.sql()
    );
    connection
        .prepare_cached(&sql)?
        .query_map(params_from_iter(&conditions.values), |row| row.get(0))?
        .collect()
}

/// A found row, and by what it stands before or behind another that is as similar.
struct Candidate {
    similarity: f32,
    row: i64,
    path: String,
    id: String,
}

impl Candidate {
    fn order(&self, other: &Self) -> Ordering {
        (other.similarity.total_cmp(&self.similarity))
            .then_with(|| utf16::compare(&self.path, &other.path))
            .then_with(|| utf16::compare(&self.id, &other.id))
    }
}

impl Search<'_> {
    /// The hits of what is nearest, in order and cut.
    fn ranked(&self, nearest: Vec<Scored>) -> rusqlite::Result<Vec<Hit>> {
        let mut names = (self.connection)
            .prepare_cached("SELECT path, id FROM knowledge_chunks WHERE row = ?")?;
        let mut candidates = Vec::with_capacity(nearest.len());
        for (place, similarity) in nearest {
            let Some(row) = self.matrix.row(place) else {
                continue;
            };
            let (path, id) = names
                .query_row([row], |found| Ok((found.get(0)?, found.get(1)?)))
                .map_err(|error| without_chunk("a vector", error))?;
            candidates.push(Candidate {
                similarity,
                row,
                path,
                id,
            });
        }
        candidates.sort_unstable_by(Candidate::order);
        if let Some(GroupBy::Path) = self.selection.group_by {
            // Chunks of one path are here for being equally near, so they stand together.
            candidates.dedup_by(|later, first| later.path == first.path);
        }
        candidates.truncate(self.selection.limit);
        let sql = format!("SELECT row, {COLUMNS} FROM knowledge_chunks WHERE row = ?");
        let mut statement = self.connection.prepare_cached(&sql)?;
        candidates
            .iter()
            .map(|candidate| hydrate(&mut statement, candidate))
            .collect()
    }
}

fn hydrate(statement: &mut CachedStatement<'_>, found: &Candidate) -> rusqlite::Result<Hit> {
    let (_, chunk) = statement.query_row([found.row], Chunk::with_row)?;
    let similarity = f64::from(found.similarity);
    Ok(Hit {
        score: similarity,
        vector_similarity: Some(similarity),
        ..Hit::from(chunk)
    })
}

#[cfg(test)]
mod tests {
    use super::super::Chunk;
    use super::*;
    use crate::text::tokenizer::TokenizerKind;

    fn chunk(id: &str, path: &str, embedding: Option<Vec<f32>>) -> Chunk {
        Chunk {
            id: id.to_owned(),
            path: path.to_owned(),
            content: format!("the text of {id}"),
            embedding,
            ..Chunk::default()
        }
    }

    fn ids(index: &Index, query: &[f32], limit: usize) -> Vec<String> {
        let hits = index.search_vector(query, limit, &Filters::default());
        hits.unwrap().into_iter().map(|hit| hit.id).collect()
    }

    #[test]
    fn equals_stand_by_path_and_id_in_utf16_order() {
        let index = Index::in_memory(TokenizerKind::Porter).unwrap();
        let chunks: Vec<Chunk> = [
            ("\u{ff5e}", "p"),
            ("😀", "p"),
            ("b", "p"),
            ("a", "\u{ff5e}"),
            ("c", "😀"),
        ]
        .iter()
        .map(|(id, path)| chunk(id, path, Some(vec![1.0, 1.0])))
        .collect();
        index.upsert(&chunks.iter().collect::<Vec<_>>()).unwrap();
        let all = ["b", "😀", "\u{ff5e}", "c", "a"];
        for limit in 1..=5 {
            assert_eq!(ids(&index, &[2.0, 2.0], limit), all[..limit]);
        }
        let filters = Filters {
            paths: vec!["p".to_owned()],
            ..Filters::default()
        };
        let hits = index.search_vector(&[1.0, 0.0], 2, &filters).unwrap();
        assert_eq!(hits[1].id, "😀");
        assert_eq!(hits[0].score.to_bits(), hits[1].score.to_bits());
    }

    #[test]
    fn the_vectors_in_memory_follow_every_change() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.db");
        let index = Index::open(&path, TokenizerKind::Porter, false).unwrap();
        let other = Index::open(&path, TokenizerKind::Porter, false).unwrap();
        assert_eq!(ids(&index, &[1.0, 0.0], 9), [] as [&str; 0]);
        other
            .upsert(&[
                &chunk("a", "p", Some(vec![1.0, 0.0])),
                &chunk("b", "p", Some(vec![1.0, 1.0])),
                &chunk("c", "p", None),
            ])
            .unwrap();
        assert_eq!(ids(&index, &[1.0, 0.0], 9), ["a", "b"]);
        other
            .upsert(&[
                &chunk("c", "p", Some(vec![1.0, 0.5])),
                &chunk("b", "p", Some(vec![0.0, 0.0])),
            ])
            .unwrap();
        assert_eq!(ids(&index, &[1.0, 0.0], 9), ["a", "c"]);
        index.delete(&["c"]).unwrap();
        index.upsert(&[&chunk("d", "p", None)]).unwrap();
        assert_eq!(ids(&index, &[1.0, 0.0], 9), ["a"], "d has the row of c");
        assert_eq!(ids(&other, &[1.0, 0.0], 9), ["a"]);
        // More than the list of changes holds.
        let many: Vec<Chunk> = (0..600)
            .map(|n| chunk(&format!("m{n}"), "p", Some(vec![1.0, 1.0])))
            .collect();
        index.upsert(&many.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!(ids(&other, &[1.0, 1.0], 999).len(), 601);
        assert!(other.vector_bytes() >= 601 * 2 * 4);
        other.close().unwrap();
        assert_eq!(other.vector_bytes(), 0);
    }
}
