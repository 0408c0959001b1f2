//! Searching by one leg: keywords, vectors or a phrase.

use super::handle::Index;
use super::hit::Hit;
use super::session::Needs;
use crate::bm25::MATCHED;
use crate::chunks::{Filters, Selection, check_limit};
use crate::error::{ErrorCode, Result};
use crate::query::{MatchOptions, Query, match_expression};
use crate::unit_vector;
use crate::vectors::{NEAREST, NearestRows};

impl Index {
    /// The best `limit` chunks by BM25, best first; equal scores in row order.
    ///
    /// The index's own tokenizer replaces that of `options`. A query with nothing searchable
    /// in it finds nothing, and no statement is run.
    pub fn search_bm25(
        &self,
        query: &Query,
        limit: usize,
        filters: &Filters,
        options: &MatchOptions<'_>,
    ) -> Result<Vec<Hit>> {
        check_limit(limit)?;
        let selection = Selection {
            matching: options.matching,
            ..Selection::plain(limit, filters)
        };
        let options = MatchOptions {
            stopwords: &self.stopwords,
            ..*options
        };
        let needs = Needs {
            keywords: true,
            ..Needs::default()
        };
        self.session(needs, |session| {
            let full_text = session.full_text()?;
            let options = MatchOptions {
                tokenizer: full_text.tokenizer,
                latin_stems: full_text.latin_stems,
                ..options
            };
            let expression = match_expression(query, &options)?;
            let found = session.match_rows(&expression, &selection)?;
            let rows: Vec<_> = found.rows.iter().map(|one| (one.row, MATCHED)).collect();
            let ranked = found.rows.iter().zip(session.texts(&rows)?).enumerate();
            let hits = ranked.map(|(rank, (found, texts))| Hit {
                score: found.score,
                bm25_rank: Some(rank),
                ..texts.into()
            });
            Ok(hits.collect())
        })
    }

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
        unit_vector::check(query, "the vector", ErrorCode::InvalidVector)?;
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunks::Chunk;
    use crate::storage::settings::{self, DIMENSIONS};
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
            .database()
            .write(|connection| settings::set(connection, DIMENSIONS, Some("999999999999999")))
            .unwrap();
        let error = index
            .search_vector(&[1.0], 1, &Filters::default())
            .unwrap_err();
        assert_eq!(error.code(), ErrorCode::DimensionMismatch, "{error}");
    }
}
