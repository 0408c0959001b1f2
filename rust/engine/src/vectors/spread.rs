//! How the similarities to a query are spread over all that is searched.

/// The number of cosines from which their mean and deviation are computed. If there are more, a sample of
/// this size is used.
pub const SAMPLE: usize = 1024;

/// Similarities are added as whole numbers of this many to 1, since floats would add up
/// differently in another order. The square of the largest, times the square of the most that
/// are added, stays below 2^127.
const UNITS: f64 = 1_099_511_627_776.0;

/// Mean and standard deviation of the cosines with a query.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CosineStats {
    /// The mean; 0 of none.
    pub mean: f64,
    /// The population standard deviation; 0 of none.
    pub deviation: f64,
}

impl CosineStats {
    /// The spread of these cosines, to the bit the same in any order.
    pub fn of(cosines: impl Iterator<Item = f32>) -> Self {
        let mut sums = Sums::default();
        cosines.for_each(|cosine| sums.add(cosine));
        sums.spread()
    }
}

/// Sums from which the spread of cosines is computed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sums {
    count: i128,
    sum: i128,
    squares: i128,
}

impl Sums {
    pub fn add(&mut self, cosine: f32) {
        #[allow(clippy::cast_possible_truncation, reason = "a cosine is at most 1")]
        let units = i128::from((f64::from(cosine) * UNITS).round() as i64);
        self.count += 1;
        self.sum += units;
        self.squares += units * units;
    }

    pub fn spread(self) -> CosineStats {
        let Self {
            count,
            sum,
            squares,
        } = self;
        if count == 0 {
            return CosineStats::default();
        }
        #[allow(clippy::cast_precision_loss, reason = "only the results are rounded")]
        let [count, sum, variance] = [count, sum, count * squares - sum * sum].map(|n| n as f64);
        CosineStats {
            mean: sum / count / UNITS,
            deviation: variance.sqrt() / count / UNITS,
        }
    }
}

/// The positions of a sample of `count` items. None if all items count.
pub(super) fn sample(count: usize) -> Option<impl Iterator<Item = usize>> {
    let step = count / SAMPLE;
    (count > SAMPLE).then(|| (0..SAMPLE).map(move |nth| nth * step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_deviation_are_those_of_all() {
        let spread = CosineStats::of([0.5, -0.25, 0.0, 0.75].into_iter());
        assert!((spread.mean - 0.25).abs() < 1e-12);
        assert!((spread.deviation - 0.15625_f64.sqrt()).abs() < 1e-12);
        assert_eq!(CosineStats::of([].into_iter()), CosineStats::default());
        let equal = CosineStats::of(std::iter::repeat_n(0.3, 1000));
        assert!((equal.mean - f64::from(0.3_f32)).abs() < 1e-12);
        assert_eq!(equal.deviation.to_bits(), 0);
    }

    #[test]
    fn the_largest_numbers_fit() {
        for sign in [1.0, -1.0] {
            let spread = CosineStats::of(std::iter::repeat_n(sign, SAMPLE));
            assert_eq!(
                (spread.mean.to_bits(), spread.deviation),
                (f64::from(sign).to_bits(), 0.0)
            );
        }
    }

    #[test]
    fn a_sample_is_even_and_begins_with_the_first() {
        assert!(sample(SAMPLE).is_none());
        for count in [SAMPLE + 1, 256 * 500 - 1, 256 * 500] {
            let sampled: Vec<usize> = sample(count).unwrap().collect();
            let expected: Vec<usize> = (0..count).step_by(count / SAMPLE).take(SAMPLE).collect();
            assert_eq!(sampled, expected);
        }
    }
}
