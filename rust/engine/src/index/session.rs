//! The state of the index that a search reads. Later writes are not seen.

use std::cell::{Cell, OnceCell};
use std::sync::Arc;

use rusqlite::Connection;

use super::handle::Index;
use crate::bm25::{Bm25, ContentPhrase, MatchedRows, Snapshot};
use crate::chunks::{
    Chunk, Filters, FullText, GroupBy, Neighbors, Paths, RowSet, Selection, Side, TextCache, Texts,
    Turn, Turns, chunk_of, count_chunks, group_key, name_of, row_of,
};
use crate::error::Result;
use crate::fuzzy::{self, Slugs};
use crate::query::{MatchExpression, Phrase};
use crate::sources::{self, LedgerChanges};
use crate::storage::WorkError;
use crate::storage::cache::Lookup;
use crate::storage::settings::{self, EMBEDDER};
use crate::text::tokenizer::TokenizerKind;
use crate::text::words;
use crate::vectors::{Matrix, NearestRows, Space, VectorSearch};

mod begin;

/// The data that a search needs in memory.
#[derive(Debug, Clone, Copy, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is an independent need")]
pub struct Needs<'a> {
    /// Whether it ranks by BM25.
    pub keywords: bool,
    /// Whether it searches vectors.
    pub vectors: bool,
    /// The grouping of the hits, if any.
    pub group_by: Option<GroupBy<'a>>,
    /// Whether the neighbors of a chunk count. Then the legs find chunks, which are grouped
    /// afterwards.
    pub neighbors: bool,
    /// Whether the speaker of a chunk counts. Then, too, the legs find chunks.
    pub turns: bool,
    /// Whether it looks for slugs that are similar to words.
    pub slugs: bool,
}

impl Needs<'_> {
    /// Whether chunks are grouped after their scores are complete, instead of by each leg.
    pub fn groups_late(self) -> bool {
        self.group_by.is_some() && (self.neighbors || self.turns)
    }
}

/// A state of the index, on one connection. Rows are numbers to look up in it, and mean nothing in
/// another state.
///
/// While a session lives, the thread must not call methods of the [`Index`]: in memory they could
/// wait for a writer that waits for the session.
pub struct Session<'a> {
    index: &'a Index,
    connection: &'a Connection,
    /// The number of transactions before this state. Equal numbers mean equal states.
    generation: i64,
    /// The BM25 ranking in memory; None if FTS5 ranks, or if the search needs no keywords.
    pub(crate) keywords: Option<Arc<Snapshot>>,
    /// The vectors, or why they cannot be read; None where they were not asked for.
    matrix: Option<Result<Arc<Matrix>>>,
    /// The chunks of each group, if each leg groups its hits.
    pub(crate) paths: Option<Arc<Paths>>,
    /// The neighbors of each chunk, if they count.
    pub(crate) neighbors: Option<Arc<Neighbors>>,
    /// The speaker of each chunk, if speakers count.
    pub(crate) turns: Option<Arc<Turns>>,
    /// The chunks of each group, if hits are grouped after their neighbors counted.
    groups: Option<Arc<Paths>>,
    /// The slugs, where it was known beforehand that they are needed.
    slugs: Option<Arc<Slugs>>,
    lacks_slugs: Cell<bool>,
    texts: Arc<TextCache>,
    /// How the texts are tokenized, once it was read.
    full_text: OnceCell<FullText>,
    /// The only rows that searches may find. None if they may find all.
    allowed: Option<Arc<RowSet>>,
}

impl Session<'_> {
    /// A view of the same state in which searches find no other rows than these, and know whether Latin words of
    /// their texts have stems.
    pub fn part(&self, rows: Arc<RowSet>, latin_stems: bool) -> Result<Self> {
        let full_text = FullText {
            latin_stems,
            ..self.full_text()?
        };
        Ok(Self {
            full_text: OnceCell::from(full_text),
            ..self.within(rows)
        })
    }

    /// Run statements, and map their errors.
    pub fn read<T, E: Into<WorkError>>(
        &self,
        work: impl FnOnce(&Connection) -> std::result::Result<T, E>,
    ) -> Result<T> {
        work(self.connection).map_err(|error| self.index.database.map_error(error))
    }

    /// A view of the same state in which searches find no other rows than these. They are chosen before
    /// ranking, as by a filter, so that the best of them are found however few they are.
    #[must_use]
    pub fn within(&self, rows: Arc<RowSet>) -> Self {
        Self {
            index: self.index,
            connection: self.connection,
            generation: self.generation,
            keywords: self.keywords.clone(),
            matrix: self.matrix.clone(),
            paths: self.paths.clone(),
            neighbors: self.neighbors.clone(),
            turns: self.turns.clone(),
            groups: self.groups.clone(),
            slugs: self.slugs.clone(),
            lacks_slugs: Cell::new(false),
            texts: Arc::clone(&self.texts),
            full_text: self.full_text.clone(),
            allowed: Some(rows),
        }
    }

    /// The changes of the ledger since a change of this number; all of it since -1.
    pub fn sources_since(&self, generation: i64) -> Result<LedgerChanges> {
        self.read(|connection| sources::changes_since(connection, generation))
    }

    /// The number of the last change of the ledger.
    pub fn sources_generation(&self) -> Result<i64> {
        self.read(sources::sources_generation)
    }

    /// The rows of the chunks of each file that was written since a change of the ledger, ascending.
    pub fn source_rows_since(&self, generation: i64) -> Result<Vec<(String, i64)>> {
        self.read(|connection| sources::rows_since(connection, generation))
    }

    /// The paths of all files of the ledger.
    pub fn source_paths(&self) -> Result<Vec<String>> {
        self.read(sources::paths)
    }

    /// Refuse another embedder than the one the vectors of this state are of.
    pub(crate) fn check_embedder(&self, embedder: &str) -> Result<()> {
        let space = Space {
            embedder: self.read(|connection| settings::get(connection, EMBEDDER))?,
            ..Space::default()
        };
        space.check_embedder(embedder, self.index.database.location())
    }

    /// The rows of the chunks that pass the filters; None where all do.
    pub(crate) fn allowed_rows(&self, filters: &Filters) -> Result<Option<Arc<RowSet>>> {
        if filters.is_empty() {
            return Ok(self.allowed.clone());
        }
        let cache = &self.index.filters;
        let rows = self.read(|connection| cache.rows(connection, self.generation, filters))?;
        let Some(allowed) = &self.allowed else {
            return Ok(Some(rows));
        };
        let mut both = (*rows).clone();
        both.intersect(allowed);
        Ok(Some(Arc::new(both)))
    }

    /// The rows of the chunks that pass the filters. None if all do, or if finding them would take longer
    /// than to check the best rows one by one.
    fn allowed_rows_if_cheap(&self, filters: &Filters) -> Result<Option<Arc<RowSet>>> {
        if self.allowed.is_some() {
            return self.allowed_rows(filters);
        }
        if filters.is_empty() || self.keywords.is_none() {
            return Ok(None);
        }
        let cache = &self.index.filters;
        self.read(|connection| cache.rows_if_cheap(connection, self.generation, filters))
    }

    /// Return the number of chunks.
    pub fn chunk_count(&self) -> Result<u64> {
        self.read(count_chunks)
    }

    /// Return the key of the group of a row; without grouping the row itself.
    pub(crate) fn key(&self, row: i64) -> Option<i64> {
        group_key(self.paths.as_deref(), row)
    }

    /// Return the neighbor of a row in its path, on one side.
    pub fn adjacent_row(&self, row: i64, side: Side) -> Option<i64> {
        self.neighbors.as_ref()?.adjacent_row(row, side)
    }

    /// Return the speaker and date of the chunk of a row.
    pub(crate) fn turn(&self, row: i64) -> Option<Turn> {
        self.turns.as_ref()?.get(row)
    }

    /// Whether any chunk has a speaker or a date.
    pub(crate) fn has_turns(&self) -> bool {
        self.turns.as_ref().is_some_and(|turns| turns.has_any())
    }

    /// The id of a row that is known to be there.
    pub(crate) fn id(&self, row: i64) -> Result<String> {
        Ok(self.name(row)?.1)
    }

    /// The path of a row that is known to be there.
    pub(crate) fn path(&self, row: i64) -> Result<String> {
        Ok(self.name(row)?.0)
    }

    fn name(&self, row: i64) -> Result<(String, String)> {
        self.read(|connection| name_of(connection, row, "a neighbor"))
    }

    /// Return the key of the group of a row, for grouping after neighbors counted; None without grouping.
    pub(crate) fn group_of(&self, row: i64) -> Option<i64> {
        self.groups.as_ref()?.of_row(row).map(i64::from)
    }

    /// Return the key of the group of a chunk; None if the group has no chunk yet.
    pub(crate) fn key_of(&self, chunk: &Chunk) -> Result<Option<i64>> {
        match &self.paths {
            None => self.row(&chunk.id),
            Some(paths) => self.read(|_| paths.number(chunk)),
        }
    }

    /// Return the slugs of all chunks. None if they must be read first, for which this transaction
    /// must end: then [`Self::lacks_slugs`], and the search restarts with the slugs as a need.
    pub(crate) fn slugs(&self) -> Result<Option<Arc<Slugs>>> {
        let slugs = match &self.slugs {
            Some(slugs) => Some(Arc::clone(slugs)),
            None => {
                match self.read(|connection| self.index.slugs.get(connection, self.generation))? {
                    Lookup::Hit(slugs) => Some(slugs),
                    Lookup::Newer | Lookup::Miss => None,
                }
            }
        };
        // Other searches of this session may find what another thread has read meanwhile; this one did
        // not.
        self.lacks_slugs
            .set(self.lacks_slugs.get() || slugs.is_none());
        fuzzy::merge_when_due(&self.index.slugs, self.index.database.background());
        Ok(slugs)
    }

    /// Whether something was not found since the slugs were not there.
    pub fn lacks_slugs(&self) -> bool {
        self.lacks_slugs.get()
    }

    /// The row of an id.
    pub(crate) fn row(&self, id: &str) -> Result<Option<i64>> {
        self.read(|connection| row_of(connection, id))
    }

    /// The best rows of a selection by BM25, best first; equal scores in row order.
    pub(crate) fn match_rows(
        &self,
        expression: &MatchExpression,
        selection: &Selection<'_>,
    ) -> Result<MatchedRows> {
        let allowed_rows = self.allowed_rows_if_cheap(selection.filters)?;
        let search = self.bm25(allowed_rows.as_deref())?;
        self.note_unsuitable(search.tokenizer, expression);
        self.read(|_| search.search(expression, selection))
    }

    /// The full-text index, of which only these rows may be found.
    pub(super) fn bm25<'s>(&'s self, allowed_rows: Option<&'s RowSet>) -> Result<Bm25<'s>> {
        Ok(Bm25 {
            connection: self.connection,
            tokenizer: self.full_text()?.tokenizer,
            snapshot: self.keywords.as_deref(),
            paths: self.paths.as_deref(),
            passing: allowed_rows,
        })
    }

    /// The best rows of a selection for each query by the cosine of their vectors.
    pub(crate) fn nearest_rows(
        &self,
        queries: &[&[f32]],
        selection: &Selection<'_>,
    ) -> Result<Vec<Result<NearestRows>>> {
        match self.vector_search()? {
            Some(search) => {
                let allowed_rows = self.allowed_rows(selection.filters)?;
                self.read(|_| search.nearest(queries, selection, allowed_rows.as_deref()))
            }
            None => Ok(queries.iter().map(|_| Ok(NearestRows::default())).collect()),
        }
    }

    /// Return the cosine for each of these keys, whether or not it was among the nearest; None if
    /// it has no vector.
    pub(crate) fn cosines(
        &self,
        nearest: &NearestRows,
        keys: &[Option<i64>],
    ) -> Result<Vec<Option<f64>>> {
        match self.vector_search() {
            Ok(Some(search)) => self.read(|_| search.cosines(nearest, keys)),
            _ => Ok(vec![None; keys.len()]),
        }
    }

    /// The phrase of a text, to look for in contents.
    pub fn content_phrase(&self, text: &str) -> Result<ContentPhrase> {
        ContentPhrase::of(text, self.full_text()?.tokenizer)
    }

    /// The ids of the chunks whose content may hold a phrase, none of them missing.
    ///
    /// The index has stems or parts of words only, so each needs [`Session::holds_phrase`].
    pub fn phrase_candidates(&self, phrase: &ContentPhrase) -> Result<Vec<String>> {
        self.read(|connection| phrase.candidates(connection))
    }

    /// Whether the content of a chunk holds a phrase.
    pub fn holds_phrase(&self, id: &str, phrase: &ContentPhrase) -> Result<bool> {
        match self.read(|connection| chunk_of(connection, id))? {
            Some(chunk) => phrase.is_in(&chunk.content),
            None => Ok(false),
        }
    }

    /// Report once that a query has letters which the tokenizer of the file does not take for words.
    fn note_unsuitable(&self, tokenizer: TokenizerKind, expression: &MatchExpression) {
        if !matches!(tokenizer, TokenizerKind::Porter | TokenizerKind::Unicode61) {
            return;
        }
        let is_run = |phrase: &Phrase| !phrase.text.is_ascii() && words::has_run(&phrase.text);
        if expression.phrases().any(is_run) {
            self.index.report_older(tokenizer);
        }
    }

    /// How the texts are tokenized.
    pub(crate) fn full_text(&self) -> Result<FullText> {
        if let Some(known) = self.full_text.get() {
            return Ok(*known);
        }
        let read = self.read(FullText::read)?;
        self.index.note_tokenizer(read.tokenizer);
        Ok(*self.full_text.get_or_init(|| read))
    }

    /// Return the share of nearest vectors that a fast search finds, for a sample of the vectors;
    /// None if searches are exact.
    pub(crate) fn recall(&self) -> Result<Option<f64>> {
        match self.vector_search()? {
            Some(search) => self.read(|_| search.recall()),
            None => Ok(None),
        }
    }

    /// The vectors; None where they were not asked for.
    fn vector_search(&self) -> Result<Option<VectorSearch<'_>>> {
        let matrix = match &self.matrix {
            None => return Ok(None),
            Some(Err(error)) => return Err(error.clone()),
            Some(Ok(matrix)) => matrix,
        };
        Ok(Some(VectorSearch {
            connection: self.connection,
            matrix,
            paths: self.paths.as_ref(),
        }))
    }

    /// Return the texts of rows, each with the matched expression, in their order.
    ///
    /// Call this last and for few rows: cache misses are read from the file, and those reads
    /// dominate a search.
    pub fn texts(&self, rows: &[(i64, &str)]) -> Result<Vec<Arc<Texts>>> {
        self.read(|connection| self.texts.read_through(connection, rows))
    }
}
