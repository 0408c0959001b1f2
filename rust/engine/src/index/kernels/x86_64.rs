//! The loops as compiled for the wider instructions of x86-64, and what is made for one of them.

use std::arch::x86_64::{
    __m128i, __m512i, _MM_HINT_T0, _mm_add_epi32, _mm_prefetch, _mm_storeu_si128, _mm256_add_epi32,
    _mm256_castsi256_si128, _mm256_extracti128_si256, _mm512_add_epi32, _mm512_castsi512_si256,
    _mm512_dpbusd_epi32, _mm512_extracti64x4_epi64, _mm512_loadu_si512, _mm512_setzero_si512,
    _mm512_unpackhi_epi32, _mm512_unpackhi_epi64, _mm512_unpacklo_epi32, _mm512_unpacklo_epi64,
};

use super::{CODES_AT_ONCE, Places, Scale, code_dots_plain, dots_plain, near_plain};

/// How many rows are multiplied side by side, and how many queries with them where there are so
/// many: their sums and what is read fit into the registers.
const ROWS: usize = 4;
const QUERIES: usize = 4;
/// How many parts of a row are multiplied without a look at how many are left.
const STRETCH: usize = 6;
/// How far ahead of the row at hand memory is asked for another.
const BYTES_AHEAD: usize = 8192;
/// How much of memory is sent at once.
const LINE: usize = 64;

/// As many codes as one instruction multiplies.
type Part<T> = [T; CODES_AT_ONCE];

#[target_feature(enable = "avx512f")]
pub fn dots_avx512(query: &[f32], values: &[f32], places: Places<'_>) -> Vec<f32> {
    dots_plain(query, values, places)
}

#[target_feature(enable = "avx2")]
pub fn dots_avx2(query: &[f32], values: &[f32], places: Places<'_>) -> Vec<f32> {
    dots_plain(query, values, places)
}

#[target_feature(enable = "avx512f")]
pub fn near_avx512(scale: Scale, rows: (&[i32], &[f32], &[f32]), threshold: f32) -> u64 {
    near_plain(scale, rows, threshold)
}

#[target_feature(enable = "avx2")]
pub fn near_avx2(scale: Scale, rows: (&[i32], &[f32], &[f32]), threshold: f32) -> u64 {
    near_plain(scale, rows, threshold)
}

#[target_feature(enable = "avx2")]
pub fn code_dots_avx2(queries: &[&[i8]], codes: &[u8], places: Places<'_>, sums: &mut Vec<i32>) {
    code_dots_plain(queries, codes, places, sums);
}

/// With the instruction that multiplies 64 bytes and adds them up by fours.
///
/// Loops, and no closures but what is inlined always: a closure is compiled for the processor
/// of this function, so what is not cannot take it in.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub fn code_dots_vnni(queries: &[&[i8]], codes: &[u8], places: Places<'_>, sums: &mut Vec<i32>) {
    let count = places.len();
    sums.resize(queries.len() * count, 0);
    let mut sums = sums.as_mut_slice();
    let (fours, rest) = queries.as_chunks::<QUERIES>();
    // The first that need the rows have them sent.
    let mut fetch = true;
    for queries in fours {
        let (of_these, behind) = sums.split_at_mut(QUERIES * count);
        code_dots_of(queries, codes, places, fetch, of_these);
        (sums, fetch) = (behind, false);
    }
    for query in rest {
        let (of_this, behind) = sums.split_at_mut(count);
        code_dots_of(&[query], codes, places, fetch, of_this);
        (sums, fetch) = (behind, false);
    }
}

/// The sums for some queries, row by row for each.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
#[inline]
fn code_dots_of<const N: usize>(
    queries: &[&[i8]; N],
    codes: &[u8],
    places: Places<'_>,
    fetch: bool,
    sums: &mut [i32],
) {
    let (count, length) = (places.len(), queries[0].len());
    let queries = queries.map(parts);
    for from in (0..count).step_by(ROWS) {
        let mut rows = [[].as_slice(); ROWS];
        let mut later = [codes.as_ptr(); ROWS];
        for nth in 0..ROWS {
            // Where fewer are left the last one is taken again.
            let place = place(places, (from + nth).min(count - 1));
            rows[nth] = parts(&codes[place * length..][..length]);
            let place = place_ahead(places, from + nth, length);
            later[nth] = codes.as_ptr().wrapping_add(place * length);
        }
        let found = if fetch {
            dots_of_rows::<N, true>(rows, later, queries)
        } else {
            dots_of_rows::<N, false>(rows, later, queries)
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

/// The nth of these places.
#[inline(always)]
fn place(places: Places<'_>, nth: usize) -> usize {
    match places {
        Places::All(_) => nth,
        Places::These(places) => places[nth],
    }
}

/// The place that will be needed when `BYTES_AHEAD` are read; of all places it can be behind those
/// that are asked for now.
#[inline(always)]
fn place_ahead(places: Places<'_>, nth: usize, length: usize) -> usize {
    let later = nth + (BYTES_AHEAD / length.max(1)).max(1);
    match places {
        Places::All(_) => later,
        Places::These(places) => places[later.min(places.len() - 1)],
    }
}

/// The sums of products of each query with each row. Has `later` rows sent if `FETCH` says so.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
#[inline]
fn dots_of_rows<const N: usize, const FETCH: bool>(
    rows: [&[Part<u8>]; ROWS],
    later: [*const u8; ROWS],
    queries: [&[Part<i8>]; N],
) -> [[i32; ROWS]; N] {
    let mut sums = [[_mm512_setzero_si512(); ROWS]; N];
    let (whole, done) = (rows.map(stretches), rows[0].len() / STRETCH * STRETCH);
    add_products::<N, STRETCH, FETCH>(&mut sums, whole, queries.map(stretches), later, 0);
    add_products::<N, 1, FETCH>(&mut sums, rows.map(rest), queries.map(rest), later, done);
    let mut found = [[0; ROWS]; N];
    for (found, sums) in found.iter_mut().zip(sums) {
        // SAFETY: four numbers of 32 bits are stored, and there is room for them.
        unsafe { _mm_storeu_si128(found.as_mut_ptr().cast(), added_up(sums)) };
    }
    found
}

/// Add the products of these parts, before which `done` are added already. Memory is asked for one
/// line of a later row with each part, since it takes in no more than a few at once.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
#[inline]
fn add_products<const N: usize, const LENGTH: usize, const FETCH: bool>(
    sums: &mut [[__m512i; ROWS]; N],
    rows: [&[[Part<u8>; LENGTH]]; ROWS],
    queries: [&[[Part<i8>; LENGTH]]; N],
    later: [*const u8; ROWS],
    done: usize,
) {
    for stretch in 0..rows[0].len() {
        for part in 0..LENGTH {
            let mut row_parts = [_mm512_setzero_si512(); ROWS];
            for row in 0..ROWS {
                if FETCH {
                    let line = (done + stretch * LENGTH + part) * CODES_AT_ONCE;
                    fetch_line(later[row].wrapping_add(line));
                }
                row_parts[row] = load(&rows[row][stretch][part]);
            }
            for (sums, query) in sums.iter_mut().zip(queries) {
                let query = load(&query[stretch][part]);
                for (sum, row) in sums.iter_mut().zip(row_parts) {
                    *sum = _mm512_dpbusd_epi32(*sum, row, query);
                }
            }
        }
    }
}

#[inline(always)]
fn parts<T>(codes: &[T]) -> &[Part<T>] {
    codes.as_chunks().0
}

#[inline(always)]
fn stretches<T>(parts: &[Part<T>]) -> &[[Part<T>; STRETCH]] {
    parts.as_chunks().0
}

#[inline(always)]
fn rest<T>(parts: &[Part<T>]) -> &[[Part<T>; 1]] {
    parts.as_chunks::<STRETCH>().1.as_chunks().0
}

#[inline(always)]
fn fetch_line(at: *const u8) {
    // SAFETY: any address may be asked for: nothing is read, and no fault is raised.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
}

/// Have memory send so many bytes from here on.
#[inline(always)]
pub fn fetch(from: *const u8, count: usize) {
    for line in (0..count).step_by(LINE) {
        fetch_line(from.wrapping_add(line));
    }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load<T>(part: &Part<T>) -> __m512i {
    const { assert!(size_of::<T>() == 1) };
    // SAFETY: it is as long as what is loaded.
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
