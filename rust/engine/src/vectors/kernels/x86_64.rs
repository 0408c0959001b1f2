//! The loops as compiled for the wider instructions of x86-64, with instructions that only AVX-512 has:
//! products of bytes added up by fours (VNNI), and lookups of 64 bytes.
//!
//! The code uses loops, and closures only if they are always inlined: otherwise a closure is not compiled for
//! the processor of the function around it.

#![allow(clippy::inline_always)] // a loop is compiled for the processor of the function around it

use std::arch::x86_64::{
    __m128i, __m256i, __m512i, _mm_add_epi32, _mm_storeu_si128, _mm256_add_epi16, _mm256_add_epi32,
    _mm256_castsi256_si128, _mm256_extracti128_si256, _mm512_add_epi8, _mm512_add_epi16,
    _mm512_add_epi32, _mm512_and_si512, _mm512_castsi512_si256, _mm512_dpbusd_epi32,
    _mm512_extracti64x4_epi64, _mm512_loadu_si512, _mm512_reduce_add_epi32, _mm512_set1_epi8,
    _mm512_set1_epi16, _mm512_setzero_si512, _mm512_shuffle_epi8, _mm512_slli_epi32,
    _mm512_srli_epi16, _mm512_unpackhi_epi32, _mm512_unpackhi_epi64, _mm512_unpacklo_epi32,
    _mm512_unpacklo_epi64,
};

use super::avx2::{REGISTERS, interleaved, lanes};
use super::plain::{
    BoundCoefficients, CODES_AT_ONCE, GROUPS_AT_ONCE, GROUPS_PER_SUM, Plane, Planes, ROWS_AHEAD,
    SIGN_ROWS, SignGroup, SignTable, TILE, dots_plain, reach_plain, rotate_plain, round_plain,
};
use super::prefetch::{LINE, prefetch, prefetch_line};

/// The number of rows multiplied with one query at a time, and of queries if there are several:
/// their sums and loads fit into the registers.
const ROWS: usize = 4;
const QUERIES: usize = 4;

/// As much as a register holds.
type Lanes<T> = [T; LINE];

#[target_feature(enable = "avx512f")]
pub fn dots_avx512(query: &[f32], rows: &[&[f32]], found: &mut [f32]) {
    dots_plain(query, rows, found);
}

#[target_feature(enable = "avx2")]
pub fn dots_avx2(query: &[f32], rows: &[&[f32]], found: &mut [f32]) {
    dots_plain(query, rows, found);
}

#[target_feature(enable = "avx512f")]
pub fn reach_avx512(
    line: BoundCoefficients,
    rows: (&[f32], &[f32], &[f32]),
    threshold: f32,
) -> u64 {
    reach_plain(line, rows, threshold)
}

#[target_feature(enable = "avx2")]
pub fn reach_avx2(line: BoundCoefficients, rows: (&[f32], &[f32], &[f32]), threshold: f32) -> u64 {
    reach_plain(line, rows, threshold)
}

/// Also for AVX-512, for which the compiler gathers single numbers, at twice the time.
#[target_feature(enable = "avx2")]
pub fn rotate_avx2(vector: &mut [f32], signs: &[Vec<f32>], mixed: usize) {
    rotate_plain(vector, signs, mixed);
}

/// Also for AVX-512, whose wider registers save no time.
#[target_feature(enable = "avx2")]
pub fn round_avx2(vector: &[f32], step: f32, codes: &mut Vec<u8>) -> [f32; 2] {
    round_plain(vector, step, codes)
}

#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub fn plane_dots_vnni(
    queries: &[&[i8]],
    plane: Plane<'_>,
    count: usize,
    ahead: Plane<'_>,
    sums: &mut [i32],
) {
    let mut sums = sums;
    let (fours, rest) = queries.as_chunks::<QUERIES>();
    // The first that need the rows have the next ones prefetched.
    let mut ahead = ahead;
    for queries in fours {
        let (of_these, behind) = sums.split_at_mut(QUERIES * count);
        plane_dots_of(queries, plane, count, ahead, of_these);
        (sums, ahead) = (behind, &[]);
    }
    for query in rest {
        let (of_this, behind) = sums.split_at_mut(count);
        plane_dots_of(&[query], plane, count, ahead, of_this);
        (sums, ahead) = (behind, &[]);
    }
}

/// The products for some queries, row by row for each.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
#[inline]
fn plane_dots_of<const N: usize>(
    queries: &[&[i8]; N],
    plane: Plane<'_>,
    count: usize,
    ahead: Plane<'_>,
    sums: &mut [i32],
) {
    let length = queries[0].len() / 2;
    for from in (0..count).step_by(ROWS) {
        let mut rows = [[].as_slice(); ROWS];
        for (nth, row) in rows.iter_mut().enumerate() {
            // Where fewer are left the last one is taken again.
            let row_at = (from + nth).min(count - 1) * length;
            *row = &plane[row_at..row_at + length];
        }
        let next = ahead.get(from * length..).unwrap_or_default();
        let found = if next.is_empty() {
            dots_of_rows::<N, false>(rows, next.as_ptr(), queries)
        } else {
            dots_of_rows::<N, true>(rows, next.as_ptr(), queries)
        };
        for (found, sums) in found.iter().zip(sums.chunks_exact_mut(count)) {
            let sums = &mut sums[from..];
            match sums.first_chunk_mut() {
                Some(sums) => *sums = *found,
                None => sums.copy_from_slice(&found[..sums.len()]),
            }
        }
    }
}

/// The products of each query with each row. With `AHEAD` as many bytes as the rows have are
/// prefetched from `next` on, a line with each that is read: memory takes in few at a time.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
#[inline]
fn dots_of_rows<const N: usize, const AHEAD: bool>(
    rows: [Plane<'_>; ROWS],
    next: *const u8,
    queries: &[&[i8]; N],
) -> [[i32; ROWS]; N] {
    let mask = _mm512_set1_epi8(0x0f);
    let mut sums = [[_mm512_setzero_si512(); ROWS]; N];
    let rows = rows.map(parts);
    let queries = queries.map(parts);
    for part in 0..rows[0].len() {
        let mut halves = [[_mm512_setzero_si512(); 2]; ROWS];
        for (nth, (halves, row)) in halves.iter_mut().zip(rows).enumerate() {
            if AHEAD {
                prefetch_line(next.wrapping_add((part * ROWS + nth) * LINE));
            }
            let codes = load(&row[part]);
            *halves = [
                _mm512_and_si512(codes, mask),
                _mm512_and_si512(_mm512_srli_epi16::<4>(codes), mask),
            ];
        }
        for (sums, query) in sums.iter_mut().zip(queries) {
            let (first, second) = (load(&query[2 * part]), load(&query[2 * part + 1]));
            for (sum, halves) in sums.iter_mut().zip(halves) {
                *sum = _mm512_dpbusd_epi32(*sum, halves[0], first);
                *sum = _mm512_dpbusd_epi32(*sum, halves[1], second);
            }
        }
    }
    let mut found = [[0; ROWS]; N];
    for (found, sums) in found.iter_mut().zip(sums) {
        // SAFETY: four numbers of 32 bits are stored, and there is room for them.
        unsafe { _mm_storeu_si128(found.as_mut_ptr().cast(), added_up(sums)) };
    }
    found
}

#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub fn code_dots_vnni(query: [&[i8]; 2], rows: &[Planes<'_>], sums: &mut [[i32; 2]]) {
    let mask = _mm512_set1_epi8(0x0f);
    let query = [parts(query[0]), parts(query[1])];
    for (nth, (found, [high, low])) in sums.iter_mut().zip(rows).enumerate() {
        if let Some([high, low]) = rows.get(nth + ROWS_AHEAD) {
            prefetch(high);
            prefetch(low);
        }
        let mut sums = [_mm512_setzero_si512(); 2];
        let (highs, lows) = (parts(high), parts(low));
        for part in 0..highs.len() {
            let (high, low) = (load(&highs[part]), load(&lows[part]));
            let highs = [high, _mm512_srli_epi16::<4>(high)];
            let lows = [low, _mm512_srli_epi16::<4>(low)];
            for half in 0..2 {
                let high = _mm512_slli_epi32::<4>(_mm512_and_si512(highs[half], mask));
                let code = _mm512_add_epi32(high, _mm512_and_si512(lows[half], mask));
                for (sum, query) in sums.iter_mut().zip(query) {
                    *sum = _mm512_dpbusd_epi32(*sum, code, load(&query[2 * part + half]));
                }
            }
        }
        *found = [
            _mm512_reduce_add_epi32(sums[0]),
            _mm512_reduce_add_epi32(sums[1]),
        ];
    }
}

#[target_feature(enable = "avx512f,avx512bw")]
pub fn sign_sums_avx512(table: &[SignTable], signs: &[SignGroup], sums: &mut [u32; TILE]) {
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

/// The sums of groups that are few enough for 16 bits; see `avx2`.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn sums_of_groups(groups: &[SignGroup], table: &[SignTable]) -> [u16; SIGN_ROWS] {
    let mask = _mm512_set1_epi8(0x0f);
    let even_bytes = _mm512_set1_epi16(0x00ff);
    let mut sums = [[_mm512_setzero_si512(); 2]; 2];
    let groups = groups.as_chunks::<GROUPS_AT_ONCE>().0.chunks(REGISTERS);
    let table = table.as_chunks::<GROUPS_AT_ONCE>().0.chunks(REGISTERS);
    for (groups, table) in groups.zip(table) {
        let mut bytes = [_mm512_setzero_si512(); 2];
        for (group, entries) in groups.iter().zip(table) {
            let (group, entries) = (load_groups(group), load_groups(entries));
            let low = _mm512_and_si512(group, mask);
            let high = _mm512_and_si512(_mm512_srli_epi16::<4>(group), mask);
            bytes[0] = _mm512_add_epi8(bytes[0], _mm512_shuffle_epi8(entries, low));
            bytes[1] = _mm512_add_epi8(bytes[1], _mm512_shuffle_epi8(entries, high));
        }
        for ([even, odd], bytes) in sums.iter_mut().zip(bytes) {
            *even = _mm512_add_epi16(*even, _mm512_and_si512(bytes, even_bytes));
            *odd = _mm512_add_epi16(*odd, _mm512_srli_epi16::<8>(bytes));
        }
    }
    let mut found = [0; SIGN_ROWS];
    for (found, [even, odd]) in found
        .as_chunks_mut::<{ SIGN_ROWS / 2 }>()
        .0
        .iter_mut()
        .zip(sums)
    {
        *found = interleaved(lanes(halves(even)), lanes(halves(odd)));
    }
    found
}

/// The sum of both halves.
#[target_feature(enable = "avx512f")]
#[inline]
fn halves(sums: __m512i) -> __m256i {
    _mm256_add_epi16(
        _mm512_castsi512_si256(sums),
        _mm512_extracti64x4_epi64::<1>(sums),
    )
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load_groups(groups: &[[u8; LINE / GROUPS_AT_ONCE]; GROUPS_AT_ONCE]) -> __m512i {
    // SAFETY: the groups have the length of the load.
    unsafe { _mm512_loadu_si512(groups.as_ptr().cast()) }
}

#[inline(always)]
fn parts<T>(codes: &[T]) -> &[Lanes<T>] {
    codes.as_chunks().0
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load<T>(part: &Lanes<T>) -> __m512i {
    const { assert!(size_of::<T>() == 1 && 2 * LINE == CODES_AT_ONCE) };
    // SAFETY: the part has the length of the load.
    unsafe { _mm512_loadu_si512(part.as_ptr().cast()) }
}

/// The sum over the lanes of each.
#[target_feature(enable = "avx512f")]
#[inline]
fn added_up([a, b, c, d]: [__m512i; ROWS]) -> __m128i {
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
