//! The chunks of the fuzzy rung: chunks of the caller, or those of the index.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use super::collection::{Reader, SimilarSlug};
use super::matches::{Match, TextSource};
use super::trigram_index::{TrigramHit, TrigramIndex};
use crate::chunks::{Chunk, Selection};
use crate::error::Result;

/// The chunks of the fuzzy rung, with their trigrams.
pub enum FuzzyChunks {
    /// Given by the caller, with all that a hit shows.
    External(ExternalChunks),
    /// The chunks of the index.
    Own,
}

/// Chunks from outside the index.
pub struct ExternalChunks {
    chunks: HashMap<String, Chunk>,
    trigrams: TrigramIndex,
}

impl FuzzyChunks {
    /// Search these chunks rather than the index; those with an empty or repeated id are skipped.
    pub fn given(chunks: Vec<Chunk>) -> Result<Self> {
        let paths = chunks
            .iter()
            .map(|chunk| (chunk.id.clone(), chunk.path.clone()));
        let trigrams = TrigramIndex::new(paths)?;
        let mut by_id = HashMap::with_capacity(chunks.len());
        for chunk in chunks {
            by_id.entry(chunk.id.clone()).or_insert(chunk);
        }
        Ok(Self::External(ExternalChunks {
            chunks: by_id,
            trigrams,
        }))
    }

    /// The chunks whose slug resembles a token, best first, in place of a BM25 leg.
    pub(super) fn search(
        &self,
        reader: &dyn Reader,
        tokens: &[String],
        selection: &Selection<'_>,
    ) -> Result<Vec<Match<'_>>> {
        match self {
            Self::External(given) => given.search(reader, tokens, selection),
            Self::Own => own(reader, tokens, selection),
        }
    }
}

/// The chunks of the index that are found.
fn own(
    reader: &dyn Reader,
    tokens: &[String],
    selection: &Selection<'_>,
) -> Result<Vec<Match<'static>>> {
    let similar = reader.similar_slugs(tokens, asked(selection), selection.filters)?;
    // Without the slugs the search restarts once they are read.
    let mut found = similar.unwrap_or_default();
    cut(&mut found, selection, |one| one.key);
    let matched = |found: SimilarSlug| Match {
        source: TextSource::Row(found.row),
        key: found.key,
        score: found.similarity,
    };
    Ok(found.into_iter().map(matched).collect())
}

impl ExternalChunks {
    fn search(
        &self,
        reader: &dyn Reader,
        tokens: &[String],
        selection: &Selection<'_>,
    ) -> Result<Vec<Match<'_>>> {
        let chunk = |id: &str| self.chunks.get(id);
        let allowed = |id: &str| chunk(id).is_some_and(|chunk| selection.filters.accept(chunk));
        let limit = asked(selection);
        let found = self.trigrams.search_among(tokens, limit, allowed)?;
        let matched = |hit: &TrigramHit| {
            let Some(chunk) = chunk(&hit.id) else {
                return Ok(None);
            };
            Ok(Some(Match {
                source: TextSource::Given(chunk),
                key: reader.key_of(chunk)?,
                score: hit.similarity,
            }))
        };
        let matched = found.iter().filter_map(|hit| matched(hit).transpose());
        let mut found: Vec<Match<'_>> = matched.collect::<Result<_>>()?;
        cut(&mut found, selection, |one| match (one.key, &one.source) {
            (Some(key), _) => Some(Ok(key)),
            // Documents that the collection does not have.
            (None, TextSource::Given(chunk)) => selection.group_by.map(|by| Err(by.group(chunk))),
            (None, TextSource::Row(_)) => None,
        });
        Ok(found)
    }
}

/// Return the number of hits to request: all if they are grouped, since groups may have any number
/// of them.
fn asked(selection: &Selection<'_>) -> usize {
    match selection.group_by {
        Some(_) => usize::MAX,
        None => selection.limit,
    }
}

/// Cut hits to a selection. With groups, keep the first hit of each; a hit without a group is its own.
fn cut<T, K: Eq + Hash>(
    found: &mut Vec<T>,
    selection: &Selection<'_>,
    group: impl Fn(&T) -> Option<K>,
) {
    if selection.group_by.is_some() {
        let mut seen = HashSet::new();
        found.retain(|one| group(one).is_none_or(|group| seen.insert(group)));
    }
    found.truncate(selection.limit);
}
