//! `MaxScore`: the lists of a window whose chunks need not be scored, because these lists together stay below the
//! lowest score that is kept (Turtle and Flood, "Query evaluation: strategies and optimizations", 1995).

use std::mem;

use super::counts::term_score;
use super::phrase::{PhrasePostings, gallop, gallop_near};
use super::plan::Plan;

/// The factor that makes an upper bound of a computed one: far above what rounding takes away, and too small to
/// keep more chunks.
const ROUNDED_UP: f64 = 1.0 + 1e-9;
/// Lists are skipped if they have at least one posting in this number. With fewer, the search for the scores of
/// the remaining chunks costs more than is saved.
const LEAST_SHARE: usize = 3;

/// The cost of looking a chunk up in the skipped lists, in postings that are added to scores meanwhile.
const LOOK_UP_COST: usize = 10;

/// The postings of a scored phrase, its inverse document frequency, and its postings in the window.
#[derive(Clone, Copy)]
pub(super) struct WindowList<'l, 'p> {
    pub postings: &'l PhrasePostings<'p>,
    pub idf: f64,
    pub span: (usize, usize),
}

impl WindowList<'_, '_> {
    pub fn chunks(&self) -> &[u32] {
        &self.postings.chunks[self.span.0..self.span.1]
    }

    /// Go on to the window that ends before the chunk `end`.
    pub fn advance(&mut self, end: u32) {
        let (before, from) = self.span;
        // Windows have about as many postings as the one before.
        let guess = from + (from - before);
        self.span = (from, gallop_near(&self.postings.chunks, from, guess, end));
    }

    /// The slot of the first posting from `at` on that is not before a chunk, and whether it is of the chunk. If
    /// `at` is behind the chunk, the search begins with the window.
    fn find(&self, at: usize, chunk: u32) -> (usize, bool) {
        let chunks = &*self.postings.chunks;
        let is_behind = at > self.span.0 && chunks[at - 1] >= chunk;
        let at = gallop(chunks, if is_behind { self.span.0 } else { at }, chunk);
        (at, chunks.get(at) == Some(&chunk))
    }

    /// The term score of the posting at `slot`.
    #[inline]
    pub fn term_score(&self, slot: usize, norm: f64) -> f64 {
        term_score(self.idf, f64::from(self.postings.weights.get(slot)), norm)
    }
}

/// The upper bounds of the lists of a window.
pub(super) struct MaxScore {
    /// The number of times that each list is added.
    repeats: Vec<u32>,
    /// The lists, that with the lowest bound first, each with the sum of the bounds up to its own.
    bounds: Vec<(usize, f64)>,
    /// The number of skipped lists, the first ones.
    skipped: usize,
    /// The chunks that may be kept, with their scores so far.
    pub possible: Vec<(u32, f64)>,
}

impl MaxScore {
    pub fn new(plan: &Plan) -> Self {
        let mut repeats = vec![0; plan.scored_phrases.len()];
        for (scored, times) in &plan.order {
            repeats[*scored] += *times;
        }
        Self {
            repeats,
            bounds: Vec::new(),
            skipped: 0,
            possible: Vec::new(),
        }
    }

    /// Choose the lists to skip: a chunk that only these have scores below `threshold`. `norm` is the least length
    /// norm of the window. Returns whether it is worth it.
    pub fn choose(&mut self, lists: &[WindowList<'_, '_>], norm: f64, threshold: f64) -> bool {
        self.skipped = 0;
        if lists.len() < 2 || threshold <= 0.0 {
            return false;
        }
        self.bounds.clear();
        let (mut all, mut skipped) = (0, 0);
        for (nth, list) in lists.iter().enumerate() {
            if !list.chunks().is_empty() {
                let heaviest = list.postings.weights.highest(list.span.0, list.span.1);
                let weight = f64::from(heaviest);
                let bound =
                    term_score(list.idf, weight, norm) * f64::from(self.repeats[nth]) * ROUNDED_UP;
                self.bounds.push((nth, bound));
                all += list.chunks().len();
            }
        }
        self.bounds
            .sort_unstable_by(|left, right| left.1.total_cmp(&right.1).then(left.0.cmp(&right.0)));
        let mut sum = 0.0;
        for (nth, bound) in &mut self.bounds {
            sum += *bound;
            *bound = sum * ROUNDED_UP;
            if *bound < threshold {
                self.skipped += 1;
                skipped += lists[*nth].chunks().len();
            }
        }
        skipped * LEAST_SHARE > all
    }

    /// The lists that are not skipped, each with the number of its repeats.
    pub fn essential(&self) -> impl Iterator<Item = (usize, u32)> {
        let essential = self.bounds[self.skipped..].iter();
        essential.map(|(nth, _)| (*nth, self.repeats[*nth]))
    }

    /// The lists that are skipped, each with the number of its repeats.
    pub fn skipped(&self) -> impl Iterator<Item = (usize, u32)> {
        let skipped = self.bounds[..self.skipped].iter();
        skipped.map(|(nth, _)| (*nth, self.repeats[*nth]))
    }

    /// Whether a score may reach `threshold` if the first `count` lists are yet to be added to it.
    fn may_reach(&self, score: f64, count: usize, threshold: f64) -> bool {
        let sum = count.checked_sub(1).map_or(0.0, |last| self.bounds[last].1);
        score * ROUNDED_UP + sum >= threshold
    }

    /// Collect the chunks that may reach `threshold`. `take` returns the score by the lists that are not skipped,
    /// and 0 the next time. Returns true if adding the skipped lists is faster than looking each chunk up in them.
    pub fn collect(
        &mut self,
        lists: &[WindowList<'_, '_>],
        mut take: impl FnMut(u32) -> f64,
        threshold: f64,
    ) -> bool {
        let mut possible = mem::take(&mut self.possible);
        possible.clear();
        for (nth, _) in self.essential() {
            for chunk in lists[nth].chunks() {
                let score = take(*chunk);
                if score > 0.0 && self.may_reach(score, self.skipped, threshold) {
                    possible.push((*chunk, score));
                }
            }
        }
        self.possible = possible;
        let skipped = self.skipped().map(|(nth, _)| lists[nth].chunks().len());
        self.possible.len() * LOOK_UP_COST > skipped.sum()
    }

    /// Drop the chunks that cannot reach `threshold`, by looking each up in the skipped lists.
    pub fn look_up(
        &mut self,
        lists: &[WindowList<'_, '_>],
        norm_of: impl Fn(u32) -> f64,
        threshold: f64,
    ) {
        let mut possible = mem::take(&mut self.possible);
        for count in (0..self.skipped).rev() {
            let nth = self.bounds[count].0;
            let (list, repeats) = (lists[nth], f64::from(self.repeats[nth]));
            let mut at = list.span.0;
            possible.retain_mut(|(chunk, score)| {
                let (slot, is_there) = list.find(at, *chunk);
                at = slot;
                if is_there {
                    *score += list.term_score(slot, norm_of(*chunk)) * repeats;
                }
                self.may_reach(*score, count, threshold)
            });
        }
        self.possible = possible;
    }

    /// Drop the chunks that do not reach `threshold` by the scores that all lists add up to.
    pub fn cut(&mut self, score_of: impl Fn(u32) -> f64, threshold: f64) {
        let mut possible = mem::take(&mut self.possible);
        possible.retain(|(chunk, _)| self.may_reach(score_of(*chunk), 0, threshold));
        self.possible = possible;
    }

    /// Set the scores of the chunks that are left to the sums of their term scores in the order of the plan, in
    /// which FTS5 adds them. Returns the chunks with these scores.
    pub fn exact(
        &mut self,
        plan: &Plan,
        lists: &[WindowList<'_, '_>],
        norm_of: impl Fn(u32) -> f64,
    ) -> &[(u32, f64)] {
        for (_, score) in &mut self.possible {
            *score = 0.0;
        }
        for (scored, repeats) in &plan.order {
            let list = lists[*scored];
            let mut at = list.span.0;
            for (chunk, score) in &mut self.possible {
                let (slot, is_there) = list.find(at, *chunk);
                at = slot;
                if is_there {
                    let term_score = list.term_score(slot, norm_of(*chunk));
                    for _ in 0..*repeats {
                        *score += term_score;
                    }
                }
            }
        }
        &self.possible
    }
}
