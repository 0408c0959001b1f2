//! A coarse copy of the vectors, one byte a number: what is certainly too far away is seen from it.
//!
//! Reading the vectors is what a scan waits for, so a scan of a quarter of the bytes takes a quarter
//! of the time. It loses nothing: each similarity is known within a bound, and every vector that
//! could be among the nearest is compared in full afterwards. Half of what the bound leaves open is
//! the rounding of the query, so what seems near is first looked at again with a finer query.

use super::best::Best;
use super::bounds::{CoarseQuery, Rounded, ZERO};
use super::kernels::{Places, code_dots, near};

/// With more numbers a sum of products could leave 32 bits.
const MOST_DIMENSIONS: usize = 60_000;
/// How many rows are compared with every query before the next: they stay in the nearest cache, and
/// `near` has a bit for each.
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

/// A place whose vector can be among the nearest, and the most that its similarity can be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Possible {
    pub place: usize,
    pub highest: f32,
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
    ) -> Vec<Vec<Possible>> {
        if self.steps.is_empty() || places.len() <= limit.saturating_mul(4) {
            let highest = f32::INFINITY;
            let all = places.iter().map(|place| Possible { place, highest });
            return vec![all.collect(); queries.len()];
        }
        let queries = queries.iter().map(|query| CoarseQuery::new(query));
        let queries: Vec<CoarseQuery> = queries.collect();
        let codes: Vec<&[i8]> = queries.iter().map(|query| &*query.codes).collect();
        let scans = queries.iter().map(|query| Scan::new(query, limit));
        let mut scans: Vec<Scan<'_>> = scans.collect();
        let worth_a_look = limit.max(ROWS_AT_ONCE);
        let length = self.codes.len() / self.steps.len();
        let (mut sums, mut steps, mut errors) = (Vec::new(), Vec::new(), Vec::new());
        for (from, places) in places.parts(ROWS_AT_ONCE) {
            code_dots(&codes, &self.codes[from * length..], places, &mut sums);
            let block = Block {
                from,
                places,
                steps: gathered(&self.steps[from..], places, &mut steps),
                errors: gathered(&self.errors[from..], places, &mut errors),
            };
            for (scan, sums) in scans.iter_mut().zip(sums.chunks_exact(places.len())) {
                scan.add(&block, sums);
                if scan.near.len() >= worth_a_look {
                    scan.look_closer(self);
                }
            }
        }
        scans.into_iter().map(|scan| scan.finish(self)).collect()
    }
}

/// The values at these places, side by side.
fn gathered<'a>(values: &'a [f32], places: Places<'_>, room: &'a mut Vec<f32>) -> &'a [f32] {
    match places {
        Places::All(count) => &values[..count],
        Places::These(places) => {
            room.clear();
            room.extend(places.iter().map(|place| values[*place]));
            room
        }
    }
}

/// Some rows of codes, read from memory once for all queries.
struct Block<'a> {
    places: Places<'a>,
    /// What the places count from.
    from: usize,
    /// Of these rows.
    steps: &'a [f32],
    errors: &'a [f32],
}

impl Block<'_> {
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
    /// What is near by its codes and was not looked at closer yet, and the sums of products.
    near: Vec<usize>,
    sums: Vec<i32>,
    /// The best of those similarities that are certain.
    certain: Best,
    /// What was possible when it came.
    possible: Vec<Possible>,
}

impl<'a> Scan<'a> {
    fn new(query: &'a CoarseQuery, limit: usize) -> Self {
        Self {
            query,
            near: Vec::new(),
            sums: Vec::new(),
            certain: Best::new(limit),
            possible: Vec::new(),
        }
    }

    /// Take in a block, given the sums of products of its codes.
    fn add(&mut self, block: &Block<'_>, sums: &[i32]) {
        let rows = (sums, block.steps, block.errors);
        let mut near = near(self.query.scale, rows, self.certain.threshold());
        while near != 0 {
            let nth = near.trailing_zeros() as usize;
            self.near.push(block.place(nth));
            self.sums.push(sums[nth]);
            near &= near - 1;
        }
    }

    /// Compare what is near with what the query's codes leave out as well.
    fn look_closer(&mut self, coarse: &Coarse) {
        let places = Places::These(&self.near);
        let mut finer = Vec::with_capacity(places.len());
        code_dots(
            &[&self.query.finer.codes],
            &coarse.codes,
            places,
            &mut finer,
        );
        for ((place, sum), finer) in self.near.drain(..).zip(self.sums.drain(..)).zip(finer) {
            let (step, error) = (coarse.steps[place], coarse.errors[place]);
            let bound = self.query.bound(sum, finer, step, error);
            let highest = bound.highest();
            if highest >= self.certain.threshold() {
                self.certain.offer((place, bound.lowest()));
                self.possible.push(Possible { place, highest });
            }
        }
        self.certain.cut();
    }

    fn finish(mut self, coarse: &Coarse) -> Vec<Possible> {
        self.look_closer(coarse);
        let threshold = self.certain.threshold();
        self.possible
            .retain(|possible| possible.highest >= threshold);
        self.possible
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::bounds::Bound;
    use super::super::kernels::dots;
    use super::super::vector::unit;
    use super::*;

    /// For each vector the most that the first look makes of it, and what the second does.
    fn looks(coarse: &Coarse, query: &[f32]) -> Vec<(f32, Bound)> {
        let query = CoarseQuery::new(query);
        let mut sums = Vec::new();
        let all = Places::All(coarse.steps.len());
        code_dots(
            &[&query.codes, &query.finer.codes],
            &coarse.codes,
            all,
            &mut sums,
        );
        let (sums, finer) = sums.split_at(coarse.steps.len());
        let sums = sums.iter().zip(finer);
        let rows = coarse.steps.iter().zip(&coarse.errors);
        let look = |((sum, finer), (step, error)): ((&i32, &i32), (&f32, &f32))| {
            let highest = query.scale.highest(*sum, *step, *error);
            (highest, query.bound(*sum, *finer, *step, *error))
        };
        sums.zip(rows).map(look).collect()
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
                for ((highest, bound), exact) in looks(&coarse, query).into_iter().zip(exact) {
                    prop_assert!(exact <= highest, "{exact} {highest}");
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
                prop_assert!(possible.is_sorted_by_key(|possible| possible.place));
                for (place, similarity) in exact.into_iter().enumerate() {
                    let found = possible.iter().find(|possible| possible.place == place);
                    prop_assert!(similarity < last || found.is_some());
                    prop_assert!(found.is_none_or(|found| similarity <= found.highest));
                }
            }
        }
    }

    #[test]
    fn a_second_look_knows_twice_as_much() {
        let turned = |n: u16| -> Vec<f32> {
            let numbers = (0..384_u16).map(|i| (f32::from(i) * f32::from(n)).sin());
            unit(&numbers.collect::<Vec<_>>())
        };
        let vectors: Vec<Vec<f32>> = (1..10).map(turned).collect();
        for (highest, bound) in looks(&coarse(&vectors), &turned(11)) {
            let off = highest - bound.middle;
            assert!(bound.off < 0.6 * off, "{off} {bound:?}");
        }
    }

    #[test]
    fn places_are_replaced_and_removed() {
        let [a, b, c] = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]].map(Vec::from);
        let mut coarse = coarse(&[a.clone(), b.clone(), c.clone()]);
        coarse.put(1, &a);
        coarse.swap_remove(0);
        let looks = looks(&coarse, &c);
        assert!((looks[0].1.middle - 1.0).abs() < 0.01, "{looks:?}");
        assert!((looks[1].1.middle - 0.6).abs() < 0.01, "{looks:?}");
        coarse.swap_remove(1);
        coarse.swap_remove(0);
        coarse.swap_remove(0);
        assert_eq!(coarse.codes.len(), 0);
    }
}
