//! Score fusion (spec/retrieval.md, "Score fusion"): how well words match and how near the meaning is,
//! brought to one scale and added.

use crate::bm25::PhraseCounts;
use crate::rule;
use crate::vectors::CosineStats;

/// The gain of a standard deviation of the cosines; the best keyword match gains 1.
pub(super) const MEANING_WEIGHT: f64 = 0.20;
/// From which part of the bound of BM25 on the best keyword match counts in full.
const FULL_COVERAGE: f64 = 0.20;
rule! {
    /// Keywords count less beside vectors if the best match covers little of the question.
    pub static KEYWORD_COVERAGE = "keyword coverage" { FULL_COVERAGE }
}

/// The limit of the gain of a phrase with growing frequency, as a multiple of its idf: k1 + 1.
const SATURATION: f64 = 2.2;
/// The idf of a phrase that half of the rows or more hold, as in FTS5.
const LEAST_IDF: f64 = 1e-6;
/// Cosines that spread less than this are taken for equal.
const LEAST_DEVIATION: f64 = 1e-6;

fn idf(rows: u64, document_frequency: u64) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "fewer than 2^52 rows")]
    let (rows, holding) = (rows as f64, document_frequency as f64);
    ((rows - holding + 0.5) / (holding + 0.5))
        .ln()
        .max(LEAST_IDF)
}

/// The score that BM25 cannot exceed.
pub(super) fn bm25_bound(counts: &PhraseCounts) -> f64 {
    let frequencies = counts.document_frequencies.iter();
    let idfs = frequencies.map(|frequency| idf(counts.rows, *frequency));
    SATURATION * idfs.sum::<f64>()
}

/// The scale of the scores of one search.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    /// The best score by keywords; 0 where there is none.
    best: f64,
    /// The best score by keywords as a part of its bound; None where that is unknown.
    pub coverage: Option<f64>,
    /// The value of the best keyword match.
    pub weight: f64,
    spread: CosineStats,
}

impl Scale {
    /// The scale of these scores by keywords, which cannot exceed `bound`.
    pub fn new(
        keywords: impl Iterator<Item = f64>,
        bound: Option<f64>,
        spread: CosineStats,
    ) -> Self {
        let best = keywords.fold(0.0, f64::max);
        let coverage = bound
            .filter(|bound| best > 0.0 && *bound > 0.0)
            .map(|bound| best / bound);
        let weighed = coverage.filter(|_| KEYWORD_COVERAGE.is_on());
        Self {
            best,
            coverage,
            weight: weighed.map_or(1.0, |coverage| (coverage / FULL_COVERAGE).min(1.0)),
            spread,
        }
    }

    /// A score by keywords as a part of the best.
    pub fn share(&self, score: f64) -> f64 {
        if self.best > 0.0 {
            score / self.best
        } else {
            0.0
        }
    }

    /// Return the standard deviations of a cosine above the mean.
    pub fn deviations(&self, cosine: f64) -> f64 {
        if self.spread.deviation < LEAST_DEVIATION {
            return 0.0;
        }
        (cosine - self.spread.mean) / self.spread.deviation
    }

    /// Return the value of a share.
    pub fn keywords(&self, share: f64) -> f64 {
        self.weight * share
    }

    /// Return the value of deviations.
    pub fn meaning(deviations: f64) -> f64 {
        MEANING_WEIGHT * deviations
    }
}

/// A score times a factor: one above 1 always raises it, one below 1 always lowers it.
pub(super) fn multiplied(score: f64, factor: f64) -> f64 {
    if score < 0.0 {
        score / factor
    } else {
        score * factor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(left: f64, right: f64) -> bool {
        (left - right).abs() < 1e-6 * right.abs().max(1e-6)
    }

    #[test]
    fn rare_phrases_count_more() {
        for (rows, holding, expected) in [
            (1000, 3, 5.652_489),
            (1000, 60, 2.743_768),
            (1000, 0, 7.601_402),
            (10, 8, 1e-6),
            (10, 5, 1e-6),
        ] {
            let idf = idf(rows, holding);
            assert!(close(idf, expected), "{rows} {holding}: {idf}");
        }
        let counts = |document_frequencies: &[u64]| PhraseCounts {
            rows: 1000,
            document_frequencies: document_frequencies.to_vec(),
        };
        assert!(close(bm25_bound(&counts(&[3, 60])), 18.471_766));
        assert!(close(bm25_bound(&counts(&[3, 60, 3])), 30.907_242));
    }

    #[test]
    fn keywords_count_by_what_the_best_of_them_covers() {
        for (bound, coverage, weight) in [
            (Some(18.0), Some(0.5), 1.0),
            (Some(45.0), Some(0.2), 1.0),
            (Some(90.0), Some(0.1), 0.5),
            (Some(0.0), None, 1.0),
            (None, None, 1.0),
        ] {
            let scale = Scale::new([6.0, 9.0].into_iter(), bound, CosineStats::default());
            assert_eq!((scale.coverage, scale.weight), (coverage, weight));
        }
        let nothing = Scale::new([].into_iter(), Some(90.0), CosineStats::default());
        assert_eq!((nothing.coverage, nothing.weight), (None, 1.0));
        assert_eq!(nothing.share(0.0).to_bits(), 0);
    }

    #[test]
    fn cosines_that_are_all_but_equal_tell_nothing() {
        for (deviation, expected) in [(0.0, 0.0), (9.9e-7, 0.0), (1e-6, 1e5)] {
            let spread = CosineStats {
                mean: 0.1,
                deviation,
            };
            let scale = Scale::new([].into_iter(), None, spread);
            assert!(close(scale.deviations(0.2), expected));
        }
    }

    #[test]
    fn a_factor_works_the_same_way_on_both_sides_of_zero() {
        for (score, factor, expected) in [
            (0.5, 2.0, 1.0),
            (-0.5, 2.0, -0.25),
            (0.5, 0.5, 0.25),
            (-0.5, 0.5, -1.0),
            (0.0, 2.0, 0.0),
        ] {
            assert_eq!(multiplied(score, factor).to_bits(), f64::to_bits(expected));
        }
    }
}
