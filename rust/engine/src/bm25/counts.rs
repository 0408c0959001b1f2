//! FTS5's formula, bit for bit (<https://sqlite.org/fts5.html#the_bm25_function>), and the lengths of
//! extended matching (spec/compile.md, "Extended matching").

use crate::query::Matching;
use crate::rule;

const K1: f64 = 1.2;
const B: f64 = 0.75;
/// The tokens added to every length and to the mean in extended matching. With fewer, short turns of a
/// conversation score higher for being short; with many more, lengths stop counting.
const ADDED_LENGTH: f64 = 50.0;

rule! {
    /// The length of a text counts less than in FTS5: a constant is added to it and to the mean.
    pub static SHORT_TEXTS = "short texts" { ADDED_LENGTH }
}

/// The matching by whose formula lengths count.
fn of_lengths(matching: Matching) -> Matching {
    if SHORT_TEXTS.is_on() {
        matching
    } else {
        Matching::Spec
    }
}

/// The numbers that a score depends on apart from the chunk, counted over all chunks that are ranked
/// together, whatever the filters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counts {
    /// The number of chunks.
    pub rows: u64,
    /// The number of tokens in all chunks.
    pub tokens: u64,
    /// The number of chunks that have each phrase.
    pub document_frequencies: Vec<u64>,
}

impl Counts {
    /// The inverse document frequency of a phrase that `document_frequency` chunks have. It is 1e-6 if
    /// half of the chunks or more have the phrase.
    pub fn idf(&self, document_frequency: u64) -> f64 {
        let (rows, holding) = (float(self.rows), float(document_frequency));
        // In FTS5's order: it subtracts integers, which is exact either way.
        let idf = ((rows - holding + 0.5) / (holding + 0.5)).ln();
        if idf <= 0.0 { 1e-6 } else { idf }
    }

    /// The length norm of a chunk of `length` tokens. The longer the chunk, the larger the norm and the
    /// smaller its term scores. Meaningless if no chunk has a token.
    pub fn length_norm(&self, length: u32, matching: Matching) -> f64 {
        let length = f64::from(length);
        match of_lengths(matching) {
            Matching::Spec => K1 * (1.0 - B + B * length / self.mean_length()),
            Matching::Extended => {
                K1 * (length + ADDED_LENGTH) / (self.mean_length() + ADDED_LENGTH)
            }
        }
    }

    /// The length norm as a line: its value at length 0, and what each token adds.
    pub fn length_norm_line(&self, matching: Matching) -> (f64, f64) {
        match of_lengths(matching) {
            Matching::Spec => (K1 * (1.0 - B), K1 * B / self.mean_length()),
            Matching::Extended => {
                let slope = K1 / (self.mean_length() + ADDED_LENGTH);
                (slope * ADDED_LENGTH, slope)
            }
        }
    }

    /// Return the mean number of tokens of a chunk. Meaningless without chunks.
    pub fn mean_length(&self) -> f64 {
        float(self.tokens) / float(self.rows)
    }
}

/// The term score of a phrase in a chunk. `weight` is the number of its occurrences, each counted as
/// often as the weight of its column.
pub fn term_score(idf: f64, weight: f64, length_norm: f64) -> f64 {
    idf * ((weight * (K1 + 1.0)) / (weight + length_norm))
}

#[allow(clippy::cast_precision_loss, reason = "as FTS5 does it")]
fn float(number: u64) -> f64 {
    number as f64
}

/// Length norms, computed once for the lengths that most chunks have.
pub(super) struct LengthNorms<'c> {
    counts: &'c Counts,
    matching: Matching,
    short: Vec<f64>,
}

impl<'c> LengthNorms<'c> {
    const SHORT: u32 = 512;

    pub fn new(counts: &'c Counts, matching: Matching) -> Self {
        Self {
            counts,
            matching,
            short: (0..Self::SHORT)
                .map(|length| counts.length_norm(length, matching))
                .collect(),
        }
    }

    pub fn of(&self, length: u32) -> f64 {
        match self.short.get(length as usize) {
            Some(norm) => *norm,
            None => self.counts.length_norm(length, self.matching),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extended_matching_has_lengths_of_its_own() {
        let counts = Counts {
            rows: 3,
            tokens: 60,
            document_frequencies: Vec::new(),
        };
        let score = |length, matching| term_score(2.0, 1.0, counts.length_norm(length, matching));
        assert!((score(10, Matching::Extended) - 2.169_014).abs() < 1e-6);
        assert!((score(10, Matching::Spec) - 2.514_286).abs() < 1e-6);
        for matching in [Matching::Spec, Matching::Extended] {
            let (base, slope) = counts.length_norm_line(matching);
            for length in [0, 1, 20, 100_000] {
                let norm = counts.length_norm(length, matching);
                assert!((base + slope * f64::from(length) - norm).abs() < 1e-9 * norm);
                // However often a phrase occurs, its score stays below the bound of score fusion.
                assert!(norm > 0.0 && term_score(2.0, 1e9, norm) < 2.2 * 2.0);
            }
        }
    }
}
