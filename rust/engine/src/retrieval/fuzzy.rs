//! What the fuzzy rung of the ladder searches: chunks given once, or the index's own.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use super::trigram_index::{TrigramHit, TrigramIndex};
use crate::error::Result;
use crate::index::{Chunk, GroupBy, Hit, Index, Selection};

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
    pub fn given(chunks: Vec<Chunk>) -> Self {
        let paths = chunks
            .iter()
            .map(|chunk| (chunk.id.clone(), chunk.path.clone()));
        let trigrams = TrigramIndex::new(paths);
        let mut by_id = HashMap::with_capacity(chunks.len());
        for chunk in chunks {
            by_id.entry(chunk.id.clone()).or_insert(chunk);
        }
        Self::Given(Given {
            chunks: by_id,
            trigrams,
        })
    }

    /// Search the chunks of the index.
    pub fn own() -> Self {
        Self::Own(Mutex::new(None))
    }

    /// The chunks whose slug is like a token, best first, as a BM25 leg would have them.
    pub(super) fn search(
        &self,
        index: &Index,
        tokens: &[String],
        selection: &Selection<'_>,
    ) -> Result<Vec<Hit>> {
        match self {
            Self::Given(given) => given.search(tokens, selection),
            Self::Own(kept) => {
                let trigrams = current(kept, index)?;
                let found = if selection.filters.is_empty() {
                    best(&trigrams, tokens, selection, |_| true)?
                } else {
                    let allowed: HashSet<String> =
                        index.ids(selection.filters)?.into_iter().collect();
                    best(&trigrams, tokens, selection, |id| allowed.contains(id))?
                };
                let chunks = found
                    .iter()
                    .map(|hit| index.get(&hit.id))
                    .collect::<Result<Vec<_>>>()?;
                // A chunk may go between the two statements: then it is no hit.
                let present = found
                    .iter()
                    .zip(&chunks)
                    .filter_map(|(hit, chunk)| chunk.as_ref().map(|chunk| (hit, chunk)));
                Ok(hits(present))
            }
        }
    }
}

impl Given {
    fn search(&self, tokens: &[String], selection: &Selection<'_>) -> Result<Vec<Hit>> {
        let chunk = |id: &str| self.chunks.get(id);
        let allowed = |id: &str| chunk(id).is_some_and(|chunk| selection.filters.accept(chunk));
        let found = best(&self.trigrams, tokens, selection, allowed)?;
        Ok(hits(found.iter().filter_map(|hit| {
            chunk(&hit.id).map(|chunk| (hit, chunk))
        })))
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

/// The trigrams of the index as it is now; they are made by one thread while others wait.
fn current(
    kept: &Mutex<Option<(i64, Arc<TrigramIndex>)>>,
    index: &Index,
) -> Result<Arc<TrigramIndex>> {
    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    let (generation, paths) = match kept.as_ref() {
        Some((generation, trigrams)) if index.generation()? == *generation => {
            return Ok(Arc::clone(trigrams));
        }
        _ => index.paths_by_id()?,
    };
    let trigrams = Arc::new(TrigramIndex::new(paths));
    *kept = Some((generation, Arc::clone(&trigrams)));
    Ok(trigrams)
}

fn hits<'a>(found: impl Iterator<Item = (&'a TrigramHit, &'a Chunk)>) -> Vec<Hit> {
    let hit = |(rank, (hit, chunk)): (usize, (&TrigramHit, &Chunk))| Hit {
        id: chunk.id.clone(),
        path: chunk.path.clone(),
        title: chunk.title.clone(),
        summary: chunk.summary.clone(),
        content: chunk.content.clone(),
        metadata: chunk.metadata.clone(),
        score: hit.similarity,
        bm25_rank: Some(rank),
        ..Hit::default()
    };
    found.enumerate().map(hit).collect()
}
