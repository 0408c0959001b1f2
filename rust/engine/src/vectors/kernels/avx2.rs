//! Loops over codes for processors with AVX2 and without AVX-512: the compiler's code for the plain
//! ones is several times slower.

#![allow(clippy::inline_always)] // a loop is compiled for the processor of the function around it

use std::arch::x86_64::{
    __m128i, __m256i, _mm_add_epi16, _mm_add_epi32, _mm_storeu_si128, _mm_unpackhi_epi16,
    _mm_unpacklo_epi16, _mm256_add_epi8, _mm256_add_epi16, _mm256_add_epi32, _mm256_and_si256,
    _mm256_castsi256_si128, _mm256_extracti128_si256, _mm256_hadd_epi32, _mm256_loadu_si256,
    _mm256_madd_epi16, _mm256_maddubs_epi16, _mm256_set1_epi8, _mm256_set1_epi16,
    _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_srli_epi16,
};

use super::plain::{
    CODES_AT_ONCE, GROUPS_PER_SUM, LARGEST_ENTRY, Plane, Planes, ROWS_AHEAD, SIGN_ROWS, SignGroup,
    SignTable, TILE,
};
use super::prefetch::{LINE, prefetch, prefetch_line};

/// The number of rows multiplied with one query at a time, and of queries with one row: their sums
/// fit into the registers.
const ROWS: usize = 4;
const QUERIES: usize = 8;
/// The bytes of a register.
const REGISTER: usize = 32;

#[target_feature(enable = "avx2")]
pub fn plane_dots_avx2(
    queries: &[&[i8]],
    plane: Plane<'_>,
    count: usize,
    ahead: Plane<'_>,
    sums: &mut [i32],
) {
    let mut sums = sums;
    let (eights, rest) = queries.as_chunks::<QUERIES>();
    let (fours, rest) = rest.as_chunks::<ROWS>();
    // The first that need the rows have the next ones prefetched.
    let mut ahead = ahead;
    for queries in eights {
        let (of_these, behind) = sums.split_at_mut(QUERIES * count);
        plane_dots_of(queries, plane, count, ahead, of_these);
        (sums, ahead) = (behind, &[]);
    }
    for queries in fours {
        let (of_these, behind) = sums.split_at_mut(ROWS * count);
        plane_dots_of(queries, plane, count, ahead, of_these);
        (sums, ahead) = (behind, &[]);
    }
    for query in rest {
        let (of_this, behind) = sums.split_at_mut(count);
        plane_dots_alone(query, plane, count, ahead, of_this);
        (sums, ahead) = (behind, &[]);
    }
}

/// The products of one query with each row. Several rows share each load of the query.
#[target_feature(enable = "avx2")]
#[inline]
fn plane_dots_alone(
    query: &[i8],
    plane: Plane<'_>,
    count: usize,
    ahead: Plane<'_>,
    sums: &mut [i32],
) {
    let length = query.len() / 2;
    for from in (0..count).step_by(ROWS) {
        prefetch_rows(ahead, from * length, ROWS * length);
        let row = |nth: usize| {
            // Where fewer are left the last one is taken again.
            let row_at = (from + nth).min(count - 1) * length;
            &plane[row_at..row_at + length]
        };
        let found = dots_of_rows([row(0), row(1), row(2), row(3)], query);
        let sums = &mut sums[from..];
        match sums.first_chunk_mut() {
            Some(sums) => *sums = found,
            None => sums.copy_from_slice(&found[..sums.len()]),
        }
    }
}

/// The products of some queries with each row, row by row for each query. All queries share the
/// unpacked codes of a row.
#[target_feature(enable = "avx2")]
#[inline]
fn plane_dots_of<const N: usize>(
    queries: &[&[i8]; N],
    plane: Plane<'_>,
    count: usize,
    ahead: Plane<'_>,
    sums: &mut [i32],
) {
    let length = queries[0].len() / 2;
    for (at, row) in plane.chunks_exact(length).take(count).enumerate() {
        prefetch_rows(ahead, at * length, length);
        let found = dots_of_queries(row, queries);
        for (found, sums) in found.iter().zip(sums.chunks_exact_mut(count)) {
            sums[at] = *found;
        }
    }
}

/// The product of each query with a row.
#[target_feature(enable = "avx2")]
#[inline]
fn dots_of_queries<const N: usize>(row: Plane<'_>, queries: &[&[i8]; N]) -> [i32; N] {
    let mask = _mm256_set1_epi8(0x0f);
    let ones = _mm256_set1_epi16(1);
    let mut sums = [_mm256_setzero_si256(); N];
    for (part, codes) in row
        .as_chunks::<{ CODES_AT_ONCE / 2 }>()
        .0
        .iter()
        .enumerate()
    {
        let codes = registers(codes);
        let (first, second) = (load(&codes[0]), load(&codes[1]));
        let halves = [
            _mm256_and_si256(first, mask),
            _mm256_and_si256(second, mask),
            _mm256_and_si256(_mm256_srli_epi16::<4>(first), mask),
            _mm256_and_si256(_mm256_srli_epi16::<4>(second), mask),
        ];
        for (sum, query) in sums.iter_mut().zip(queries) {
            let Some(query) = query.as_chunks::<CODES_AT_ONCE>().0.get(part) else {
                continue;
            };
            let query = registers(query);
            let products = _mm256_add_epi16(
                _mm256_add_epi16(
                    _mm256_maddubs_epi16(halves[0], load(&query[0])),
                    _mm256_maddubs_epi16(halves[1], load(&query[1])),
                ),
                _mm256_add_epi16(
                    _mm256_maddubs_epi16(halves[2], load(&query[2])),
                    _mm256_maddubs_epi16(halves[3], load(&query[3])),
                ),
            );
            *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(products, ones));
        }
    }
    let mut found = [0; N];
    for (found, sums) in found.as_chunks_mut().0.iter_mut().zip(sums.as_chunks().0) {
        *found = added_up(*sums);
    }
    found
}

/// Prefetch `length` bytes of the next rows.
#[inline(always)]
fn prefetch_rows(ahead: Plane<'_>, from: usize, length: usize) {
    let next = ahead.get(from..).unwrap_or_default();
    for line in (0..next.len().min(length)).step_by(LINE) {
        prefetch_line(next.as_ptr().wrapping_add(line));
    }
}

#[target_feature(enable = "avx2")]
pub fn code_dots_avx2(query: [&[i8]; 2], rows: &[Planes<'_>], sums: &mut [[i32; 2]]) {
    for (nth, (sums, [high, low])) in sums.iter_mut().zip(rows).enumerate() {
        if let Some([high, low]) = rows.get(nth + ROWS_AHEAD) {
            prefetch(high);
            prefetch(low);
        }
        for (sum, query) in sums.iter_mut().zip(query) {
            let [high, low, ..] = dots_of_rows([high, low, &[], &[]], query);
            *sum = 16 * high + low;
        }
    }
}

/// The product of a query with each row; a row that is empty has none.
///
/// A product of two pairs of codes is at most `2 * 15 * 128` in size, so eight of them fit into 16
/// bits, and four are added there.
#[target_feature(enable = "avx2")]
#[inline]
fn dots_of_rows(rows: [Plane<'_>; ROWS], query: &[i8]) -> [i32; ROWS] {
    let mask = _mm256_set1_epi8(0x0f);
    let ones = _mm256_set1_epi16(1);
    let mut sums = [_mm256_setzero_si256(); ROWS];
    for (part, query) in query.as_chunks::<CODES_AT_ONCE>().0.iter().enumerate() {
        let query = registers(query);
        for (sum, row) in sums.iter_mut().zip(rows) {
            let Some(codes) = row.as_chunks::<{ CODES_AT_ONCE / 2 }>().0.get(part) else {
                continue;
            };
            let codes = registers(codes);
            let half = |nth: usize| {
                let low = _mm256_and_si256(load(&codes[nth]), mask);
                let high = _mm256_and_si256(_mm256_srli_epi16::<4>(load(&codes[nth])), mask);
                _mm256_add_epi16(
                    _mm256_maddubs_epi16(low, load(&query[nth])),
                    _mm256_maddubs_epi16(high, load(&query[2 + nth])),
                )
            };
            let products = _mm256_add_epi16(half(0), half(1));
            *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(products, ones));
        }
    }
    added_up(sums)
}

/// The sum over the lanes of each.
#[target_feature(enable = "avx2")]
#[inline]
fn added_up([first, second, third, fourth]: [__m256i; ROWS]) -> [i32; ROWS] {
    let pairs = _mm256_hadd_epi32(
        _mm256_hadd_epi32(first, second),
        _mm256_hadd_epi32(third, fourth),
    );
    let halves = _mm_add_epi32(
        _mm256_castsi256_si128(pairs),
        _mm256_extracti128_si256::<1>(pairs),
    );
    let mut found = [0; ROWS];
    // SAFETY: four numbers of 32 bits are stored, and there is room for them.
    unsafe { _mm_storeu_si128(found.as_mut_ptr().cast(), halves) };
    found
}

/// Sums of bytes are widened to 16 bits after this number of registers of groups.
pub(super) const REGISTERS: usize = 4;
const _: () = assert!(REGISTERS * LARGEST_ENTRY as usize <= u8::MAX as usize);
/// The groups of sign bits in a register.
const GROUPS: usize = REGISTER / size_of::<SignGroup>();

#[target_feature(enable = "avx2")]
pub fn sign_sums_avx2(table: &[SignTable], signs: &[SignGroup], sums: &mut [u32; TILE]) {
    let rows = signs.chunks_exact(table.len().max(1));
    for (groups, sums) in rows.zip(sums.as_chunks_mut::<SIGN_ROWS>().0) {
        *sums = [0; SIGN_ROWS];
        let parts = groups.chunks(GROUPS_PER_SUM);
        for (groups, table) in parts.zip(table.chunks(GROUPS_PER_SUM)) {
            for (sum, part) in sums.iter_mut().zip(sums_of_groups(groups, table)) {
                *sum += u32::from(part);
            }
        }
    }
}

/// The sums of groups that are few enough for 16 bits.
#[target_feature(enable = "avx2")]
#[inline]
fn sums_of_groups(groups: &[SignGroup], table: &[SignTable]) -> [u16; SIGN_ROWS] {
    let mask = _mm256_set1_epi8(0x0f);
    let even_bytes = _mm256_set1_epi16(0x00ff);
    // Rows of the low and of the high halves of bytes; of each the even rows and the odd ones.
    let mut sums = [[_mm256_setzero_si256(); 2]; 2];
    let groups = groups.as_chunks::<GROUPS>().0.chunks(REGISTERS);
    let table = table.as_chunks::<GROUPS>().0.chunks(REGISTERS);
    for (groups, table) in groups.zip(table) {
        let mut bytes = [_mm256_setzero_si256(); 2];
        for (group, entries) in groups.iter().zip(table) {
            let (group, entries) = (load_groups(group), load_groups(entries));
            let low = _mm256_and_si256(group, mask);
            let high = _mm256_and_si256(_mm256_srli_epi16::<4>(group), mask);
            bytes[0] = _mm256_add_epi8(bytes[0], _mm256_shuffle_epi8(entries, low));
            bytes[1] = _mm256_add_epi8(bytes[1], _mm256_shuffle_epi8(entries, high));
        }
        for ([even, odd], bytes) in sums.iter_mut().zip(bytes) {
            *even = _mm256_add_epi16(*even, _mm256_and_si256(bytes, even_bytes));
            *odd = _mm256_add_epi16(*odd, _mm256_srli_epi16::<8>(bytes));
        }
    }
    let mut found = [0; SIGN_ROWS];
    for (found, [even, odd]) in found
        .as_chunks_mut::<{ SIGN_ROWS / 2 }>()
        .0
        .iter_mut()
        .zip(sums)
    {
        *found = interleaved(lanes(even), lanes(odd));
    }
    found
}

/// The sum of both lanes.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn lanes(sums: __m256i) -> __m128i {
    _mm_add_epi16(
        _mm256_castsi256_si128(sums),
        _mm256_extracti128_si256::<1>(sums),
    )
}

/// The first number of one, the first of the other, and so on.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn interleaved(even: __m128i, odd: __m128i) -> [u16; SIGN_ROWS / 2] {
    let (first, second) = (_mm_unpacklo_epi16(even, odd), _mm_unpackhi_epi16(even, odd));
    let mut found = [0_u16; SIGN_ROWS / 2];
    // SAFETY: twice eight numbers of 16 bits are stored, and there is room for them.
    unsafe {
        _mm_storeu_si128(found.as_mut_ptr().cast(), first);
        _mm_storeu_si128(found.as_mut_ptr().add(8).cast(), second);
    }
    found
}

#[inline(always)]
fn registers<T>(codes: &[T]) -> &[[T; REGISTER]] {
    codes.as_chunks().0
}

#[target_feature(enable = "avx2")]
#[inline]
fn load<T>(part: &[T; REGISTER]) -> __m256i {
    const { assert!(size_of::<T>() == 1) };
    // SAFETY: the part has the length of the load.
    unsafe { _mm256_loadu_si256(part.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
#[inline]
fn load_groups(groups: &[[u8; REGISTER / GROUPS]; GROUPS]) -> __m256i {
    // SAFETY: the groups have the length of the load.
    unsafe { _mm256_loadu_si256(groups.as_ptr().cast()) }
}
