//! What the fuzzy rung of the ladder searches: chunks that the caller gave, or those of the index.

use std::collections::HashMap;

use super::collection::{Reader, SimilarSlug};
use super::matches::{Match, Source};
use super::trigram_index::{TrigramHit, TrigramIndex};
use crate::chunks::{Chunk, GroupBy, Selection};
use crate::error::Result;

/// The chunks of the fuzzy rung, with their trigrams.
pub enum FuzzyChunks {
    /// Given by the caller, with all that a hit shows.
    Given(Given),
    /// Those of the index.
    Own,
}

/// Chunks from outside the index.
pub struct Given {
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
        Ok(Self::Given(Given {
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
            Self::Given(given) => given.search(reader, tokens, selection),
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
    // Without the slugs the search begins anew once they are read.
    let mut found = similar.unwrap_or_default();
    cut(&mut found, selection, |one| &one.path);
    let matched = |found: SimilarSlug| Match {
        source: Source::Row(found.row),
        key: found.key,
        score: found.similarity,
    };
    Ok(found.into_iter().map(matched).collect())
}

impl Given {
    fn search(
        &self,
        reader: &dyn Reader,
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
                key: reader.key_of(&chunk.id, &chunk.path)?,
                score: hit.similarity,
            }))
        };
        found
            .iter()
            .filter_map(|hit| matched(hit).transpose())
            .collect()
    }
}

/// How many hits to ask for: all if they are grouped, since groups may have any number of them.
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
