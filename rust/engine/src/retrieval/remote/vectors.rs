//! The nearest chunks: preselected there, compared here.

use super::keywords::first;
use super::names::Name;
use super::point_in_time::{Preselected, VectorHit};
use super::reader::{Found, RemoteReader, is_certain, more};
use crate::chunks::{Selection, check_limit};
use crate::error::{Error, ErrorCode, Result};
use crate::unit_vector;
use crate::vectors::{self, NearestRows, SAMPLE, Space, Spread};

impl RemoteReader<'_> {
    pub(super) fn nearest(&self, query: &[f32], selection: &Selection<'_>) -> Result<NearestRows> {
        check_limit(selection.limit)?;
        unit_vector::check(query, "the vector", ErrorCode::InvalidVector)?;
        let space = Space {
            dimensions: self.asked().dimensions()?,
            ..Space::default()
        };
        space.check(query, "the vector")?;
        let direction = unit_vector::unit(query);
        if direction.is_empty() || space.dimensions.is_none() {
            return Ok(NearestRows::default());
        }
        let limit = selection.limit;
        let least = if selection.statistics { SAMPLE } else { 0 };
        let mut wanted = more(limit.max(least));
        loop {
            let preselected =
                self.asked()
                    .vector_hits(&direction, wanted, &self.expected.take())?;
            let (all, approximate) = (preselected.floor.is_none(), preselected.approximate);
            let rounding = rounding(direction.len());
            let floor = preselected.floor.filter(|_| !approximate);
            let compared = compared(&direction, preselected)?;
            if selection.statistics {
                self.check_few(all && !approximate, compared.len())?;
            }
            let ranked = self.ranked(compared.clone());
            let certain = |floor: f64| is_certain(&ranked, limit, floor + rounding);
            if floor.is_none_or(certain) || wanted == usize::MAX {
                let mut nearest = if selection.statistics {
                    self.all(compared)
                } else {
                    NearestRows::default()
                };
                nearest.rows = self.rows(first(ranked, limit));
                return Ok(nearest);
            }
            wanted = wanted.saturating_mul(4);
        }
    }

    /// Refuse to take some of the cosines for all of them.
    fn check_few(&self, all: bool, count: usize) -> Result<()> {
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

    /// What score fusion needs of everything that passes the filters: every cosine and their spread.
    fn all(&self, compared: Vec<Found>) -> NearestRows {
        let of_groups = self.ranked(compared);
        #[allow(clippy::cast_possible_truncation, reason = "it was a float32")]
        let spread = Spread::of(of_groups.iter().map(|one| one.score as f32));
        let known = self.rows(of_groups).into_iter();
        let mut all = NearestRows::default();
        all.spread = spread;
        all.known = known.map(|found| (found.key, found.score)).collect();
        all
    }
}

/// The cosine of each with the direction.
fn compared(direction: &[f32], preselected: Preselected<VectorHit>) -> Result<Vec<Found>> {
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
    let found = hits.into_iter().zip(cosines).map(|(hit, cosine)| Found {
        name: Name {
            path: hit.path,
            id: hit.id,
        },
        score: f64::from(cosine),
    });
    Ok(found.collect())
}

/// By how much an inner product of unit vectors in `float32` can be off, in whatever order it is
/// added up, on either side.
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
            compared(
                &[0.6, 0.8],
                Preselected {
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
