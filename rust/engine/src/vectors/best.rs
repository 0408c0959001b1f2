//! The best of many by similarity.

/// A vector's place in the matrix, and its similarity to the query.
pub(crate) type Scored = (usize, f32);

/// So many better ones, or as many as asked for if that is more, are worth a cut.
const WORTH_A_CUT: usize = 64;

/// The best `limit` of these, and all that are as good as the last of them, in no order.
pub(super) fn best(scored: impl Iterator<Item = Scored>, limit: usize) -> Vec<Scored> {
    let mut best = Best::new(limit);
    for scored in scored {
        best.offer(scored);
    }
    best.finish()
}

/// The best so far, and what came since the worst of them were cut away.
pub(super) struct Best {
    limit: usize,
    kept: Vec<Scored>,
    /// What is worse cannot be among the best.
    threshold: f32,
    /// How many better ones came since it was found. Its equals do not count: all of them are kept,
    /// however many, and looking through them again would change nothing.
    better: usize,
}

impl Best {
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            kept: Vec::new(),
            threshold: f32::NEG_INFINITY,
            better: 0,
        }
    }

    /// What is worse than this is not kept.
    pub fn threshold(&self) -> f32 {
        self.threshold
    }

    pub fn offer(&mut self, scored: Scored) {
        if scored.1 < self.threshold {
            return;
        }
        self.kept.push(scored);
        self.better += usize::from(scored.1 > self.threshold);
        if self.better >= self.limit.max(WORTH_A_CUT) {
            self.cut();
        }
    }

    /// Drop what cannot be among the best, and raise the threshold to the last of them.
    pub fn cut(&mut self) {
        let Some(last) = self.limit.checked_sub(1) else {
            return;
        };
        if self.better == 0 || self.kept.len() <= last {
            return;
        }
        self.kept
            .select_nth_unstable_by(last, |left, right| right.1.total_cmp(&left.1));
        let threshold = self.kept[last].1;
        self.kept.retain(|(_, similarity)| *similarity >= threshold);
        self.threshold = threshold;
        self.better = 0;
    }

    pub fn finish(mut self) -> Vec<Scored> {
        self.cut();
        self.kept
    }
}
