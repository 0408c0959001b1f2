//! Searching by meaning: the chunks whose vectors are nearest.

use std::cmp::Ordering;
use std::sync::PoisonError;

use rusqlite::{CachedStatement, Connection, Transaction, TransactionBehavior, params_from_iter};

use super::chunk::{COLUMNS, Chunk};
use super::filters::Filters;
use super::matrix::{self, Matrix, Scored};
use super::search::{Hit, check_limit, without_chunk};
use super::space::Space;
use super::{Failure, Index, vector};
use crate::error::{ErrorCode, Result};
use crate::text::utf16;

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
        check_limit(limit)?;
        vector::check(query, "the vector", ErrorCode::InvalidVector)?;
        let direction = vector::unit(query);
        self.on_reader(|reader| {
            let mut cached = self.matrix.lock().unwrap_or_else(PoisonError::into_inner);
            let transaction = Transaction::new_unchecked(reader, TransactionBehavior::Deferred)?;
            let matrix = matrix::current(&transaction, &mut cached)?;
            drop(cached);
            Space::read(&transaction)?.check(query, "the vector")?;
            if direction.is_empty() {
                return Ok(Vec::new());
            }
            let queries = [direction.as_slice()];
            let mut found = if filters.is_empty() {
                matrix.scan(&queries, limit, 0..matrix.len())
            } else {
                let places = matrix.places(&allowed(&transaction, filters)?);
                matrix.scan(&queries, limit, places.into_iter())
            };
            let best = found.pop().unwrap_or_default();
            Ok::<_, Failure>(ranked(&transaction, &matrix, best, limit)?)
        })
    }

    /// How many bytes of memory the vectors take now: none before they are first searched.
    pub fn vector_bytes(&self) -> usize {
        let cached = self.matrix.lock().unwrap_or_else(PoisonError::into_inner);
        cached.as_ref().map_or(0, |matrix| matrix.bytes())
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

/// The hits of what a scan found, in order and cut.
fn ranked(
    connection: &Connection,
    matrix: &Matrix,
    best: Vec<Scored>,
    limit: usize,
) -> rusqlite::Result<Vec<Hit>> {
    let mut names =
        connection.prepare_cached("SELECT path, id FROM knowledge_chunks WHERE row = ?")?;
    let mut candidates = Vec::with_capacity(best.len());
    for (place, similarity) in best {
        let Some(row) = matrix.row(place) else {
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
    candidates.truncate(limit);
    let sql = format!("SELECT row, {COLUMNS} FROM knowledge_chunks WHERE row = ?");
    let mut statement = connection.prepare_cached(&sql)?;
    candidates
        .iter()
        .map(|candidate| hydrate(&mut statement, candidate))
        .collect()
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
