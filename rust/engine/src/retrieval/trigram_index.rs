//! Fuzzy matching of words with slugs (spec/retrieval.md, "Fuzzy matching").

use std::collections::{BTreeSet, HashMap, HashSet};
use std::mem;

use super::order;
use crate::error::{Error, ErrorCode, Result};
use crate::interrupt::{self, Pace};
use crate::text::slug::slug_text;
use crate::text::trigram::{Gram, grams};
use crate::text::utf16;

/// The least similarity that is a hit.
pub const THRESHOLD: f64 = 0.3;

/// Of how many entries it is asked at once whether any has enough in common with a token.
const BLOCK: usize = 64;
/// How many entries of a posting can be counted while one is searched for in it.
const SEARCH_COST: usize = 64;

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
    /// The fewest of them.
    smallest: u32,
    /// The entries that have a gram.
    postings: HashMap<Gram, Vec<u32>>,
}

impl TrigramIndex {
    /// An index of `(id, path)`; an empty id is skipped, of a repeated one the first counts.
    pub fn new(chunks: impl IntoIterator<Item = (String, String)>) -> Result<Self> {
        let mut pace = Pace::default();
        let mut seen = HashSet::new();
        let mut entries: Vec<(String, String)> = chunks
            .into_iter()
            .filter(|(id, _)| !id.is_empty() && seen.insert(id.clone()))
            .collect();
        interrupt::sort(
            &mut entries,
            |(left_id, left_path), (right_id, right_path)| {
                utf16::compare(left_path, right_path)
                    .then_with(|| utf16::compare(left_id, right_id))
            },
        )?;
        let mut sizes = Vec::with_capacity(entries.len());
        let mut postings: HashMap<Gram, Vec<u32>> = HashMap::new();
        for (entry, (_, path)) in (0..).zip(&entries) {
            let grams = grams(&slug_text(path));
            pace.step(1 + grams.len())?;
            sizes.push(count(grams.len()));
            for gram in grams {
                postings.entry(gram).or_default().push(entry);
            }
        }
        Ok(Self {
            smallest: sizes.iter().copied().min().unwrap_or(0),
            entries,
            sizes,
            postings,
        })
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
        let mut best = self.similarities(tokens)?;
        best.retain(|(entry, _)| may_be_found(&self.entries[*entry].0));
        let by_similarity = |(entry, left): &(usize, f64), (other, right): &(usize, f64)| {
            order::descending(*left, *right).then_with(|| entry.cmp(other))
        };
        if limit < best.len() {
            best.select_nth_unstable_by(limit, by_similarity);
            best.truncate(limit);
        }
        interrupt::sort(&mut best, by_similarity)?;
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
    fn similarities<S: AsRef<str>>(&self, tokens: &[S]) -> Result<Vec<(usize, f64)>> {
        let mut pace = Pace::default();
        let mut common = vec![0_u32; self.entries.len()];
        let mut touched = Vec::new();
        let mut found: Vec<(usize, f64)> = Vec::new();
        for token in tokens {
            let grams = grams(token.as_ref());
            let size = f64::from(count(grams.len()));
            self.count_common(&grams, &mut common, &mut touched, &mut pace)?;
            for entry in touched.drain(..) {
                let entry = entry as usize;
                let intersection = f64::from(mem::take(&mut common[entry]));
                let union = size + f64::from(self.sizes[entry]) - intersection;
                let similarity = intersection / union;
                if similarity >= THRESHOLD {
                    found.push((entry, similarity));
                }
            }
        }
        interrupt::sort(&mut found, |(entry, left), (other, right)| {
            entry
                .cmp(other)
                .then_with(|| order::descending(*left, *right))
        })?;
        found.dedup_by_key(|(entry, _)| *entry);
        Ok(found)
    }

    /// Count at each entry how many of the grams it has; which those entries are is `touched`.
    ///
    /// An entry that has fewer than `least` need not be counted, so the longest postings only count
    /// where a shorter one came before.
    fn count_common(
        &self,
        grams: &BTreeSet<Gram>,
        common: &mut [u32],
        touched: &mut Vec<u32>,
        pace: &mut Pace,
    ) -> Result<()> {
        let postings = grams.iter().filter_map(|gram| self.postings.get(gram));
        let mut postings: Vec<&[u32]> = postings.map(Vec::as_slice).collect();
        postings.sort_by_key(|posting| posting.len());
        let least = self.least_in_common(grams.len());
        let Some(first) = (postings.len() + 1).checked_sub(least) else {
            return Ok(());
        };
        let shorter: usize = postings[..first].iter().map(|posting| posting.len()).sum();
        if shorter > common.len() {
            return count_densely(&postings, least, common, touched, pace);
        }
        for posting in &postings[..first] {
            pace.step(posting.len())?;
            for entry in *posting {
                let common = &mut common[*entry as usize];
                if *common == 0 {
                    touched.push(*entry);
                }
                *common += 1;
            }
        }
        for posting in &postings[first..] {
            pace.step(posting.len().min(touched.len() * SEARCH_COST))?;
            if touched.len() * SEARCH_COST < posting.len() {
                for entry in &*touched {
                    common[*entry as usize] += u32::from(posting.binary_search(entry).is_ok());
                }
            } else {
                for entry in *posting {
                    let common = &mut common[*entry as usize];
                    *common += u32::from(*common > 0);
                }
            }
        }
        Ok(())
    }

    /// How many grams a hit has in common with a token of so many: since the union is no smaller
    /// than the token, and since no entry has fewer than the smallest.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count"
    )]
    fn least_in_common(&self, grams: usize) -> usize {
        let size = f64::from(count(grams));
        let both = (size + f64::from(self.smallest)) / (1.0 + THRESHOLD);
        // Rather one too few than one too many.
        let least = THRESHOLD * size.max(both) - 1e-6;
        (least.ceil() as usize).max(1)
    }
}

/// [`TrigramIndex::count_common`] where most entries have some of the grams: those with fewer than
/// `least` are not told.
fn count_densely(
    postings: &[&[u32]],
    least: usize,
    common: &mut [u32],
    touched: &mut Vec<u32>,
    pace: &mut Pace,
) -> Result<()> {
    for posting in postings {
        pace.step(posting.len())?;
        for entry in *posting {
            common[*entry as usize] += 1;
        }
    }
    let least = count(least);
    for (first, block) in (0..).step_by(BLOCK).zip(common.chunks_mut(BLOCK)) {
        if block.iter().fold(0, |most, common| most.max(*common)) < least {
            block.fill(0);
            continue;
        }
        for (entry, common) in (first..).zip(block) {
            if *common < least {
                *common = 0;
            } else {
                touched.push(entry);
            }
        }
    }
    Ok(())
}

/// A number of grams; more than fits is as good as all.
fn count(grams: usize) -> u32 {
    u32::try_from(grams).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The same by sets, chunk by chunk.
    fn compared(chunks: &[(String, String)], tokens: &[String]) -> Vec<(String, f64)> {
        let similarity = |path: &str, token: &str| {
            let (slug, token) = (grams(&slug_text(path)), grams(token));
            let common = f64::from(count(slug.intersection(&token).count()));
            common / (f64::from(count(slug.len())) + f64::from(count(token.len())) - common)
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
            // Equal similarities stand in the order of paths, and of ids where these are equal.
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
