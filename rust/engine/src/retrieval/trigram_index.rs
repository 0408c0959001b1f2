//! Fuzzy matching of words with slugs (spec/retrieval.md, "Fuzzy matching").

use std::collections::HashSet;

use crate::chunks::check_limit;
use crate::error::Result;
pub use crate::fuzzy::THRESHOLD;
use crate::fuzzy::{SlugEntry, SlugSegment};

/// A chunk whose slug resembles a word.
#[derive(Debug, Clone, PartialEq)]
pub struct TrigramHit {
    /// The chunk's id.
    pub id: String,
    /// The chunk's path.
    pub path: String,
    /// The Jaccard similarity with the most similar token, 0.3 to 1.
    pub similarity: f64,
}

/// The trigrams of the slugs of many chunks. It never changes, so threads share it freely.
#[derive(Debug, Default)]
pub struct TrigramIndex(SlugSegment);

impl TrigramIndex {
    /// An index of `(id, path)`; an empty id is skipped, of a repeated one the first counts.
    pub fn new(chunks: impl IntoIterator<Item = (String, String)>) -> Result<Self> {
        let mut seen = HashSet::new();
        let chunks = chunks
            .into_iter()
            .filter(|(id, _)| !id.is_empty() && seen.insert(id.clone()));
        let entry = |(row, (id, path))| SlugEntry { path, id, row };
        SlugSegment::of((0..).zip(chunks).map(entry).collect()).map(Self)
    }

    /// Id and path of every chunk, by path and then id.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        let entries = self.0.entries().iter();
        entries.map(|entry| (entry.id.as_str(), entry.path.as_str()))
    }

    /// The chunks most similar to any of `tokens`, best first; ties by path, then id.
    pub fn search<S: AsRef<str>>(&self, tokens: &[S], limit: usize) -> Result<Vec<TrigramHit>> {
        self.search_among(tokens, limit, |_| true)
    }

    /// [`Self::search`] among the ids that may be found.
    pub fn search_among<S: AsRef<str>>(
        &self,
        tokens: &[S],
        limit: usize,
        may_be_found: impl Fn(&str) -> bool,
    ) -> Result<Vec<TrigramHit>> {
        check_limit(limit)?;
        let best = self
            .0
            .similar(tokens, limit, |_, entry| may_be_found(&entry.id))?;
        let hit = |(slot, similarity): (usize, f64)| {
            let SlugEntry { id, path, .. } = self.0.entries()[slot].clone();
            TrigramHit {
                id,
                path,
                similarity,
            }
        };
        Ok(best.into_iter().map(hit).collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::slug::slug_text;
    use crate::text::trigram::grams;

    fn count<T>(items: impl Iterator<Item = T>) -> f64 {
        items.fold(0.0, |count, _| count + 1.0)
    }

    /// Return the similarities by sets, chunk by chunk.
    fn compared(chunks: &[(String, String)], tokens: &[String]) -> Vec<(String, f64)> {
        let similarity = |path: &str, token: &str| {
            let (slug, token) = (grams(&slug_text(path)), grams(token));
            let common = count(slug.intersection(&token));
            common / (count(slug.iter()) + count(token.iter()) - common)
        };
        let mut found: Vec<(String, f64)> = chunks
            .iter()
            .filter_map(|(id, path)| {
                let all = tokens.iter().map(|token| similarity(path, token));
                let best = all.filter(|value| *value >= THRESHOLD).fold(0.0, f64::max);
                (best > 0.0).then(|| (id.clone(), best))
            })
            .collect();
        found.sort_by(|left, right| right.1.total_cmp(&left.1).then(left.0.cmp(&right.0)));
        found
    }

    proptest! {
        #[test]
        fn hits_are_those_that_sets_give(
            slugs in prop::collection::vec("[ab]{0,4}(-[abc]{1,5}){0,3}", 0..200),
            tokens in prop::collection::vec("[abc]{0,9}", 0..4),
            limit in 1_usize..250,
        ) {
            let mut paths: Vec<String> =
                slugs.iter().map(|slug| format!("notes/{slug}.md")).collect();
            // Equal similarities are in the order of paths, then ids.
            paths.sort_unstable();
            let ids = (0..).map(|n| format!("{n:03}"));
            let chunks: Vec<(String, String)> = ids.zip(paths).collect();
            let mut expected = compared(&chunks, &tokens);
            expected.truncate(limit);
            let index = TrigramIndex::new(chunks.iter().cloned()).unwrap();
            let found = index.search(&tokens, limit).unwrap();
            let found: Vec<(String, f64)> =
                found.into_iter().map(|hit| (hit.id, hit.similarity)).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
