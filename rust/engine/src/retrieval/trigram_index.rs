//! Fuzzy matching of words with slugs (spec/retrieval.md, "Fuzzy matching").

use std::collections::{HashMap, HashSet};
use std::mem;

use super::order;
use crate::error::{Error, ErrorCode, Result};
use crate::text::slug::slug_text;
use crate::text::trigram::{Gram, grams};
use crate::text::utf16;

/// The least similarity that is a hit.
pub const THRESHOLD: f64 = 0.3;

/// A chunk whose slug is like a word.
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
pub struct TrigramIndex {
    /// Id and path of every chunk, by path and then id: equal similarities stand in this order.
    entries: Vec<(String, String)>,
    /// How many grams each entry has.
    sizes: Vec<u32>,
    /// The entries that have a gram.
    postings: HashMap<Gram, Vec<u32>>,
}

impl TrigramIndex {
    /// An index of `(id, path)`; an empty id is skipped, of a repeated one the first counts.
    pub fn new(chunks: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut seen = HashSet::new();
        let mut entries: Vec<(String, String)> = chunks
            .into_iter()
            .filter(|(id, _)| !id.is_empty() && seen.insert(id.clone()))
            .collect();
        entries.sort_by(|(left_id, left_path), (right_id, right_path)| {
            utf16::compare(left_path, right_path).then_with(|| utf16::compare(left_id, right_id))
        });
        let mut sizes = Vec::with_capacity(entries.len());
        let mut postings: HashMap<Gram, Vec<u32>> = HashMap::new();
        for (entry, (_, path)) in (0..).zip(&entries) {
            let grams = grams(&slug_text(path));
            sizes.push(count(grams.len()));
            for gram in grams {
                postings.entry(gram).or_default().push(entry);
            }
        }
        Self {
            entries,
            sizes,
            postings,
        }
    }

    /// Id and path of every chunk, by path and then id.
    pub fn entries(&self) -> &[(String, String)] {
        &self.entries
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
        if limit == 0 {
            return Err(Error::new(
                ErrorCode::InvalidLimit,
                "limit must be at least 1, not 0",
            ));
        }
        let mut best = self.similarities(tokens);
        best.retain(|(entry, _)| may_be_found(&self.entries[*entry].0));
        best.sort_unstable_by(|(entry, left), (other, right)| {
            order::descending(*left, *right).then_with(|| entry.cmp(other))
        });
        best.truncate(limit);
        let hit = |(entry, similarity): (usize, f64)| {
            let (id, path) = self.entries[entry].clone();
            TrigramHit {
                id,
                path,
                similarity,
            }
        };
        Ok(best.into_iter().map(hit).collect())
    }

    /// Every entry over the threshold, once, with its best similarity.
    ///
    /// Rather than comparing sets, it counts for each entry how many grams of the token have
    /// it in their postings: that number is the size of the intersection.
    fn similarities<S: AsRef<str>>(&self, tokens: &[S]) -> Vec<(usize, f64)> {
        let mut common = vec![0_u32; self.entries.len()];
        let mut touched = Vec::new();
        let mut found: Vec<(usize, f64)> = Vec::new();
        for token in tokens {
            let grams = grams(token.as_ref());
            for gram in &grams {
                for &entry in self.postings.get(gram).map_or(&[][..], Vec::as_slice) {
                    let entry = entry as usize;
                    if common[entry] == 0 {
                        touched.push(entry);
                    }
                    common[entry] += 1;
                }
            }
            let size = f64::from(count(grams.len()));
            for entry in touched.drain(..) {
                let intersection = f64::from(mem::take(&mut common[entry]));
                let union = size + f64::from(self.sizes[entry]) - intersection;
                let similarity = intersection / union;
                if similarity >= THRESHOLD {
                    found.push((entry, similarity));
                }
            }
        }
        found.sort_unstable_by(|(entry, left), (other, right)| {
            entry
                .cmp(other)
                .then_with(|| order::descending(*left, *right))
        });
        found.dedup_by_key(|(entry, _)| *entry);
        found
    }
}

/// A number of grams; more than fits is as good as all.
fn count(grams: usize) -> u32 {
    u32::try_from(grams).unwrap_or(u32::MAX)
}
