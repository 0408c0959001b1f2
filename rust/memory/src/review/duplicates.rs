//! The copies among many texts: equal and similar ones (spec/memory.md, "What is the same").

use std::collections::HashMap;

use hedgerow_engine::{Result, interrupt, rule};

use crate::review::fingerprint::{Fingerprint, at_least, at_most};

/// From this likeness on a text is a near-duplicate of another. Above it, copies of short texts with one word of ten
/// changed are missed; below it, more short texts on one subject count (`benches/rule_data/duplicates.py`).
pub const LIKE: f64 = 0.65;
/// The memories that `remember` compares a new text with: the best of a search for its words.
pub const CANDIDATES: usize = 20;
/// The distinct words of a new text in that search, the first of them. With fewer, copies of a long text that begins
/// as many others are missed; with more, the search takes longer than writing the memory.
pub const WORDS_LOOKED_UP: usize = 256;

rule! {
    /// A text is a near-duplicate of another if both have most of their words, signs and pairs of neighbors in common.
    pub(crate) static NEAR_DUPLICATES = "near-duplicates" { LIKE, CANDIDATES, WORDS_LOOKED_UP }
}

/// log2 of the most slots of the counts of shingles: 128 MB. With more shingles than slots, counts are too high,
/// which costs time only.
const MOST_SLOT_BITS: u32 = 26;
/// The bits of a hash behind the four of its rarity.
const HASH_BITS: u32 = 60;
/// The end of a list of links, and the number of no text.
const END: u32 = u32::MAX;

/// A text that is the same as an earlier one, or like it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Duplicate {
    /// The number of the text.
    pub text: usize,
    /// The earlier text that it is most like, of those that are no copies.
    pub original: usize,
    /// The likeness to the original.
    pub likeness: f64,
    /// The first text with the same words and signs in the same order, if there is an earlier one.
    pub same_as: Option<usize>,
}

/// Compare two texts: whether they are the same, and the likeness. With the rule switched off, only equal texts are
/// alike.
pub fn compare(one: &Fingerprint, other: &Fingerprint) -> (bool, f64) {
    let is_same = one.digest() == other.digest();
    if is_same || NEAR_DUPLICATES.is_on() {
        (is_same, one.likeness(other))
    } else {
        (false, 0.0)
    }
}

/// Return the texts that are the same as an earlier text, or like one with a likeness of `least` or more, in their order.
///
/// The originals are compared in their order: a text that is not like an earlier original is one. So no two
/// originals are alike. Of equally similar originals the first counts. A text without a word is neither.
///
/// `progress(done, total)` counts texts with words. No pair is missed. The time is nearly linear unless many
/// originals have the same rare shingles; then it is that of comparing them all.
pub fn copies(
    texts: Vec<Option<Fingerprint>>,
    least: f64,
    mut progress: impl FnMut(usize, usize) -> Result<()>,
) -> Result<Vec<Duplicate>> {
    let total = texts.iter().flatten().count();
    let is_on = NEAR_DUPLICATES.is_on();
    let texts = by_rarity(texts);
    let mut originals = Originals::new(&texts, least);
    let mut first_with: HashMap<&[u8; 32], Duplicate> = HashMap::with_capacity(total);
    let mut found = Vec::new();
    let known = texts.iter().enumerate();
    let known = known.filter_map(|(text, print)| print.as_ref().map(|print| (text, print)));
    for (done, (text, print)) in known.enumerate() {
        interrupt::check()?;
        if let Some(first) = first_with.get(print.digest()) {
            found.push(Duplicate {
                text,
                same_as: Some(first.text),
                ..*first
            });
        } else {
            let nearest = if is_on {
                originals.nearest(text, print)
            } else {
                None
            };
            let (original, likeness) = nearest.unwrap_or((text, 1.0));
            let first = Duplicate {
                text,
                original,
                likeness,
                same_as: None,
            };
            first_with.insert(print.digest(), first);
            match nearest {
                Some(_) => found.push(first),
                None => originals.add(text, print),
            }
        }
        progress(done + 1, total)?;
    }
    Ok(found)
}

/// The originals so far, by their rarest shingles.
///
/// Two texts with a likeness of t have a share t of the shingles of either in common. So of the rarest shingles of each,
/// one more than the rest of that share, at least one is common, whatever order says what is rare (Bayardo, Ma and
/// Srikant, "Scaling Up All Pairs Similarity Search", WWW 2007). The position of the first common one among the rarest
/// bounds how many are common (Xiao et al., "Efficient Similarity Joins for Near Duplicate Detection", WWW 2008). So texts
/// with a common frame are told apart by what is rarer than the frame, and originals whose size leaves no room for
/// enough common shingles are not looked at.
struct Originals<'t> {
    texts: &'t [Option<Fingerprint>],
    least: f64,
    /// The last original of a class of sizes with a shingle, as an index into `links`.
    newest: HashMap<(u64, u32), u32>,
    links: Vec<Link>,
    /// The last text that each text was compared with.
    compared: Vec<u32>,
}

/// An original with a shingle.
struct Link {
    original: u32,
    /// The position of the shingle among those of the original, from the rarest on.
    position: u32,
    /// The link to the original before it in the same list.
    before: u32,
}

impl<'t> Originals<'t> {
    fn new(texts: &'t [Option<Fingerprint>], least: f64) -> Self {
        Self {
            texts,
            least,
            newest: HashMap::new(),
            links: Vec::new(),
            compared: vec![END; texts.len()],
        }
    }

    /// The rarest shingles of a text, of which similar texts have one in common, each with its position. Those that no
    /// other text has are left out.
    fn rarest(&self, print: &'t Fingerprint) -> impl Iterator<Item = (usize, u64)> + use<'t> {
        let shingles = print.shingles();
        let count = shingles.len() + 1 - at_least(shingles.len(), self.least).max(1);
        let positions = shingles[..count].iter().copied().enumerate();
        positions.filter(|(_, shingle)| shingle >> HASH_BITS > 0)
    }

    fn add(&mut self, text: usize, print: &'t Fingerprint) {
        let class = class_of(print.shingles().len());
        for (position, shingle) in self.rarest(print) {
            let link = number(self.links.len());
            let before = self.newest.insert((shingle, class), link);
            self.links.push(Link {
                original: number(text),
                position: number(position),
                before: before.unwrap_or(END),
            });
        }
    }

    /// The original that a text is most like, the first of several, with the likeness; None if there is none.
    fn nearest(&mut self, text: usize, print: &'t Fingerprint) -> Option<(usize, f64)> {
        let mut best: Option<(usize, f64)> = None;
        for original in self.candidates(text, print) {
            let least = best.map_or(self.least, |(_, likeness)| likeness);
            let other = self.texts[original].as_ref()?;
            if let Some(likeness) = print.likeness_from(other, least) {
                let is_first = best.is_none_or(|(first, _)| original < first);
                if likeness > least || is_first {
                    best = Some((original, likeness));
                }
            }
        }
        best
    }

    /// The originals that may be like a text.
    fn candidates(&mut self, text: usize, print: &'t Fingerprint) -> Vec<usize> {
        let (text, size) = (number(text), print.shingles().len());
        let share = self.least / (1.0 + self.least);
        let smallest = class_of(at_least(size, self.least));
        let mut found = Vec::new();
        for (position, shingle) in self.rarest(print) {
            // Of larger originals, these shingles and the rest are too small a share.
            let rest = size - position;
            let largest = class_of(at_most(rest, share).saturating_sub(size));
            for class in smallest..=largest {
                let mut next = self.newest.get(&(shingle, class)).copied();
                while let Some(link) = next.and_then(|next| self.links.get(next as usize)) {
                    next = Some(link.before);
                    let (original, there) = (link.original as usize, link.position as usize);
                    let last = std::mem::replace(&mut self.compared[original], text);
                    let other = self.texts[original].as_ref();
                    let other = other.map_or(0, |other| other.shingles().len());
                    let may_be_like = rest.min(other - there) >= at_least(size + other, share);
                    if last != text && may_be_like {
                        found.push(original);
                    }
                }
            }
        }
        found
    }
}

/// The class of a size: each has sizes up to an eighth larger than its first.
fn class_of(size: usize) -> u32 {
    let bits = size.max(1).ilog2();
    let eighths = if bits < 3 {
        size << (3 - bits)
    } else {
        size >> (bits - 3)
    };
    8 * bits + number(eighths) - 8
}

/// The number of a text, a link or a shingle. There are fewer than 2^32.
fn number(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(END)
}

/// Return the texts with other hashes of their shingles, whose order is that of rarity: the first bits are log2 of the
/// number of texts with the shingle, 0 if no other text has it.
///
/// So two texts with a common frame differ at the beginning of their lists, where a comparison ends early.
fn by_rarity(texts: Vec<Option<Fingerprint>>) -> Vec<Option<Fingerprint>> {
    let counts = Counts::of(&texts);
    let key = |shingle: u64| {
        let rarity = u64::from(counts.get(shingle).max(1).ilog2());
        rarity << HASH_BITS | shingle >> (u64::BITS - HASH_BITS)
    };
    let texts = texts.into_iter();
    texts
        .map(|text| text.map(|text| text.with_hashes(key)))
        .collect()
}

/// The number of texts with each shingle, or more: shingles share slots.
struct Counts {
    slots: Vec<u16>,
    shift: u32,
}

impl Counts {
    fn of(texts: &[Option<Fingerprint>]) -> Self {
        let all = || texts.iter().flatten().flat_map(Fingerprint::shingles);
        let bits = (2 * all().count() + 1).next_power_of_two().ilog2();
        let bits = bits.clamp(1, MOST_SLOT_BITS);
        let mut counts = Self {
            slots: vec![0; 1 << bits],
            shift: u64::BITS - bits,
        };
        for shingle in all() {
            let slot = counts.slot(*shingle);
            counts.slots[slot] = counts.slots[slot].saturating_add(1);
        }
        counts
    }

    fn get(&self, shingle: u64) -> u16 {
        self.slots[self.slot(shingle)]
    }

    #[allow(clippy::cast_possible_truncation, reason = "at most 26 bits are left")]
    fn slot(&self, shingle: u64) -> usize {
        (shingle >> self.shift) as usize
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(texts: &[String], least: f64) -> Vec<Duplicate> {
        let prints: Vec<_> = texts.iter().map(|text| Fingerprint::of(text)).collect();
        copies(prints, least, |_, _| Ok(())).unwrap()
    }

    /// Compare every text with every original before it.
    fn by_hand(texts: &[String], least: f64) -> Vec<Duplicate> {
        let prints: Vec<_> = texts.iter().map(|text| Fingerprint::of(text)).collect();
        let mut originals: Vec<usize> = Vec::new();
        let mut found = Vec::new();
        for (text, print) in prints.iter().enumerate() {
            let Some(print) = print else { continue };
            let is_same = |one: &usize| {
                prints[*one].as_ref().map(Fingerprint::digest) == Some(print.digest())
            };
            let same_as = (0..text).find(is_same);
            let mut best: Option<(usize, f64)> = None;
            for original in &originals {
                let likeness = print.likeness(prints[*original].as_ref().unwrap());
                if likeness >= least && best.is_none_or(|(_, best)| likeness > best) {
                    best = Some((*original, likeness));
                }
            }
            match best {
                None => originals.push(text),
                Some((original, likeness)) => found.push(Duplicate {
                    text,
                    original,
                    likeness,
                    same_as,
                }),
            }
        }
        found
    }

    fn words(word: &str, numbers: std::ops::Range<u32>) -> String {
        let words: Vec<String> = numbers.map(|number| format!("{word}{number}")).collect();
        words.join(" ")
    }

    fn text() -> impl Strategy<Value = String> {
        prop_oneof![
            prop::collection::vec("[a-c]", 0..9),
            prop::collection::vec("[a-j]|k[a-j]", 5..30),
            // A common frame.
            prop::collection::vec("[a-z]", 1..4).prop_map(|mut words| {
                words.extend(
                    "this is the frame of each of them"
                        .split(' ')
                        .map(str::to_owned),
                );
                words
            }),
        ]
        .prop_map(|words| words.join(" "))
    }

    proptest! {
        #[test]
        fn each_copy_is_found_with_the_most_similar_original(
            texts in prop::collection::vec(text(), 0..20), least in prop_oneof![Just(LIKE), 0.3..=1.0]
        ) {
            prop_assert_eq!(found(&texts, least), by_hand(&texts, least));
        }

        #[test]
        fn no_pair_at_the_bound_is_missed(common in 1_u32..60, others in 0_u32..40) {
            let shared = words("word", 0..common);
            let further = words("other", 0..others);
            let texts = [format!("{shared} {further}"), shared];
            let prints = texts.each_ref().map(|text| Fingerprint::of(text).unwrap());
            let likeness = prints[0].likeness(&prints[1]);
            for texts in [texts.clone(), [texts[1].clone(), texts[0].clone()]] {
                prop_assert_eq!(found(&texts, likeness).len(), 1);
                prop_assert_eq!(found(&texts, likeness + 1e-6).len(), usize::from(likeness >= 1.0));
            }
        }
    }

    #[test]
    fn a_copy_of_a_copy_need_not_be_one() {
        let texts = [
            words("w", 0..20),
            words("w", 3..23),
            words("w", 6..26),
            words("w", 0..20),
            words("w", 3..23),
        ];
        let copies = found(&texts, LIKE);
        let pairs: Vec<_> = copies
            .iter()
            .map(|one| (one.text, one.original, one.same_as))
            .collect();
        assert_eq!(pairs, [(1, 0, None), (3, 0, Some(0)), (4, 0, Some(1))]);
    }
}
