//! Running transforms: orders, cuts and displayed fields.

use std::sync::Arc;

use super::ast::{ShownColumn, Sort, SortBy};
use super::fields::normalise;
use super::outcome::Cell;
use super::run::PipelineRun;
use super::set::Set;
use crate::graph::ranking::{ResultLimit, SlotScore};
use crate::graph::{self, measure};
use hedgerow_engine::error::Result;
use hedgerow_engine::interrupt::{self, CancelTicker};
use hedgerow_engine::top_k;

impl PipelineRun<'_> {
    /// Order a set; equal values stay in the order they were in. With a limit only that many nodes
    /// are put in order, and the rest is dropped.
    pub fn sort(&mut self, set: &mut Set, sort: &Sort, limit: ResultLimit) -> Result<()> {
        let snapshot = self.snapshot;
        let nodes = &snapshot.nodes;
        let keys: Vec<f64> = match &sort.by {
            SortBy::Key => {
                let ranks = set.list(nodes).iter();
                ranks
                    .map(|(slot, _)| f64::from(nodes.ranks[*slot as usize]))
                    .collect()
            }
            SortBy::Value(value) => {
                let field = self.field(value)?;
                self.values(set.list(nodes), &field)?
            }
            SortBy::Sum(terms) => {
                let mut sums = vec![0.0; set.len()];
                for (weight, value) in terms {
                    let field = self.field(value)?;
                    let mut values = self.values(set.list(nodes), &field)?;
                    normalise(value, &mut values);
                    for (sum, value) in sums.iter_mut().zip(values) {
                        *sum += weight * value;
                    }
                }
                sums
            }
        };
        let list = set.list(nodes);
        *list = ordered(list, &keys, sort.ascending, limit)?;
        Ok(())
    }

    /// A row for each node.
    pub fn select(&mut self, set: &mut Set, columns: &[ShownColumn]) -> Result<Vec<Vec<Cell>>> {
        let snapshot = self.snapshot;
        let (nodes, edges, now) = (&snapshot.nodes, &snapshot.edges, self.now);
        let grouped = columns
            .iter()
            .any(|column| matches!(column, ShownColumn::Community | ShownColumn::Isolation));
        let communities = if grouped {
            self.communities()?
        } else {
            Arc::default()
        };
        let none = graph::column::Column::default();
        let clustering = if columns.contains(&ShownColumn::Priority) {
            edges.clustering()?
        } else {
            &none
        };
        let cell = |column: &ShownColumn, slot: u32, score: f64| {
            let at = slot as usize;
            match column {
                ShownColumn::Category => Cell::Text(nodes.categories[at].as_str().to_owned()),
                ShownColumn::Community => {
                    Cell::Integer(nodes.ids[communities.label(slot) as usize])
                }
                ShownColumn::ContentLen => Cell::Integer(nodes.content_lengths[at].into()),
                ShownColumn::Created => Cell::Integer(nodes.created[at]),
                ShownColumn::Degree => {
                    Cell::Integer(i64::try_from(edges.degree(slot)).unwrap_or(i64::MAX))
                }
                ShownColumn::Emotion => Cell::Real(nodes.emotions[at]),
                ShownColumn::Isolation => Cell::Real(communities.isolation(slot)),
                ShownColumn::Key => Cell::Text(nodes.key(slot).to_owned()),
                ShownColumn::Priority => {
                    let displacement = measure::displacement(clustering, slot);
                    Cell::Real(measure::priority(nodes, slot, displacement, now))
                }
                ShownColumn::Provenance => Cell::Text(nodes.provenance(slot).to_owned()),
                ShownColumn::Score => Cell::Real(score),
                ShownColumn::Timestamp => Cell::Integer(nodes.updated[at]),
                ShownColumn::Type => Cell::Text(nodes.kind(slot).to_owned()),
                ShownColumn::Weight => Cell::Real(nodes.weights[at]),
            }
        };
        let mut pace = CancelTicker::default();
        let rows = set.list(nodes).iter().map(|(slot, score)| {
            pace.step(columns.len())?;
            Ok(columns.iter().map(|c| cell(c, *slot, *score)).collect())
        });
        rows.collect()
    }
}

/// The list by its keys, stable in both directions; the first `limit` of it.
fn ordered(
    list: &[SlotScore],
    keys: &[f64],
    ascending: bool,
    limit: ResultLimit,
) -> Result<Vec<SlotScore>> {
    // 0 and -0 are equal here. A sum of very large numbers may be NaN, which has its place too.
    let by_key = |left: f64, right: f64| (left + 0.0).total_cmp(&(right + 0.0));
    let mut slots: Vec<(f64, usize)> = keys.iter().copied().zip(0..).collect();
    let order = |left: &(f64, usize), right: &(f64, usize)| {
        let by_key = if ascending {
            by_key(left.0, right.0)
        } else {
            by_key(right.0, left.0)
        };
        by_key.then(left.1.cmp(&right.1))
    };
    top_k::select(&mut slots, limit.unwrap_or(usize::MAX), order);
    interrupt::sort(&mut slots, order)?;
    Ok(slots.into_iter().map(|(_, slot)| list[slot]).collect())
}
