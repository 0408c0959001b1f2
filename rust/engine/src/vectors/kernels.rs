//! The inner loops of scanning vectors, compiled for the instructions of the processor.
//!
//! Each loop is written once in plain Rust that the compiler turns into vector instructions, and is
//! compiled again for processors with wider ones. All give the same bits: sums of floats are added
//! in lanes whose number does not depend on the processor, and sums of integers are exact. Loops
//! for which AVX-512 has special instructions are written a second time.

#![allow(unsafe_code)] // functions for one kind of processor may run on that kind alone

#[cfg(target_arch = "x86_64")]
mod avx2;
mod instructions;
#[cfg(target_arch = "aarch64")]
mod neon;
mod plain;
mod prefetch;
#[cfg(target_arch = "x86_64")]
mod x86_64;

pub use instructions::Instructions;
#[cfg(test)]
pub(super) use instructions::with_each;
pub(super) use plain::{
    BoundCoefficients, CODES_AT_ONCE, GROUPS_AT_ONCE, HIGH_MIDDLE, HIGH_STEP, LARGEST_ENTRY,
    MIDDLE, Plane, Planes, SIGN_BITS, SIGN_ROWS, SignGroup, SignTable, TILE, dot,
};
pub(super) use prefetch::prefetch;

use plain::{
    code_dots_plain, dots_plain, plane_dots_plain, reach_plain, rotate_plain, round_plain,
    sign_sums_plain,
};

/// The product of the query with each of these vectors.
pub fn dots(query: &[f32], rows: &[&[f32]]) -> Vec<f32> {
    let mut found = vec![0.0; rows.len()];
    #[cfg(target_arch = "x86_64")]
    {
        let level = Instructions::available();
        if level == Instructions::Avx512 {
            // SAFETY: the processor has it.
            unsafe { x86_64::dots_avx512(query, rows, &mut found) };
            return found;
        }
        if level == Instructions::Avx2 {
            // SAFETY: the processor has it.
            unsafe { x86_64::dots_avx2(query, rows, &mut found) };
            return found;
        }
    }
    dots_plain(query, rows, &mut found);
    found
}

/// The products of each query with `count` rows of a plane: all of the first query, then all of the
/// second. `ahead` is where the next rows are read from, which are prefetched.
///
/// To be called with as many rows as fit into the cache: every query reads them again.
pub(super) fn plane_dots(
    queries: &[&[i8]],
    plane: Plane<'_>,
    count: usize,
    ahead: Plane<'_>,
    sums: &mut Vec<i32>,
) {
    debug_assert!(queries.iter().all(|query| query.len() % CODES_AT_ONCE == 0));
    sums.clear();
    sums.resize(queries.len() * count, 0);
    #[cfg(target_arch = "x86_64")]
    {
        let level = Instructions::available();
        if level == Instructions::Avx512 {
            // SAFETY: the processor has it.
            return unsafe { x86_64::plane_dots_vnni(queries, plane, count, ahead, sums) };
        }
        if level == Instructions::Avx2 {
            // SAFETY: the processor has it.
            return unsafe { avx2::plane_dots_avx2(queries, plane, count, ahead, sums) };
        }
    }
    let _ = ahead; // memory is prefetched by the processor alone
    plane_dots_plain(queries, plane, count, sums);
}

/// The products of both codes of a query with each of these rows, whose high and low planes together
/// are 8-bit codes.
pub(super) fn code_dots(query: [&[i8]; 2], rows: &[Planes<'_>]) -> Vec<[i32; 2]> {
    let mut sums = vec![[0; 2]; rows.len()];
    #[cfg(target_arch = "x86_64")]
    {
        let level = Instructions::available();
        if level == Instructions::Avx512 {
            // SAFETY: the processor has it.
            unsafe { x86_64::code_dots_vnni(query, rows, &mut sums) };
            return sums;
        }
        if level == Instructions::Avx2 {
            // SAFETY: the processor has it.
            unsafe { avx2::code_dots_avx2(query, rows, &mut sums) };
            return sums;
        }
    }
    code_dots_plain(query, rows, &mut sums);
    sums
}

/// The sum of the query's entries for the sign bits of each row of a tile (`FastScan`: André, Kermarrec
/// and Le Scouarnec, "Cache locality is not enough", VLDB 2015).
///
/// `signs` holds [`SIGN_ROWS`] rows after [`SIGN_ROWS`] rows: a group of each for every table.
pub(super) fn sign_sums(table: &[SignTable], signs: &[SignGroup], sums: &mut [u32; TILE]) {
    debug_assert!(table.len().is_multiple_of(GROUPS_AT_ONCE));
    #[cfg(target_arch = "x86_64")]
    {
        let level = Instructions::available();
        if level == Instructions::Avx512 {
            // SAFETY: the processor has it.
            return unsafe { x86_64::sign_sums_avx512(table, signs, sums) };
        }
        if level == Instructions::Avx2 {
            // SAFETY: the processor has it.
            return unsafe { avx2::sign_sums_avx2(table, signs, sums) };
        }
    }
    #[cfg(target_arch = "aarch64")]
    if Instructions::available() == Instructions::Neon {
        // SAFETY: the processor has it.
        return unsafe { neon::sign_sums_neon(table, signs, sums) };
    }
    sign_sums_plain(table, signs, sums);
}

/// Flip the signs of a vector and mix its numbers, round after round (see `rotation`): first the
/// first `mixed` of them, then the last, and so on. `mixed` is a power of two.
pub(super) fn rotate(vector: &mut [f32], signs: &[Vec<f32>], mixed: usize) {
    #[cfg(target_arch = "x86_64")]
    if Instructions::available() >= Instructions::Avx2 {
        // SAFETY: the processor has it.
        return unsafe { x86_64::rotate_avx2(vector, signs, mixed) };
    }
    rotate_plain(vector, signs, mixed);
}

/// Round a vector to codes (see `codes`). Returns the length of the rounding error of both planes,
/// and of the high plane alone.
pub(super) fn round(vector: &[f32], step: f32, codes: &mut Vec<u8>) -> [f32; 2] {
    codes.clear();
    #[cfg(target_arch = "x86_64")]
    if Instructions::available() >= Instructions::Avx2 {
        // SAFETY: the processor has it.
        return unsafe { x86_64::round_avx2(vector, step, codes) };
    }
    round_plain(vector, step, codes)
}

/// A bit for each row of a tile, the lowest for the first: set if the row can be as near as the
/// threshold. `rows` are sums of products, factors and errors.
pub(super) fn above_threshold_mask(
    line: BoundCoefficients,
    rows: (&[f32], &[f32], &[f32]),
    threshold: f32,
) -> u64 {
    debug_assert!(rows.0.len() <= TILE);
    #[cfg(target_arch = "x86_64")]
    {
        let level = Instructions::available();
        if level == Instructions::Avx512 {
            // SAFETY: the processor has it.
            return unsafe { x86_64::reach_avx512(line, rows, threshold) };
        }
        if level == Instructions::Avx2 {
            // SAFETY: the processor has it.
            return unsafe { x86_64::reach_avx2(line, rows, threshold) };
        }
    }
    reach_plain(line, rows, threshold)
}

#[cfg(test)]
mod tests;
