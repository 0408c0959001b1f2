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

/// The sum of products of the query with each of these rows of codes, each as long as the query.
pub(super) fn code_dots(query: &[i8], codes: &[u8], places: Places<'_>) -> Vec<i32> {
    debug_assert_eq!(query.len() % CODES_AT_ONCE, 0);
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vnni") {
            // SAFETY: the processor has it.
            return unsafe { x86_64::code_dots_vnni(query, codes, places) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has it.
            return unsafe { x86_64::code_dots_avx2(query, codes, places) };
        }
    }
    code_dots_plain(query, codes, places)
}

#[inline(always)]
fn dots_plain(query: &[f32], values: &[f32], places: Places<'_>) -> Vec<f32> {
    each(values, query.len(), places, |vector| dot(query, vector))
}

#[inline(always)]
fn code_dots_plain(query: &[i8], codes: &[u8], places: Places<'_>) -> Vec<i32> {
    each(codes, query.len(), places, |row| {
        let products = row.iter().zip(query);
        products.map(|(c, q)| i32::from(*c) * i32::from(*q)).sum()
    })
}

/// What `of` makes of each of these rows; a place without a row is a fault of ours.
#[inline(always)]
fn each<T, R>(rows: &[T], length: usize, places: Places<'_>, of: impl Fn(&[T]) -> R) -> Vec<R> {
    let mut results = Vec::with_capacity(places.len());
    match places {
        Places::All(count) => {
            results.extend(rows.chunks_exact(length.max(1)).take(count).map(of));
        }
        Places::These(places) => {
            let row = |place: &usize| &rows[place * length..][..length];
            results.extend(places.iter().map(|place| of(row(place))));
        }
    }
    results
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
        __m512i, _mm512_add_epi32, _mm512_dpbusd_epi32, _mm512_loadu_si512,
        _mm512_reduce_add_epi32, _mm512_setzero_si512,
    };

    use super::{CODES_AT_ONCE, Places, code_dots_plain, dots_plain, each};

    #[target_feature(enable = "avx512f")]
    pub fn dots_avx512(query: &[f32], values: &[f32], places: Places<'_>) -> Vec<f32> {
        dots_plain(query, values, places)
    }

    #[target_feature(enable = "avx2")]
    pub fn dots_avx2(query: &[f32], values: &[f32], places: Places<'_>) -> Vec<f32> {
        dots_plain(query, values, places)
    }

    #[target_feature(enable = "avx2")]
    pub fn code_dots_avx2(query: &[i8], codes: &[u8], places: Places<'_>) -> Vec<i32> {
        code_dots_plain(query, codes, places)
    }

    /// With the instruction that multiplies 64 bytes and adds them up by fours.
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    pub fn code_dots_vnni(query: &[i8], codes: &[u8], places: Places<'_>) -> Vec<i32> {
        let (query_parts, _) = query.as_chunks::<CODES_AT_ONCE>();
        let query_parts: Vec<__m512i> = query_parts
            .iter()
            // SAFETY: a part is as long as what is loaded.
            .map(|part| unsafe { _mm512_loadu_si512(part.as_ptr().cast()) })
            .collect();
        each(codes, query.len(), places, |row| {
            let (parts, _) = row.as_chunks::<CODES_AT_ONCE>();
            // Two sums: one product need not wait for the other.
            let mut sums = [_mm512_setzero_si512(); 2];
            for (number, (part, query)) in parts.iter().zip(&query_parts).enumerate() {
                // SAFETY: a part is as long as what is loaded.
                let part = unsafe { _mm512_loadu_si512(part.as_ptr().cast()) };
                sums[number % 2] = _mm512_dpbusd_epi32(sums[number % 2], part, *query);
            }
            _mm512_reduce_add_epi32(_mm512_add_epi32(sums[0], sums[1]))
        })
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
        for parts in 1..9 {
            let length = parts * CODES_AT_ONCE;
            let codes: Vec<u8> = noise(length * 50)
                .chain(std::iter::repeat_n(255, length))
                .collect();
            for extreme in [i8::MIN, i8::MAX] {
                let query: Vec<i8> = noise(length - 1)
                    .map(u8::cast_signed)
                    .chain([extreme])
                    .collect();
                for places in [Places::All(51), Places::These(&[50, 7, 0])] {
                    let expected = code_dots_plain(&query, &codes, places);
                    assert_eq!(code_dots(&query, &codes, places), expected);
                    let exact: Vec<i64> = places
                        .iter()
                        .map(|place| {
                            let row = &codes[place * length..][..length];
                            let products = row.iter().zip(&query);
                            products.map(|(c, q)| i64::from(*c) * i64::from(*q)).sum()
                        })
                        .collect();
                    let expected: Vec<i64> = expected.into_iter().map(i64::from).collect();
                    assert_eq!(expected, exact);
                }
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
