//! A coarse copy of the vectors, one byte a number: what is certainly too far away is seen from it.
//!
//! Reading the vectors is what a scan waits for, so a scan of a quarter of the bytes takes a quarter
//! of the time. It loses nothing: each similarity is known within a bound, and every vector that
//! could be among the nearest is compared in full afterwards.

use super::kernels::{CODES_AT_ONCE, Places, code_dots};
use super::matrix::Best;

/// What stands for zero, so that codes are unsigned.
const ZERO: u8 = 128;
/// The largest code above or below zero.
const LARGEST: f32 = 127.0;
/// With more numbers a sum of products could leave 32 bits.
const MOST_DIMENSIONS: usize = 60_000;
/// Sums of floats are off by less than this for each number, as bounds and as exact sums.
const ROUNDING: f32 = 4e-7;
/// How many rows are compared with every query before the next: they stay in the nearest cache.
const ROWS_AT_ONCE: usize = 64;

/// The vectors of a matrix in bytes, at the same places.
#[derive(Debug, Clone, Default)]
pub(super) struct Coarse {
    codes: Vec<u8>,
    /// What a step of a code is worth.
    steps: Vec<f32>,
    /// The length of what the codes leave out of a vector.
    errors: Vec<f32>,
}

/// A vector in steps: the codes without their zero, and what they leave out.
struct Rounded {
    codes: Vec<i8>,
    step: f32,
    error: f32,
}

impl Rounded {
    fn new(vector: &[f32]) -> Self {
        let largest = vector.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
        let step = (largest / LARGEST).max(f32::MIN_POSITIVE);
        #[allow(
            clippy::cast_possible_truncation,
            reason = "at most 127 steps either way"
        )]
        let mut codes: Vec<i8> = vector.iter().map(|x| (x / step).round() as i8).collect();
        let left_out = |(x, code): (&f32, &i8)| (x - f32::from(*code) * step).powi(2);
        let error: f32 = vector.iter().zip(&codes).map(left_out).sum();
        codes.resize(vector.len().next_multiple_of(CODES_AT_ONCE), 0);
        Self {
            codes,
            step,
            error: error.sqrt(),
        }
    }
}

impl Coarse {
    /// Add a vector at the end, or replace the one at `place`.
    pub fn put(&mut self, place: usize, vector: &[f32]) {
        if vector.len() > MOST_DIMENSIONS {
            return;
        }
        let Rounded { codes, step, error } = Rounded::new(vector);
        let codes = codes.iter().map(|code| ZERO.wrapping_add_signed(*code));
        if place == self.steps.len() {
            let end = self.codes.len();
            if self.codes.capacity() == end {
                self.codes.reserve_exact((end / 8).max(64 * codes.len()));
            }
            self.codes.extend(codes);
            self.steps.push(step);
            self.errors.push(error);
        } else {
            let start = place * codes.len();
            for (kept, code) in self.codes[start..].iter_mut().zip(codes) {
                *kept = code;
            }
            self.steps[place] = step;
            self.errors[place] = error;
        }
    }

    /// Remove the vector at `place`; the last one takes its place.
    pub fn swap_remove(&mut self, place: usize) {
        if place >= self.steps.len() {
            return;
        }
        let length = self.codes.len() / self.steps.len();
        let end = self.codes.len() - length;
        self.codes.copy_within(end.., place * length);
        self.codes.truncate(end);
        self.steps.swap_remove(place);
        self.errors.swap_remove(place);
    }

    /// How many bytes of memory it takes.
    pub fn bytes(&self) -> usize {
        self.codes.capacity() + (self.steps.capacity() + self.errors.capacity()) * size_of::<f32>()
    }

    /// For each query all of these places that can be among its `limit` nearest, or as near as the
    /// last of them. All queries share one pass over the codes.
    pub fn possible(
        &self,
        queries: &[&[f32]],
        limit: usize,
        places: Places<'_>,
    ) -> Vec<Vec<usize>> {
        if self.steps.is_empty() || places.len() <= limit.saturating_mul(4) {
            return queries.iter().map(|_| places.iter().collect()).collect();
        }
        let queries: Vec<CoarseQuery> = queries
            .iter()
            .map(|query| CoarseQuery::new(query))
            .collect();
        let codes: Vec<&[i8]> = queries.iter().map(|query| &*query.rounded.codes).collect();
        let mut scans: Vec<Scan<'_>> = queries
            .iter()
            .map(|query| Scan::new(query, limit))
            .collect();
        let length = self.codes.len() / self.steps.len();
        let mut sums = Vec::new();
        for (from, part) in places.parts(ROWS_AT_ONCE) {
            code_dots(&codes, &self.codes[from * length..], part, &mut sums);
            let block = Block::new(self, from, part);
            for (scan, sums) in scans.iter_mut().zip(sums.chunks_exact(part.len())) {
                scan.add(&block, sums);
            }
        }
        scans.into_iter().map(Scan::finish).collect()
    }
}

/// Some rows of codes, read from memory once for all queries.
struct Block<'a> {
    places: Places<'a>,
    /// What the places count from.
    from: usize,
    steps: [f32; ROWS_AT_ONCE],
    errors: [f32; ROWS_AT_ONCE],
}

impl<'a> Block<'a> {
    fn new(coarse: &Coarse, from: usize, places: Places<'a>) -> Self {
        let mut block = Self {
            places,
            from,
            steps: [0.0; ROWS_AT_ONCE],
            errors: [0.0; ROWS_AT_ONCE],
        };
        let rows = block.steps.iter_mut().zip(&mut block.errors);
        for ((step, error), place) in rows.zip(places.iter()) {
            (*step, *error) = (coarse.steps[from + place], coarse.errors[from + place]);
        }
        block
    }

    /// The place of the nth row.
    fn place(&self, nth: usize) -> usize {
        match self.places {
            Places::All(_) => self.from + nth,
            Places::These(places) => places[nth],
        }
    }
}

/// What one query has found so far.
struct Scan<'a> {
    query: &'a CoarseQuery,
    /// The best of those similarities that are certain.
    certain: Best,
    /// The places that were possible when they came, and the most that they can have.
    possible: Vec<(usize, f32)>,
}

impl<'a> Scan<'a> {
    fn new(query: &'a CoarseQuery, limit: usize) -> Self {
        Self {
            query,
            certain: Best::new(limit),
            possible: Vec::new(),
        }
    }

    /// Take in a block, given the sums of products of its codes.
    fn add(&mut self, block: &Block<'_>, sums: &[i32]) {
        let query = self.query;
        let rows = sums.iter().zip(&block.steps).zip(&block.errors);
        let mut highest = [f32::NEG_INFINITY; ROWS_AT_ONCE];
        for (highest, ((sum, step), error)) in highest.iter_mut().zip(rows.clone()) {
            *highest = query.bound(*sum, *step, *error).highest();
        }
        let threshold = self.certain.threshold();
        let near = highest
            .iter()
            .fold(0, |near, highest| near | u32::from(*highest >= threshold));
        // Most blocks hold nothing near, and are through here.
        if near == 0 {
            return;
        }
        for ((nth, highest), ((sum, step), error)) in highest.iter().enumerate().zip(rows) {
            if *highest >= self.certain.threshold() {
                let place = block.place(nth);
                let lowest = query.bound(*sum, *step, *error).lowest();
                self.certain.offer((place, lowest));
                self.possible.push((place, *highest));
            }
        }
    }

    fn finish(self) -> Vec<usize> {
        let certain = self.certain.finish().into_iter();
        let last = certain
            .map(|(_, lowest)| lowest)
            .fold(f32::INFINITY, f32::min);
        let possible = self.possible.into_iter();
        possible
            .filter(|(_, highest)| *highest >= last)
            .map(|(place, _)| place)
            .collect()
    }
}

/// A query in steps, and what all its comparisons have in common.
struct CoarseQuery {
    rounded: Rounded,
    /// What the zeros of a row's codes add to a sum.
    zeros: i32,
    /// The length of the query's codes.
    length: f32,
    /// By how much the rounding of floats can be off.
    rounding: f32,
}

impl CoarseQuery {
    fn new(query: &[f32]) -> Self {
        let rounded = Rounded::new(query);
        let sum: i32 = rounded.codes.iter().map(|code| i32::from(*code)).sum();
        let squares: i32 = rounded.codes.iter().map(|c| i32::from(*c).pow(2)).sum();
        #[allow(clippy::cast_precision_loss, reason = "few dimensions, small numbers")]
        let (length, rounding) = (
            (squares as f32).sqrt() * rounded.step,
            ROUNDING * query.len() as f32,
        );
        Self {
            zeros: sum * i32::from(ZERO),
            length,
            rounding,
            rounded,
        }
    }

    /// Between what the similarity to a vector lies, given the sum of products of the codes.
    fn bound(&self, sum: i32, step: f32, error: f32) -> Bound {
        #[allow(
            clippy::cast_precision_loss,
            reason = "far below what the bound allows for"
        )]
        let middle = (sum - self.zeros) as f32 * (self.rounded.step * step);
        // What the query's codes leave out meets a vector of length 1; what the vector's leave
        // out meets the query's codes.
        let off = self.rounded.error + error * self.length + self.rounding;
        Bound { middle, off }
    }
}

/// A similarity, and by how much it can be off.
#[derive(Debug, Clone, Copy)]
struct Bound {
    middle: f32,
    off: f32,
}

impl Bound {
    fn lowest(self) -> f32 {
        self.middle - self.off
    }

    fn highest(self) -> f32 {
        self.middle + self.off
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::kernels::dots;
    use super::super::vector::unit;
    use super::*;

    fn bounds(coarse: &Coarse, query: &[f32], count: usize) -> Vec<Bound> {
        let query = CoarseQuery::new(query);
        let mut sums = Vec::new();
        let all = Places::All(count);
        code_dots(&[&query.rounded.codes], &coarse.codes, all, &mut sums);
        let rows = coarse.steps.iter().zip(&coarse.errors);
        let bound = |(sum, (step, error)): (i32, (&f32, &f32))| query.bound(sum, *step, *error);
        sums.into_iter().zip(rows).map(bound).collect()
    }

    fn coarse(vectors: &[Vec<f32>]) -> Coarse {
        let mut coarse = Coarse::default();
        for (place, vector) in vectors.iter().enumerate() {
            coarse.put(place, vector);
        }
        coarse
    }

    fn vectors(dimensions: usize) -> impl Strategy<Value = Vec<Vec<f32>>> {
        let number = prop_oneof![Just(0.0_f32), -1.0_f32..1.0, -1e-6_f32..1e-6, Just(1.0)];
        let vector = prop::collection::vec(number, dimensions)
            .prop_map(|vector| unit(&vector))
            .prop_filter("a direction", |vector| !vector.is_empty());
        prop::collection::vec(vector, 2..60)
    }

    proptest! {
        #[test]
        fn the_bounds_hold(vectors in (1_usize..200).prop_flat_map(vectors)) {
            let coarse = coarse(&vectors);
            let all = Places::All(vectors.len());
            let values = vectors.concat();
            for query in &vectors {
                let exact = dots(query, &values, all);
                for (bound, exact) in bounds(&coarse, query, vectors.len()).into_iter().zip(exact) {
                    prop_assert!(bound.lowest() <= exact && exact <= bound.highest(), "{bound:?}");
                }
            }
        }

        #[test]
        fn the_nearest_are_possible(
            vectors in (1_usize..40).prop_flat_map(vectors),
            limit in 1_usize..10,
            repeats in 1_usize..5,
            queries in 1_usize..7,
        ) {
            // More than one block of rows.
            let vectors: Vec<Vec<f32>> = (0..repeats).flat_map(|_| vectors.clone()).collect();
            let coarse = coarse(&vectors);
            let all = Places::All(vectors.len());
            let queries: Vec<&[f32]> = vectors.iter().take(queries).map(Vec::as_slice).collect();
            let found = coarse.possible(&queries, limit, all);
            prop_assert_eq!(found.len(), queries.len());
            for (query, possible) in queries.into_iter().zip(found) {
                let exact = dots(query, &vectors.concat(), all);
                let mut sorted = exact.clone();
                sorted.sort_by(|left, right| right.total_cmp(left));
                let last = sorted[limit.min(sorted.len()) - 1];
                prop_assert!(possible.is_sorted());
                for (place, similarity) in exact.into_iter().enumerate() {
                    prop_assert!(similarity < last || possible.contains(&place));
                }
            }
        }
    }

    #[test]
    fn places_are_replaced_and_removed() {
        let [a, b, c] = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]].map(Vec::from);
        let mut coarse = coarse(&[a.clone(), b.clone(), c.clone()]);
        coarse.put(1, &a);
        coarse.swap_remove(0);
        let bounds = bounds(&coarse, &c, 2);
        assert!((bounds[0].middle - 1.0).abs() < 0.02, "{bounds:?}");
        assert!((bounds[1].middle - 0.6).abs() < 0.02, "{bounds:?}");
        coarse.swap_remove(1);
        coarse.swap_remove(0);
        coarse.swap_remove(0);
        assert_eq!(coarse.codes.len(), 0);
    }
}
