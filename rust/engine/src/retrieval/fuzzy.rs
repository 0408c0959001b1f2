//! What the fuzzy rung of the ladder searches: chunks given once, or the index's own.

use std::collections::HashMap;

use super::matches::{Match, Source};
use super::trigram_index::{TrigramHit, TrigramIndex};
use crate::chunks::{Chunk, GroupBy, Selection};
use crate::error::Result;
use crate::fuzzy::Entry;
use crate::index::session::Session;

/// The chunks of the fuzzy rung, with their trigrams.
pub enum FuzzyChunks {
    /// Given by the caller, with all that a hit shows.
    Given(Given),
    /// Those of the index.
    Own,
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
        Self::Own
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
            Self::Own => own(session, tokens, selection),
        }
    }
}

/// The chunks of the index that are found.
fn own(
    session: &Session<'_>,
    tokens: &[String],
    selection: &Selection<'_>,
) -> Result<Vec<Match<'static>>> {
    let Some(slugs) = session.slugs()? else {
        // The search begins anew once they are read.
        return Ok(Vec::new());
    };
    let passing = session.passing(selection.filters)?;
    let accept = |entry: &Entry| {
        let passing = passing.as_deref();
        passing.is_none_or(|rows| rows.contains(entry.row))
    };
    let mut found = slugs.similar(tokens, asked(selection), accept)?;
    cut(&mut found, selection, |(entry, _)| &entry.path);
    let matched = found.into_iter().map(|(entry, similarity)| Match {
        source: Source::Row(entry.row),
        key: session.key(entry.row),
        score: similarity,
    });
    Ok(matched.collect())
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
        let limit = asked(selection);
        let mut found = self.trigrams.search_among(tokens, limit, allowed)?;
        cut(&mut found, selection, |hit| &hit.path);
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

/// How many hits to ask for: of groups nobody knows beforehand how many they come from.
fn asked(selection: &Selection<'_>) -> usize {
    match selection.group_by {
        Some(GroupBy::Path) => usize::MAX,
        None => selection.limit,
    }
}

/// Cut hits to a selection. Chunks of one path are equally similar, so they stand together.
fn cut<T>(found: &mut Vec<T>, selection: &Selection<'_>, path: impl Fn(&T) -> &str) {
    if let Some(GroupBy::Path) = selection.group_by {
        found.dedup_by(|later, first| path(later) == path(first));
    }
    found.truncate(selection.limit);
}
