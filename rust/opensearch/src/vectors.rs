//! The nearest chunks: preselected by the server, compared here.

use hedgerow_engine::chunks::{Selection, check_limit};
use hedgerow_engine::vectors::{self, CosineStats, NearestRows, SAMPLE, Space};
use hedgerow_engine::{Error, ErrorCode, Result, unit_vector};

use crate::point_in_time::{Preselection, VectorHit};
use crate::reader::{RemoteReader, ScoredChunk, first, is_certain, with_margin};
use crate::row_numbers::ChunkName;

impl RemoteReader<'_> {
    /// The rows nearest to a vector.
    pub(crate) fn nearest(&self, query: &[f32], selection: &Selection<'_>) -> Result<NearestRows> {
        check_limit(selection.limit)?;
        unit_vector::check(query, "the vector", ErrorCode::InvalidVector)?;
        let space = Space {
            dimensions: self.point_in_time().dimensions()?,
            ..Space::default()
        };
        space.check(query, "the vector")?;
        let direction = unit_vector::unit(query);
        if direction.is_empty() || space.dimensions.is_none() {
            return Ok(NearestRows::default());
        }
        let limit = selection.limit;
        let least = if selection.statistics { SAMPLE } else { 0 };
        let mut wanted = with_margin(limit.max(least));
        loop {
            let preselected =
                self.point_in_time()
                    .vector_hits(&direction, wanted, &self.expected.take())?;
            let (all, approximate) = (preselected.floor.is_none(), preselected.approximate);
            let rounding = rounding(direction.len());
            let floor = preselected.floor.filter(|_| !approximate);
            let scored = with_cosines(&direction, preselected)?;
            if selection.statistics {
                self.check_completeness(all && !approximate, scored.len())?;
            }
            let ranked = self.ranked(scored.clone());
            let certain = |floor: f64| is_certain(&ranked, limit, floor + rounding);
            if floor.is_none_or(certain) || wanted == usize::MAX {
                let mut nearest = if selection.statistics {
                    self.statistics(scored)
                } else {
                    NearestRows::default()
                };
                nearest.rows = self.rows(first(ranked, limit));
                return Ok(nearest);
            }
            wanted = wanted.saturating_mul(4);
        }
    }

    /// Reject statistics of a part of the vectors. `all` says whether `count` are all of them.
    fn check_completeness(&self, all: bool, count: usize) -> Result<()> {
        let groups = if self.groups { "paths" } else { "chunks" };
        if all && count <= SAMPLE {
            return Ok(());
        }
        Err(Error::new(
            ErrorCode::UnsupportedByBackend,
            format!(
                "fusion=\"score\" measures vectors against the spread of all of them, which a \
                 collection gives for up to {SAMPLE} {groups} that pass the filters; use \
                 fusion=\"rrf\", or narrower filters"
            ),
        ))
    }

    /// The numbers that score fusion needs of all chunks that pass the filters: every cosine, and their
    /// spread. The result has no rows.
    fn statistics(&self, scored: Vec<ScoredChunk>) -> NearestRows {
        let of_groups = self.ranked(scored);
        #[allow(clippy::cast_possible_truncation, reason = "it was a float32")]
        let spread = CosineStats::of(of_groups.iter().map(|one| one.score as f32));
        let rows = self.rows(of_groups).into_iter();
        let mut nearest = NearestRows::default();
        nearest.spread = spread;
        nearest.cosines = rows.map(|row| (row.key, row.score)).collect();
        nearest
    }
}

/// The hits with their cosines to `direction`. Fails if a vector cannot be compared.
fn with_cosines(
    direction: &[f32],
    preselected: Preselection<VectorHit>,
) -> Result<Vec<ScoredChunk>> {
    let hits = preselected.hits;
    if let Some(hit) = hits.iter().find(|hit| hit.vector.len() != direction.len()) {
        return Err(Error::new(
            ErrorCode::CollectionDamaged,
            format!(
                "the vector of the chunk {:?} has {} dimensions instead of {}; upsert it again",
                hit.id,
                hit.vector.len(),
                direction.len()
            ),
        ));
    }
    for hit in hits
        .iter()
        .filter(|hit| !hit.vector.iter().all(|x| x.is_finite()))
    {
        let name = format!("the vector of the chunk {:?}", hit.id);
        unit_vector::check(&hit.vector, &name, ErrorCode::CollectionDamaged)?;
    }
    let rows: Vec<&[f32]> = hits.iter().map(|hit| hit.vector.as_slice()).collect();
    let cosines = vectors::similarities(direction, &rows);
    let scored = hits
        .into_iter()
        .zip(cosines)
        .map(|(hit, cosine)| ScoredChunk {
            name: ChunkName {
                path: hit.path,
                id: hit.id,
            },
            score: f64::from(cosine),
        });
    Ok(scored.collect())
}

/// The largest error of an inner product of two unit vectors in `float32`, in either direction,
/// whatever the order of its additions.
fn rounding(dimensions: usize) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "few dimensions")]
    let dimensions = dimensions as f64;
    (dimensions + 4.0) * 2.0 * f64::from(f32::EPSILON)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_that_cannot_be_compared_are_damage() {
        let compare = |vector: &[f32]| {
            let hit = VectorHit {
                id: "oak".to_owned(),
                path: "trees.md".to_owned(),
                vector: vector.to_vec(),
            };
            with_cosines(
                &[0.6, 0.8],
                Preselection {
                    hits: vec![hit],
                    floor: None,
                    approximate: false,
                },
            )
        };
        assert_eq!(compare(&[0.0, 1.0]).unwrap().len(), 1);
        for (vector, message) in [
            (
                &[1.0][..],
                "the vector of the chunk \"oak\" has 1 dimensions instead of 2; upsert it again",
            ),
            (
                &[0.0, f32::NAN],
                "the vector of the chunk \"oak\" is not finite at position 1; embed the text again",
            ),
        ] {
            let error = compare(vector).unwrap_err();
            assert_eq!(error.code(), ErrorCode::CollectionDamaged);
            assert_eq!(error.message(), message);
        }
    }
}
