//! The values of nodes that are sorted by and shown.

use std::sync::Arc;

use super::ast::SortValue;
use super::run::PipelineRun;
use crate::graph::NEVER;
use crate::graph::column::Column;
use crate::graph::community::Communities;
use crate::graph::measure;
use crate::graph::ranking::SlotScore;
use hedgerow_engine::error::Result;
use hedgerow_engine::interrupt::{self, CancelTicker};

/// Where a value of each node is found, looked up once for the whole set.
pub(super) enum Field<'r> {
    Score,
    Real(&'r Column<f64>),
    Count(&'r Column<u32>),
    Length(&'r Column<u16>),
    Time(&'r Column<i64>),
    Degree,
    Clustering(&'r Column<f64>),
    Isolation(Arc<Communities>),
    Priority(&'r Column<f64>),
    SpectralPriority(Vec<Option<f64>>, &'r Column<f64>),
    Recency(&'r Column<i64>),
}

/// The divisor that turns an outlier into a displacement, and the largest displacement.
const MOST_OUTLYING: f64 = 3.0;
const OUTLIER_DIMENSIONS: usize = super::parse_algorithm::DIMENSIONS;

impl<'s> PipelineRun<'s> {
    /// Look up where a value is found.
    pub fn field(&mut self, value: &SortValue) -> Result<Field<'s>> {
        let snapshot = self.snapshot;
        let nodes = &snapshot.nodes;
        Ok(match value {
            SortValue::Score => Field::Score,
            SortValue::Weight => Field::Real(&nodes.weights),
            SortValue::Emotion => Field::Real(&nodes.emotions),
            SortValue::Timestamp => Field::Time(&nodes.updated),
            SortValue::Created => Field::Time(&nodes.created),
            SortValue::ContentLen => Field::Count(&nodes.content_lengths),
            SortValue::KeyLen => Field::Length(&nodes.key_lengths),
            SortValue::Degree => Field::Degree,
            SortValue::Clustering => Field::Clustering(snapshot.edges.clustering()?),
            SortValue::Isolation => Field::Isolation(self.communities()?),
            SortValue::Priority => Field::Priority(snapshot.edges.clustering()?),
            SortValue::SpectralPriority => {
                let communities = self.communities()?;
                let coordinates = self.coordinates(OUTLIER_DIMENSIONS)?;
                let outliers = measure::outliers(&communities, &coordinates)?;
                Field::SpectralPriority(outliers, snapshot.edges.clustering()?)
            }
            SortValue::Recency(agent) => Field::Recency(snapshot.visits(agent)),
        })
    }

    /// The values of a field for these nodes.
    #[allow(
        clippy::cast_precision_loss,
        reason = "lengths and times are sorted as numbers"
    )]
    pub fn values(&self, list: &[SlotScore], field: &Field<'_>) -> Result<Vec<f64>> {
        let (nodes, edges) = (&self.snapshot.nodes, &self.snapshot.edges);
        let priority =
            |slot: u32, displacement: f64| measure::priority(nodes, slot, displacement, self.now);
        match field {
            Field::Score => each(list, |_, score| score),
            Field::Real(values) => each(list, |slot, _| values[slot as usize]),
            Field::Count(values) => each(list, |slot, _| values[slot as usize].into()),
            Field::Length(values) => each(list, |slot, _| values[slot as usize].into()),
            Field::Time(values) => each(list, |slot, _| values[slot as usize] as f64),
            Field::Degree => each(list, |slot, _| edges.degree(slot) as f64),
            Field::Clustering(clustering) => {
                each(list, |slot, _| clustering.get(slot as usize).unwrap_or(0.0))
            }
            Field::Isolation(communities) => each(list, |slot, _| communities.isolation(slot)),
            Field::Priority(clustering) => each(list, |slot, _| {
                priority(slot, measure::displacement(clustering, slot))
            }),
            Field::SpectralPriority(outliers, clustering) => each(list, |slot, _| {
                let outlier = outliers.get(slot as usize).copied().flatten();
                let displacement = match outlier {
                    Some(outlier) => (outlier / MOST_OUTLYING).min(MOST_OUTLYING),
                    None => measure::displacement(clustering, slot),
                };
                priority(slot, displacement)
            }),
            Field::Recency(visits) => each(list, |slot, _| {
                measure::recency(visits.get(slot as usize).unwrap_or(NEVER), self.now)
            }),
        }
    }
}

/// A value of each node.
fn each(list: &[SlotScore], value: impl Fn(u32, f64) -> f64) -> Result<Vec<f64>> {
    let mut pace = CancelTicker::default();
    let mut values = Vec::with_capacity(list.len());
    for some in list.chunks(interrupt::BATCH) {
        pace.step(some.len())?;
        values.extend(some.iter().map(|(slot, score)| value(*slot, *score)));
    }
    Ok(values)
}

/// Bring the values of a set to one scale, so that they can be summed.
pub(super) fn normalise(value: &SortValue, values: &mut [f64]) {
    match value {
        SortValue::Isolation | SortValue::Clustering | SortValue::Recency(_) => {}
        SortValue::Weight => values
            .iter_mut()
            .for_each(|value| *value = value.clamp(0.0, 1.0)),
        SortValue::Emotion => values.iter_mut().for_each(|value| *value /= 10.0),
        SortValue::Timestamp | SortValue::Created => {
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let range = most - least;
            for value in values {
                *value = if range > 0.0 {
                    (*value - least) / range
                } else {
                    0.0
                };
            }
        }
        SortValue::Degree
        | SortValue::ContentLen
        | SortValue::KeyLen
        | SortValue::Priority
        | SortValue::SpectralPriority
        | SortValue::Score => {
            let most = values.iter().copied().fold(0.0, f64::max);
            for value in values {
                *value = if most > 0.0 {
                    value.max(0.0) / most
                } else {
                    0.0
                };
            }
        }
    }
}
