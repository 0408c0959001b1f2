//! What the fuzzy rung of the ladder searches: chunks given once, or the index's own.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use super::keywords::{Match, Source};
use super::trigram_index::{TrigramHit, TrigramIndex};
use crate::error::Result;
use crate::index::session::Session;
use crate::index::{Chunk, GroupBy, Selection};

/// The chunks of the fuzzy rung, with their trigrams.
pub enum FuzzyChunks {
    /// Given by the caller, with all that a hit shows.
    Given(Given),
    /// Read from the index on first use, and again when it has changed: its generation then.
    Own(Mutex<Option<(i64, Arc<TrigramIndex>)>>),
}

/// Chunks that stand outside the index.
pub struct Given {
    chunks: HashMap<String, Chunk>,
    trigrams: TrigramIndex,
}

impl FuzzyChunks {
    /// Search these chunks rather than the index; an empty id is skipped, a repeated one too.
    pub fn given(chunks: Vec<Chunk>) -> Result<Self> {
        let paths = chunks
            .iter()
            .map(|chunk| (chunk.id.clone(), chunk.path.clone()));
        let trigrams = TrigramIndex::new(paths)?;
        let mut by_id = HashMap::with_capacity(chunks.len());
        for chunk in chunks {
            by_id.entry(chunk.id.clone()).or_insert(chunk);
        }
        Ok(Self::Given(Given {
            chunks: by_id,
            trigrams,
        }))
    }

    /// Search the chunks of the index.
    pub fn own() -> Self {
        Self::Own(Mutex::new(None))
    }

    /// The chunks whose slug is like a token, best first, as a BM25 leg would have them.
    pub(super) fn search(
        &self,
        session: &Session<'_>,
        tokens: &[String],
        selection: &Selection<'_>,
    ) -> Result<Vec<Match<'_>>> {
        match self {
            Self::Given(given) => given.search(session, tokens, selection),
            Self::Own(kept) => {
                let trigrams = current(kept, session)?;
                let found = if selection.filters.is_empty() {
                    best(&trigrams, tokens, selection, |_| true)?
                } else {
                    let allowed: HashSet<String> =
                        session.ids(selection.filters)?.into_iter().collect();
                    best(&trigrams, tokens, selection, |id| allowed.contains(id))?
                };
                let matched = |hit: TrigramHit| {
                    let row = session.row(&hit.id)?;
                    Ok(row.map(|row| Match {
                        source: Source::Row(row),
                        key: session.key(row),
                        score: hit.similarity,
                    }))
                };
                // All are there: the trigrams are of the state that is read.
                found
                    .into_iter()
                    .filter_map(|hit| matched(hit).transpose())
                    .collect()
            }
        }
    }
}

impl Given {
    fn search(
        &self,
        session: &Session<'_>,
        tokens: &[String],
        selection: &Selection<'_>,
    ) -> Result<Vec<Match<'_>>> {
        let chunk = |id: &str| self.chunks.get(id);
        let allowed = |id: &str| chunk(id).is_some_and(|chunk| selection.filters.accept(chunk));
        let found = best(&self.trigrams, tokens, selection, allowed)?;
        let matched = |hit: &TrigramHit| {
            let Some(chunk) = chunk(&hit.id) else {
                return Ok(None);
            };
            Ok(Some(Match {
                source: Source::Given(chunk),
                key: session.key_of(&chunk.id, &chunk.path)?,
                score: hit.similarity,
            }))
        };
        found
            .iter()
            .filter_map(|hit| matched(hit).transpose())
            .collect()
    }
}

/// The hits of a selection. Chunks of one path are equally similar, so they stand together.
fn best(
    trigrams: &TrigramIndex,
    tokens: &[String],
    selection: &Selection<'_>,
    may_be_found: impl Fn(&str) -> bool,
) -> Result<Vec<TrigramHit>> {
    let Some(GroupBy::Path) = selection.group_by else {
        return trigrams.search_among(tokens, selection.limit, may_be_found);
    };
    let mut found = trigrams.search_among(tokens, usize::MAX, may_be_found)?;
    found.dedup_by(|later, first| later.path == first.path);
    found.truncate(selection.limit);
    Ok(found)
}

/// The trigrams of the state that is read; they are made by one thread while others wait.
fn current(
    kept: &Mutex<Option<(i64, Arc<TrigramIndex>)>>,
    session: &Session<'_>,
) -> Result<Arc<TrigramIndex>> {
    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    let (generation, paths) = match kept.as_ref() {
        Some((generation, trigrams)) if session.generation()? == *generation => {
            return Ok(Arc::clone(trigrams));
        }
        _ => session.paths_by_id()?,
    };
    let trigrams = Arc::new(TrigramIndex::new(paths)?);
    // A search that began before another must not undo what that one made.
    if kept.as_ref().is_none_or(|(known, _)| *known < generation) {
        *kept = Some((generation, Arc::clone(&trigrams)));
    }
    Ok(trigrams)
}
