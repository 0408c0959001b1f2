//! Rows in the order of their values, for finding those of a range quickly.

use std::cmp::Ordering;
use std::ops::Range;

use super::filters::Comparison;
use super::row_set::RowSet;

/// How many prefixes there are.
const PREFIXES: usize = 32;

/// Distinct values, ascending, each with the rows that have it.
#[derive(Debug)]
pub(super) struct Ordered<V> {
    values: Vec<V>,
    /// Where the rows of each value begin in `rows`; one more than values.
    starts: Vec<usize>,
    rows: Vec<i64>,
    /// The first rows as sets, each by `step` rows larger than the one before. None where a row has several
    /// values: then a range is not what lies between two prefixes.
    prefixes: Vec<RowSet>,
    step: usize,
}

impl<V> Ordered<V> {
    /// Values that ascend or are equal to the one before, each with its rows.
    pub fn new<'r>(
        spans: impl IntoIterator<Item = (V, &'r [i64])>,
        compare: impl Fn(&V, &V) -> Ordering,
    ) -> Self {
        let mut ordered = Self {
            values: Vec::new(),
            starts: Vec::new(),
            rows: Vec::new(),
            prefixes: Vec::new(),
            step: 1,
        };
        for (value, rows) in spans {
            let last = ordered.values.last();
            if last.is_none_or(|last| compare(last, &value).is_ne()) {
                ordered.starts.push(ordered.rows.len());
                ordered.values.push(value);
            }
            ordered.rows.extend_from_slice(rows);
        }
        ordered.starts.push(ordered.rows.len());
        ordered.add_prefixes();
        ordered
    }

    fn add_prefixes(&mut self) {
        self.step = self.rows.len().div_ceil(PREFIXES).max(1);
        let mut all = RowSet::default();
        for rows in self.rows.chunks(self.step) {
            self.prefixes.push(all.clone());
            for row in rows {
                all.insert(*row);
            }
        }
        if all.len() < self.rows.len() {
            self.prefixes.clear();
        }
        self.prefixes.shrink_to_fit();
    }

    /// The values.
    pub fn values(&self) -> &[V] {
        &self.values
    }

    /// Each value with its rows.
    pub fn iter(&self) -> impl Iterator<Item = (&V, &[i64])> {
        let spans = self
            .starts
            .windows(2)
            .map(|span| &self.rows[span[0]..span[1]]);
        self.values.iter().zip(spans)
    }

    /// The rows of some values that follow each other.
    pub fn rows_of(&self, values: Range<usize>) -> RowSet {
        let (start, end) = (self.starts[values.start], self.starts[values.end]);
        if end - start <= self.step || self.prefixes.is_empty() {
            return self.rows[start..end].iter().copied().collect();
        }
        let mut rows = self.first(end);
        rows.subtract(&self.first(start));
        rows
    }

    /// The rows of those values `within` a span that compare so with another value, as `order` says.
    pub fn compared(
        &self,
        comparison: Comparison,
        within: Range<usize>,
        order: impl Fn(&V) -> Ordering,
    ) -> RowSet {
        let values = &self.values[within.clone()];
        let below = within.start + values.partition_point(|value| order(value).is_lt());
        let up_to = within.start + values.partition_point(|value| order(value).is_le());
        self.rows_of(match comparison {
            Comparison::Less => within.start..below,
            Comparison::AtMost => within.start..up_to,
            Comparison::Equal => below..up_to,
            Comparison::AtLeast => below..within.end,
            Comparison::More => up_to..within.end,
        })
    }

    /// About how many bytes of memory it takes, without what values point to.
    pub fn bytes(&self) -> usize {
        let prefixes = self.prefixes.iter().map(RowSet::bytes).sum::<usize>();
        self.values.capacity() * size_of::<V>()
            + (self.rows.capacity() + self.starts.capacity()) * size_of::<usize>()
            + prefixes
    }

    /// The first `count` rows.
    fn first(&self, count: usize) -> RowSet {
        let number = (count / self.step).min(self.prefixes.len() - 1);
        let mut rows = self.prefixes[number].clone();
        for row in &self.rows[number * self.step..count] {
            rows.insert(*row);
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_range_has_the_rows_of_its_values(
            rows in prop::collection::vec((0..40_u8, 1..9000_i64), 0..300),
            single in any::<bool>(),
            comparison in prop::sample::select(vec![
                Comparison::Less,
                Comparison::AtMost,
                Comparison::Equal,
                Comparison::AtLeast,
                Comparison::More,
            ]),
            wanted in 0..40_u8,
        ) {
            let mut seen = BTreeSet::new();
            let mut pairs: BTreeSet<(u8, i64)> = BTreeSet::new();
            for (value, row) in rows {
                if seen.insert(row) || !single {
                    pairs.insert((value, row));
                }
            }
            let listed: Vec<(u8, [i64; 1])> = pairs.iter().map(|(v, row)| (*v, [*row])).collect();
            let spans = listed.iter().map(|(value, row)| (*value, row.as_slice()));
            let ordered = Ordered::new(spans, Ord::cmp);
            let all = 0..ordered.values().len();
            let found = ordered.compared(comparison, all, |value| value.cmp(&wanted));
            let expected = pairs.iter().filter(|(value, _)| comparison.holds(value.cmp(&wanted)));
            prop_assert_eq!(found, expected.map(|(_, row)| *row).collect());
        }
    }
}
