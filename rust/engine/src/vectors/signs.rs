//! One bit a number, and how near a vector probably is by these alone.
//!
//! The estimate is that of `RaBitQ` (Gao and Long, SIGMOD 2024, <https://arxiv.org/abs/2405.12497>): the
//! signs of a randomly rotated residual, scaled by how well they stand for it, give products without
//! bias, with an error whose deviation is known for each vector. Here the rotation is fixed.

use std::ops::Range;

use super::kernels::{Line, QUERY_PLANES, SIGN_ROWS, TILE, dot, prefetch};

/// How many deviations above its estimate a similarity is thought possible. What lies higher is
/// missed: of the 60 nearest two or three in a thousand, measured on real embeddings.
const DEVIATIONS: f32 = 2.0;
/// The largest code of a query.
const LARGEST: f32 = 15.0;
const WORD: usize = u64::BITS as usize;

/// The signs of some vectors, and what their estimates are made of.
#[derive(Debug, Clone, Default)]
pub(super) struct Signs {
    /// How many words a row has.
    width: usize,
    /// See `kernels::sign_sums`; missing rows of the last group are zero.
    words: Vec<[u64; SIGN_ROWS]>,
    /// How many bits of a row are set.
    ones: Vec<f32>,
    /// What a product with the signs is multiplied by, and the deviation of the result.
    pub factors: Vec<f32>,
    pub deviations: Vec<f32>,
}

/// The signs of one vector.
pub(super) struct RowSigns {
    words: Vec<u64>,
    factor: f32,
    deviation: f32,
}

impl RowSigns {
    /// The signs of a residual, see `Rotation::residual`; `codes` is how many bits are kept.
    pub fn new(residual: &[f32], codes: usize) -> Self {
        let mut words = vec![0; codes.div_ceil(WORD)];
        for (word, part) in words.iter_mut().zip(residual.chunks(WORD)) {
            let bits = part.iter().enumerate();
            *word = bits.fold(0, |word, (nth, x)| word | u64::from(*x > 0.0) << nth);
        }
        let total = absolute_sum(residual);
        let square = dot(residual, residual);
        if total <= 0.0 {
            // The center itself: its product is known.
            return Self {
                words,
                factor: 0.0,
                deviation: 0.0,
            };
        }
        #[allow(clippy::cast_precision_loss, reason = "few dimensions")]
        let count = residual.len() as f32;
        // The squared cosine of the residual and its signs.
        let aligned = (total * total / (count * square)).min(1.0);
        let spread = (1.0 - aligned) / (aligned * (count - 1.0).max(1.0));
        Self {
            words,
            factor: square / total,
            deviation: (square * spread).sqrt(),
        }
    }

    fn ones(&self) -> f32 {
        #[allow(clippy::cast_precision_loss, reason = "few dimensions")]
        let ones = self.words.iter().map(|word| word.count_ones()).sum::<u32>() as f32;
        ones
    }
}

/// The sum of absolute values, added in lanes.
fn absolute_sum(vector: &[f32]) -> f32 {
    let mut sums = [0.0_f32; 16];
    for part in vector.chunks(sums.len()) {
        for (sum, x) in sums.iter_mut().zip(part) {
            *sum += x.abs();
        }
    }
    sums.iter().sum()
}

impl Signs {
    /// Room for so many rows of so many codes.
    pub fn with_capacity(rows: usize, codes: usize) -> Self {
        let width = codes.div_ceil(WORD);
        Self {
            width,
            words: Vec::with_capacity(rows.div_ceil(SIGN_ROWS) * width),
            ones: Vec::with_capacity(rows),
            factors: Vec::with_capacity(rows),
            deviations: Vec::with_capacity(rows),
        }
    }

    /// The words of the tile that begins with a row.
    fn tile(&self, row: usize) -> &[[u64; SIGN_ROWS]] {
        let start = row / SIGN_ROWS * self.width;
        let end = (start + TILE / SIGN_ROWS * self.width).min(self.words.len());
        &self.words[start..end]
    }

    /// Prefetch what a scan reads first; from there on the processor prefetches by itself.
    pub fn prefetch(&self) {
        prefetch(&self.words[..self.words.len().min(SIGN_ROWS)]);
        for numbers in [&self.ones, &self.factors, &self.deviations] {
            prefetch(&numbers[..numbers.len().min(TILE)]);
        }
    }

    /// Insert a row at `at`.
    pub fn insert(&mut self, at: usize, row: &RowSigns) {
        let count = self.factors.len();
        if count.is_multiple_of(SIGN_ROWS) {
            let words = self.words.len() + self.width;
            self.words.resize(words, [0; SIGN_ROWS]);
        }
        for later in (at..count).rev() {
            self.copy(later, later + 1);
        }
        self.put(at, row);
        self.ones.insert(at, row.ones());
        self.factors.insert(at, row.factor);
        self.deviations.insert(at, row.deviation);
    }

    /// Replace the row at `at`.
    pub fn replace(&mut self, at: usize, row: &RowSigns) {
        self.put(at, row);
        self.ones[at] = row.ones();
        self.factors[at] = row.factor;
        self.deviations[at] = row.deviation;
    }

    /// Remove the row at `at`.
    pub fn remove(&mut self, at: usize) {
        let last = self.factors.len() - 1;
        for row in at..last {
            self.copy(row + 1, row);
        }
        for word in 0..self.width {
            let (group, lane) = self.find(last);
            self.words[group + word][lane] = 0;
        }
        self.words.truncate(last.div_ceil(SIGN_ROWS) * self.width);
        self.ones.remove(at);
        self.factors.remove(at);
        self.deviations.remove(at);
    }

    /// Append rows of another.
    pub fn extend(&mut self, other: &Self, rows: Range<usize>) {
        for row in rows {
            let (group, lane) = other.find(row);
            let words = (0..other.width).map(|word| other.words[group + word][lane]);
            let signs = RowSigns {
                words: words.collect(),
                factor: other.factors[row],
                deviation: other.deviations[row],
            };
            self.insert(self.factors.len(), &signs);
        }
    }

    fn find(&self, row: usize) -> (usize, usize) {
        (row / SIGN_ROWS * self.width, row % SIGN_ROWS)
    }

    fn put(&mut self, row: usize, signs: &RowSigns) {
        let (group, lane) = self.find(row);
        for (word, signs) in self.words[group..].iter_mut().zip(&signs.words) {
            word[lane] = *signs;
        }
    }

    fn copy(&mut self, from: usize, to: usize) {
        let ((from, from_lane), (to, to_lane)) = (self.find(from), self.find(to));
        for word in 0..self.width {
            self.words[to + word][to_lane] = self.words[from + word][from_lane];
        }
    }

    /// How many bytes of memory it takes.
    pub fn bytes(&self) -> usize {
        let numbers = self.ones.capacity() + self.factors.capacity() + self.deviations.capacity();
        self.words.capacity() * size_of::<[u64; SIGN_ROWS]>() + numbers * size_of::<f32>()
    }
}

/// A query as codes of four bits, a plane for each.
pub(super) struct SignQuery {
    planes: Vec<[u64; QUERY_PLANES]>,
    /// The value of code 0, and how far apart two codes are.
    lowest: f32,
    step: f32,
    /// The sum of the query's numbers.
    sum: f32,
    line: Line,
}

impl SignQuery {
    /// A query rotated as the rows are; `base` is its product with the center.
    pub fn new(rotated: &[f32], codes: usize, base: f32) -> Self {
        let lowest = rotated.iter().copied().fold(f32::INFINITY, f32::min);
        let highest = rotated.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let step = ((highest - lowest) / LARGEST).max(f32::MIN_POSITIVE);
        let mut planes = vec![[0; QUERY_PLANES]; codes.div_ceil(WORD)];
        for (nth, x) in rotated.iter().enumerate() {
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "from 0 to 15"
            )]
            let code = ((x - lowest) / step + 0.5).min(LARGEST) as u64;
            for (bit, plane) in planes[nth / WORD].iter_mut().enumerate() {
                *plane |= (code >> bit & 1) << (nth % WORD);
            }
        }
        Self {
            planes,
            lowest,
            step,
            sum: rotated.iter().sum(),
            line: Line {
                base,
                scale: 1.0,
                margin: DEVIATIONS * dot(rotated, rotated).sqrt(),
                slack: 0.0,
            },
        }
    }

    /// See [`Line`], for products with signs, factors and deviations.
    pub fn line(&self) -> Line {
        self.line
    }

    /// The products with the signs of the tile that begins with a row.
    pub fn products(&self, signs: &Signs, row: usize, products: &mut [f32; TILE]) {
        super::kernels::sign_sums(&self.planes, signs.tile(row), products);
        for (product, ones) in products.iter_mut().zip(&signs.ones[row..]) {
            *product = 2.0 * (self.step * *product + self.lowest * ones) - self.sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn residuals(dimensions: usize) -> impl Strategy<Value = Vec<Vec<f32>>> {
        let vector = prop::collection::vec(-1.0_f32..1.0, dimensions);
        prop::collection::vec(vector, 1..70)
    }

    fn signs(residuals: &[Vec<f32>]) -> Signs {
        let codes = residuals[0].len().next_multiple_of(128);
        let mut signs = Signs::with_capacity(residuals.len(), codes);
        for residual in residuals {
            signs.insert(signs.factors.len(), &RowSigns::new(residual, codes));
        }
        signs
    }

    fn products(signs: &Signs, query: &[f32]) -> Vec<f32> {
        let query = SignQuery::new(query, query.len().next_multiple_of(128), 0.0);
        let mut found = Vec::new();
        for from in (0..signs.factors.len()).step_by(TILE) {
            let mut tile = [0.0; TILE];
            query.products(signs, from, &mut tile);
            found.extend_from_slice(&tile[..TILE.min(signs.factors.len() - from)]);
        }
        found
    }

    proptest! {
        #[test]
        fn a_product_is_that_of_the_signs(residuals in (2_usize..300).prop_flat_map(residuals)) {
            let query = &residuals[0];
            let step = query.iter().fold(0.0_f32, |most, x| most.max(x.abs())) * 2.0 / LARGEST;
            #[allow(clippy::cast_precision_loss)]
            let off = 0.51 * step * query.len() as f32 + 1e-3;
            for (residual, found) in residuals.iter().zip(products(&signs(&residuals), query)) {
                let pairs = residual.iter().zip(query);
                let exact: f32 = pairs.map(|(x, q)| if *x > 0.0 { *q } else { -q }).sum();
                prop_assert!((found - exact).abs() <= off, "{found} {exact}");
            }
        }

        #[test]
        fn rows_come_change_and_go(
            residuals in residuals(150),
            steps in prop::collection::vec((0_u8..3, 0_usize..70, 0_usize..70), 0..60),
        ) {
            let codes = 256;
            let (mut changed, mut expected) = (signs(&residuals), residuals.clone());
            for (step, at, of) in steps {
                let row = &residuals[of % residuals.len()];
                match (step, expected.len()) {
                    (0, 2..) => {
                        expected.remove(at % expected.len());
                        changed.remove(at % (expected.len() + 1));
                    }
                    (1, 1..) => {
                        let at = at % expected.len();
                        expected[at].clone_from(row);
                        changed.replace(at, &RowSigns::new(row, codes));
                    }
                    _ => {
                        let at = at % (expected.len() + 1);
                        expected.insert(at, row.clone());
                        changed.insert(at, &RowSigns::new(row, codes));
                    }
                }
            }
            let expected = signs(&expected);
            prop_assert_eq!(&changed.words, &expected.words);
            prop_assert_eq!(&changed.ones, &expected.ones);
            prop_assert_eq!(&changed.factors, &expected.factors);
            let mut joined = Signs::with_capacity(0, codes);
            let half = expected.factors.len() / 2;
            joined.extend(&expected, 0..half);
            joined.extend(&expected, half..expected.factors.len());
            prop_assert_eq!(&joined.words, &expected.words);
        }
    }
}
