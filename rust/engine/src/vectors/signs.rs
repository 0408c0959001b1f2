//! Sign bits of vectors, and the estimate of the similarity from them.
//!
//! The estimate is that of `RaBitQ` (Gao and Long, SIGMOD 2024, <https://arxiv.org/abs/2405.12497>): the
//! signs of a randomly rotated residual, scaled by how well they approximate it, give products without bias,
//! with an error whose deviation is known for each vector. Here the rotation is fixed.

use std::ops::Range;

use super::kernels::{
    BoundCoefficients, GROUPS_AT_ONCE, LARGEST_ENTRY, SIGN_BITS, SIGN_ROWS, SignGroup, SignTable,
    TILE, dot, prefetch, sign_sums,
};

/// A vector is compared exactly if its estimate plus this number of standard deviations can reach the
/// result. Vectors with a larger error are missed: 2 or 3 of 1,000 among the 60 nearest, measured on
/// real embeddings.
const DEVIATIONS: f32 = 2.0;
/// The number of groups of sign bits to prefetch; the processor prefetches the rest by itself.
const GROUPS_AHEAD: usize = 32;

/// The sign bits of the rows of a block, with the factors of their estimates.
#[derive(Debug, Clone, Default)]
pub(super) struct SignBits {
    /// The groups of bits in a row.
    width: usize,
    /// The layout of `kernels::sign_sums`. The bits of unused rows in the last [`SIGN_ROWS`] are zero.
    groups: Vec<SignGroup>,
    /// The factor of a product with the signs, and the deviation of the result.
    pub factors: Vec<f32>,
    pub deviations: Vec<f32>,
}

/// The signs of one vector.
pub(super) struct RowSignBits {
    /// [`SIGN_BITS`] bits each.
    groups: Vec<u8>,
    factor: f32,
    deviation: f32,
}

/// The rows of one half of each byte.
const LOW_HALVES: u128 = 0x0f0f_0f0f_0f0f_0f0f_0f0f_0f0f_0f0f_0f0f;
const LANES: usize = SIGN_ROWS / 2;

/// The low and the high halves of a group, a byte for each row.
fn split(group: SignGroup) -> (u128, u128) {
    let bytes = u128::from_le_bytes(group);
    (bytes & LOW_HALVES, bytes >> 4 & LOW_HALVES)
}

/// Insert the bits of a row before row `at`. Return the group and the bits of the last row, which no
/// longer fit.
fn inserted(group: SignGroup, at: usize, bits: u8) -> (SignGroup, u8) {
    let insert = |rows: u128, at: usize, bits: u8| {
        let before = (1 << (8 * at)) - 1;
        let after = (rows & !before) << 8;
        let [.., last] = rows.to_le_bytes();
        (rows & before | u128::from(bits) << (8 * at) | after, last)
    };
    let (mut low, mut high) = split(group);
    let mut last = bits;
    if at < LANES {
        (low, last) = insert(low, at, last);
    }
    (high, last) = insert(high, at.saturating_sub(LANES), last);
    ((low | high << 4).to_le_bytes(), last)
}

/// Remove the bits of row `at` and append those of another row. Return the group and the bits that row 0
/// had before.
fn removed(group: SignGroup, at: usize, last: u8) -> (SignGroup, u8) {
    let remove = |rows: u128, at: usize, last: u8| {
        let before = (1 << (8 * at)) - 1;
        let after = rows >> 8 & !before;
        let end = u128::from(last) << (8 * (LANES - 1));
        let [first, ..] = rows.to_le_bytes();
        (rows & before | after | end, first)
    };
    let (mut low, mut high) = split(group);
    let first = low.to_le_bytes()[0];
    let mut last = last;
    (high, last) = remove(high, at.saturating_sub(LANES), last);
    if at < LANES {
        (low, _) = remove(low, at, last);
    }
    ((low | high << 4).to_le_bytes(), first)
}

/// The number of groups of bits of a vector.
fn width(dimensions: usize) -> usize {
    dimensions
        .div_ceil(SIGN_BITS)
        .next_multiple_of(GROUPS_AT_ONCE)
}

impl RowSignBits {
    /// The signs of a residual, see `Rotation::residual`.
    pub fn new(residual: &[f32]) -> Self {
        let mut groups = vec![0; width(residual.len())];
        for (group, part) in groups.iter_mut().zip(residual.chunks(SIGN_BITS)) {
            let bits = part.iter().enumerate();
            *group = bits.fold(0, |group, (nth, x)| group | u8::from(*x > 0.0) << nth);
        }
        let total = absolute_sum(residual);
        let square = dot(residual, residual);
        if total <= 0.0 {
            // The vector equals the center, so the estimate is exact.
            return Self {
                groups,
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
            groups,
            factor: square / total,
            deviation: (square * spread).sqrt(),
        }
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

impl SignBits {
    /// Sign bits with room for this number of rows.
    pub fn with_capacity(rows: usize, dimensions: usize) -> Self {
        let width = width(dimensions);
        Self {
            width,
            groups: Vec::with_capacity(rows.div_ceil(SIGN_ROWS) * width),
            factors: Vec::with_capacity(rows),
            deviations: Vec::with_capacity(rows),
        }
    }

    /// The groups of the tile that begins with a row.
    fn tile(&self, row: usize) -> &[SignGroup] {
        let start = row / SIGN_ROWS * self.width;
        let end = (start + TILE / SIGN_ROWS * self.width).min(self.groups.len());
        &self.groups[start..end]
    }

    /// Prefetch the first data of a scan. The processor prefetches the rest by itself.
    pub fn prefetch(&self) {
        prefetch(&self.groups[..self.groups.len().min(GROUPS_AHEAD)]);
        for numbers in [&self.factors, &self.deviations] {
            prefetch(&numbers[..numbers.len().min(TILE)]);
        }
    }

    /// Insert a row at `at`.
    pub fn insert(&mut self, at: usize, row: &RowSignBits) {
        if self.factors.len().is_multiple_of(SIGN_ROWS) {
            let groups = self.groups.len() + self.width;
            self.groups.resize(groups, SignGroup::default());
        }
        for (nth, bits) in row.groups.iter().enumerate() {
            let (mut lane, mut bits) = (at % SIGN_ROWS, *bits);
            for group in self.column(at, nth) {
                (*group, bits) = inserted(*group, lane, bits);
                lane = 0;
            }
        }
        self.factors.insert(at, row.factor);
        self.deviations.insert(at, row.deviation);
    }

    /// Replace the row at `at`.
    pub fn replace(&mut self, at: usize, row: &RowSignBits) {
        self.put(at, row);
        self.factors[at] = row.factor;
        self.deviations[at] = row.deviation;
    }

    /// Remove the row at `at`.
    pub fn remove(&mut self, at: usize) {
        for nth in 0..self.width {
            let mut last = 0;
            for (before, group) in self.column(at, nth).enumerate().rev() {
                let lane = if before == 0 { at % SIGN_ROWS } else { 0 };
                (*group, last) = removed(*group, lane, last);
            }
        }
        self.factors.remove(at);
        self.deviations.remove(at);
        let groups = self.factors.len().div_ceil(SIGN_ROWS) * self.width;
        self.groups.truncate(groups);
    }

    /// Append a range of the rows of `other`.
    pub fn extend(&mut self, other: &Self, rows: Range<usize>) {
        let mut row = rows.start;
        while row < rows.end {
            let is_aligned = [row, self.factors.len()].map(|at| at % SIGN_ROWS) == [0, 0];
            let is_whole = rows.end - row >= SIGN_ROWS || rows.end == other.factors.len();
            if is_aligned && is_whole {
                let end = rows.end.min(row + SIGN_ROWS);
                let start = row / SIGN_ROWS * self.width;
                let groups = &other.groups[start..start + self.width];
                self.groups.extend_from_slice(groups);
                self.factors.extend_from_slice(&other.factors[row..end]);
                let deviations = &other.deviations[row..end];
                self.deviations.extend_from_slice(deviations);
                row = end;
                continue;
            }
            let signs = RowSignBits {
                groups: (0..other.width).map(|nth| other.get(row, nth)).collect(),
                factor: other.factors[row],
                deviation: other.deviations[row],
            };
            self.insert(self.factors.len(), &signs);
            row += 1;
        }
    }

    /// The `nth` groups of bits of a row and of all rows after it.
    fn column(
        &mut self,
        row: usize,
        nth: usize,
    ) -> impl DoubleEndedIterator<Item = &mut SignGroup> + ExactSizeIterator {
        let start = row / SIGN_ROWS * self.width + nth;
        self.groups[start..].iter_mut().step_by(self.width)
    }

    /// The position of a group of a row: its index, the byte in it, and the shift of its bits.
    fn find(&self, row: usize, group: usize) -> (usize, usize, u32) {
        const HALF: usize = SIGN_ROWS / 2;
        let shift = if row % SIGN_ROWS < HALF { 0 } else { 4 };
        (row / SIGN_ROWS * self.width + group, row % HALF, shift)
    }

    fn get(&self, row: usize, group: usize) -> u8 {
        let (index, byte, shift) = self.find(row, group);
        self.groups[index][byte] >> shift & 0x0f
    }

    fn set(&mut self, row: usize, group: usize, bits: u8) {
        let (index, byte, shift) = self.find(row, group);
        let byte = &mut self.groups[index][byte];
        *byte = *byte & !(0x0f << shift) | bits << shift;
    }

    fn put(&mut self, row: usize, signs: &RowSignBits) {
        for (group, bits) in signs.groups.iter().enumerate() {
            self.set(row, group, *bits);
        }
    }

    /// The bytes of memory of the sign bits.
    pub fn bytes(&self) -> usize {
        let numbers = self.factors.capacity() + self.deviations.capacity();
        self.groups.capacity() * size_of::<SignGroup>() + numbers * size_of::<f32>()
    }
}

/// A query as lookup tables: for each value of [`SIGN_BITS`] sign bits, the signed sum of the numbers of
/// the query there.
pub(super) struct SignQuery {
    table: Vec<SignTable>,
    /// The step between table entries, and the product for a sum of zero.
    step: f32,
    lowest: f32,
    line: BoundCoefficients,
}

impl SignQuery {
    /// A query rotated as the rows are; `base` is its product with the center.
    pub fn new(rotated: &[f32], base: f32) -> Self {
        let groups = || rotated.chunks(SIGN_BITS);
        let length = |group: &[f32]| group.iter().fold(0.0_f32, |sum, x| sum + x.abs());
        let longest = groups().map(length).fold(0.0, f32::max);
        let step = (2.0 * longest / f32::from(LARGEST_ENTRY)).max(f32::MIN_POSITIVE);
        let mut table = vec![SignTable::default(); width(rotated.len())];
        for (entries, group) in table.iter_mut().zip(groups()) {
            let length = length(group);
            for (bits, entry) in entries.iter_mut().enumerate() {
                let numbers = group.iter().enumerate();
                let sum = numbers.fold(0.0, |sum, (nth, x)| {
                    if bits >> nth & 1 == 1 {
                        sum + x
                    } else {
                        sum - x
                    }
                });
                #[allow(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a conversion keeps to the ends of what a byte holds"
                )]
                let rounded = ((sum + length) / step + 0.5) as u8;
                *entry = rounded.min(LARGEST_ENTRY);
            }
        }
        Self {
            table,
            step,
            lowest: -groups().map(length).sum::<f32>(),
            line: BoundCoefficients {
                base,
                scale: 1.0,
                margin: DEVIATIONS * dot(rotated, rotated).sqrt(),
                slack: 0.0,
            },
        }
    }

    /// See [`BoundCoefficients`], for products with signs, factors and deviations.
    pub fn line(&self) -> BoundCoefficients {
        self.line
    }

    /// The products with the signs of the tile that begins with a row.
    pub fn products(&self, signs: &SignBits, row: usize, products: &mut [f32; TILE]) {
        let mut sums = [0; TILE];
        sign_sums(&self.table, signs.tile(row), &mut sums);
        for (product, sum) in products.iter_mut().zip(sums) {
            #[allow(clippy::cast_precision_loss, reason = "far fewer than 2^24")]
            let sum = sum as f32;
            *product = self.step * sum + self.lowest;
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

    fn signs(residuals: &[Vec<f32>]) -> SignBits {
        let mut signs = SignBits::with_capacity(residuals.len(), residuals[0].len());
        for residual in residuals {
            signs.insert(signs.factors.len(), &RowSignBits::new(residual));
        }
        signs
    }

    fn products(signs: &SignBits, query: &[f32]) -> Vec<f32> {
        let query = SignQuery::new(query, 0.0);
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
            let lengths = query.chunks(SIGN_BITS).map(|group| group.iter().map(|x| x.abs()).sum());
            let step = lengths.fold(0.0_f32, f32::max) * 2.0 / f32::from(LARGEST_ENTRY);
            #[allow(clippy::cast_precision_loss)]
            let off = 0.51 * step * query.len().div_ceil(SIGN_BITS) as f32 + 1e-3;
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
                        changed.replace(at, &RowSignBits::new(row));
                    }
                    _ => {
                        let at = at % (expected.len() + 1);
                        expected.insert(at, row.clone());
                        changed.insert(at, &RowSignBits::new(row));
                    }
                }
            }
            let expected = signs(&expected);
            prop_assert_eq!(&changed.groups, &expected.groups);
            prop_assert_eq!(&changed.factors, &expected.factors);
            let mut joined = SignBits::with_capacity(0, 150);
            let half = expected.factors.len() / 2;
            joined.extend(&expected, 0..half);
            joined.extend(&expected, half..expected.factors.len());
            prop_assert_eq!(&joined.groups, &expected.groups);
        }
    }
}
