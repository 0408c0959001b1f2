//! Texts with the same words, or nearly the same (spec/memory.md, "What is the same").

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use hedgerow_engine::{Result, interrupt};

use crate::opposites::says_otherwise;
use crate::parallel;
use crate::words::{LIKE, counted, decisive, share};

/// Bits of a sketch: with fewer, long texts that differ look alike.
const SKETCH_WORDS: usize = 8;
/// Added to a bound, so that no rounding loses a pair at the very bound.
const ROUNDING: f64 = 1e-9;

/// Two texts that say nearly the same, the earlier one first, and their likeness.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Alike {
    /// The number of the earlier text.
    pub first: usize,
    /// The number of the later text.
    pub second: usize,
    /// The share of common words.
    pub likeness: f64,
}

/// Return the groups of texts that say the same words in the same order, each in order, the groups by their
/// first text. A text without words is in none.
pub fn same(texts: &[Vec<String>]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut known: HashMap<&[String], usize> = HashMap::new();
    for (number, words) in texts
        .iter()
        .enumerate()
        .filter(|(_, words)| !words.is_empty())
    {
        let group = *known.entry(words).or_insert(groups.len());
        if group == groups.len() {
            groups.push(Vec::new());
        }
        groups[group].push(number);
    }
    groups.retain(|group| group.len() > 1);
    groups
}

/// Return each text that says nearly the same as an earlier one, with the most similar of these.
///
/// Of equally similar ones the first counts. `progress(done, total)` counts texts with words. Takes nearly
/// linear time; no pair is missed.
pub fn nearly_same(
    texts: &[Vec<String>],
    mut progress: impl FnMut(usize, usize) -> Result<()>,
) -> Result<Vec<Alike>> {
    let known: Vec<usize> = (0..texts.len())
        .filter(|at| !texts[*at].is_empty())
        .collect();
    let sets = sets(texts, &known);
    let keys = parallel::map(&sets, Keys::of);
    let mut earlier = Earlier::default();
    let mut found = Vec::new();
    for (at, set) in sets.iter().enumerate() {
        interrupt::check()?;
        if let Some((first, likeness)) = earlier.most_alike(texts, &sets, &keys, at) {
            found.push(Alike {
                first: known[first],
                second: set.text,
                likeness,
            });
        }
        earlier.add(&keys[at], at);
        progress(at + 1, known.len())?;
    }
    Ok(found)
}

/// Return the texts that say nearly the same as an earlier one that is kept.
pub fn repeats(texts: &[Vec<String>]) -> Result<Vec<usize>> {
    let mut kept_for: HashMap<usize, usize> = HashMap::new();
    for pair in nearly_same(texts, |_, _| Ok(()))? {
        let kept = *kept_for.get(&pair.first).unwrap_or(&pair.first);
        // A text that resembles a repeat need not resemble its original.
        let is_repeat =
            kept == pair.first || crate::words::likeness(&texts[kept], &texts[pair.second]) >= LIKE;
        if is_repeat {
            kept_for.insert(pair.second, kept);
        }
    }
    let mut repeats: Vec<usize> = kept_for.into_keys().collect();
    repeats.sort_unstable();
    Ok(repeats)
}

/// The words of a text as numbers, the rarest first. A word that occurs n times is n elements: one for each
/// time.
struct Set {
    text: usize,
    /// Ascending: the rank of an element, from the rarest on.
    elements: Vec<u32>,
    /// The symbols, negations and numbers: texts say the same only with equal ones.
    decisive: u32,
}

fn sets(texts: &[Vec<String>], known: &[usize]) -> Vec<Set> {
    let elements = parallel::map(known, |at| {
        let mut elements: Vec<(&str, usize)> = Vec::new();
        #[allow(clippy::iter_over_hash_type, reason = "sorted by rank below")]
        for (word, count) in counted(&texts[*at]) {
            elements.extend((0..count).map(|repeat| (word, repeat)));
        }
        elements
    });
    let mut counts: HashMap<(&str, usize), u32> = HashMap::new();
    for element in elements.iter().flatten() {
        *counts.entry(*element).or_default() += 1;
    }
    let mut ordered: Vec<((&str, usize), u32)> = counts.into_iter().collect();
    ordered.sort_unstable_by_key(|(element, count)| (*count, *element));
    let ranks: HashMap<(&str, usize), u32> = ordered
        .iter()
        .map(|(element, _)| *element)
        .zip(0..)
        .collect();
    let mut numbers: HashMap<Vec<&str>, u32> = HashMap::new();
    known
        .iter()
        .zip(elements)
        .map(|(at, elements)| {
            let mut elements: Vec<u32> = elements.iter().map(|one| ranks[one]).collect();
            elements.sort_unstable();
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            Set {
                text: *at,
                elements,
                decisive: *numbers.entry(decisive(&texts[*at])).or_insert(next),
            }
        })
        .collect()
}

/// The content of a bucket, as the sum of its mixed numbers, in texts of a group of sizes.
type Bucket = (u32, u32, u64, u32);

/// Two kinds of keys, of each of which similar texts share at least one, and a sketch.
///
/// - The rarest elements: two texts with a likeness of `LIKE` share one of their rarest fifth.
/// - Buckets: such texts of n and m elements differ in at most (n + m) / 9 of them. If the elements are dealt
///   by hash into one more bucket than that, a whole bucket is equal.
///
/// The kind with fewer candidates is used, so neither common words nor a common frame make all texts
/// candidates of each other. In a sketch each element flips one bit, so two texts differ in at least as many
/// elements as bits.
struct Keys {
    rarest: Vec<u32>,
    buckets: Vec<Bucket>,
    sketch: [u64; SKETCH_WORDS],
}

impl Keys {
    fn of(set: &Set) -> Self {
        let mixed: Vec<u64> = set.elements.iter().map(|rank| mixed(*rank)).collect();
        let mut sketch = [0; SKETCH_WORDS];
        for number in &mixed {
            let bit = number % (64 * SKETCH_WORDS as u64);
            sketch[(bit / 64) as usize] ^= 1 << (bit % 64);
        }
        Self {
            rarest: rarest(&set.elements).to_vec(),
            buckets: buckets(&mixed, set.decisive),
            sketch,
        }
    }
}

/// The elements of which similar texts share at least one.
fn rarest(elements: &[u32]) -> &[u32] {
    let kept = ceil(LIKE * float(elements.len()) - ROUNDING);
    &elements[..=elements.len() - kept]
}

/// The content of each bucket, for texts of this group of sizes and of the next: each group is `1 / LIKE`
/// times the last.
fn buckets(mixed: &[u64], decisive: u32) -> Vec<Bucket> {
    let step = 1.0 / LIKE;
    let group = floor(float(mixed.len()).ln() / step.ln());
    let mut found = Vec::new();
    for one in [group, group + 1] {
        let largest = ceil(step.powf(float(one) + 1.0));
        let count = floor(most_different(2 * largest)) + 1;
        let mut sums = vec![0_u64; count];
        for number in mixed {
            let sum = &mut sums[remainder(*number, count)];
            *sum = sum.wrapping_add(*number);
        }
        let one = u32::try_from(one).unwrap_or(u32::MAX);
        found.extend((0..).zip(sums).map(|(at, sum)| (one, at, sum, decisive)));
    }
    found
}

#[allow(clippy::cast_possible_truncation, reason = "less than the count")]
fn remainder(number: u64, count: usize) -> usize {
    (number % count as u64) as usize
}

/// A bound on the elements in which two similar texts of `total` elements may differ.
fn most_different(total: usize) -> f64 {
    float(total) * (1.0 - LIKE) / (1.0 + LIKE) + ROUNDING
}

#[allow(
    clippy::cast_precision_loss,
    reason = "texts have fewer than 2^53 words"
)]
fn float(number: usize) -> f64 {
    number as f64
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "of a count"
)]
fn floor(number: f64) -> usize {
    number as usize
}

fn ceil(number: f64) -> usize {
    floor(number.ceil())
}

/// Scatter a number, so that neighbors do not share a bucket.
fn mixed(number: u32) -> u64 {
    let mut number = (u64::from(number) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    number ^= number >> 29;
    number = number.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    number ^ (number >> 32)
}

/// The texts before one, by their keys.
#[derive(Default)]
struct Earlier {
    by_element: HashMap<u32, Vec<u32>>,
    by_bucket: HashMap<Bucket, Vec<u32>>,
}

impl Earlier {
    fn add(&mut self, keys: &Keys, at: usize) {
        let at = u32::try_from(at).unwrap_or(u32::MAX);
        for rank in &keys.rarest {
            self.by_element.entry(*rank).or_default().push(at);
        }
        for bucket in &keys.buckets {
            self.by_bucket.entry(*bucket).or_default().push(at);
        }
    }

    /// The most similar of the earlier texts, the first of several, with its likeness; None if none says
    /// nearly the same.
    fn most_alike(
        &self,
        texts: &[Vec<String>],
        sets: &[Set],
        keys: &[Keys],
        at: usize,
    ) -> Option<(usize, f64)> {
        let (set, own) = (&sets[at], &keys[at]);
        let size = set.elements.len();
        let most = most_different(size + ceil(float(size) / LIKE));
        let by_element = || {
            own.rarest
                .iter()
                .filter_map(|rank| self.by_element.get(rank))
        };
        let by_bucket = || own.buckets.iter().filter_map(|one| self.by_bucket.get(one));
        let count = |lists: &mut dyn Iterator<Item = &Vec<u32>>| lists.map(Vec::len).sum::<usize>();
        let candidates: HashSet<u32> = if count(&mut by_element()) <= count(&mut by_bucket()) {
            by_element().flatten().copied().collect()
        } else {
            by_bucket().flatten().copied().collect()
        };
        let mut best: Option<(usize, f64)> = None;
        #[allow(clippy::iter_over_hash_type, reason = "of equals the first is taken")]
        for other in candidates {
            let other = other as usize;
            if sets[other].decisive != set.decisive || differs(own, &keys[other], most) {
                continue;
            }
            let common = common(&set.elements, &sets[other].elements);
            let found = share(common, size + sets[other].elements.len() - common);
            let is_better = best.is_none_or(|(first, likeness)| {
                found > likeness || (found >= likeness && other < first)
            });
            let (one, two) = (&texts[sets[other].text], &texts[set.text]);
            // The same words in another order say something else, which is told sooner here.
            let is_reordered = found >= 1.0 && one != two;
            if found >= LIKE && is_better && !is_reordered && !says_otherwise(one, two) {
                best = Some((other, found));
            }
        }
        best
    }
}

/// Whether two texts surely differ in more than some elements.
fn differs(one: &Keys, other: &Keys, most: f64) -> bool {
    let bits = one.sketch.iter().zip(other.sketch);
    f64::from(
        bits.map(|(one, other)| (one ^ other).count_ones())
            .sum::<u32>(),
    ) > most
}

/// The number of common elements of two ascending lists.
fn common(one: &[u32], other: &[u32]) -> usize {
    let (mut at, mut common) = (0, 0);
    for element in one {
        let rest: Range<usize> = at..other.len();
        at += other[rest]
            .iter()
            .take_while(|next| *next < element)
            .count();
        if other.get(at) == Some(element) {
            common += 1;
            at += 1;
        }
    }
    common
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::words::likeness;

    fn alike(texts: &[Vec<String>]) -> Vec<Alike> {
        nearly_same(texts, |_, _| Ok(())).unwrap()
    }

    /// Compare every text with all before it.
    fn by_hand(texts: &[Vec<String>]) -> Vec<Alike> {
        let mut found = Vec::new();
        for second in 0..texts.len() {
            let mut best: Option<Alike> = None;
            for first in 0..second {
                let likeness = likeness(&texts[first], &texts[second]);
                if likeness >= LIKE && best.is_none_or(|best| likeness > best.likeness) {
                    best = Some(Alike {
                        first,
                        second,
                        likeness,
                    });
                }
            }
            found.extend(best);
        }
        found
    }

    fn text() -> impl Strategy<Value = Vec<String>> {
        prop_oneof![
            prop::collection::vec("[a-e]|not".prop_map(String::from), 0..12),
            prop::collection::vec("[a-j]|k[a-j]|l[a-j]".prop_map(String::from), 5..30),
            prop::collection::vec("[a-e]|[1-3]".prop_map(String::from), 0..12),
        ]
    }

    proptest! {
        #[test]
        fn each_is_found_with_the_most_similar_of_the_earlier_ones(
            texts in prop::collection::vec(text(), 0..12)
        ) {
            prop_assert_eq!(alike(&texts), by_hand(&texts));
            for group in same(&texts) {
                prop_assert!(group.iter().all(|one| texts[*one] == texts[group[0]]));
            }
        }

        #[test]
        fn no_pair_at_the_bound_is_missed(length in 9_usize..90) {
            let text: Vec<String> = (0..length).map(|one| "word".repeat(one + 1)).collect();
            let mut other = text.clone();
            for (at, word) in other.iter_mut().enumerate().take(length / 9) {
                *word = "other".repeat(at + 1);
            }
            let texts = [text, other];
            prop_assert_eq!(alike(&texts), by_hand(&texts));
        }
    }

    #[test]
    fn a_repeat_of_a_repeat_need_not_be_one() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let texts = [
            words("a b c d e f g h i j"),
            words("a b c d e f g h i x"),
            words("z b c d e f g h i x"),
            words("a b c d e f g h i j"),
        ];
        assert_eq!(repeats(&texts).unwrap(), [1, 3]);
    }
}
