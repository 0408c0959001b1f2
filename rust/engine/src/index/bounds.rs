//! Between what bounds a similarity lies that is computed from whole steps instead of numbers.

use super::kernels::{CODES_AT_ONCE, Scale};

/// What stands for zero in a row's codes, so that they are unsigned.
pub(super) const ZERO: u8 = 128;
/// The largest code above or below zero.
const LARGEST: f32 = 127.0;
/// Into how many parts a step is divided for what the codes of a query leave out, which is half a
/// step at most.
const FINER: f32 = 2.0 * LARGEST;
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
        let codes = codes(vector.iter().map(|x| x / step));
        let left_out = |(x, code): (&f32, &i8)| (x - f32::from(*code) * step).powi(2);
        let error: f32 = vector.iter().zip(&codes).map(left_out).sum();
        Self {
            codes,
            step,
            error: error.sqrt(),
        }
    }
}

/// The whole numbers next to these, as many as are read at once.
fn codes(numbers: impl Iterator<Item = f32>) -> Vec<i8> {
    #[allow(
        clippy::cast_possible_truncation,
        reason = "at most 127 steps either way"
    )]
    let mut codes: Vec<i8> = numbers.map(|number| number.round() as i8).collect();
    codes.resize(codes.len().next_multiple_of(CODES_AT_ONCE), 0);
    codes
}

/// What the zeros of a row's codes add to its sum of products with these.
fn zeros(codes: &[i8]) -> i32 {
    let sum: i32 = codes.iter().map(|code| i32::from(*code)).sum();
    sum * i32::from(ZERO)
}

/// A query in steps, and what all its comparisons have in common.
///
/// What the query's codes leave out meets a vector of length 1; what the vector's leave out meets
/// the query's codes. The finer codes leave next to nothing out of the query.
pub(super) struct CoarseQuery {
    pub codes: Vec<i8>,
    pub scale: Scale,
    /// What the codes leave out, in parts of a step.
    pub finer: Vec<i8>,
    zeros: i32,
    of_error: f32,
    off: f32,
}

impl CoarseQuery {
    pub fn new(query: &[f32]) -> Self {
        let Rounded { codes, step, error } = Rounded::new(query);
        let finer = self::codes(
            (query.iter().zip(&codes)).map(|(x, code)| (x / step - f32::from(*code)) * FINER),
        );
        let whole = codes.iter().map(|code| f64::from(*code));
        let whole: Vec<f64> = whole.map(|code| code * f64::from(step)).collect();
        let parts = finer.iter().map(|code| f64::from(*code) / f64::from(FINER));
        let both = whole
            .iter()
            .zip(parts)
            .map(|(whole, part)| whole + part * f64::from(step));
        let both: Vec<f64> = both.collect();
        let left_out = query
            .iter()
            .zip(&both)
            .map(|(x, both)| f64::from(*x) - both);
        #[allow(clippy::cast_precision_loss, reason = "few dimensions")]
        let rounding = ROUNDING * query.len() as f32;
        Self {
            scale: Scale {
                zeros: zeros(&codes),
                step,
                of_error: length(whole.into_iter()),
                off: error + rounding,
            },
            zeros: zeros(&finer),
            off: length(left_out) + rounding,
            of_error: length(both.iter().copied()),
            codes,
            finer,
        }
    }

    /// Between what the similarity to a row lies, given the sums of products of its codes with both
    /// of the query's.
    pub fn bound(&self, sum: i32, finer: i32, step: f32, error: f32) -> Bound {
        let parts = f64::from(finer - self.zeros) / f64::from(FINER);
        let steps = f64::from(sum - self.scale.zeros) + parts;
        #[allow(clippy::cast_possible_truncation, reason = "the bound allows for it")]
        let middle = (steps * f64::from(self.scale.step) * f64::from(step)) as f32;
        Bound {
            middle,
            off: error * self.of_error + self.off,
        }
    }
}

#[allow(clippy::cast_possible_truncation, reason = "the bounds allow for it")]
fn length(numbers: impl Iterator<Item = f64>) -> f32 {
    numbers.map(|number| number.powi(2)).sum::<f64>().sqrt() as f32
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
