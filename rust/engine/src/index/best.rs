//! The best of many by similarity.

/// A vector's place in the matrix, and its similarity to the query.
pub(super) type Scored = (usize, f32);

/// The best `limit` of these, and all that are as good as the last of them, in no order.
pub(super) fn best(scored: impl Iterator<Item = Scored>, limit: usize) -> Vec<Scored> {
    let mut best = Best::new(limit);
    for scored in scored {
        best.offer(scored);
    }
    best.finish()
}

/// The best so far, more of them than asked for until there are enough to be worth cutting.
pub(super) struct Best {
    limit: usize,
    kept: Vec<Scored>,
    /// What is worse cannot be among the best.
    threshold: f32,
    /// How many to keep before the next cut.
    room: usize,
}

impl Best {
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            kept: Vec::new(),
            threshold: f32::NEG_INFINITY,
            room: limit.saturating_mul(2).saturating_add(64),
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
        if self.kept.len() >= self.room {
            self.cut();
            // Equals of the last are all kept, and may be many.
            self.room = self.room.max(self.kept.len().saturating_mul(2));
        }
    }

    pub fn cut(&mut self) {
        if self.kept.len() < self.limit.max(1) {
            return;
        }
        let last = self.limit - 1;
        self.kept
            .select_nth_unstable_by(last, |left, right| right.1.total_cmp(&left.1));
        if let Some((_, threshold)) = self.kept.get(last) {
            self.threshold = *threshold;
        }
        let threshold = self.threshold;
        self.kept.retain(|(_, similarity)| *similarity >= threshold);
    }

    pub fn finish(mut self) -> Vec<Scored> {
        self.cut();
        self.kept
    }
}
