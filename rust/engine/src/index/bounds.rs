//! Between what bounds a similarity lies that is computed from whole steps instead of numbers.

use super::kernels::{CODES_AT_ONCE, Scale};

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
        #[allow(
            clippy::cast_possible_truncation,
            reason = "at most 127 steps either way"
        )]
        let mut codes: Vec<i8> = vector.iter().map(|x| (x / step).round() as i8).collect();
        codes.resize(vector.len().next_multiple_of(CODES_AT_ONCE), 0);
        let mut rounded = Self {
            codes,
            step,
            error: 0.0,
        };
        rounded.error = length(rounded.left_out(vector));
        rounded
    }

    /// What the codes leave out of the vector.
    fn left_out(&self, vector: &[f32]) -> impl Iterator<Item = f32> {
        let numbers = vector.iter().zip(&self.codes);
        numbers.map(|(x, code)| x - f32::from(*code) * self.step)
    }

    /// What the zeros of a row's codes add to its sum of products with these.
    fn zeros(&self) -> i32 {
        let sum: i32 = self.codes.iter().map(|code| i32::from(*code)).sum();
        sum * i32::from(ZERO)
    }
}

fn length(numbers: impl Iterator<Item = f32>) -> f32 {
    numbers.map(|x| x.powi(2)).sum::<f32>().sqrt()
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
        let finer = Rounded::new(&rounded.left_out(query).collect::<Vec<_>>());
        #[allow(clippy::cast_precision_loss, reason = "few dimensions")]
        let rounding = ROUNDING * query.len() as f32;
        Self {
            scale: Scale {
                zeros: rounded.zeros(),
                step: rounded.step,
                off: rounded.error + rounding,
                // The codes can be longer than the query, but by no more than they are off.
                length: length(query.iter().copied()) + rounded.error,
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
