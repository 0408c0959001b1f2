//! FTS5's formula, bit for bit (<https://sqlite.org/fts5.html#the_bm25_function>).

const K1: f64 = 1.2;
const B: f64 = 0.75;

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
    pub fn length_norm(&self, length: u32) -> f64 {
        K1 * (1.0 - B + B * f64::from(length) / self.mean_length())
    }

    /// The mean number of tokens of a chunk. Meaningless if there are no chunks.
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
    short: Vec<f64>,
}

impl<'c> LengthNorms<'c> {
    const SHORT: u32 = 512;

    pub fn new(counts: &'c Counts) -> Self {
        Self {
            counts,
            short: (0..Self::SHORT)
                .map(|length| counts.length_norm(length))
                .collect(),
        }
    }

    pub fn of(&self, length: u32) -> f64 {
        match self.short.get(length as usize) {
            Some(norm) => *norm,
            None => self.counts.length_norm(length),
        }
    }
}
