//! Keeping the best of many.

use std::cmp::Ordering;

/// A score, higher is better, and its row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scored {
    pub score: f64,
    pub row: i64,
}

impl Scored {
    /// Better before worse, equals by row.
    pub fn order(&self, other: &Self) -> Ordering {
        (other.score.total_cmp(&self.score)).then(self.row.cmp(&other.row))
    }
}

/// The best so far, more of them than asked for until there are enough to be worth cutting.
pub(super) struct Best {
    limit: usize,
    kept: Vec<Scored>,
    /// What is worse cannot be among the best.
    threshold: f64,
}

impl Best {
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            kept: Vec::new(),
            threshold: 0.0,
        }
    }

    /// Whether a score may be among the best; one equal to the last may be, by its row.
    pub fn may_take(&self, score: f64) -> bool {
        score >= self.threshold
    }

    pub fn offer(&mut self, score: f64, row: i64) {
        self.kept.push(Scored { score, row });
        if self.kept.len() > self.limit.saturating_mul(2).saturating_add(64) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        if self.limit > 0 && self.kept.len() > self.limit {
            let (_, last, _) = self
                .kept
                .select_nth_unstable_by(self.limit - 1, Scored::order);
            self.threshold = last.score;
        }
        self.kept.truncate(self.limit);
    }

    /// The best, in order.
    pub fn finish(mut self) -> Vec<Scored> {
        self.cut();
        self.kept.sort_unstable_by(Scored::order);
        self.kept
    }

    /// Everything that was offered, in no order.
    pub fn all(self) -> Vec<Scored> {
        self.kept
    }
}
