//! The trigrams of slugs, with which misspelt words are compared.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};
use std::mem;

use crate::error::Result;
use crate::interrupt::{self, CancelTicker};
use crate::text::slug::slug_text;
use crate::text::trigram::{Gram, grams};
use crate::text::utf16;
use crate::top_k;

/// The least similarity that is a hit.
pub const THRESHOLD: f64 = 0.3;

/// Entries checked together for one that has enough in common with a token.
const BLOCK: usize = 64;
/// Entries of a posting that can be counted in the time of one lookup in it.
const SEARCH_COST: usize = 64;
/// The approximate overhead of a gram in a hash table.
const GRAM_BYTES: usize = 40;

/// A chunk whose slug can be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SlugEntry {
    pub path: String,
    pub id: String,
    /// The row of the chunk.
    pub row: i64,
}

impl SlugEntry {
    /// Of equal similarities: by path, then id.
    pub fn compare(&self, other: &Self) -> Ordering {
        utf16::compare(&self.path, &other.path).then_with(|| utf16::compare(&self.id, &other.id))
    }
}

/// The trigrams of the slugs of many chunks. It never changes, so threads share it freely.
#[derive(Debug, Default)]
pub(crate) struct SlugSegment {
    /// Entries by path and then id, the order of equal similarities.
    entries: Vec<SlugEntry>,
    /// The number of grams of each entry.
    sizes: Vec<u32>,
    /// The fewest of them.
    smallest: u32,
    /// The slots of the entries that have a gram.
    postings: HashMap<Gram, Vec<u32>>,
}

impl SlugSegment {
    /// The segment of these entries, in whatever order.
    pub fn of(mut entries: Vec<SlugEntry>) -> Result<Self> {
        let mut pace = CancelTicker::default();
        interrupt::sort(&mut entries, SlugEntry::compare)?;
        let mut sizes = Vec::with_capacity(entries.len());
        let mut postings: HashMap<Gram, Vec<u32>> = HashMap::new();
        for (slot, entry) in (0..).zip(&entries) {
            let grams = grams(&slug_text(&entry.path));
            pace.step(1 + grams.len())?;
            sizes.push(count(grams.len()));
            for gram in grams {
                postings.entry(gram).or_default().push(slot);
            }
        }
        Ok(Self {
            smallest: sizes.iter().copied().min().unwrap_or(0),
            entries,
            sizes,
            postings,
        })
    }

    /// Every entry, by path and then id.
    pub fn entries(&self) -> &[SlugEntry] {
        &self.entries
    }

    /// About how much memory it takes.
    pub fn bytes(&self) -> usize {
        let text = |entry: &SlugEntry| entry.path.capacity() + entry.id.capacity();
        let texts: usize = self.entries.iter().map(text).sum();
        let each = mem::size_of::<SlugEntry>() + mem::size_of::<u32>();
        let postings: usize = self.postings.values().map(Vec::capacity).sum();
        texts
            + self.entries.len() * each
            + self.postings.len() * GRAM_BYTES
            + postings * mem::size_of::<u32>()
    }

    /// The slots that are accepted and most similar to any of `tokens`, with their similarity, best
    /// first and at most `limit`.
    pub fn similar<S: AsRef<str>>(
        &self,
        tokens: &[S],
        limit: usize,
        accept: impl Fn(usize, &SlugEntry) -> bool,
    ) -> Result<Vec<(usize, f64)>> {
        let mut best = self.similarities(tokens)?;
        best.retain(|(slot, _)| accept(*slot, &self.entries[*slot]));
        let by_similarity = |(slot, left): &(usize, f64), (other, right): &(usize, f64)| {
            right.total_cmp(left).then_with(|| slot.cmp(other))
        };
        top_k::select(&mut best, limit, by_similarity);
        interrupt::sort(&mut best, by_similarity)?;
        Ok(best)
    }

    /// Return every entry over the threshold, once, with its best similarity.
    ///
    /// Instead of comparing sets, it counts, for each entry, the grams of the token that have it in
    /// their postings. The count is the size of the intersection.
    fn similarities<S: AsRef<str>>(&self, tokens: &[S]) -> Result<Vec<(usize, f64)>> {
        let mut pace = CancelTicker::default();
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
            entry.cmp(other).then_with(|| right.total_cmp(left))
        })?;
        found.dedup_by_key(|(entry, _)| *entry);
        Ok(found)
    }

    /// Count the grams of each entry, and collect the entries in `touched`.
    ///
    /// An entry with fewer than `least` need not be counted, so the longest postings count only for entries
    /// that a shorter one has too.
    fn count_common(
        &self,
        grams: &BTreeSet<Gram>,
        common: &mut [u32],
        touched: &mut Vec<u32>,
        pace: &mut CancelTicker,
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

    /// The fewest grams that a hit has in common with a token of this size. The union is at least
    /// as large as the token, and every entry has at least as many grams as the smallest.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count"
    )]
    fn least_in_common(&self, grams: usize) -> usize {
        let size = f64::from(count(grams));
        let both = (size + f64::from(self.smallest)) / (1.0 + THRESHOLD);
        // Better one too few than one too many.
        let least = THRESHOLD * size.max(both) - 1e-6;
        (least.ceil() as usize).max(1)
    }
}

/// [`Segment::count_common`] where most entries have some of the grams: those with fewer than
/// `least` are left out.
fn count_densely(
    postings: &[&[u32]],
    least: usize,
    common: &mut [u32],
    touched: &mut Vec<u32>,
    pace: &mut CancelTicker,
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

/// A number of grams; one that does not fit counts as the largest that does.
fn count(grams: usize) -> u32 {
    u32::try_from(grams).unwrap_or(u32::MAX)
}
