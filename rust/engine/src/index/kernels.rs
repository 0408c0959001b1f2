//! The inner loops of scanning vectors, compiled for what the processor has.
//!
//! Each loop stands here once, in plain Rust that the compiler turns into vector instructions, and
//! is compiled again for processors with wider ones. All give the same bits: sums of floats are
//! added in lanes whose number does not depend on the processor, and sums of integers are exact.
//! Only the product of bytes has a version of its own, for the instruction that is made for it.

#![allow(unsafe_code)] // functions for one kind of processor may run on that kind alone
#![allow(clippy::inline_always)] // a loop is compiled for the processor of the function around it

#[cfg(target_arch = "x86_64")]
mod x86_64;

/// How many bytes of codes are read at once: rows of codes are a multiple of this long.
pub(super) const CODES_AT_ONCE: usize = 64;
/// How many rows ahead of the one at hand memory is asked for another, where they stand anywhere.
const ROWS_AHEAD: usize = 4;

/// Which vectors of a matrix are looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Places<'a> {
    /// The first so many: all there are.
    All(usize),
    /// These.
    These(&'a [usize]),
}

impl<'a> Places<'a> {
    /// How many.
    pub fn len(self) -> usize {
        match self {
            Self::All(count) => count,
            Self::These(places) => places.len(),
        }
    }

    /// At most `size` at once, each time with the row that they count from.
    pub fn parts(self, size: usize) -> impl Iterator<Item = (usize, Places<'a>)> {
        let count = self.len();
        (0..count).step_by(size).map(move |from| {
            let end = count.min(from + size);
            match self {
                Self::All(_) => (from, Self::All(end - from)),
                Self::These(places) => (0, Self::These(&places[from..end])),
            }
        })
    }

    /// Each of them.
    pub fn iter(self) -> impl Iterator<Item = usize> + 'a {
        let (all, these): (usize, &[usize]) = match self {
            Self::All(count) => (count, &[]),
            Self::These(places) => (0, places),
        };
        (0..all).chain(these.iter().copied())
    }
}

/// What the most that similarities to a query can be is made of, beside what differs by row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    /// What the zeros of a row's codes add to a sum.
    pub zeros: i32,
    /// What a step of the query's codes is worth.
    pub step: f32,
    /// How far off a similarity is whatever the row.
    pub off: f32,
    /// The length of the query's codes, which a row's error is multiplied by; or a little more.
    pub length: f32,
}

impl Scale {
    /// The most that the similarity to a row can be; it is held to be a cosine, as exact ones are.
    #[inline(always)]
    pub fn highest(self, sum: i32, step: f32, error: f32) -> f32 {
        #[allow(
            clippy::cast_precision_loss,
            reason = "far below what the bound allows for"
        )]
        let middle = (sum - self.zeros) as f32 * (self.step * step);
        (middle + (error * self.length + self.off)).max(-1.0)
    }
}

/// The sum of products of the query with each of these vectors.
pub(crate) fn dots(query: &[f32], values: &[f32], places: Places<'_>) -> Vec<f32> {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has it.
            return unsafe { x86_64::dots_avx512(query, values, places) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has it.
            return unsafe { x86_64::dots_avx2(query, values, places) };
        }
    }
    dots_plain(query, values, places)
}

/// The sums of products of each query with each of these rows of codes: all of the first query,
/// then all of the second. Queries and rows are equally long.
///
/// To be called with as many rows as the processor keeps close by: every query reads them again.
pub(super) fn code_dots(queries: &[&[i8]], codes: &[u8], places: Places<'_>, sums: &mut Vec<i32>) {
    debug_assert!(queries.iter().all(|query| query.len() % CODES_AT_ONCE == 0));
    sums.clear();
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vnni") {
            // SAFETY: the processor has it.
            return unsafe { x86_64::code_dots_vnni(queries, codes, places, sums) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has it.
            return unsafe { x86_64::code_dots_avx2(queries, codes, places, sums) };
        }
    }
    code_dots_plain(queries, codes, places, sums);
}

/// Which of up to 64 rows can be as near as the threshold, by the sums of products of their codes,
/// their steps and their errors: a bit for each, the lowest for the first.
pub(super) fn near(scale: Scale, rows: (&[i32], &[f32], &[f32]), threshold: f32) -> u64 {
    debug_assert!(rows.0.len() <= 64);
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has it.
            return unsafe { x86_64::near_avx512(scale, rows, threshold) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has it.
            return unsafe { x86_64::near_avx2(scale, rows, threshold) };
        }
    }
    near_plain(scale, rows, threshold)
}

#[inline(always)]
fn near_plain(
    scale: Scale,
    (sums, steps, errors): (&[i32], &[f32], &[f32]),
    threshold: f32,
) -> u64 {
    let mut near = 0;
    for (nth, ((sum, step), error)) in sums.iter().zip(steps).zip(errors).enumerate() {
        let highest = scale.highest(*sum, *step, *error);
        near |= u64::from(highest >= threshold) << nth;
    }
    near
}

#[inline(always)]
fn dots_plain(query: &[f32], values: &[f32], places: Places<'_>) -> Vec<f32> {
    let mut sums = Vec::with_capacity(places.len());
    each(values, query.len(), places, &mut sums, |vector| {
        dot(query, vector)
    });
    sums
}

#[inline(always)]
fn code_dots_plain(queries: &[&[i8]], codes: &[u8], places: Places<'_>, sums: &mut Vec<i32>) {
    for query in queries {
        each(codes, query.len(), places, sums, |row| {
            let products = row.iter().zip(*query);
            products.map(|(c, q)| i32::from(*c) * i32::from(*q)).sum()
        });
    }
}

/// Add what `of` makes of each of these rows; a place without a row is a fault of ours.
#[inline(always)]
fn each<T, R>(
    rows: &[T],
    length: usize,
    places: Places<'_>,
    results: &mut Vec<R>,
    of: impl Fn(&[T]) -> R,
) {
    match places {
        Places::All(count) => {
            results.extend(rows.chunks_exact(length.max(1)).take(count).map(of));
        }
        Places::These(places) => {
            results.extend(places.iter().enumerate().map(|(nth, place)| {
                if let Some(later) = places.get(nth + ROWS_AHEAD) {
                    fetch(rows, length, *later);
                }
                of(&rows[place * length..][..length])
            }));
        }
    }
}

/// Have memory send a row while another is worked on: a scan waits for little else.
#[inline(always)]
fn fetch<T>(rows: &[T], length: usize, place: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        let row = rows.as_ptr().wrapping_add(place * length);
        x86_64::fetch(row.cast(), length * size_of::<T>());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (rows, length, place); // memory is not asked there
}

/// The sum of products of two vectors, added in lanes.
#[inline(always)]
pub(super) fn dot(left: &[f32], right: &[f32]) -> f32 {
    const LANES: usize = 16;
    let (left, left_rest) = left.as_chunks::<LANES>();
    let (right, right_rest) = right.as_chunks::<LANES>();
    let mut sums = [0.0_f32; LANES];
    for (left, right) in left.iter().zip(right) {
        for ((sum, left), right) in sums.iter_mut().zip(left).zip(right) {
            *sum += left * right;
        }
    }
    let rest: f32 = left_rest.iter().zip(right_rest).map(|(l, r)| l * r).sum();
    sums.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made-up numbers, always the same.
    fn noise(count: usize) -> impl Iterator<Item = u8> {
        let mut state = 1_u32;
        std::iter::repeat_with(move || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state.to_le_bytes()[1]
        })
        .take(count)
    }

    #[test]
    fn every_processor_gives_the_same_bits() {
        for dimensions in [1, 7, 16, 64, 384, 1000] {
            let values: Vec<f32> = noise(dimensions * 50)
                .map(|byte| f32::from(byte) / 37.0 - 3.0)
                .collect();
            let query = &values[dimensions..2 * dimensions];
            for places in [Places::All(50), Places::These(&[49, 3, 3, 0])] {
                let expected = dots_plain(query, &values, places);
                let bits = |sums: Vec<f32>| sums.into_iter().map(f32::to_bits).collect::<Vec<_>>();
                assert_eq!(bits(dots(query, &values, places)), bits(expected));
            }
        }
    }

    #[test]
    fn products_of_bytes_are_exact() {
        for (parts, count) in (1..15).zip([1, 2, 3, 4, 5, 7, 8, 9, 4, 1, 6, 1, 5, 2]) {
            let length = parts * CODES_AT_ONCE;
            let codes: Vec<u8> = noise(length * 50)
                .chain(std::iter::repeat_n(255, length))
                .collect();
            let query = |number: usize| -> Vec<i8> {
                let extreme = [i8::MIN, i8::MAX][number % 2];
                let others = noise(length * count).skip(number * length).take(length - 1);
                others.map(u8::cast_signed).chain([extreme]).collect()
            };
            let queries: Vec<Vec<i8>> = (0..count).map(query).collect();
            let queries: Vec<&[i8]> = queries.iter().map(Vec::as_slice).collect();
            for places in [Places::All(51), Places::These(&[50, 7, 0]), Places::All(0)] {
                let (mut sums, mut plain) = (vec![9], Vec::new());
                code_dots(&queries, &codes, places, &mut sums);
                code_dots_plain(&queries, &codes, places, &mut plain);
                assert_eq!(sums, plain);
                let exact = queries.iter().flat_map(|query| {
                    places.iter().map(|place| -> i64 {
                        let row = &codes[place * length..][..length];
                        let products = row.iter().zip(*query);
                        products.map(|(c, q)| i64::from(*c) * i64::from(*q)).sum()
                    })
                });
                let sums: Vec<i64> = sums.into_iter().map(i64::from).collect();
                assert_eq!(sums, exact.collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn every_processor_finds_the_same_rows_near() {
        let scale = Scale {
            zeros: 1000,
            step: 0.01,
            off: 0.02,
            length: 0.9,
        };
        for count in 0..=64 {
            let sums: Vec<i32> = noise(count).map(|byte| i32::from(byte) * 16).collect();
            let numbers = noise(2 * count).map(|byte| f32::from(byte) / 1000.0);
            let (steps, errors): (Vec<f32>, Vec<f32>) = numbers.map(|n| (n, n / 7.0)).unzip();
            let rows = (&*sums, &steps[..count], &errors[count..]);
            for threshold in [f32::NEG_INFINITY, -1.0, 0.5, 1.0, f32::INFINITY] {
                let found = near(scale, rows, threshold);
                assert_eq!(found, near_plain(scale, rows, threshold));
                for nth in 0..64 {
                    let highest = rows.0.get(nth).map(|sum| {
                        let middle = f64::from(sum - 1000) * 0.01 * f64::from(rows.1[nth]);
                        middle + f64::from(rows.2[nth]) * 0.9 + 0.02
                    });
                    let sure = highest.filter(|h| (h - f64::from(threshold)).abs() > 1e-4);
                    if sure.is_some() || highest.is_none() {
                        let reaches = highest.is_some_and(|h| h.max(-1.0) >= threshold.into());
                        assert_eq!(found >> nth & 1 == 1, reaches, "{nth} of {count}");
                    }
                }
            }
        }
    }

    #[test]
    fn parts_are_all_in_order() {
        for places in [
            Places::All(10),
            Places::These(&[3, 1, 2, 9, 0]),
            Places::All(0),
        ] {
            for size in [1, 3, 5, 64] {
                let parts = places.parts(size).flat_map(|(from, part)| {
                    assert!(part.len() <= size);
                    part.iter().map(move |place| from + place)
                });
                assert_eq!(parts.collect::<Vec<_>>(), places.iter().collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn every_number_counts_once() {
        for length in 0..70_u16 {
            let left: Vec<f32> = (0..length).map(f32::from).collect();
            let right = vec![2.0; left.len()];
            assert_eq!(
                dot(&left, &right).to_bits(),
                (f32::from(length) * (f32::from(length) - 1.0))
                    .max(0.0)
                    .to_bits()
            );
        }
    }
}
