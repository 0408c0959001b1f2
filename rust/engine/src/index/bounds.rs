//! Between what bounds a similarity lies that is computed from whole steps instead of numbers.

use super::kernels::{CODES_AT_ONCE, Scale, dot};

/// What stands for zero in a row's codes, so that they are unsigned.
pub(super) const ZERO: u8 = 128;
/// The largest code above or below zero.
const LARGEST: f32 = 127.0;
/// Sums of floats are off by less than this for each number, as bounds and as exact sums.
const ROUNDING: f32 = 4e-7;

/// A vector in steps: the codes without their zero, and what they leave out.
pub(super) struct Rounded {
    pub codes: Vec<i8>,
    /// What a step is worth.
    pub step: f32,
    /// The length of what the codes leave out.
    pub error: f32,
}

impl Rounded {
    pub fn new(vector: &[f32]) -> Self {
        let largest = vector.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
        let step = (largest / LARGEST).max(f32::MIN_POSITIVE);
        let steps = 1.0 / step;
        let mut codes: Vec<i8> = vector.iter().map(|x| nearest_code(x * steps)).collect();
        codes.resize(vector.len().next_multiple_of(CODES_AT_ONCE), 0);
        let mut rounded = Self {
            codes,
            step,
            error: 0.0,
        };
        rounded.error = length(&rounded.left_out(vector));
        rounded
    }

    /// What the codes leave out of the vector.
    fn left_out(&self, vector: &[f32]) -> Vec<f32> {
        let numbers = vector.iter().zip(&self.codes);
        let left_out = numbers.map(|(x, code)| x - f32::from(*code) * self.step);
        left_out.collect()
    }

    /// What the zeros of a row's codes add to its sum of products with these.
    fn zeros(&self) -> i32 {
        let sum: i32 = self.codes.iter().map(|code| i32::from(*code)).sum();
        sum * i32::from(ZERO)
    }
}

/// The whole number nearest to one that is at most 127, or hardly more, either way.
fn nearest_code(number: f32) -> i8 {
    // From here on a float has no digits after the point, so it rounds what is added. `round` would
    // be a call for each number on processors without an instruction for it.
    const WHOLE: f32 = 12_582_912.0;
    #[allow(
        clippy::cast_possible_truncation,
        reason = "whole, and at most 127 either way"
    )]
    let code = ((number + WHOLE) - WHOLE) as i8;
    code
}

fn length(vector: &[f32]) -> f32 {
    dot(vector, vector).sqrt()
}

/// A query in steps, and what all its comparisons have in common.
///
/// What the query's codes leave out meets a vector of length 1; what the vector's leave out meets
/// the query's codes. Codes of what the first leave out leave next to nothing out.
pub(super) struct CoarseQuery {
    pub codes: Vec<i8>,
    pub scale: Scale,
    pub finer: Rounded,
    /// What the zeros of a row's codes add to its sum of products with the finer codes.
    zeros: i32,
    /// How far off a second look is whatever the row.
    off: f32,
}

impl CoarseQuery {
    pub fn new(query: &[f32]) -> Self {
        let rounded = Rounded::new(query);
        let finer = Rounded::new(&rounded.left_out(query));
        #[allow(clippy::cast_precision_loss, reason = "few dimensions")]
        let rounding = ROUNDING * query.len() as f32;
        Self {
            scale: Scale {
                zeros: rounded.zeros(),
                step: rounded.step,
                off: rounded.error + rounding,
                // The codes can be longer than the query, but by no more than they are off.
                length: length(query) + rounded.error,
            },
            codes: rounded.codes,
            zeros: finer.zeros(),
            off: finer.error + rounding,
            finer,
        }
    }

    /// Between what the similarity to a row lies, by its step, its error and the sums of products
    /// of its codes with both of the query's.
    pub fn bound(&self, sum: i32, finer: i32, step: f32, error: f32) -> Bound {
        let whole = f64::from(sum - self.scale.zeros) * f64::from(self.scale.step);
        let rest = f64::from(finer - self.zeros) * f64::from(self.finer.step);
        #[allow(clippy::cast_possible_truncation, reason = "the bound allows for it")]
        let middle = ((whole + rest) * f64::from(step)) as f32;
        Bound {
            middle,
            off: error * self.scale.length + self.off,
        }
    }
}

/// A similarity, and by how much it can be off. It is held to be a cosine, as exact ones are.
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
    use super::*;

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
    fn the_smallest_vectors_have_codes_too() {
        for x in [f32::MIN_POSITIVE, 1e-45, 0.0] {
            let rounded = Rounded::new(&[x, -x, 0.0]);
            assert!(rounded.error <= 2.0 * f32::MIN_POSITIVE, "{x}");
        }
    }
}
