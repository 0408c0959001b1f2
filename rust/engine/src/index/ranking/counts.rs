//! FTS5's formula, bit for bit (<https://sqlite.org/fts5.html#the_bm25_function>).

const K1: f64 = 1.2;
const B: f64 = 0.75;

/// What a score depends on beside the chunk: sums over all chunks that are ranked together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Counts {
    /// How many chunks there are.
    pub rows: u64,
    /// How many tokens they have.
    pub tokens: u64,
    /// How many chunks hold each phrase.
    pub holders: Vec<u64>,
}

impl Counts {
    /// What a phrase is worth that so many chunks hold: next to nothing if half of them do.
    pub fn worth(&self, holders: u64) -> f64 {
        let (rows, holders) = (float(self.rows), float(holders));
        // In FTS5's order: it subtracts integers, which is exact either way.
        let worth = ((rows - holders + 0.5) / (holders + 0.5)).ln();
        if worth <= 0.0 { 1e-6 } else { worth }
    }

    /// How much a chunk of so many tokens weakens a match; the longer, the more.
    pub fn damping(&self, length: u32) -> f64 {
        let average = float(self.tokens) / float(self.rows);
        K1 * (1.0 - B + B * f64::from(length) / average)
    }
}

/// What the occurrences of a phrase add to a chunk's score.
pub(super) fn gain(worth: f64, weight: f64, damping: f64) -> f64 {
    worth * ((weight * (K1 + 1.0)) / (weight + damping))
}

#[allow(clippy::cast_precision_loss, reason = "as FTS5 does it")]
fn float(number: u64) -> f64 {
    number as f64
}

/// The dampings of all lengths that most chunks have, so that they are not computed for each.
pub(super) struct Dampings<'c> {
    counts: &'c Counts,
    short: Vec<f64>,
}

impl<'c> Dampings<'c> {
    const SHORT: u32 = 512;

    pub fn new(counts: &'c Counts) -> Self {
        Self {
            counts,
            short: (0..Self::SHORT)
                .map(|length| counts.damping(length))
                .collect(),
        }
    }

    pub fn of(&self, length: u32) -> f64 {
        match self.short.get(length as usize) {
            Some(damping) => *damping,
            None => self.counts.damping(length),
        }
    }
}
