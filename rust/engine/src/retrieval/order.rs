//! The order of scores.

use std::cmp::Ordering;

/// Compare two scores so that the higher one sorts first. Both zeros are equal, and NaN sorts last.
pub fn descending(left: f64, right: f64) -> Ordering {
    right.partial_cmp(&left).unwrap_or_else(|| {
        // At least one of the two is not a number.
        left.is_nan().cmp(&right.is_nan())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_have_a_total_order() {
        let mut scores = [f64::NAN, 0.0, f64::NEG_INFINITY, 1.5, -0.0, f64::INFINITY];
        scores.sort_by(|left, right| descending(*left, *right));
        let shown = scores.map(|score| score.to_string());
        assert_eq!(shown, ["inf", "1.5", "0", "-0", "-inf", "NaN"]);
    }
}
