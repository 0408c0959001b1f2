//! A fixed rotation that spreads the information in a vector evenly over its numbers, so that a few
//! bits of each are enough to tell how near another vector is.

use std::sync::OnceLock;

use super::kernels::{CODES_AT_ONCE, rotate};

/// Where the signs come from. Another seed would give other codes, though the same exact results.
const SEED: u64 = 0x4847_5257_0001_0001;
/// How often signs are flipped and numbers mixed.
const ROUNDS: usize = 4;

/// A rotation of vectors of some dimension, after the center of an index is subtracted.
///
/// Each round flips signs and applies a fast Walsh-Hadamard transform to the first or the last 2^k
/// numbers, for the largest k that fits. The map is orthonormal, so that products do not change.
#[derive(Debug)]
pub(super) struct Rotation {
    dimensions: usize,
    /// The center, which is subtracted from vectors before they are rotated; empty for none.
    center: Vec<f32>,
    /// 1 or -1 for each number and round. It is made for the first vector, so that a dimension that a file
    /// merely claims takes no memory.
    signs: OnceLock<Vec<Vec<f32>>>,
}

impl Rotation {
    /// The rotation of vectors of this dimension about a center; an empty one is zero.
    pub fn new(dimensions: usize, center: Vec<f32>) -> Self {
        Self {
            dimensions,
            center,
            signs: OnceLock::new(),
        }
    }

    /// The center, which is subtracted from vectors.
    pub fn center(&self) -> &[f32] {
        &self.center
    }

    /// The dimensions of a vector.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// The codes of a vector: one for each number, and zeros up to a full register.
    pub fn codes(&self) -> usize {
        self.dimensions().next_multiple_of(CODES_AT_ONCE)
    }

    /// The rotated difference of a vector and the center.
    pub fn residual(&self, vector: &[f32]) -> Vec<f32> {
        let mut residual = vector.to_vec();
        for (x, center) in residual.iter_mut().zip(&self.center) {
            *x -= center;
        }
        self.rotate(&mut residual);
        residual
    }

    /// A query, rotated.
    pub fn rotated(&self, query: &[f32]) -> Vec<f32> {
        let mut rotated = query.to_vec();
        self.rotate(&mut rotated);
        rotated
    }

    fn rotate(&self, vector: &mut [f32]) {
        // The largest power of two that the dimension holds.
        let mixed = vector.len().checked_ilog2().map_or(0, |power| 1 << power);
        let signs = self.signs.get_or_init(|| signs(vector.len()));
        rotate(vector, signs, mixed);
    }
}

/// 1 or -1 for each number and round, always the same.
fn signs(dimensions: usize) -> Vec<Vec<f32>> {
    let mut state = SEED;
    let mut sign = || {
        if split_mix(&mut state) >> 63 == 0 {
            1.0
        } else {
            -1.0
        }
    };
    let mut round = |_| (0..dimensions).map(|_| sign()).collect();
    (0..ROUNDS).map(&mut round).collect()
}

/// The next number of the `SplitMix64` generator.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut number = *state;
    number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn dot(left: &[f32], right: &[f32]) -> f64 {
        let products = left.iter().zip(right);
        products.map(|(l, r)| f64::from(*l) * f64::from(*r)).sum()
    }

    proptest! {
        #[test]
        fn products_stay_what_they_are(
            (left, right, center) in (1_usize..500).prop_flat_map(|dimensions| {
                let vector = || prop::collection::vec(-1.0_f32..1.0, dimensions);
                (vector(), vector(), vector())
            }),
        ) {
            let rotation = Rotation::new(left.len(), center.clone());
            let without: Vec<f32> = right.iter().zip(&center).map(|(x, c)| x - c).collect();
            let product = dot(&rotation.rotated(&left), &rotation.residual(&right));
            let expected = dot(&left, &without);
            let scale = (dot(&left, &left) * dot(&without, &without)).sqrt();
            prop_assert!((product - expected).abs() <= 2e-6 * scale.max(1e-3), "{product} {expected}");
        }
    }

    #[test]
    fn what_one_number_says_is_spread_over_all() {
        for dimensions in [64_usize, 100, 384, 768] {
            let rotation = Rotation::new(dimensions, Vec::new());
            for at in [0, dimensions / 2, dimensions - 1] {
                let mut vector = vec![0.0; dimensions];
                vector[at] = 1.0;
                let rotated = rotation.rotated(&vector);
                let largest = rotated.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
                assert!(largest < 0.6, "{dimensions} {at}: {largest}");
            }
        }
    }

    #[test]
    fn the_rotation_is_always_the_same() {
        let rotated = Rotation::new(3, Vec::new()).rotated(&[1.0, 2.0, 3.0]);
        let bits: Vec<u32> = rotated.iter().map(|x| x.to_bits()).collect();
        assert_eq!(bits, [3_225_674_202, 1_072_873_155, 1_065_502_255]);
    }
}
