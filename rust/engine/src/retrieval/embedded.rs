//! The index in a file as a collection.

use std::collections::HashMap;
use std::sync::Arc;

use super::collection::{Collection, Reader, SimilarSlug, Step};
use crate::bm25::MatchedRows;
use crate::chunks::{Chunk, Filters, FullText, Selection, Side, Texts, Turn};
use crate::error::Result;
use crate::fuzzy::SlugEntry;
use crate::index::Index;
use crate::index::session::{Needs, Session};
use crate::index::vocabulary::IndexVocabulary;
use crate::query::{MatchExpression, Phrase, StopWords, Vocabulary};
use crate::text::tokenizer::TokenizerKind;
use crate::vectors::NearestRows;

impl Collection for Index {
    fn tokenizer(&self) -> TokenizerKind {
        self.tokenizer()
    }

    fn stopwords(&self) -> &StopWords {
        self.stopwords()
    }

    fn read(&self, needs: Needs<'_>, work: &mut dyn FnMut(&dyn Reader)) -> Result<()> {
        self.session(needs, |session| {
            work(session);
            Ok(())
        })
    }
}

impl Reader for Session<'_> {
    fn full_text(&self) -> Result<FullText> {
        self.full_text()
    }

    fn check_embedder(&self, embedder: &str) -> Result<()> {
        self.check_embedder(embedder)
    }

    fn vocabulary<'r>(&'r self, filters: &'r Filters) -> Option<Box<dyn Vocabulary + 'r>> {
        Some(Box::new(IndexVocabulary {
            session: self,
            filters,
        }))
    }

    fn passes_none(&self, filters: &Filters) -> Result<bool> {
        let rows = self.allowed_rows(filters)?;
        Ok(!filters.is_empty() && rows.is_some_and(|rows| rows.is_empty()))
    }

    fn match_rows(
        &self,
        expression: &MatchExpression,
        selection: &Selection<'_>,
    ) -> Result<MatchedRows> {
        self.match_rows(expression, selection)
    }

    fn nearest_rows(
        &self,
        queries: &[&[f32]],
        selection: &Selection<'_>,
    ) -> Result<Vec<Result<NearestRows>>> {
        self.nearest_rows(queries, selection)
    }

    fn cosines(&self, nearest: &NearestRows, keys: &[Option<i64>]) -> Result<Vec<Option<f64>>> {
        self.cosines(nearest, keys)
    }

    fn similar_slugs(
        &self,
        words: &[String],
        limit: usize,
        filters: &Filters,
    ) -> Result<Option<Vec<SimilarSlug>>> {
        let Some(slugs) = self.slugs()? else {
            return Ok(None);
        };
        let allowed_rows = self.allowed_rows(filters)?;
        let accept = |entry: &SlugEntry| {
            let allowed_rows = allowed_rows.as_deref();
            allowed_rows.is_none_or(|rows| rows.contains(entry.row))
        };
        let similar = slugs.similar(words, limit, accept)?;
        let found = similar.into_iter().map(|(entry, similarity)| SimilarSlug {
            row: entry.row,
            key: self.key(entry.row),
            path: entry.path.clone(),
            similarity,
        });
        Ok(Some(found.collect()))
    }

    fn lacks_slugs(&self) -> bool {
        self.lacks_slugs()
    }

    fn adjacent_rows<'r>(&'r self, filters: &Filters, _: &[i64]) -> Result<Step<'r>> {
        let Some(allowed_rows) = self.allowed_rows(filters)? else {
            return Ok(Box::new(|row, side| self.adjacent_row(row, side)));
        };
        // Steps over chunks that do not pass, so that none is walked over again.
        let mut steps: HashMap<(i64, Side), Option<i64>> = HashMap::new();
        Ok(Box::new(move |row, side| {
            *steps.entry((row, side)).or_insert_with(|| {
                let mut at = self.adjacent_row(row, side);
                while let Some(other) = at.filter(|row| !allowed_rows.contains(*row)) {
                    at = self.adjacent_row(other, side);
                }
                at
            })
        }))
    }

    fn has_turns(&self) -> bool {
        self.has_turns()
    }

    fn turns(&self, rows: &[i64]) -> Result<Vec<Turn>> {
        let turn = |row: &i64| self.turn(*row).unwrap_or_default();
        Ok(rows.iter().map(turn).collect())
    }

    fn group_of(&self, row: i64) -> Option<i64> {
        self.group_of(row)
    }

    fn row(&self, id: &str) -> Result<Option<i64>> {
        self.row(id)
    }

    fn id(&self, row: i64) -> Result<String> {
        self.id(row)
    }

    fn key_of(&self, chunk: &Chunk) -> Result<Option<i64>> {
        self.key_of(chunk)
    }

    fn passes(&self, row: i64, filters: &Filters) -> Result<bool> {
        let rows = self.allowed_rows(filters)?;
        Ok(rows.is_none_or(|rows| rows.contains(row)))
    }

    fn holds(&self, row: i64, phrase: &Phrase) -> Result<bool> {
        let expression = MatchExpression {
            any: vec![vec![vec![phrase.clone()]]],
            none: Vec::new(),
        };
        // Few chunks are searched: those of its path.
        let filters = Filters {
            paths: vec![self.path(row)?],
            ..Filters::default()
        };
        let selection = Selection::plain(usize::MAX, &filters);
        let found = self.match_rows(&expression, &selection)?;
        Ok(found.rows.iter().any(|one| one.row == row))
    }

    fn texts(&self, rows: &[(i64, &str)]) -> Result<Vec<Arc<Texts>>> {
        self.texts(rows)
    }
}
