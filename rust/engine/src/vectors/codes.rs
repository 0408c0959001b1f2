//! Vectors in few bits, and bounds of the similarities that are computed from them.
//!
//! A vector is rotated ([`Rotation`]) and rounded to 8 bits a number. The high four bits are in one
//! plane and the low four in another, so that a scan reads half of them. By the Cauchy-Schwarz
//! inequality the rounding error cannot change a product by more than its length times that of the
//! query: at either precision the bounds are proven.

use std::ops::Range;

use super::kernels::{
    BoundCoefficients, CODES_AT_ONCE, HIGH_MIDDLE, HIGH_STEP, MIDDLE, Planes, dot, round,
};
use super::rotation::Rotation;

/// The largest code of a query above or below zero.
const LARGEST: f32 = 127.0;
/// Sums of floats are off by less than this for each number, in bounds, rotations and exact sums...
const ROUNDING: f32 = 4e-7;
/// ...and by this however few they are.
const LEAST_ROUNDING: f32 = 4e-6;

/// The codes of some vectors, row after row.
#[derive(Debug, Clone)]
pub(super) struct Codes {
    /// The bytes of a row in one plane.
    width: usize,
    /// Both planes of each row.
    high: Vec<u8>,
    low: Vec<u8>,
    /// How far apart two codes are.
    pub steps: Vec<f32>,
    /// The length of the rounding error of the high plane, and of both planes.
    pub high_errors: Vec<f32>,
    pub errors: Vec<f32>,
}

/// The codes of one vector.
pub(super) struct RowCodes {
    high: Vec<u8>,
    low: Vec<u8>,
    step: f32,
    high_error: f32,
    error: f32,
}

impl RowCodes {
    /// Round a residual, see [`Rotation::residual`].
    pub fn new(residual: &[f32]) -> Self {
        let largest = residual.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
        let step = (largest / MIDDLE).max(f32::MIN_POSITIVE);
        let mut codes = Vec::with_capacity(residual.len().next_multiple_of(CODES_AT_ONCE));
        let [error, high_error] = round(residual, step, &mut codes);
        // The query has zeros there.
        codes.resize(codes.len().next_multiple_of(CODES_AT_ONCE), 0);
        Self {
            high: packed(&codes, |code| code >> 4),
            low: packed(&codes, |code| code & 0x0f),
            step,
            high_error,
            error,
        }
    }
}

/// Half of each code, two in a byte (see `kernels::Plane`).
fn packed(codes: &[u8], half: impl Fn(u8) -> u8) -> Vec<u8> {
    let mut packed = vec![0; codes.len() / 2];
    let (groups, _) = codes.as_chunks::<CODES_AT_ONCE>();
    for (bytes, group) in packed.chunks_exact_mut(CODES_AT_ONCE / 2).zip(groups) {
        let (first, second) = group.split_at(CODES_AT_ONCE / 2);
        for ((byte, first), second) in bytes.iter_mut().zip(first).zip(second) {
            *byte = half(*first) | half(*second) << 4;
        }
    }
    packed
}

/// Insert bytes at `at`.
fn insert(bytes: &mut Vec<u8>, at: usize, more: &[u8]) {
    // Mostly at the end, where nothing moves.
    bytes.extend_from_slice(more);
    bytes[at..].rotate_right(more.len());
}

fn length(vector: &[f32]) -> f32 {
    dot(vector, vector).sqrt()
}

impl Codes {
    /// Codes with room for this number of rows.
    pub fn with_capacity(rows: usize, rotation: &Rotation) -> Self {
        let width = rotation.codes() / 2;
        let bytes = rows * width;
        Self {
            width,
            high: Vec::with_capacity(bytes),
            low: Vec::with_capacity(bytes),
            steps: Vec::with_capacity(rows),
            high_errors: Vec::with_capacity(rows),
            errors: Vec::with_capacity(rows),
        }
    }

    /// The high plane from a row on.
    pub fn high_from(&self, row: usize) -> &[u8] {
        &self.high[row * self.width..]
    }

    /// Both planes of a row.
    pub fn planes(&self, row: usize) -> Planes<'_> {
        [&self.high, &self.low].map(|plane| &plane[row * self.width..][..self.width])
    }

    /// Insert a row at `at`.
    pub fn insert(&mut self, at: usize, row: &RowCodes) {
        let start = at * row.high.len();
        insert(&mut self.high, start, &row.high);
        insert(&mut self.low, start, &row.low);
        self.steps.insert(at, row.step);
        self.high_errors.insert(at, row.high_error);
        self.errors.insert(at, row.error);
    }

    /// Replace the row at `at`.
    pub fn replace(&mut self, at: usize, row: &RowCodes) {
        let start = at * row.high.len();
        self.high[start..start + row.high.len()].copy_from_slice(&row.high);
        self.low[start..start + row.low.len()].copy_from_slice(&row.low);
        self.steps[at] = row.step;
        self.high_errors[at] = row.high_error;
        self.errors[at] = row.error;
    }

    /// Remove the row at `at`.
    pub fn remove(&mut self, at: usize) {
        let bytes = at * self.width..(at + 1) * self.width;
        self.high.drain(bytes.clone());
        self.low.drain(bytes);
        self.steps.remove(at);
        self.high_errors.remove(at);
        self.errors.remove(at);
    }

    /// Append rows of another.
    pub fn extend(&mut self, other: &Self, rows: Range<usize>) {
        let bytes = rows.start * other.width..rows.end * other.width;
        self.high.extend_from_slice(&other.high[bytes.clone()]);
        self.low.extend_from_slice(&other.low[bytes]);
        self.steps.extend_from_slice(&other.steps[rows.clone()]);
        let high_errors = &other.high_errors[rows.clone()];
        self.high_errors.extend_from_slice(high_errors);
        self.errors.extend_from_slice(&other.errors[rows]);
    }

    /// The bytes of memory of the codes.
    pub fn bytes(&self) -> usize {
        let numbers = self.steps.capacity() + self.high_errors.capacity() + self.errors.capacity();
        self.high.capacity() + self.low.capacity() + numbers * size_of::<f32>()
    }
}

/// A query in whole steps, and what these leave out.
pub(super) struct RoundedQuery {
    pub codes: Vec<i8>,
    pub step: f32,
    /// The sum of the codes.
    sum: i32,
    left_out: Vec<f32>,
}

impl RoundedQuery {
    fn new(query: &[f32]) -> Self {
        let largest = query.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
        let step = (largest / LARGEST).max(f32::MIN_POSITIVE);
        let steps = 1.0 / step;
        let mut codes: Vec<i8> = query.iter().map(|x| nearest_code(x * steps)).collect();
        let left_out = query.iter().zip(&codes);
        let left_out = left_out.map(|(x, code)| x - f32::from(*code) * step);
        let left_out = left_out.collect();
        codes.resize(query.len().next_multiple_of(CODES_AT_ONCE), 0);
        Self {
            sum: codes.iter().map(|code| i32::from(*code)).sum(),
            codes,
            step,
            left_out,
        }
    }

    /// The product of the rounded vector and an 8-bit query, from the sum of products of codes.
    fn product(&self, sum: i32) -> f64 {
        (f64::from(sum) - f64::from(MIDDLE) * f64::from(self.sum)) * f64::from(self.step)
    }
}

/// The whole number nearest to one that is at most 127, or hardly more, either way.
fn nearest_code(number: f32) -> i8 {
    // A float above this has no fractional digits, so that adding it rounds. `round` would be a
    // call for each number on processors without an instruction for it.
    const WHOLE: f32 = 12_582_912.0;
    #[allow(
        clippy::cast_possible_truncation,
        reason = "whole, and at most 127 either way"
    )]
    let code = ((number + WHOLE) - WHOLE) as i8;
    code
}

/// A query as codes, and what all its comparisons have in common.
pub(super) struct CodeQuery {
    /// The codes, and the codes of their rounding error.
    coarse: RoundedQuery,
    fine: RoundedQuery,
    /// The product with the center.
    base: f64,
    /// An upper bound of the length of the rounded vector.
    length: f32,
    /// The part of the error that does not depend on the row, with the coarse codes and with both.
    slack: f32,
    fine_slack: f32,
}

impl CodeQuery {
    /// A query rotated as the rows are, whose residuals are at most `longest` long.
    pub fn new(query: &[f32], rotated: &[f32], rotation: &Rotation, longest: f32) -> Self {
        let coarse = RoundedQuery::new(rotated);
        let fine = RoundedQuery::new(&coarse.left_out);
        let center = query.iter().zip(rotation.center());
        #[allow(clippy::cast_precision_loss, reason = "few dimensions")]
        let rounding = ROUNDING * query.len() as f32 + LEAST_ROUNDING;
        Self {
            base: center.map(|(q, c)| f64::from(*q) * f64::from(*c)).sum(),
            length: (length(rotated) + length(&coarse.left_out)) * (1.0 + rounding),
            slack: length(&coarse.left_out) * longest + rounding,
            fine_slack: length(&fine.left_out) * longest + rounding,
            coarse,
            fine,
        }
    }

    /// The codes that are compared with the high plane.
    pub fn codes(&self) -> &[i8] {
        &self.coarse.codes
    }

    /// The codes that are compared with both planes.
    pub fn both(&self) -> [&[i8]; 2] {
        [&self.coarse.codes, &self.fine.codes]
    }

    /// The upper bound of a similarity by the high plane: of what [`Self::high_sum`] makes of the
    /// sum of products, with the row's step and high error.
    pub fn line(&self) -> BoundCoefficients {
        #[allow(clippy::cast_possible_truncation, reason = "the slack allows for it")]
        let base = self.base as f32;
        BoundCoefficients {
            base,
            scale: HIGH_STEP * self.coarse.step,
            margin: self.length,
            slack: self.slack,
        }
    }

    /// Sums of products with the high plane, counted from its middle.
    pub fn high_sums(&self, sums: &[i32], counted: &mut [f32]) {
        #[allow(
            clippy::cast_precision_loss,
            reason = "far below what the slack allows for"
        )]
        let middle = HIGH_MIDDLE * self.coarse.sum as f32;
        for (counted, sum) in counted.iter_mut().zip(sums) {
            #[allow(clippy::cast_precision_loss, reason = "likewise")]
            let sum = *sum as f32;
            *counted = sum - middle;
        }
    }

    /// The bounds of the similarity to a row, from the sums of products of its codes with both of the
    /// query's, its step and its error.
    pub fn bound(&self, [coarse, fine]: [i32; 2], step: f32, error: f32) -> Bound {
        let product = self.coarse.product(coarse) + self.fine.product(fine);
        #[allow(clippy::cast_possible_truncation, reason = "the slack allows for it")]
        let middle = (self.base + product * f64::from(step)) as f32;
        Bound {
            middle,
            off: error * self.length + self.fine_slack,
        }
    }
}

/// A similarity, and by how much it can be off. Like an exact one it stays between -1 and 1.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound {
    pub middle: f32,
    pub off: f32,
}

impl Bound {
    pub fn lowest(self) -> f32 {
        (self.middle - self.off).min(1.0)
    }

    pub fn highest(self) -> f32 {
        (self.middle + self.off).max(-1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::kernels::{code_dots, plane_dots};
    use super::*;
    use crate::unit_vector::unit;

    #[test]
    fn codes_are_the_nearest_whole_numbers() {
        for code in -127..=127_i8 {
            for off in [-0.499_f32, -0.25, 0.0, 0.25, 0.499] {
                assert_eq!(nearest_code(f32::from(code) + off), code, "{code} {off}");
            }
        }
        assert_eq!(
            [nearest_code(127.000_02), nearest_code(-127.000_02)],
            [127, -127]
        );
    }

    #[test]
    fn a_row_is_rounded_to_the_nearest_code() {
        let steps = [-127.5, -127.0, -0.6, -0.4, 0.4, 127.5, 127.6, -128.1];
        let mut codes = Vec::new();
        round(&steps, 1.0, &mut codes);
        assert_eq!(codes, [0, 1, 127, 127, 128, 255, 255, 0]);
    }

    #[test]
    fn the_smallest_vectors_have_codes_too() {
        for x in [f32::MIN_POSITIVE, 1e-45, 0.0] {
            let codes = RowCodes::new(&[x, -x, 0.0]);
            assert!(codes.error <= 2.0 * f32::MIN_POSITIVE, "{x}");
        }
    }

    #[test]
    fn both_planes_are_the_code() {
        let residual: Vec<f32> = (0..300_u16).map(|n| f32::from(n % 37) - 18.0).collect();
        let row = RowCodes::new(&residual);
        let unpacked = |plane: &[u8], n: usize| {
            let byte = plane[n / 128 * 64 + n % 64];
            if n % 128 < 64 { byte & 0x0f } else { byte >> 4 }
        };
        for (n, x) in residual.iter().enumerate() {
            let code = 16 * unpacked(&row.high, n) + unpacked(&row.low, n);
            let value = (f32::from(code) - MIDDLE) * row.step;
            assert!((value - x).abs() <= 0.51 * row.step, "{n}: {value} {x}");
        }
        assert!(row.error < row.high_error / 10.0);
    }

    #[test]
    fn every_pair_of_small_vectors_is_within_its_bounds() {
        const NUMBERS: [f32; 5] = [-2.0, -1.0, 0.0, 1.0, 2.0];
        let vectors = NUMBERS.iter().flat_map(|x| NUMBERS.map(|y| [*x, y]));
        let vectors = vectors.flat_map(|[x, y]| NUMBERS.map(|z| [x, y, z]));
        let vectors = vectors.filter(|vector| vector.iter().any(|number| number.abs() > 0.0));
        let vectors: Vec<Vec<f32>> = vectors.map(|vector| unit(&vector)).collect();
        let exact = |left: &[f32], right: &[f32]| -> f64 {
            let products = left.iter().zip(right);
            products.map(|(l, r)| f64::from(*l) * f64::from(*r)).sum()
        };
        for center in [vec![], vec![0.5, -0.25, 0.125]] {
            let rotation = Rotation::new(3, center);
            let mut codes = Codes::with_capacity(vectors.len(), &rotation);
            let mut longest = 0.0_f32;
            for (row, vector) in vectors.iter().enumerate() {
                let residual = rotation.residual(vector);
                longest = longest.max(length(&residual));
                codes.insert(row, &RowCodes::new(&residual));
            }
            let planes: Vec<_> = (0..vectors.len()).map(|row| codes.planes(row)).collect();
            let high = codes.high_from(0);
            for direction in &vectors {
                let rotated = rotation.rotated(direction);
                let query = CodeQuery::new(direction, &rotated, &rotation, longest);
                let both = code_dots(query.both(), &planes);
                let mut sums = Vec::new();
                plane_dots(&[query.codes()], high, vectors.len(), high, &mut sums);
                let mut counted = vec![0.0; vectors.len()];
                query.high_sums(&sums, &mut counted);
                for (row, vector) in vectors.iter().enumerate() {
                    let cosine = exact(direction, vector);
                    let (step, error) = (codes.steps[row], codes.errors[row]);
                    let bound = query.bound(both[row], step, error);
                    let within = f64::from(bound.lowest())..=f64::from(bound.highest());
                    assert!(
                        within.contains(&cosine),
                        "{direction:?} {vector:?} {bound:?}"
                    );
                    assert!(bound.off < 0.02, "{direction:?} {vector:?} {bound:?}");
                    let coarse = query.line();
                    let coarse = coarse.upper_bound(counted[row], step, codes.high_errors[row]);
                    assert!(
                        cosine <= f64::from(coarse),
                        "{direction:?} {vector:?} {coarse}"
                    );
                    assert!(
                        f64::from(coarse) < cosine + 0.3,
                        "{direction:?} {vector:?} {coarse}"
                    );
                }
            }
        }
    }
}
