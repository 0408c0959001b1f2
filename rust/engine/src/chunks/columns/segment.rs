//! The rows of a column by their values: sorted once, then never changed.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::OnceLock;

use super::marks::Marks;
use super::value_key::{TEXT, text_key, text_of};
use crate::calendar::{Instant, instant};
use crate::chunks::filters::Comparison;
use crate::chunks::row_set::RowSet;
use crate::error::Result;
use crate::interrupt;

/// The number of prefix sets of a segment. A range of values takes the difference of two of them, and
/// at most one part in `PREFIXES` of the rows one by one.
const PREFIXES: usize = 32;
/// The most bytes that the prefix sets take for each row. They take 4 in a segment of all rows, and more
/// the fewer of all rows it has: then its rows are soon added one by one.
const MAX_PREFIX_BYTES: usize = 8;

/// Distinct values as keys in ascending order, each with the rows that have it.
#[derive(Debug, Default)]
pub(super) struct ColumnSegment {
    /// The keys, one after the other.
    bytes: Vec<u8>,
    /// The end of each key in `bytes`.
    ends: Vec<u32>,
    /// The end of the rows of each key in `rows`.
    row_ends: Vec<u32>,
    /// The rows of each key, ascending.
    rows: Vec<i64>,
    /// The first rows as sets, each by `step` rows larger than the one before. None if they would take too
    /// much memory, or a row has several values: then a range of values is not the difference of two sets.
    prefixes: Vec<RowSet>,
    step: usize,
    has_single_keys: bool,
    /// The keys that are dates by their instants. Made for the first condition on dates.
    dates: OnceLock<Vec<(Instant, u32)>>,
}

impl ColumnSegment {
    /// The number of distinct keys.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The number of pairs of a key and a row.
    pub fn pairs(&self) -> usize {
        self.rows.len()
    }

    /// Whether no row has several keys.
    pub fn has_single_keys(&self) -> bool {
        self.has_single_keys
    }

    /// The memory of the segment in bytes, by estimate.
    pub fn bytes(&self) -> usize {
        let prefixes = self.prefixes.iter().map(RowSet::bytes).sum::<usize>();
        let dates = self.dates.get().map_or(0, Vec::capacity);
        size_of::<Self>()
            + self.bytes.capacity()
            + (self.ends.capacity() + self.row_ends.capacity()) * size_of::<u32>()
            + self.rows.capacity() * size_of::<i64>()
            + dates * size_of::<(Instant, u32)>()
            + prefixes
    }

    /// Mark one key, if it is there.
    pub fn mark_key(&self, key: &[u8], marks: &mut Marks) {
        let at = self.first(|known| known < key);
        if at < self.len() && self.key(at) == key {
            marks.add(at);
        }
    }

    /// Mark the keys of one kind that compare this way with `key`.
    pub fn mark_compared(&self, comparison: Comparison, key: &[u8], marks: &mut Marks) {
        let kind = self.of_kind(key[0]);
        let below = self.first(|known| known < key);
        let up_to = self.first(|known| known <= key);
        marks.add_range(comparison.range(&kind, below, up_to));
    }

    /// Mark the texts that begin with `prefix` and pass the test.
    pub fn mark_texts(&self, prefix: &str, passes: impl Fn(&str) -> bool, marks: &mut Marks) {
        for at in self.with_prefix(prefix) {
            if text_of(self.key(at)).is_some_and(&passes) {
                marks.add(at);
            }
        }
    }

    /// Mark the texts that begin with `prefix`.
    pub fn mark_prefix(&self, prefix: &str, marks: &mut Marks) {
        marks.add_range(self.with_prefix(prefix));
    }

    /// Mark the texts that are dates which compare this way with `wanted`.
    pub fn mark_dates(&self, comparison: Comparison, wanted: Instant, marks: &mut Marks) {
        let dates = self.dates();
        let below = dates.partition_point(|(date, _)| *date < wanted);
        let up_to = dates.partition_point(|(date, _)| *date <= wanted);
        for (_, at) in &dates[comparison.range(&(0..dates.len()), below, up_to)] {
            marks.add(*at as usize);
        }
    }

    /// The rows of the marked keys.
    pub fn rows_of(&self, marks: &Marks) -> RowSet {
        let mut all = RowSet::default();
        for keys in marks.ranges() {
            let rows = self.start(keys.start)..self.row_ends[keys.end - 1] as usize;
            if rows.len() <= self.step || self.prefixes.is_empty() {
                all.extend(self.rows[rows].iter().copied());
            } else {
                let mut range = self.first_rows(rows.end);
                range.subtract(&self.first_rows(rows.start));
                all.union(&range);
            }
        }
        all
    }

    /// The segment of these rows and of those of `older` that are not `hidden`. No row is in both.
    pub fn merged(older: &Self, hidden: &RowSet, newer: &Self) -> Self {
        let mut merged = Self::default();
        let (mut left, mut right) = (0, 0);
        let mut rows = Vec::new();
        while left < older.len() || right < newer.len() {
            let one = (left < older.len()).then(|| older.key(left));
            let other = (right < newer.len()).then(|| newer.key(right));
            let takes = |key: Option<&[u8]>, beside: Option<&[u8]>| {
                key.is_some() && (beside.is_none() || key <= beside)
            };
            let (takes_one, takes_other) = (takes(one, other), takes(other, one));
            rows.clear();
            if takes_one {
                let seen = older.rows_at(left).iter().copied();
                rows.extend(seen.filter(|row| !hidden.contains(*row)));
                left += 1;
            }
            let key = if takes_one { one } else { other };
            if takes_other {
                let from_both = !rows.is_empty();
                rows.extend_from_slice(newer.rows_at(right));
                if from_both {
                    rows.sort_unstable();
                }
                right += 1;
            }
            merged.push(key.unwrap_or_default(), &rows);
        }
        merged.finish()
    }

    /// Append a key greater than all before it, with its rows. A key without rows is skipped.
    fn push(&mut self, key: &[u8], rows: &[i64]) {
        if rows.is_empty() {
            return;
        }
        self.bytes.extend_from_slice(key);
        self.rows.extend_from_slice(rows);
        self.ends.push(number(self.bytes.len()));
        self.row_ends.push(number(self.rows.len()));
    }

    /// Complete a segment after its last key.
    fn finish(mut self) -> Self {
        self.bytes.shrink_to_fit();
        self.ends.shrink_to_fit();
        self.row_ends.shrink_to_fit();
        self.rows.shrink_to_fit();
        self.step = self.rows.len().div_ceil(PREFIXES).max(1);
        let all: RowSet = self.rows.iter().copied().collect();
        let is_large = all.bytes() * PREFIXES > self.rows.len() * MAX_PREFIX_BYTES;
        self.has_single_keys = all.len() == self.rows.len();
        if is_large || !self.has_single_keys {
            return self;
        }
        let mut first = RowSet::default();
        self.prefixes.reserve_exact(PREFIXES);
        for rows in self.rows.chunks(self.step) {
            self.prefixes.push(first.clone());
            first.extend(rows.iter().copied());
        }
        self
    }

    fn key(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start as usize..self.ends[at] as usize]
    }

    /// The start of the rows of a key.
    fn start(&self, at: usize) -> usize {
        at.checked_sub(1)
            .map_or(0, |before| self.row_ends[before] as usize)
    }

    fn rows_at(&self, at: usize) -> &[i64] {
        &self.rows[self.start(at)..self.row_ends[at] as usize]
    }

    /// The first key that is not before a place.
    fn first(&self, is_before: impl Fn(&[u8]) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            if is_before(self.key(middle)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    fn of_kind(&self, kind: u8) -> Range<usize> {
        self.first(|known| known[0] < kind)..self.first(|known| known[0] <= kind)
    }

    fn with_prefix(&self, prefix: &str) -> Range<usize> {
        let prefix = text_key(prefix);
        let start = self.first(|known| known < prefix.as_slice());
        start..self.first(|known| known < prefix.as_slice() || known.starts_with(&prefix))
    }

    fn dates(&self) -> &[(Instant, u32)] {
        self.dates.get_or_init(|| {
            let texts = self.of_kind(TEXT);
            let date = |at| Some((instant(text_of(self.key(at))?)?, number(at)));
            let mut dates: Vec<(Instant, u32)> = texts.filter_map(date).collect();
            dates.sort_unstable();
            dates.shrink_to_fit();
            dates
        })
    }

    /// The set of the first `count` rows.
    fn first_rows(&self, count: usize) -> RowSet {
        let number = (count / self.step).min(self.prefixes.len() - 1);
        let mut rows = self.prefixes[number].clone();
        rows.extend(self.rows[number * self.step..count].iter().copied());
        rows
    }
}

/// A position in a segment. Segments are far smaller than this could not hold.
fn number(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

/// Collects keys and rows in any order.
#[derive(Debug, Default)]
pub(super) struct SegmentBuilder {
    numbers: HashMap<Vec<u8>, u32>,
    pairs: Vec<(u32, i64)>,
    bytes: usize,
}

impl SegmentBuilder {
    /// Add a key of a row. Returns the estimated growth of the finished segment in bytes.
    pub fn add(&mut self, key: Vec<u8>, row: i64) -> usize {
        let next = number(self.numbers.len());
        let mut bytes = size_of::<i64>();
        let number = *self.numbers.entry(key).or_insert_with_key(|key| {
            bytes += key.len() + 2 * size_of::<u32>();
            next
        });
        self.pairs.push((number, row));
        self.bytes += bytes;
        bytes
    }

    /// The memory of the finished segment in bytes, by estimate.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Return the segment of the added keys. Fails if the call was cancelled.
    pub fn finish(self) -> Result<ColumnSegment> {
        let mut keys: Vec<(Vec<u8>, u32)> = self.numbers.into_iter().collect();
        interrupt::sort(&mut keys, |(one, _), (other, _)| one.cmp(other))?;
        let mut counts = vec![0_u32; keys.len()];
        for (key, _) in &self.pairs {
            counts[*key as usize] += 1;
        }
        // The next place of each key, by the number it was added under.
        let mut places = vec![0_u32; keys.len()];
        let mut next = 0;
        for (_, key) in &keys {
            places[*key as usize] = next;
            next += counts[*key as usize];
        }
        let mut rows = vec![0; self.pairs.len()];
        for (key, row) in self.pairs {
            let place = &mut places[key as usize];
            rows[*place as usize] = row;
            *place += 1;
        }
        let mut segment = ColumnSegment::default();
        segment.rows.reserve_exact(rows.len());
        for (key, old) in &keys {
            let end = places[*old as usize] as usize;
            let of_key = &mut rows[end - counts[*old as usize] as usize..end];
            if of_key.is_sorted_by(|one, other| one < other) {
                segment.push(key, of_key);
            } else {
                let distinct: BTreeSet<i64> = of_key.iter().copied().collect();
                segment.push(key, &distinct.into_iter().collect::<Vec<_>>());
            }
        }
        Ok(segment.finish())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;
    use serde_json::Value;

    use super::super::value_key::value_key;
    use super::*;

    type Keys = BTreeMap<Vec<u8>, BTreeSet<i64>>;

    /// Rows with texts and numbers, of which a row has one or several.
    fn keys() -> impl Strategy<Value = Keys> {
        let value = prop_oneof![
            (0_i64..3000).prop_map(Value::from),
            "[ab]{0,3}".prop_map(Value::from),
            "202[0-9](-0[1-9])?".prop_map(Value::from),
        ];
        let pairs = prop::collection::vec((value, 0_i64..4000), 0..300);
        (pairs, any::<bool>(), any::<bool>()).prop_map(|(pairs, is_single, has_many)| {
            let mut keys = Keys::new();
            let mut seen = BTreeSet::new();
            let mut pairs: Vec<(Value, i64)> = pairs;
            if has_many {
                pairs.extend((0..4000).map(|row| (Value::from(row * 7919 % 4001), row)));
            }
            for (value, row) in pairs {
                if seen.insert(row) || !is_single {
                    keys.entry(value_key(&value)).or_default().insert(row);
                }
            }
            keys
        })
    }

    fn segment(keys: &Keys) -> ColumnSegment {
        let mut builder = SegmentBuilder::default();
        // In no order, and some twice.
        for (key, rows) in keys.iter().rev() {
            for row in rows.iter().rev().chain(rows.first()) {
                builder.add(key.clone(), *row);
            }
        }
        builder.finish().unwrap()
    }

    fn rows_of(segment: &ColumnSegment, mark: impl Fn(&mut Marks)) -> BTreeSet<i64> {
        let mut marks = Marks::new(segment.len());
        mark(&mut marks);
        segment.rows_of(&marks).iter().collect()
    }

    fn expected(keys: &Keys, takes: impl Fn(&[u8]) -> bool) -> BTreeSet<i64> {
        let rows = keys.iter().filter(|(key, _)| takes(key));
        rows.flat_map(|(_, rows)| rows).copied().collect()
    }

    const COMPARISONS: [Comparison; 5] = [
        Comparison::Less,
        Comparison::AtMost,
        Comparison::Equal,
        Comparison::AtLeast,
        Comparison::More,
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn marked_keys_have_their_rows(
            keys in keys(),
            wanted in prop_oneof![(0_i64..3000).prop_map(Value::from), "[ab]{0,2}".prop_map(Value::from)],
            prefix in "[ab]{0,2}|202",
        ) {
            let segment = segment(&keys);
            let wanted = value_key(&wanted);
            let day = instant("2023-02").unwrap();
            for comparison in COMPARISONS {
                let found = rows_of(&segment, |marks| segment.mark_compared(comparison, &wanted, marks));
                let takes = |key: &[u8]| key[0] == wanted[0] && comparison.holds(key.cmp(&wanted));
                prop_assert_eq!(found, expected(&keys, takes));
                let found = rows_of(&segment, |marks| segment.mark_dates(comparison, day, marks));
                                let takes = |key: &[u8]| text_of(key).and_then(instant).is_some_and(|date| comparison.holds(date.cmp(&day)));
                prop_assert_eq!(found, expected(&keys, takes));
            }
            let found = rows_of(&segment, |marks| segment.mark_key(&wanted, marks));
            prop_assert_eq!(found, expected(&keys, |key| key == wanted));
            let begins = |key: &[u8]| text_of(key).is_some_and(|text| text.starts_with(&prefix));
            let found = rows_of(&segment, |marks| segment.mark_prefix(&prefix, marks));
            prop_assert_eq!(&found, &expected(&keys, begins));
            let ends = |text: &str| text.ends_with('a');
            let found = rows_of(&segment, |marks| segment.mark_texts(&prefix, ends, marks));
            let takes = |key: &[u8]| begins(key) && text_of(key).is_some_and(ends);
            prop_assert_eq!(found, expected(&keys, takes));
            let found = rows_of(&segment, |marks| marks.add_range(0..segment.len()));
            prop_assert_eq!(found, expected(&keys, |_| true));
            prop_assert!(segment.bytes() < 3000 + 60 * segment.pairs());
        }

        #[test]
        fn a_merged_segment_has_the_rows_of_both(
            older in keys(),
            newer in keys(),
            hidden in prop::collection::btree_set(0_i64..4000, 0..2000),
        ) {
            let all: BTreeSet<i64> = newer.values().flatten().copied().collect();
            let hidden: RowSet = hidden.union(&all).copied().collect();
            let merged = ColumnSegment::merged(&segment(&older), &hidden, &segment(&newer));
            let mut both = newer.clone();
            for (key, rows) in older {
                let left: Vec<i64> = rows.into_iter().filter(|row| !hidden.contains(*row)).collect();
                if !left.is_empty() {
                    both.entry(key).or_default().extend(left);
                }
            }
            prop_assert_eq!(merged.len(), both.len());
            for (at, (key, rows)) in both.iter().enumerate() {
                prop_assert_eq!(merged.key(at), key.as_slice());
                prop_assert_eq!(merged.rows_at(at), rows.iter().copied().collect::<Vec<_>>());
            }
        }
    }
}
