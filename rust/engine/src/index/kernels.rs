//! The inner loops of scanning vectors, compiled for what the processor has.
//!
//! Each loop stands here once, in plain Rust that the compiler turns into vector instructions, and
//! is compiled again for processors with wider ones. All give the same bits: sums of floats are
//! added in lanes whose number does not depend on the processor, and sums of integers are exact.
//! Only the product of bytes has a version of its own, for the instruction that is made for it.

#![allow(unsafe_code)] // functions for one kind of processor may run on that kind alone
#![allow(clippy::inline_always)] // a loop is compiled for the processor of the function around it

/// How many bytes of codes are read at once: rows of codes are a multiple of this long.
pub(super) const CODES_AT_ONCE: usize = 64;

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
            let row = |place: &usize| &rows[place * length..][..length];
            results.extend(places.iter().map(|place| of(row(place))));
        }
    }
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

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::x86_64::{
        __m128i, __m512i, _mm_add_epi32, _mm_storeu_si128, _mm256_add_epi32,
        _mm256_castsi256_si128, _mm256_extracti128_si256, _mm512_add_epi32, _mm512_castsi512_si256,
        _mm512_dpbusd_epi32, _mm512_extracti64x4_epi64, _mm512_loadu_si512, _mm512_setzero_si512,
        _mm512_unpackhi_epi32, _mm512_unpackhi_epi64, _mm512_unpacklo_epi32, _mm512_unpacklo_epi64,
    };

    use super::{CODES_AT_ONCE, Places, code_dots_plain, dots_plain};

    /// As many pairs of a row and a query as are multiplied side by side.
    const PAIRS: usize = 4;

    #[target_feature(enable = "avx512f")]
    pub fn dots_avx512(query: &[f32], values: &[f32], places: Places<'_>) -> Vec<f32> {
        dots_plain(query, values, places)
    }

    #[target_feature(enable = "avx2")]
    pub fn dots_avx2(query: &[f32], values: &[f32], places: Places<'_>) -> Vec<f32> {
        dots_plain(query, values, places)
    }

    #[target_feature(enable = "avx2")]
    pub fn code_dots_avx2(
        queries: &[&[i8]],
        codes: &[u8],
        places: Places<'_>,
        sums: &mut Vec<i32>,
    ) {
        code_dots_plain(queries, codes, places, sums);
    }

    /// With the instruction that multiplies 64 bytes and adds them up by fours: four queries with
    /// one row, which is then read once, or one query with four rows.
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    pub fn code_dots_vnni(
        queries: &[&[i8]],
        codes: &[u8],
        places: Places<'_>,
        sums: &mut Vec<i32>,
    ) {
        let count = places.len();
        sums.resize(queries.len() * count, 0);
        if count == 0 {
            return;
        }
        let length = queries.first().map_or(0, |query| query.len());
        let row = |nth: usize| {
            let place = match places {
                Places::All(_) => nth,
                Places::These(places) => places[nth],
            };
            codes[place * length..][..length].as_chunks().0
        };
        let (fours, rest) = queries.as_chunks::<PAIRS>();
        let (sums_of_fours, sums_of_rest) = sums.split_at_mut(fours.len() * PAIRS * count);
        for (queries, sums) in fours
            .iter()
            .zip(sums_of_fours.chunks_exact_mut(PAIRS * count))
        {
            let queries = queries.map(|query| query.as_chunks().0);
            for nth in 0..count {
                let found = dots_of_pairs([row(nth); PAIRS], queries);
                for (query, sum) in found.into_iter().enumerate() {
                    sums[query * count + nth] = sum;
                }
            }
        }
        for (query, sums) in rest.iter().zip(sums_of_rest.chunks_exact_mut(count)) {
            for (number, sums) in sums.chunks_mut(PAIRS).enumerate() {
                // Where fewer are left the last one is taken again.
                let nth = |pair: usize| number * PAIRS + pair.min(sums.len() - 1);
                let rows = [row(nth(0)), row(nth(1)), row(nth(2)), row(nth(3))];
                let found = dots_of_pairs(rows, [query.as_chunks().0; PAIRS]);
                sums.copy_from_slice(&found[..sums.len()]);
            }
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    #[inline]
    fn dots_of_pairs(
        rows: [&[[u8; CODES_AT_ONCE]]; PAIRS],
        queries: [&[[i8; CODES_AT_ONCE]]; PAIRS],
    ) -> [i32; PAIRS] {
        let parts = rows[0].len();
        let (rows, queries) = (rows.map(|row| &row[..parts]), queries.map(|q| &q[..parts]));
        let mut sums = [_mm512_setzero_si512(); PAIRS];
        for part in 0..parts {
            for (pair, sum) in sums.iter_mut().enumerate() {
                // SAFETY: a part is as long as what is loaded.
                let row = unsafe { _mm512_loadu_si512(rows[pair][part].as_ptr().cast()) };
                // SAFETY: likewise.
                let query = unsafe { _mm512_loadu_si512(queries[pair][part].as_ptr().cast()) };
                *sum = _mm512_dpbusd_epi32(*sum, row, query);
            }
        }
        let mut found = [0; PAIRS];
        // SAFETY: four numbers of 32 bits are stored, and there is room for them.
        unsafe { _mm_storeu_si128(found.as_mut_ptr().cast(), added_up(sums)) };
        found
    }

    /// The sum over the lanes of each.
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn added_up([a, b, c, d]: [__m512i; PAIRS]) -> __m128i {
        let ab = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
        let cd = _mm512_add_epi32(_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
        let (low, high) = (_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
        // From here on each lane of 128 bits holds a, b, c and d.
        let lanes = _mm512_add_epi32(low, high);
        let halves = _mm256_add_epi32(
            _mm512_castsi512_si256(lanes),
            _mm512_extracti64x4_epi64::<1>(lanes),
        );
        _mm_add_epi32(
            _mm256_castsi256_si128(halves),
            _mm256_extracti128_si256::<1>(halves),
        )
    }
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
        for (parts, count) in (1..9).zip([1, 2, 3, 4, 5, 7, 8, 9]) {
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
