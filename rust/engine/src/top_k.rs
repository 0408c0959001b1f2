//! The best k of many, and with them all equals of the last one, of which a total order has none.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use hashlink::DefaultHashBuilder;

/// The number of better items after which a cut pays, if it is more than k.
const MIN_BATCH: usize = 64;

/// Reduce `items` to the first `limit` by `order` and the equals of the last, in no order.
pub fn select<T>(items: &mut Vec<T>, limit: usize, order: impl Fn(&T, &T) -> Ordering) {
    if limit >= items.len() {
        return;
    }
    let Some(last) = limit.checked_sub(1) else {
        return items.clear();
    };
    items.select_nth_unstable_by(last, &order);
    let mut end = limit;
    for index in limit..items.len() {
        if order(&items[index], &items[last]).is_eq() {
            items.swap(index, end);
            end += 1;
        }
    }
    items.truncate(end);
}

/// Something with a score, higher is better.
pub(crate) trait Scored: Copy {
    type Score: Copy + PartialOrd;
    /// A score below every score.
    const LOWEST: Self::Score;

    fn score(&self) -> Self::Score;

    /// Better before worse; a tie goes by what else there is to tell them apart.
    fn order(&self, other: &Self) -> Ordering;
}

/// Top-k selection of items offered one by one.
pub(crate) struct TopK<S: Scored> {
    limit: usize,
    kept: Vec<S>,
    /// The last of the best at the latest cut: nothing worse can be among them.
    last: Option<S>,
    /// The number of better items since the last cut. Ties with the k-th item do not count: all of them are
    /// kept, and another cut would change nothing.
    better: usize,
}

impl<S: Scored> TopK<S> {
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            kept: Vec::new(),
            last: None,
            better: 0,
        }
    }

    /// The score below which nothing is kept.
    pub fn threshold(&self) -> S::Score {
        self.last.map_or(S::LOWEST, |last| last.score())
    }

    pub fn offer(&mut self, item: S) {
        match self.last.map_or(Ordering::Less, |last| item.order(&last)) {
            Ordering::Greater => return,
            Ordering::Equal => {}
            Ordering::Less => self.better += 1,
        }
        self.kept.push(item);
        if self.better >= self.limit.saturating_mul(2).max(MIN_BATCH) {
            self.cut();
        }
    }

    /// [`Self::cut`] if enough items came since the last cut to be worth it.
    pub fn cut_if_due(&mut self) {
        if self.better.saturating_mul(2) >= self.limit {
            self.cut();
        }
    }

    /// Drop what cannot be among the best, and raise the threshold to the last of them.
    pub fn cut(&mut self) {
        if self.better == 0 || self.kept.len() < self.limit {
            return;
        }
        select(&mut self.kept, self.limit, S::order);
        // `select` leaves it at its index where it cut, and there was nothing to cut otherwise.
        self.last = self.kept.iter().copied().max_by(S::order);
        self.better = 0;
    }

    /// The best, in no order; all that was offered, where the limit was `usize::MAX`.
    pub fn finish(mut self) -> Vec<S> {
        self.cut();
        self.kept
    }
}

/// The best item of each of the k best groups, of items that are offered one by one.
pub(crate) struct TopGroups<S: Scored> {
    limit: usize,
    /// The best item of each group that can be among the best.
    best: HashMap<u32, S, DefaultHashBuilder>,
    /// The last of the best groups at the latest cut: no worse item can be a group's best among them.
    last: Option<S>,
    /// The number of groups that came or got better since.
    better: usize,
}

impl<S: Scored> TopGroups<S> {
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            best: HashMap::default(),
            last: None,
            better: 0,
        }
    }

    /// The score below which no item is kept.
    pub fn threshold(&self) -> S::Score {
        self.last.map_or(S::LOWEST, |last| last.score())
    }

    /// The best item of a group that can be among the best.
    pub fn best(&self, group: u32) -> Option<&S> {
        self.best.get(&group)
    }

    pub fn offer(&mut self, group: u32, item: S) {
        if self.last.is_some_and(|last| item.order(&last).is_gt()) {
            return;
        }
        match self.best.entry(group) {
            Entry::Occupied(mut known) if item.order(known.get()).is_lt() => {
                known.insert(item);
            }
            Entry::Occupied(_) => return,
            Entry::Vacant(place) => {
                place.insert(item);
            }
        }
        self.better += 1;
        if self.better >= self.limit.saturating_mul(2).max(MIN_BATCH) {
            self.cut();
        }
    }

    /// [`Self::cut`] if enough groups came or got better since the last cut to be worth it.
    pub fn cut_if_due(&mut self) {
        if self.better.saturating_mul(2) >= self.limit {
            self.cut();
        }
    }

    /// Drop groups that cannot be among the best, and raise the threshold to the last of them.
    pub fn cut(&mut self) {
        self.better = 0;
        if self.best.len() < self.limit {
            return;
        }
        let mut items: Vec<S> = self.best.values().copied().collect();
        select(&mut items, self.limit, S::order);
        self.last = items.into_iter().max_by(S::order);
        if let Some(last) = self.last {
            self.best.retain(|_, item| item.order(&last).is_le());
        }
    }

    /// The best item of each of the best groups, in no order.
    pub fn finish(mut self) -> Vec<S> {
        self.cut();
        self.best.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A score and an id, whose ties are kept.
    impl Scored for (u8, i32) {
        type Score = i32;
        const LOWEST: i32 = i32::MIN;

        fn score(&self) -> i32 {
            self.1
        }

        fn order(&self, other: &Self) -> Ordering {
            other.1.cmp(&self.1)
        }
    }

    /// Every sequence of `length` numbers below `limit`.
    fn sequences(length: u32, limit: i32) -> impl Iterator<Item = Vec<i32>> {
        let digit = move |number: i32, at: u32| number / limit.pow(at) % limit;
        (0..limit.pow(length)).map(move |n| (0..length).map(|at| digit(n, at)).collect())
    }

    #[test]
    fn every_short_sequence_with_cuts_anywhere_has_its_best_and_the_equals_of_the_last() {
        for scores in (0..=5).flat_map(|length| sequences(length, 3)) {
            let items: Vec<(u8, i32)> = (0..).zip(scores).collect();
            for limit in 0..=6_usize {
                let mut expected = items.clone();
                expected.sort_by(Scored::order);
                let least = match limit.checked_sub(1) {
                    None => i32::MAX,
                    Some(last) => expected.get(last).map_or(i32::MIN, |item| item.1),
                };
                expected.retain(|item| item.1 >= least);
                expected.sort_unstable();
                for cuts in 0..1_usize << items.len() {
                    let mut top = TopK::new(limit);
                    for (number, item) in items.iter().enumerate() {
                        top.offer(*item);
                        if cuts >> number & 1 == 1 {
                            top.cut();
                        }
                    }
                    let mut found = top.finish();
                    found.sort_unstable();
                    assert_eq!(found, expected, "{items:?} {limit} {cuts:b}");
                }
            }
        }
    }

    #[test]
    fn every_short_sequence_of_groups_with_cuts_anywhere_has_the_best_of_the_best() {
        // Distinct scores, so that nothing is a tie.
        let is_distinct = |scores: &Vec<i32>| (0..4).all(|score| scores.contains(&score));
        for scores in sequences(4, 4).filter(is_distinct) {
            for groups in sequences(4, 3) {
                let groups = groups.iter().map(|group| u32::try_from(*group).unwrap());
                let items: Vec<(u32, i32)> = groups.zip(scores.clone()).collect();
                for (limit, cuts) in
                    (1..=4).flat_map(|limit| (0..16).map(move |cuts| (limit, cuts)))
                {
                    let mut top = TopGroups::new(limit);
                    let mut best = std::collections::BTreeMap::new();
                    for (number, (group, score)) in items.iter().enumerate() {
                        top.offer(*group, (0_u8, *score));
                        if cuts >> number & 1 == 1 {
                            top.cut();
                        }
                        let known = best.entry(*group).or_insert(*score);
                        *known = *score.max(known);
                    }
                    let mut expected: Vec<i32> = best.into_values().collect();
                    let mut found: Vec<i32> = top.finish().into_iter().map(|item| item.1).collect();
                    for list in [&mut expected, &mut found] {
                        list.sort_unstable_by_key(|score| std::cmp::Reverse(*score));
                    }
                    expected.truncate(limit);
                    assert_eq!(found, expected, "{items:?} {limit} {cuts:b}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn the_best_of_each_of_the_best_groups_stays(
            // Distinct scores, so that nothing is a tie.
            scores in Just((0..300).collect::<Vec<i32>>()).prop_shuffle(),
            groups in prop::collection::vec(0_u32..50, 300),
            limit in 1_usize..90,
        ) {
            let mut top = TopGroups::new(limit);
            let mut expected = std::collections::BTreeMap::new();
            for (group, score) in groups.into_iter().zip(scores) {
                top.offer(group, (0_u8, score));
                let best = expected.entry(group).or_insert(score);
                *best = score.max(*best);
            }
            let mut expected: Vec<i32> = expected.into_values().collect();
            expected.sort_unstable_by_key(|score| std::cmp::Reverse(*score));
            expected.truncate(limit);
            let mut found: Vec<i32> = top.finish().into_iter().map(|item| item.1).collect();
            found.sort_unstable_by_key(|score| std::cmp::Reverse(*score));
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn the_best_and_the_equals_of_the_last_stay(
            items in prop::collection::vec((any::<u8>(), 0..40), 0..400),
            limit in 0_usize..90,
        ) {
            let mut expected = items.clone();
            expected.sort_by(Scored::order);
            if let Some(last) = limit.checked_sub(1).and_then(|last| expected.get(last)).copied() {
                expected.retain(|item| item.1 >= last.1);
            } else if limit == 0 {
                expected.clear();
            }
            let mut top = TopK::new(limit);
            for item in items {
                top.offer(item);
            }
            let mut found = top.finish();
            for list in [&mut found, &mut expected] {
                list.sort_unstable();
            }
            prop_assert_eq!(found, expected);
        }
    }
}
