//! The nearest chunks: preselected by the server, compared here.

use std::collections::HashMap;

use hedgerow_engine::chunks::{Selection, check_limit};
use hedgerow_engine::vectors::{self, CosineStats, NearestRows, SAMPLE, Space};
use hedgerow_engine::{Error, ErrorCode, Result, unit_vector};

use crate::point_in_time::{SpreadOf, VectorHit};
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
        let mut wanted = with_margin(limit);
        let of = if self.groups {
            SpreadOf::Paths
        } else {
            SpreadOf::Chunks
        };
        let mut spread_of = selection.statistics.then_some(of);
        let mut spread = None;
        loop {
            let (preselected, found_spread) = self.point_in_time().vector_hits(
                &direction,
                wanted,
                spread_of.take(),
                &self.expected.take(),
            )?;
            spread = found_spread.or(spread);
            let (all, approximate) = (preselected.floor.is_none(), preselected.approximate);
            // The spread of few vectors is computed here, to the bit as an index computes it.
            let is_small = spread.is_some_and(|spread| spread.chunks <= SAMPLE as u64);
            if is_small && !approximate && !all && wanted < with_margin(SAMPLE) {
                wanted = with_margin(SAMPLE);
                continue;
            }
            let rounding = rounding(direction.len());
            let floor = preselected.floor.filter(|_| !approximate);
            let scored = with_cosines(&direction, preselected.hits)?;
            let ranked = self.ranked(scored.clone());
            let certain = |floor: f64| is_certain(&ranked, limit, floor + rounding);
            if floor.is_none_or(certain) || wanted == usize::MAX {
                let mut nearest = NearestRows::default();
                if let Some(spread) = spread {
                    if !(is_small && all && !approximate) {
                        nearest = NearestRows::in_direction(direction);
                    }
                    self.add_statistics(&mut nearest, scored);
                    if nearest.direction().is_some() {
                        nearest.spread = spread.stats;
                    }
                }
                nearest.rows = self.rows(first(ranked, limit));
                nearest.is_exact = !self.groups && !approximate;
                return Ok(nearest);
            }
            wanted = wanted.saturating_mul(4);
        }
    }

    /// Add the cosines of these chunks by key, and their spread.
    fn add_statistics(&self, nearest: &mut NearestRows, scored: Vec<ScoredChunk>) {
        let of_groups = self.ranked(scored);
        #[allow(clippy::cast_possible_truncation, reason = "it was a float32")]
        let spread = CosineStats::of(of_groups.iter().map(|one| one.score as f32));
        let rows = self.rows(of_groups).into_iter();
        nearest.spread = spread;
        nearest.cosines = rows.map(|row| (row.key, row.score)).collect();
    }

    /// The cosine for each key; those that are not in `known` are computed from vectors that the server
    /// returns, if a search left chunks out.
    pub(crate) fn cosines_of(
        &self,
        known: &NearestRows,
        keys: &[Option<i64>],
    ) -> Result<Vec<Option<f64>>> {
        let mut unknown: Vec<i64> = keys.iter().flatten().copied().collect();
        unknown.retain(|key| !known.cosines.contains_key(key));
        unknown.sort_unstable();
        unknown.dedup();
        let others = match known.direction() {
            Some(direction) if !unknown.is_empty() => self.looked_up(direction, &unknown)?,
            _ => HashMap::new(),
        };
        let cosine = |key: &Option<i64>| {
            let key = (*key)?;
            known
                .cosines
                .get(&key)
                .or_else(|| others.get(&key))
                .copied()
        };
        Ok(keys.iter().map(cosine).collect())
    }

    /// The cosines of keys, from the vectors of their chunks.
    fn looked_up(&self, direction: &[f32], keys: &[i64]) -> Result<HashMap<i64, f64>> {
        let names = self.chunks_of(keys)?;
        let ids: Vec<String> = names.iter().map(|name| name.id.clone()).collect();
        let vectors = self.point_in_time().vectors(&ids)?;
        let hit = |(name, vector): (ChunkName, Option<Vec<f32>>)| {
            let ChunkName { path, id } = name;
            vector.map(|vector| VectorHit { id, path, vector })
        };
        let hits = names.into_iter().zip(vectors).filter_map(hit).collect();
        let ranked = self.ranked(with_cosines(direction, hits)?);
        let rows = self.rows(ranked).into_iter();
        Ok(rows.map(|row| (row.key, row.score)).collect())
    }
}

/// The hits with their cosines to `direction`. Fails if a vector cannot be compared.
fn with_cosines(direction: &[f32], hits: Vec<VectorHit>) -> Result<Vec<ScoredChunk>> {
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
            with_cosines(&[0.6, 0.8], vec![hit])
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
