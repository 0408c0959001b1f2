//! The set that stages pass on: nodes in an order, each with a score.

use crate::graph::column::{Column, Value};
use crate::graph::interference::Pair;
use crate::graph::nodes::Nodes;
use crate::graph::ranking::SlotScore;
use hedgerow_engine::error::Result;
use hedgerow_engine::interrupt::{self, CancelTicker};

/// A set of nodes.
pub(super) struct Set {
    /// For each slot whether it is in the set, which is by key and has scores of 1; None once the
    /// set is listed.
    marks: Option<Vec<bool>>,
    /// The number of marked slots.
    marked: usize,
    /// The nodes in their order, once `marks` is None.
    list: Vec<SlotScore>,
    /// The pairs that made the set and have both ends in it.
    pub pairs: Vec<Pair>,
}

impl Set {
    /// Every live node.
    pub fn all(nodes: &Nodes) -> Self {
        Self {
            marks: Some(nodes.live.to_vec()),
            marked: nodes.order.len(),
            list: Vec::new(),
            pairs: Vec::new(),
        }
    }

    pub fn listed(list: Vec<SlotScore>) -> Self {
        Self {
            marks: None,
            marked: 0,
            list,
            pairs: Vec::new(),
        }
    }

    pub fn len(&self) -> usize {
        match &self.marks {
            Some(_) => self.marked,
            None => self.list.len(),
        }
    }

    /// Keep the nodes that pass.
    ///
    /// Marked nodes are visited in the order of slots, which is the order in memory.
    pub fn retain(&mut self, passes: impl Fn(u32, f64) -> bool) -> Result<()> {
        let mut pace = CancelTicker::default();
        if let Some(marks) = &mut self.marks {
            self.marked = 0;
            for (first, marks) in (0..)
                .step_by(interrupt::BATCH)
                .zip(marks.chunks_mut(interrupt::BATCH))
            {
                pace.step(marks.len())?;
                for (slot, mark) in (first..).zip(marks) {
                    *mark = *mark && passes(slot, 1.0);
                    self.marked += usize::from(*mark);
                }
            }
        } else {
            let mut kept = Vec::new();
            for some in self.list.chunks(interrupt::BATCH) {
                pace.step(some.len())?;
                let passing = some.iter().filter(|(slot, score)| passes(*slot, *score));
                kept.extend(passing);
            }
            self.list = kept;
        }
        self.drop_pairs();
        Ok(())
    }

    /// Keep the nodes whose value in a column passes. Slots beyond its end have the value `beyond`.
    pub fn retain_by<T: Value>(
        &mut self,
        column: &Column<T>,
        beyond: T,
        passes: impl Fn(T) -> bool,
    ) -> Result<()> {
        let Some(marks) = &mut self.marks else {
            return self.retain(|slot, _| passes(column.get(slot as usize).unwrap_or(beyond)));
        };
        let mut pace = CancelTicker::default();
        let mut left = &mut marks[..];
        self.marked = 0;
        for values in column.slices() {
            pace.step(values.len())?;
            let (some, rest) = left.split_at_mut(values.len().min(left.len()));
            for (mark, value) in some.iter_mut().zip(values) {
                *mark &= passes(*value);
            }
            self.marked += some.iter().filter(|mark| **mark).count();
            left = rest;
        }
        for mark in left {
            *mark = *mark && passes(beyond);
            self.marked += usize::from(*mark);
        }
        self.drop_pairs();
        Ok(())
    }

    /// The nodes in their order.
    pub fn list(&mut self, nodes: &Nodes) -> &mut Vec<SlotScore> {
        let marked = self.marked;
        self.list_marked(nodes, marked);
        &mut self.list
    }

    /// Cut the set to its first nodes.
    pub fn truncate(&mut self, nodes: &Nodes, limit: usize) {
        self.list_marked(nodes, limit);
        self.list.truncate(limit);
        self.drop_pairs();
    }

    /// Turn the first marks into a list.
    fn list_marked(&mut self, nodes: &Nodes, limit: usize) {
        if let Some(marks) = self.marks.take() {
            let marked = nodes.order.iter().filter(|slot| marks[**slot as usize]);
            self.list.reserve_exact(limit.min(self.marked));
            self.list
                .extend(marked.take(limit).map(|slot| (*slot, 1.0)));
        }
    }

    /// Drop the pairs that lost an end.
    pub fn drop_pairs(&mut self) {
        if self.pairs.is_empty() {
            return;
        }
        // Only a list has pairs.
        let mut slots: Vec<u32> = self.list.iter().map(|(slot, _)| *slot).collect();
        slots.sort_unstable();
        let is_member = |end: &u32| slots.binary_search(end).is_ok();
        self.pairs
            .retain(|(left, right, _)| is_member(left) && is_member(right));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_column_keeps_what_its_values_keep_one_by_one(
            values in prop::collection::vec(0_u8..9, 0..40),
            marks in prop::collection::vec(any::<bool>(), 0..50),
            most in 0_u8..9,
            listed: bool,
        ) {
            let marked: Vec<u32> = (0..).zip(&marks).filter(|(_, m)| **m).map(|(p, _)| p).collect();
            let list: Vec<SlotScore> = marked.iter().map(|slot| (*slot, 1.0)).collect();
            let mut set = Set::listed(list);
            if !listed {
                set.marked = marked.len();
                set.marks = Some(marks);
                set.list.clear();
            }
            let column = Column::from(values.clone());
            set.retain_by(&column, 5, |value| value <= most).unwrap();
            let value = |slot: &u32| values.get(*slot as usize).copied().unwrap_or(5);
            let expected: Vec<u32> = marked.into_iter().filter(|p| value(p) <= most).collect();
            prop_assert_eq!(set.len(), expected.len());
            let kept: Vec<u32> = match &set.marks {
                Some(marks) => (0..).zip(marks).filter(|(_, m)| **m).map(|(p, _)| p).collect(),
                None => set.list.iter().map(|(slot, _)| *slot).collect(),
            };
            prop_assert_eq!(kept, expected);
        }
    }

    #[test]
    fn an_empty_set_asks_for_no_value() {
        let mut set = Set::all(&Nodes::default());
        let never = |_: u8| -> bool { panic!("there is no slot") };
        set.retain_by(&Column::default(), 0, never).unwrap();
        assert_eq!(set.len(), 0);
    }
}
