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
        __m128i, __m512i, _MM_HINT_T0, _mm_add_epi32, _mm_prefetch, _mm_storeu_si128,
        _mm256_add_epi32, _mm256_castsi256_si128, _mm256_extracti128_si256, _mm512_add_epi32,
        _mm512_castsi512_si256, _mm512_dpbusd_epi32, _mm512_extracti64x4_epi64, _mm512_loadu_si512,
        _mm512_setzero_si512, _mm512_unpackhi_epi32, _mm512_unpackhi_epi64, _mm512_unpacklo_epi32,
        _mm512_unpacklo_epi64,
    };

    use super::{CODES_AT_ONCE, Places, code_dots_plain, dots_plain};

    /// As many pairs of a row and a query as are multiplied side by side.
    const PAIRS: usize = 4;
    /// How far ahead of the row at hand memory is asked for another.
    const BYTES_AHEAD: usize = 8192;

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
    ///
    /// Loops, and no closures but what is inlined always: a closure is compiled for the processor
    /// of this function, so what is not cannot take it in.
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    pub fn code_dots_vnni(
        queries: &[&[i8]],
        codes: &[u8],
        places: Places<'_>,
        sums: &mut Vec<i32>,
    ) {
        let count = places.len();
        sums.resize(queries.len() * count, 0);
        let mut sums = sums.as_mut_slice();
        let (fours, rest) = queries.as_chunks::<PAIRS>();
        for (number, [a, b, c, d]) in fours.iter().enumerate() {
            let (of_four, behind) = sums.split_at_mut(PAIRS * count);
            sums = behind;
            let queries = [parts(a), parts(b), parts(c), parts(d)];
            for nth in 0..count {
                if number == 0 {
                    fetch_ahead(codes, a.len(), places, nth);
                }
                let row = parts(row(codes, a.len(), places, nth));
                let found = dots_of_pairs([row; PAIRS], queries);
                for (query, sum) in found.into_iter().enumerate() {
                    of_four[query * count + nth] = sum;
                }
            }
        }
        for (nth_query, query) in rest.iter().enumerate() {
            let (of_one, behind) = sums.split_at_mut(count);
            sums = behind;
            for (number, sums) in of_one.chunks_mut(PAIRS).enumerate() {
                let mut rows = [[].as_slice(); PAIRS];
                for (pair, row_of_pair) in rows.iter_mut().enumerate() {
                    // Where fewer are left the last one is taken again.
                    let nth = number * PAIRS + pair.min(sums.len() - 1);
                    if fours.is_empty() && nth_query == 0 {
                        fetch_ahead(codes, query.len(), places, nth);
                    }
                    *row_of_pair = parts(row(codes, query.len(), places, nth));
                }
                let found = dots_of_pairs(rows, [parts(query); PAIRS]);
                sums.copy_from_slice(&found[..sums.len()]);
            }
        }
    }

    #[inline(always)]
    fn parts<T>(codes: &[T]) -> &[[T; CODES_AT_ONCE]] {
        codes.as_chunks().0
    }

    /// The codes of the nth of these places.
    #[inline(always)]
    fn row<'a>(codes: &'a [u8], length: usize, places: Places<'_>, nth: usize) -> &'a [u8] {
        let place = match places {
            Places::All(_) => nth,
            Places::These(places) => places[nth],
        };
        &codes[place * length..][..length]
    }

    /// Have memory send a later row while this one is worked on: a scan waits for little else.
    #[inline(always)]
    fn fetch_ahead(codes: &[u8], length: usize, places: Places<'_>, nth: usize) {
        let later = nth + (BYTES_AHEAD / length.max(1)).max(1);
        let place = match places {
            Places::All(_) => later,
            Places::These(places) => places.get(later).copied().unwrap_or_default(),
        };
        // What is asked for need not be there: nothing is read, and no fault is raised.
        let row = codes.as_ptr().wrapping_add(place * length);
        for part in (0..length).step_by(CODES_AT_ONCE) {
            // SAFETY: any address may be asked for.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(row.wrapping_add(part).cast()) };
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    #[inline]
    fn dots_of_pairs(
        [row_a, row_b, row_c, row_d]: [&[[u8; CODES_AT_ONCE]]; PAIRS],
        [a, b, c, d]: [&[[i8; CODES_AT_ONCE]]; PAIRS],
    ) -> [i32; PAIRS] {
        let mut sums = [_mm512_setzero_si512(); PAIRS];
        let rows = row_a.iter().zip(row_b).zip(row_c).zip(row_d);
        let queries = a.iter().zip(b).zip(c).zip(d);
        for ((((row_a, row_b), row_c), row_d), (((a, b), c), d)) in rows.zip(queries) {
            sums[0] = add_products(sums[0], row_a, a);
            sums[1] = add_products(sums[1], row_b, b);
            sums[2] = add_products(sums[2], row_c, c);
            sums[3] = add_products(sums[3], row_d, d);
        }
        let mut found = [0; PAIRS];
        // SAFETY: four numbers of 32 bits are stored, and there is room for them.
        unsafe { _mm_storeu_si128(found.as_mut_ptr().cast(), added_up(sums)) };
        found
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    #[inline]
    fn add_products(
        sum: __m512i,
        row: &[u8; CODES_AT_ONCE],
        query: &[i8; CODES_AT_ONCE],
    ) -> __m512i {
        // SAFETY: both are as long as what is loaded.
        let (row, query) = unsafe {
            (
                _mm512_loadu_si512(row.as_ptr().cast()),
                _mm512_loadu_si512(query.as_ptr().cast()),
            )
        };
        _mm512_dpbusd_epi32(sum, row, query)
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
