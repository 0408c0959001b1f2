//! One state of a collection elsewhere, as a search reads it.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::names::{Name, Names};
use super::point_in_time::{PathEntry, PointInTime};
use crate::bm25::{self, MatchedRows, RemoteExpression, RemotePhrase};
use crate::chunks::{Chunk, Filters, RankedRow, Selection, Side, Texts};
use crate::error::{Error, ErrorCode, Result};
use crate::fuzzy::{Entry, Segment};
use crate::index::session::Needs;
use crate::query::{MatchExpression, Phrase};
use crate::retrieval::collection::{Reader, SimilarSlug, Step};
use crate::text::tokenizer::TokenizerKind;
use crate::vectors::NearestRows;

/// How many more than wanted are preselected, so that rounding rarely makes it necessary to ask again.
const MARGIN: usize = 20;

/// What a search reads, and what it has met.
pub(super) struct RemoteReader<'a> {
    pub tokenizer: TokenizerKind,
    asked: &'a dyn PointInTime,
    /// Whether the legs find the best of each path alone.
    pub groups: bool,
    /// Whether groups are made after neighbors counted.
    late_groups: bool,
    /// The phrases of the search by keywords to come, until they are passed on.
    pub expected: RefCell<Vec<RemotePhrase>>,
    names: Names,
}

/// A chunk with its score.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub name: Name,
    pub score: f64,
}

/// How many to ask for, for so many that are wanted.
pub(super) fn more(limit: usize) -> usize {
    limit.saturating_add(MARGIN)
}

/// Whether the first are certain, where nothing else has a score above `most`.
pub(super) fn is_certain(ranked: &[Found], limit: usize, most: f64) -> bool {
    ranked.get(limit - 1).is_some_and(|last| last.score > most)
}

impl<'a> RemoteReader<'a> {
    pub fn new(tokenizer: TokenizerKind, asked: &'a dyn PointInTime, needs: Needs) -> Self {
        Self {
            tokenizer,
            asked,
            groups: needs.group_by.is_some() && !needs.neighbors,
            late_groups: needs.group_by.is_some() && needs.neighbors,
            expected: RefCell::default(),
            names: Names::default(),
        }
    }

    pub fn asked(&self) -> &'a dyn PointInTime {
        self.asked
    }

    /// What was found, with rows and keys.
    pub fn rows(&self, found: Vec<Found>) -> Vec<RankedRow> {
        let ranked = |Found { name, score }| {
            let row = self.names.row(name);
            let key = self.key(row).unwrap_or(row);
            RankedRow { row, key, score }
        };
        found.into_iter().map(ranked).collect()
    }

    fn key(&self, row: i64) -> Option<i64> {
        if self.groups {
            self.names.path(row)
        } else {
            Some(row)
        }
    }

    fn name(&self, row: i64) -> Result<Name> {
        self.names.name(row).ok_or_else(|| {
            let message = "a search asked for a row that it did not meet; please report this";
            Error::new(ErrorCode::EngineFault, message)
        })
    }

    fn chunk(&self, id: &str) -> Result<Option<Chunk>> {
        let mut found = self.asked().chunks(&[id.to_owned()])?;
        Ok(found.pop().flatten())
    }

    /// The chunk of a row that was met.
    fn met(&self, row: i64) -> Result<Chunk> {
        let name = self.name(row)?;
        self.chunk(&name.id)?.ok_or_else(|| gone(&name.id))
    }

    /// The entries of the paths of these rows, path by path in their order there.
    fn entries(&self, rows: &[i64]) -> Result<Vec<PathEntry>> {
        let path = |row: &i64| Ok(self.name(*row)?.path);
        let paths: BTreeSet<String> = rows.iter().map(path).collect::<Result<_>>()?;
        let paths: Vec<String> = paths.into_iter().collect();
        let mut entries = self.asked().in_paths(&paths)?;
        entries.sort_by(|left, right| {
            (left.path.cmp(&right.path))
                .then(left.ordinal.cmp(&right.ordinal))
                .then_with(|| crate::text::utf16::compare(&left.id, &right.id))
        });
        Ok(entries)
    }

    fn row_of(&self, entry: &PathEntry) -> i64 {
        self.names.row(Name {
            path: entry.path.clone(),
            id: entry.id.clone(),
        })
    }

    /// The best `limit` paths whose slugs resemble any of the words, with their similarities.
    fn similar_paths(&self, words: &[String], limit: usize) -> Result<HashMap<String, f64>> {
        let entry = |(row, path)| Entry {
            path,
            id: String::new(),
            row,
        };
        let entries = (0..).zip(self.asked().paths()?).map(entry).collect();
        let segment = Segment::of(entries)?;
        let similar = segment.similar(words, limit, |_, _| true)?;
        let path =
            |(slot, similarity): (usize, f64)| (segment.entries()[slot].path.clone(), similarity);
        Ok(similar.into_iter().map(path).collect())
    }
}

/// A chunk that was there a moment ago, in the same state.
fn gone(id: &str) -> Error {
    Error::new(
        ErrorCode::CollectionDamaged,
        format!("the chunk {id:?} was found, and its texts are not there; upsert it again"),
    )
}

impl Reader for RemoteReader<'_> {
    fn check_embedder(&self, embedder: &str) -> Result<()> {
        self.asked().check_embedder(embedder)
    }

    fn expect(&self, expression: &MatchExpression) {
        // An error comes again when the expression is searched for.
        if let Ok(remote) = RemoteExpression::of(expression, self.tokenizer) {
            self.expected.replace(remote.phrases());
        }
    }

    fn match_rows(
        &self,
        expression: &MatchExpression,
        selection: &Selection<'_>,
    ) -> Result<MatchedRows> {
        self.matched(expression, selection)
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
        let cosine = |key: &Option<i64>| nearest.known.get(&(*key)?).copied();
        Ok(keys.iter().map(cosine).collect())
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
        let found = self.asked().in_paths(&paths)?.into_iter();
        let scored = found.filter_map(|entry| {
            let score = *similar.get(&entry.path)?;
            let name = Name {
                path: entry.path,
                id: entry.id,
            };
            Some(Found { name, score })
        });
        let mut scored: Vec<Found> = scored.collect();
        scored.sort_by(|left, right| {
            (right.score.total_cmp(&left.score)).then_with(|| left.name.compare(&right.name))
        });
        scored.truncate(limit);
        let slug = |found: Found| {
            let row = self.names.row(found.name.clone());
            SimilarSlug {
                row,
                key: self.key(row),
                path: found.name.path,
                similarity: found.score,
            }
        };
        Ok(Some(scored.into_iter().map(slug).collect()))
    }

    fn lacks_slugs(&self) -> bool {
        false
    }

    fn beside<'r>(&'r self, _: &Filters, rows: &[i64]) -> Result<Step<'r>> {
        let entries = self.entries(rows)?;
        let mut beside: HashMap<(i64, Side), i64> = HashMap::new();
        for pair in entries.windows(2) {
            let [before, after] = pair else { continue };
            if before.path == after.path {
                let (before, after) = (self.row_of(before), self.row_of(after));
                beside.insert((before, Side::After), after);
                beside.insert((after, Side::Before), before);
            }
        }
        Ok(Box::new(move |row, side| beside.get(&(row, side)).copied()))
    }

    fn group_of(&self, row: i64) -> Option<i64> {
        self.late_groups.then(|| self.names.path(row)).flatten()
    }

    fn row(&self, id: &str) -> Result<Option<i64>> {
        let name = |chunk: Chunk| Name {
            path: chunk.path,
            id: chunk.id,
        };
        let found = self.chunk(id)?.map(name);
        Ok(found.map(|name| self.names.row(name)))
    }

    fn id(&self, row: i64) -> Result<String> {
        Ok(self.name(row)?.id)
    }

    fn key_of(&self, id: &str, path: &str) -> Result<Option<i64>> {
        if self.groups {
            return Ok(self.names.number(path));
        }
        self.row(id)
    }

    fn passes(&self, row: i64, filters: &Filters) -> Result<bool> {
        Ok(filters.accept(&self.met(row)?))
    }

    fn holds(&self, row: i64, phrase: &Phrase) -> Result<bool> {
        bm25::holds(&self.met(row)?, phrase, self.tokenizer)
    }

    fn texts(&self, rows: &[(i64, &str)]) -> Result<Vec<Arc<Texts>>> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let id = |(row, _): &(i64, &str)| Ok(self.name(*row)?.id);
        let ids: Vec<String> = rows.iter().map(id).collect::<Result<_>>()?;
        let found = self.asked().chunks(&ids)?;
        let texts = |(chunk, id): (Option<Chunk>, &String)| {
            let chunk = chunk.ok_or_else(|| gone(id))?;
            Ok(Arc::new(Texts::from(chunk)))
        };
        found.into_iter().zip(&ids).map(texts).collect()
    }
}
