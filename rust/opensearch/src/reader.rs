//! A state of a collection, as a search reads it.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use hedgerow_engine::bm25::MatchedRows;
use hedgerow_engine::chunks::{Chunk, Filters, FullText, RankedRow, Selection, Side, Texts, Turn};
use hedgerow_engine::index::session::Needs;
use hedgerow_engine::query::{MatchExpression, Matching, Phrase};
use hedgerow_engine::retrieval::trigram_index::TrigramIndex;
use hedgerow_engine::retrieval::{Reader, SimilarSlug, Step, order};
use hedgerow_engine::text::tokenizer::TokenizerKind;
use hedgerow_engine::text::utf16;
use hedgerow_engine::vectors::NearestRows;
use hedgerow_engine::{Error, ErrorCode, Result};

use crate::keyword_query::KeywordQuery;
use crate::point_in_time::{PathEntry, PointInTime};
use crate::row_numbers::{ChunkName, RowNumbers};
use crate::token_phrase::{TokenPhrase, has_phrase};

/// The number of chunks preselected beyond the limit. With fewer, rounding more often makes a second
/// request necessary.
const MARGIN: usize = 20;

/// The state that a search reads, and the chunks that it has met.
pub(crate) struct RemoteReader<'a> {
    pub tokenizer: TokenizerKind,
    point_in_time: &'a dyn PointInTime,
    /// Whether the legs keep only the best chunk of each path.
    pub groups: bool,
    /// Whether chunks are grouped after their neighbors counted.
    late_groups: bool,
    /// The phrases of the next keyword search that the server has not yet received.
    pub expected: RefCell<Vec<TokenPhrase>>,
    row_numbers: RowNumbers,
}

/// A chunk with its score.
#[derive(Debug, Clone)]
pub(crate) struct ScoredChunk {
    pub name: ChunkName,
    pub score: f64,
}

/// The number of chunks to preselect for a limit.
pub(crate) fn with_margin(limit: usize) -> usize {
    limit.saturating_add(MARGIN)
}

/// Whether the first `limit` of `ranked` are the best, if no other chunk has a score above `most`.
pub(crate) fn is_certain(ranked: &[ScoredChunk], limit: usize, most: f64) -> bool {
    ranked.get(limit - 1).is_some_and(|last| last.score > most)
}

/// The first `limit` of `ranked`.
pub(crate) fn first(mut ranked: Vec<ScoredChunk>, limit: usize) -> Vec<ScoredChunk> {
    ranked.truncate(limit);
    ranked
}

impl<'a> RemoteReader<'a> {
    pub fn new(
        tokenizer: TokenizerKind,
        point_in_time: &'a dyn PointInTime,
        needs: Needs<'_>,
    ) -> Self {
        Self {
            tokenizer,
            point_in_time,
            groups: needs.group_by.is_some() && !needs.groups_late(),
            late_groups: needs.groups_late(),
            expected: RefCell::default(),
            row_numbers: RowNumbers::default(),
        }
    }

    pub fn point_in_time(&self) -> &'a dyn PointInTime {
        self.point_in_time
    }

    /// Sort chunks, best first. With groups, keep only the best chunk of each.
    pub fn ranked(&self, mut chunks: Vec<ScoredChunk>) -> Vec<ScoredChunk> {
        chunks.sort_by(|left, right| {
            order::descending(left.score, right.score).then_with(|| left.name.compare(&right.name))
        });
        if self.groups {
            let mut seen = HashSet::new();
            chunks.retain(|chunk| seen.insert(chunk.name.path.clone()));
        }
        chunks
    }

    /// The rows and keys of ranked chunks, in their order.
    pub fn rows(&self, ranked: Vec<ScoredChunk>) -> Vec<RankedRow> {
        let with_row = |ScoredChunk { name, score }| {
            let row = self.row_numbers.row(name);
            let key = self.key(row).unwrap_or(row);
            RankedRow { row, key, score }
        };
        ranked.into_iter().map(with_row).collect()
    }

    fn key(&self, row: i64) -> Option<i64> {
        if self.groups {
            self.row_numbers.path(row)
        } else {
            Some(row)
        }
    }

    fn name(&self, row: i64) -> Result<ChunkName> {
        self.row_numbers.name(row).ok_or_else(|| {
            let message = "a search asked for a row that it did not meet; please report this";
            Error::new(ErrorCode::EngineFault, message)
        })
    }

    fn chunk(&self, id: &str) -> Result<Option<Chunk>> {
        let mut found = self.point_in_time().chunks(&[id.to_owned()])?;
        Ok(found.pop().flatten())
    }

    /// The chunk of a row.
    fn chunk_of_row(&self, row: i64) -> Result<Chunk> {
        let name = self.name(row)?;
        self.chunk(&name.id)?.ok_or_else(|| without_texts(&name.id))
    }

    /// The entries of the paths of `rows`, sorted by path, then by position in the path.
    fn entries(&self, rows: &[i64]) -> Result<Vec<PathEntry>> {
        let path = |row: &i64| Ok(self.name(*row)?.path);
        let paths: BTreeSet<String> = rows.iter().map(path).collect::<Result<_>>()?;
        let paths: Vec<String> = paths.into_iter().collect();
        let mut entries = self.point_in_time().in_paths(&paths)?;
        entries.sort_by(|left, right| {
            (left.path.cmp(&right.path))
                .then(left.ordinal.cmp(&right.ordinal))
                .then_with(|| utf16::compare(&left.id, &right.id))
        });
        Ok(entries)
    }

    /// The chunks whose best score is that of a key: the chunk of a row, or all of a path.
    pub fn chunks_of(&self, keys: &[i64]) -> Result<Vec<ChunkName>> {
        if !self.groups {
            return keys.iter().map(|row| self.name(*row)).collect();
        }
        let paths = keys
            .iter()
            .filter_map(|key| self.row_numbers.path_name(*key));
        let entries = self.point_in_time().in_paths(&paths.collect::<Vec<_>>())?;
        let name = |PathEntry { id, path, .. }| ChunkName { path, id };
        Ok(entries.into_iter().map(name).collect())
    }

    fn row_of(&self, entry: &PathEntry) -> i64 {
        self.row_numbers.row(ChunkName {
            path: entry.path.clone(),
            id: entry.id.clone(),
        })
    }

    /// The best `limit` paths whose slugs resemble any of `words`, with their similarities.
    fn similar_paths(&self, words: &[String], limit: usize) -> Result<HashMap<String, f64>> {
        let paths = self.point_in_time().paths()?.into_iter();
        // The text of a path is its id: the index has ids.
        let index = TrigramIndex::new(paths.map(|path| (path.clone(), path)))?;
        let hits = index.search(words, limit)?.into_iter();
        Ok(hits.map(|hit| (hit.path, hit.similarity)).collect())
    }
}

/// The error for a chunk that the same state has found, but whose texts it does not return.
fn without_texts(id: &str) -> Error {
    Error::new(
        ErrorCode::CollectionDamaged,
        format!("the chunk {id:?} was found, and its texts are not there; upsert it again"),
    )
}

impl Reader for RemoteReader<'_> {
    fn full_text(&self) -> Result<FullText> {
        Ok(FullText {
            tokenizer: self.tokenizer,
            latin_stems: false,
        })
    }

    fn check_embedder(&self, embedder: &str) -> Result<()> {
        self.point_in_time().check_embedder(embedder)
    }

    fn expect(&self, expression: &MatchExpression) {
        // An error is raised again when the expression is searched.
        if let Ok(query) = KeywordQuery::of(expression, self.tokenizer, Matching::Spec) {
            self.expected.replace(query.phrases());
        }
    }

    fn match_rows(
        &self,
        expression: &MatchExpression,
        selection: &Selection<'_>,
    ) -> Result<MatchedRows> {
        self.ranked_matches(expression, selection)
    }

    fn nearest_rows(
        &self,
        queries: &[&[f32]],
        selection: &Selection<'_>,
    ) -> Result<Vec<Result<NearestRows>>> {
        let nearest = |query: &&[f32]| self.nearest(query, selection);
        Ok(queries.iter().map(nearest).collect())
    }

    fn cosines(&self, nearest: &NearestRows, keys: &[Option<i64>]) -> Result<Vec<Option<f64>>> {
        self.cosines_of(nearest, keys)
    }

    fn similar_slugs(
        &self,
        words: &[String],
        limit: usize,
        _: &Filters,
    ) -> Result<Option<Vec<SimilarSlug>>> {
        let similar = self.similar_paths(words, limit)?;
        if similar.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let mut paths: Vec<String> = similar.keys().cloned().collect();
        paths.sort_unstable();
        let found = self.point_in_time().in_paths(&paths)?.into_iter();
        let scored = found.filter_map(|entry| {
            let score = *similar.get(&entry.path)?;
            let name = ChunkName {
                path: entry.path,
                id: entry.id,
            };
            Some(ScoredChunk { name, score })
        });
        let mut scored: Vec<ScoredChunk> = scored.collect();
        scored.sort_by(|left, right| {
            (right.score.total_cmp(&left.score)).then_with(|| left.name.compare(&right.name))
        });
        scored.truncate(limit);
        let slug = |chunk: ScoredChunk| {
            let row = self.row_numbers.row(chunk.name.clone());
            SimilarSlug {
                row,
                key: self.key(row),
                path: chunk.name.path,
                similarity: chunk.score,
            }
        };
        Ok(Some(scored.into_iter().map(slug).collect()))
    }

    fn lacks_slugs(&self) -> bool {
        false
    }

    fn adjacent_rows<'r>(&'r self, _: &Filters, rows: &[i64]) -> Result<Step<'r>> {
        let entries = self.entries(rows)?;
        let mut adjacent: HashMap<(i64, Side), i64> = HashMap::new();
        for pair in entries.windows(2) {
            let [before, after] = pair else { continue };
            if before.path == after.path {
                let (before, after) = (self.row_of(before), self.row_of(after));
                adjacent.insert((before, Side::After), after);
                adjacent.insert((after, Side::Before), before);
            }
        }
        Ok(Box::new(move |row, side| {
            adjacent.get(&(row, side)).copied()
        }))
    }

    fn turns(&self, rows: &[i64]) -> Result<Vec<Turn>> {
        let id = |row: &i64| Ok(self.name(*row)?.id);
        let ids: Vec<String> = rows.iter().map(id).collect::<Result<_>>()?;
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let found = self.point_in_time().chunks(&ids)?.into_iter();
        let turn = |chunk: Option<Chunk>| {
            chunk.map_or_else(Turn::default, |one| Turn::of(&one.content, &one.metadata))
        };
        Ok(found.map(turn).collect())
    }

    fn group_of(&self, row: i64) -> Option<i64> {
        self.late_groups
            .then(|| self.row_numbers.path(row))
            .flatten()
    }

    fn row(&self, id: &str) -> Result<Option<i64>> {
        let name = |chunk: Chunk| ChunkName {
            path: chunk.path,
            id: chunk.id,
        };
        let found = self.chunk(id)?.map(name);
        Ok(found.map(|name| self.row_numbers.row(name)))
    }

    fn id(&self, row: i64) -> Result<String> {
        Ok(self.name(row)?.id)
    }

    fn key_of(&self, chunk: &Chunk) -> Result<Option<i64>> {
        if self.groups {
            return Ok(self.row_numbers.path_number(&chunk.path));
        }
        self.row(&chunk.id)
    }

    fn passes(&self, row: i64, filters: &Filters) -> Result<bool> {
        Ok(filters.accept(&self.chunk_of_row(row)?))
    }

    fn holds(&self, row: i64, phrase: &Phrase) -> Result<bool> {
        has_phrase(&self.chunk_of_row(row)?, phrase, self.tokenizer)
    }

    fn texts(&self, rows: &[(i64, &str)]) -> Result<Vec<Arc<Texts>>> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let id = |(row, _): &(i64, &str)| Ok(self.name(*row)?.id);
        let ids: Vec<String> = rows.iter().map(id).collect::<Result<_>>()?;
        let found = self.point_in_time().chunks(&ids)?;
        let texts = |(chunk, id): (Option<Chunk>, &String)| {
            let chunk = chunk.ok_or_else(|| without_texts(id))?;
            Ok(Arc::new(Texts::from(chunk)))
        };
        found.into_iter().zip(&ids).map(texts).collect()
    }
}
