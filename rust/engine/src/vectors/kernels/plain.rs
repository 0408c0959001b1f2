//! The loops in plain Rust, and the shapes that they read.

#![allow(clippy::inline_always)] // a loop is compiled for the processor of the function around it

use super::prefetch::prefetch;

/// The codes of a query are padded to a multiple of this: a plane has two codes in a byte, and one
/// load reads 64 bytes.
pub(in crate::vectors) const CODES_AT_ONCE: usize = 128;
/// The rows of a block that are compared together: [`above_threshold_mask`] has a bit for each.
pub(in crate::vectors) const TILE: usize = 64;
/// The rows whose sign bits are interleaved, four bits of each in turn.
pub(in crate::vectors) const SIGN_ROWS: usize = 32;
/// The sign bits of a row that one lookup in the table of the query covers.
pub(in crate::vectors) const SIGN_BITS: usize = 4;
/// Rows have a multiple of this number of groups of [`SIGN_BITS`]: the widest register has room for
/// it.
pub(in crate::vectors) const GROUPS_AT_ONCE: usize = 4;
/// The largest number of a [`SignTable`]: four of them are added in a byte.
pub(in crate::vectors) const LARGEST_ENTRY: u8 = 63;
/// Sums of more groups than this overflow 16 bits.
pub(super) const GROUPS_PER_SUM: usize = 1024;
const _: () = assert!(GROUPS_PER_SUM * LARGEST_ENTRY as usize <= u16::MAX as usize);
/// The lanes in which floats are added up: as many as the widest registers have.
pub(super) const LANES: usize = 16;
/// The middle of the 8-bit codes, which is zero: code `u` means `step * (u - 127.5)`.
pub(in crate::vectors) const MIDDLE: f32 = 127.5;
/// The middle of the high four bits of the codes: `h` means `16 * step * (h - 7.5)`.
pub(in crate::vectors) const HIGH_MIDDLE: f32 = 7.5;
pub(in crate::vectors) const HIGH_STEP: f32 = 16.0;
/// The distance in rows from the current row to the prefetched one, if rows are not consecutive.
pub(super) const ROWS_AHEAD: usize = 4;

/// The high or the low half of the 8-bit codes of some rows: two codes in a byte. The low four bits
/// of byte `n` of 64 are code `n` of 128, the high four bits code `64 + n`.
pub(in crate::vectors) type Plane<'a> = &'a [u8];

/// The two planes of a row.
pub(in crate::vectors) type Planes<'a> = [Plane<'a>; 2];

/// For [`SIGN_BITS`] sign bits of [`SIGN_ROWS`] rows: the low half of byte `n` is of row `n`, the high
/// half of row `n + 16`.
pub(in crate::vectors) type SignGroup = [u8; SIGN_ROWS / 2];

/// The addend for each value of [`SIGN_BITS`] sign bits, at most [`LARGEST_ENTRY`].
pub(in crate::vectors) type SignTable = [u8; 1 << SIGN_BITS];

/// The numbers of a row that turn a sum of products into an upper bound of a similarity:
/// `base + scale * sum * factor + error * margin + slack`.
#[derive(Debug, Clone, Copy)]
pub(in crate::vectors) struct BoundCoefficients {
    pub base: f32,
    pub scale: f32,
    pub margin: f32,
    pub slack: f32,
}

impl BoundCoefficients {
    /// The upper bound for one row; it is a cosine, so at least -1.
    #[inline(always)]
    pub fn upper_bound(self, sum: f32, factor: f32, error: f32) -> f32 {
        let middle = self.base + sum * (self.scale * factor);
        (middle + (error * self.margin + self.slack)).max(-1.0)
    }
}

#[inline(always)]
pub(super) fn reach_plain(
    line: BoundCoefficients,
    (sums, factors, errors): (&[f32], &[f32], &[f32]),
    threshold: f32,
) -> u64 {
    let mut above_threshold_mask = 0;
    for (nth, ((sum, factor), error)) in sums.iter().zip(factors).zip(errors).enumerate() {
        let upper_bound = line.upper_bound(*sum, *factor, *error);
        above_threshold_mask |= u64::from(upper_bound >= threshold) << nth;
    }
    above_threshold_mask
}

#[inline(always)]
pub(super) fn dots_plain(query: &[f32], rows: &[&[f32]], found: &mut [f32]) {
    for (nth, (found, row)) in found.iter_mut().zip(rows).enumerate() {
        if let Some(later) = rows.get(nth + ROWS_AHEAD) {
            prefetch(later);
        }
        *found = dot(query, row);
    }
}

#[inline(always)]
pub(super) fn plane_dots_plain(
    queries: &[&[i8]],
    plane: Plane<'_>,
    count: usize,
    sums: &mut [i32],
) {
    for (query, sums) in queries.iter().zip(sums.chunks_exact_mut(count.max(1))) {
        for (sum, row) in sums.iter_mut().zip(plane.chunks_exact(query.len() / 2)) {
            *sum = plane_dot(query, row);
        }
    }
}

#[inline(always)]
pub(super) fn code_dots_plain(query: [&[i8]; 2], rows: &[Planes<'_>], sums: &mut [[i32; 2]]) {
    for (nth, (sums, [high, low])) in sums.iter_mut().zip(rows).enumerate() {
        if let Some([high, low]) = rows.get(nth + ROWS_AHEAD) {
            prefetch(high);
            prefetch(low);
        }
        *sums = query.map(|query| 16 * plane_dot(query, high) + plane_dot(query, low));
    }
}

/// The product of a query with one row of a plane.
#[inline(always)]
fn plane_dot(query: &[i8], row: Plane<'_>) -> i32 {
    const HALF: usize = CODES_AT_ONCE / 2;
    let (queries, rows) = (query.as_chunks::<CODES_AT_ONCE>().0, row.as_chunks().0);
    let mut sum = 0;
    for (query, row) in queries.iter().zip(rows) {
        let row: &[u8; HALF] = row;
        let (first, second) = query.split_at(HALF);
        for ((codes, first), second) in row.iter().zip(first).zip(second) {
            sum += i32::from(codes & 0x0f) * i32::from(*first);
            sum += i32::from(codes >> 4) * i32::from(*second);
        }
    }
    sum
}

#[inline(always)]
pub(super) fn sign_sums_plain(table: &[SignTable], signs: &[SignGroup], sums: &mut [u32; TILE]) {
    let rows = signs.chunks_exact(table.len().max(1));
    for (groups, sums) in rows.zip(sums.as_chunks_mut::<SIGN_ROWS>().0) {
        *sums = [0; SIGN_ROWS];
        let (first, second) = sums.split_at_mut(SIGN_ROWS / 2);
        for (group, entries) in groups.iter().zip(table) {
            for ((bits, first), second) in group.iter().zip(&mut *first).zip(&mut *second) {
                *first += u32::from(entries[usize::from(bits & 0x0f)]);
                *second += u32::from(entries[usize::from(bits >> 4)]);
            }
        }
    }
}

#[inline(always)]
pub(super) fn rotate_plain(vector: &mut [f32], signs: &[Vec<f32>], mixed: usize) {
    let rest = vector.len() - mixed;
    for (round, signs) in signs.iter().enumerate() {
        for (x, sign) in vector.iter_mut().zip(signs) {
            *x *= sign;
        }
        let from = if round % 2 == 0 { 0 } else { rest };
        mix(&mut vector[from..from + mixed]);
    }
}

/// The Walsh-Hadamard transform of 2^k numbers, scaled so that lengths stay.
#[inline(always)]
fn mix(numbers: &mut [f32]) {
    let (lanes, rest) = numbers.as_chunks_mut::<LANES>();
    let mut half = 1;
    if rest.is_empty() {
        for lanes in lanes {
            *lanes = mix_lanes::<8>(mix_lanes::<4>(mix_lanes::<2>(mix_lanes::<1>(*lanes))));
        }
        half = LANES;
    }
    while half < numbers.len() {
        for pair in numbers.chunks_exact_mut(2 * half) {
            let (left, right) = pair.split_at_mut(half);
            for (left, right) in left.iter_mut().zip(right) {
                (*left, *right) = (*left + *right, *left - *right);
            }
        }
        half *= 2;
    }
    #[allow(clippy::cast_precision_loss, reason = "few dimensions")]
    let scale = 1.0 / (numbers.len() as f32).sqrt();
    for number in numbers {
        *number *= scale;
    }
}

/// Sums and differences of numbers that are `HALF` apart.
#[inline(always)]
fn mix_lanes<const HALF: usize>(numbers: [f32; LANES]) -> [f32; LANES] {
    let mut mixed = [0.0; LANES];
    for at in 0..LANES {
        let other = numbers[at ^ HALF];
        mixed[at] = if at & HALF == 0 {
            numbers[at] + other
        } else {
            other - numbers[at]
        };
    }
    mixed
}

#[inline(always)]
pub(super) fn round_plain(vector: &[f32], step: f32, codes: &mut Vec<u8>) -> [f32; 2] {
    let steps = 1.0 / step;
    codes.extend(vector.iter().map(|x| low_byte(x * steps + (MIDDLE + 0.5))));
    let mut squares = [[0.0_f32; LANES]; 2];
    let mut add = |part: &[f32], codes: &[u8]| {
        for (at, (x, code)) in part.iter().zip(codes).enumerate() {
            let both = x - (f32::from(*code) - MIDDLE) * step;
            let high = x - HIGH_STEP * (f32::from(code >> 4) - HIGH_MIDDLE) * step;
            squares[0][at] += both * both;
            squares[1][at] += high * high;
        }
    };
    // Parts of a known length become vector instructions.
    let (parts, rest) = vector.as_chunks::<LANES>();
    let (codes_of_parts, codes_of_rest) = codes.as_chunks::<LANES>();
    for (part, codes) in parts.iter().zip(codes_of_parts) {
        add(part, codes);
    }
    add(rest, codes_of_rest);
    squares.map(|squares| squares.iter().sum::<f32>().sqrt())
}

/// The whole part of a number, at least 0 and at most 255. A conversion by `as` would take one number at a
/// time.
#[inline(always)]
fn low_byte(number: f32) -> u8 {
    // From here to twice as much, the bits of a float count ones.
    const ONES: f32 = 8_388_608.0;
    let whole = number.clamp(0.0, 255.0).floor();
    (whole + ONES).to_bits().to_le_bytes()[0]
}

/// The sum of products of two vectors, added in lanes.
#[inline(always)]
pub(in crate::vectors) fn dot(left: &[f32], right: &[f32]) -> f32 {
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
