//! Searching by meaning: the chunks whose vectors are nearest.

use std::cmp::Ordering;
use std::sync::Arc;

use rusqlite::{Connection, params_from_iter};

use super::filters::Filters;
use super::hit::Hit;
use super::search::{check_limit, without_chunk};
use super::selection::Selection;
use super::session::{Needs, RankedRow, Session};
use super::settings::{self, DIMENSIONS};
use super::space::Space;
use super::vectors::{Groups, Matrix, Scored, SlotSet, Slots, Spread, VectorReader};
use super::{Index, vector};
use crate::error::{ErrorCode, Result};
use crate::text::utf16;

/// What a row is that a vector was found for, should there be no chunk of it.
pub(crate) const NEAREST: &str = "a vector";

/// The rows nearest to a vector.
#[derive(Debug, Default)]
pub(crate) struct NearestRows {
    /// The best of them, best first; their scores are cosines.
    pub rows: Vec<RankedRow>,
    /// How all cosines are spread, if that was asked.
    pub spread: Spread,
    /// What the cosines of other rows are asked by; None where there is no direction, to which
    /// nothing is near.
    asked: Option<Asked>,
}

/// A direction, and which vectors may be found.
#[derive(Debug)]
struct Asked {
    direction: Vec<f32>,
    passing: Option<Arc<SlotSet>>,
}

impl Index {
    /// The best `limit` chunks by cosine, best first; equal ones by path, then by id, both in
    /// UTF-16 order.
    ///
    /// Every vector that passes the filters is compared, so the best are the best, unless the
    /// handle was opened for approximate search. A query that is empty or all zeros has no
    /// direction and finds nothing.
    pub fn search_vector(
        &self,
        query: &[f32],
        limit: usize,
        filters: &Filters,
    ) -> Result<Vec<Hit>> {
        check_limit(limit)?;
        vector::check(query, "the vector", ErrorCode::InvalidVector)?;
        let selection = Selection::plain(limit, filters);
        let needs = Needs {
            vectors: true,
            ..Needs::default()
        };
        self.session(needs, |session| {
            let mut found = session.nearest_rows(&[query], &selection)?;
            let nearest = found.pop().unwrap_or_else(|| Ok(NearestRows::default()))?;
            let rows: Vec<_> = nearest.rows.iter().map(|one| (one.row, NEAREST)).collect();
            let nearest = nearest.rows.iter().zip(session.texts(&rows)?);
            let hits = nearest.map(|(found, texts)| Hit {
                score: found.score,
                vector_similarity: Some(found.score),
                ..texts.into()
            });
            Ok(hits.collect())
        })
    }

    /// How many bytes of memory the vectors take now: none before they are first searched.
    pub fn vector_bytes(&self) -> usize {
        let newest = self.vectors.newest();
        newest.map_or(0, |matrix| matrix.bytes())
    }
}

impl Session<'_> {
    /// The best rows of a selection for each query by the cosine of their vectors, or what is wrong
    /// with the query. All queries share one pass over the vectors.
    pub fn nearest_rows(
        &self,
        queries: &[&[f32]],
        selection: &Selection<'_>,
    ) -> Result<Vec<Result<NearestRows>>> {
        check_limit(selection.limit)?;
        let Some(matrix) = self.matrix.clone().transpose()? else {
            return Ok(queries.iter().map(|_| Ok(NearestRows::default())).collect());
        };
        let dimensions = match matrix.len() {
            // They can be fixed before there is a vector.
            0 => self.read(|connection| settings::get(connection, DIMENSIONS))?,
            _ => Some(matrix.dimensions()),
        };
        let space = Space {
            dimensions,
            embedder: None,
        };
        let direction = |query: &&[f32]| -> Result<Vec<f32>> {
            vector::check(query, "the vector", ErrorCode::InvalidVector)?;
            space.check(query, "the vector")?;
            Ok(vector::unit(query))
        };
        let directions: Vec<Result<Vec<f32>>> = queries.iter().map(direction).collect();
        let pointing = directions
            .iter()
            .filter_map(|direction| direction.as_deref().ok());
        let pointing: Vec<&[f32]> = pointing.filter(|direction| !direction.is_empty()).collect();
        let search = Search {
            session: self,
            matrix: &matrix,
            selection,
        };
        let mut found = self.read(|_| search.run(&pointing))?.into_iter();
        let of_query = |direction: Result<Vec<f32>>| {
            let pointing = !direction?.is_empty();
            let found = if pointing { found.next() } else { None };
            Ok(found.unwrap_or_default())
        };
        Ok(directions.into_iter().map(of_query).collect())
    }

    /// The cosine of what has each of these keys, be it near or not; None where there is no vector.
    pub fn cosines(&self, nearest: &NearestRows, keys: &[Option<i64>]) -> Result<Vec<Option<f64>>> {
        let (Some(asked), Some(Ok(matrix))) = (&nearest.asked, &self.matrix) else {
            return Ok(vec![None; keys.len()]);
        };
        let slots = asked.passing.as_deref();
        let slots = slots.map_or(Slots::All, Slots::These);
        let cosines = self.read(|connection| {
            let vectors = VectorReader { matrix, connection };
            if let Some(paths) = self.paths.as_deref() {
                let groups = Groups { vectors, paths };
                return groups.similarities(&asked.direction, keys, slots);
            }
            let found: Vec<Option<usize>> =
                (keys.iter().map(|key| key.and_then(|key| matrix.slot(key)))).collect();
            let slots: Vec<usize> = found.iter().flatten().copied().collect();
            let mut scored = vectors.similarities(&asked.direction, &slots)?.into_iter();
            let cosine = |slot: Option<usize>| Some(slot.and_then(|_| scored.next())?.1);
            Ok(found.into_iter().map(cosine).collect())
        })?;
        Ok(cosines
            .into_iter()
            .map(|cosine| cosine.map(f64::from))
            .collect())
    }

    /// What part of the nearest vectors a fast search finds, for some of the vectors themselves;
    /// None where searches are exact.
    pub fn recall(&self) -> Result<Option<f64>> {
        let Some(matrix) = self.matrix.clone().transpose()? else {
            return Ok(None);
        };
        self.read(|connection| {
            VectorReader {
                matrix: &matrix,
                connection,
            }
            .recall()
        })
    }
}

/// A search under way.
struct Search<'a> {
    session: &'a Session<'a>,
    matrix: &'a Arc<Matrix>,
    selection: &'a Selection<'a>,
}

impl Search<'_> {
    fn run(&self, directions: &[&[f32]]) -> rusqlite::Result<Vec<NearestRows>> {
        if directions.is_empty() {
            return Ok(Vec::new());
        }
        let passing = self.passing()?;
        let slots = passing.as_deref().map_or(Slots::All, Slots::These);
        let limit = self.selection.limit;
        let vectors = VectorReader {
            matrix: self.matrix,
            connection: self.session.connection,
        };
        let look = self.matrix.first_look();
        let groups = self.session.paths.as_deref();
        let groups = groups.map(|paths| Groups { vectors, paths });
        let (nearest, spreads) = match (&groups, self.selection.statistics) {
            (None, true) => vectors.nearest_and_spreads(look, directions, limit, slots)?,
            (None, false) => (
                vectors.nearest(look, directions, limit, slots)?,
                vec![Spread::default(); directions.len()],
            ),
            (Some(groups), true) => (
                groups.nearest(look, directions, limit, slots)?,
                groups.spreads(directions, slots, self.matrix)?,
            ),
            (Some(groups), false) => (
                groups.nearest(look, directions, limit, slots)?,
                vec![Spread::default(); directions.len()],
            ),
        };
        let of_direction = |((nearest, spread), direction): (_, &&[f32])| {
            Ok(NearestRows {
                rows: self.ranked(nearest)?,
                spread,
                asked: Some(Asked {
                    direction: direction.to_vec(),
                    passing: passing.clone(),
                }),
            })
        };
        let found = nearest.into_iter().zip(spreads).zip(directions);
        found.map(of_direction).collect()
    }

    /// The slots of the vectors that pass the filters; None where all do.
    fn passing(&self) -> rusqlite::Result<Option<Arc<SlotSet>>> {
        let filters = self.selection.filters;
        if filters.is_empty() {
            return Ok(None);
        }
        let rows = allowed(self.session.connection, filters)?;
        Ok(Some(Arc::new(self.matrix.slots_of(rows))))
    }

    /// What is nearest, in order and cut.
    fn ranked(&self, mut nearest: Vec<Scored>) -> rusqlite::Result<Vec<RankedRow>> {
        nearest.sort_unstable_by(|left, right| right.1.total_cmp(&left.1));
        let mut ranked = Vec::with_capacity(nearest.len());
        for equal in nearest.chunk_by(|left, right| left.1.total_cmp(&right.1).is_eq()) {
            ranked.extend(self.in_order(equal)?);
        }
        if self.session.paths.is_some() {
            // Chunks of one path are here for being equally near, so they stand together.
            ranked.dedup_by_key(|found| found.key);
        }
        ranked.truncate(self.selection.limit);
        Ok(ranked)
    }

    /// Rows that are equally near, by path and id: these are looked up for no others.
    fn in_order(&self, equal: &[Scored]) -> rusqlite::Result<Vec<RankedRow>> {
        let ranked = |(slot, similarity): &Scored| {
            let row = self.matrix.row(*slot);
            let key = self
                .session
                .key(row)
                .ok_or(rusqlite::Error::QueryReturnedNoRows);
            Ok(RankedRow {
                row,
                key: key.map_err(|error| without_chunk(NEAREST, error))?,
                score: f64::from(*similarity),
            })
        };
        let ranked = equal
            .iter()
            .map(ranked)
            .collect::<rusqlite::Result<Vec<_>>>()?;
        if ranked.len() < 2 {
            return Ok(ranked);
        }
        let named = |found: RankedRow| Ok((self.session.name(found.row, NEAREST)?, found));
        let mut named = ranked
            .into_iter()
            .map(named)
            .collect::<rusqlite::Result<Vec<_>>>()?;
        named.sort_unstable_by(|(left, _), (right, _)| by_name(left, right));
        Ok(named.into_iter().map(|(_, found)| found).collect())
    }
}

/// By path, then by id.
fn by_name(left: &(String, String), right: &(String, String)) -> Ordering {
    utf16::compare(&left.0, &right.0).then_with(|| utf16::compare(&left.1, &right.1))
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
        hits.unwrap()
            .into_iter()
            .map(|hit| hit.id.clone())
            .collect()
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

    #[test]
    fn a_dimension_that_no_vector_has_takes_no_memory() {
        let index = Index::in_memory(TokenizerKind::Porter).unwrap();
        index.upsert(&[&chunk("a", "p", None)]).unwrap();
        index
            .write(|connection| settings::set(connection, DIMENSIONS, Some("999999999999999")))
            .unwrap();
        let error = index
            .search_vector(&[1.0], 1, &Filters::default())
            .unwrap_err();
        assert_eq!(error.code(), ErrorCode::DimensionMismatch, "{error}");
    }
}
