//! Searching by meaning: the chunks whose vectors are nearest.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use hashlink::DefaultHashBuilder;
use rusqlite::Connection;

use super::groups::Groups;
use super::matrix::{CoarsePass, Matrix};
use super::nearest::VectorReader;
use super::slots::{NEAREST, ScoredSlot, SlotSet, Slots};
use super::space::Space;
use super::spread::CosineStats;
use crate::chunks::{
    Paths, RankedRow, RowSet, Selection, check_limit, group_key, name_of, without_chunk,
};
use crate::error::{ErrorCode, Result};
use crate::storage::WorkError;
use crate::storage::settings::{self, DIMENSIONS};
use crate::text::utf16;
use crate::unit_vector;

/// The rows nearest to a vector.
#[derive(Debug, Default)]
pub struct NearestRows {
    /// The best of them, best first; their scores are cosines.
    pub rows: Vec<RankedRow>,
    /// Whether no vector outside `rows` is nearer than the last of them.
    pub is_exact: bool,
    /// How all cosines are spread, if the selection asked for statistics.
    pub spread: CosineStats,
    /// The direction from which the cosines of other rows are computed. None if the query has no direction,
    /// so that nothing is near it.
    asked: Option<VectorRequest>,
    /// The cosines by key if all of them were computed; else empty.
    pub cosines: HashMap<i64, f64, DefaultHashBuilder>,
}

impl NearestRows {
    /// No rows, for a search that computes cosines of other rows from this direction later.
    pub fn in_direction(direction: Vec<f32>) -> Self {
        Self {
            asked: Some(VectorRequest {
                direction,
                passing: None,
            }),
            ..Self::default()
        }
    }

    /// The direction from which the cosines of other rows are computed.
    pub fn direction(&self) -> Option<&[f32]> {
        self.asked.as_ref().map(|asked| &*asked.direction)
    }
}

/// A direction, and which vectors may be found.
#[derive(Debug)]
struct VectorRequest {
    direction: Vec<f32>,
    passing: Option<Arc<SlotSet>>,
}

/// The vectors of one state, to be searched.
#[derive(Clone, Copy)]
pub(crate) struct VectorSearch<'a> {
    pub connection: &'a Connection,
    pub matrix: &'a Arc<Matrix>,
    /// The paths of the chunks, if hits are grouped by path.
    pub paths: Option<&'a Arc<Paths>>,
}

impl VectorSearch<'_> {
    /// Return the best rows of a selection for each query by the cosine of their vectors, or the error of the
    /// query. All queries share one pass over the vectors. `passing` are the rows that pass the filters; None
    /// means all rows.
    pub fn nearest(
        &self,
        queries: &[&[f32]],
        selection: &Selection<'_>,
        passing: Option<&RowSet>,
    ) -> std::result::Result<Vec<Result<NearestRows>>, WorkError> {
        check_limit(selection.limit)?;
        let space = Space {
            dimensions: self.dimensions()?,
            ..Space::default()
        };
        let direction = |query: &&[f32]| -> Result<Vec<f32>> {
            unit_vector::check(query, "the vector", ErrorCode::InvalidVector)?;
            space.check(query, "the vector")?;
            Ok(unit_vector::unit(query))
        };
        let directions: Vec<Result<Vec<f32>>> = queries.iter().map(direction).collect();
        let pointing = directions
            .iter()
            .filter_map(|direction| direction.as_deref().ok());
        let pointing: Vec<&[f32]> = pointing.filter(|direction| !direction.is_empty()).collect();
        let mut found = self.run(&pointing, selection, passing)?.into_iter();
        let of_query = |direction: Result<Vec<f32>>| {
            let pointing = !direction?.is_empty();
            let found = if pointing { found.next() } else { None };
            Ok(found.unwrap_or_default())
        };
        Ok(directions.into_iter().map(of_query).collect())
    }

    /// The cosine of the row or group of each key, whether near or not. None if it has no vector.
    pub fn cosines(
        &self,
        nearest: &NearestRows,
        keys: &[Option<i64>],
    ) -> rusqlite::Result<Vec<Option<f64>>> {
        let Some(asked) = &nearest.asked else {
            return Ok(vec![None; keys.len()]);
        };
        if !nearest.cosines.is_empty() {
            let cosine = |key: &Option<i64>| nearest.cosines.get(&(*key)?).copied();
            return Ok(keys.iter().map(cosine).collect());
        }
        let slots = asked.passing.as_deref();
        let slots = slots.map_or(Slots::All, Slots::These);
        if let Some(groups) = self.groups() {
            let cosines = groups.similarities(&asked.direction, keys, slots)?;
            let wide = |cosine: Option<f32>| cosine.map(f64::from);
            return Ok(cosines.into_iter().map(wide).collect());
        }
        let found: Vec<Option<usize>> = (keys
            .iter()
            .map(|key| key.and_then(|key| self.matrix.slot(key))))
        .collect();
        let slots: Vec<usize> = found.iter().flatten().copied().collect();
        let scored = self.vectors().similarities(&asked.direction, &slots)?;
        let mut scored = scored.into_iter();
        let cosine = |slot: Option<usize>| Some(slot.and_then(|_| scored.next())?.1.into());
        Ok(found.into_iter().map(cosine).collect())
    }

    /// The share of the nearest vectors that a fast search finds, measured with some of the vectors as
    /// queries; None where searches are exact.
    pub fn recall(&self) -> rusqlite::Result<Option<f64>> {
        self.vectors().recall()
    }

    fn dimensions(&self) -> rusqlite::Result<Option<usize>> {
        match self.matrix.len() {
            // The dimensions can be fixed before the first vector.
            0 => settings::get(self.connection, DIMENSIONS),
            _ => Ok(Some(self.matrix.dimensions())),
        }
    }

    fn vectors(&self) -> VectorReader<'_> {
        VectorReader {
            matrix: self.matrix,
            connection: self.connection,
        }
    }

    fn groups(&self) -> Option<Groups<'_>> {
        let vectors = self.vectors();
        self.paths.map(|paths| Groups { vectors, paths })
    }

    fn run(
        &self,
        directions: &[&[f32]],
        selection: &Selection<'_>,
        passing: Option<&RowSet>,
    ) -> rusqlite::Result<Vec<NearestRows>> {
        if directions.is_empty() {
            return Ok(Vec::new());
        }
        let passing = passing.map(|rows| Arc::new(self.matrix.slots_of(rows)));
        let slots = passing.as_deref().map_or(Slots::All, Slots::These);
        let limit = selection.limit;
        let vectors = self.vectors();
        let look = self.matrix.coarse_pass();
        let groups = self.groups();
        let mut cosines = vec![HashMap::default(); directions.len()];
        let (nearest, spreads) = match (&groups, selection.statistics) {
            (None, true) => vectors.nearest_and_spreads(look, directions, limit, slots)?,
            (None, false) => (
                vectors.nearest(look, directions, limit, slots, None)?,
                vec![CosineStats::default(); directions.len()],
            ),
            (Some(groups), true) => {
                let found = groups.nearest_and_spreads(look, directions, limit, slots)?;
                let wide = |(path, cosine): (u32, f32)| (i64::from(path), f64::from(cosine));
                let of_paths = found.into_iter().zip(&mut cosines).map(|(found, cosines)| {
                    cosines.extend(found.similarities.into_iter().map(wide));
                    (found.nearest, found.spread)
                });
                of_paths.unzip()
            }
            (Some(groups), false) => (
                vectors.nearest(look, directions, limit, slots, Some(groups.paths))?,
                vec![CosineStats::default(); directions.len()],
            ),
        };
        let of_direction = |(((nearest, spread), cosines), direction): (_, &&[f32])| {
            Ok(NearestRows {
                rows: self.ranked(nearest, limit)?,
                is_exact: groups.is_none() && look == CoarsePass::HighPlane,
                spread,
                asked: Some(VectorRequest {
                    direction: direction.to_vec(),
                    passing: passing.clone(),
                }),
                cosines,
            })
        };
        let found = nearest
            .into_iter()
            .zip(spreads)
            .zip(cosines)
            .zip(directions);
        found.map(of_direction).collect()
    }

    /// The nearest rows, sorted and cut.
    fn ranked(
        &self,
        mut nearest: Vec<ScoredSlot>,
        limit: usize,
    ) -> rusqlite::Result<Vec<RankedRow>> {
        nearest.sort_unstable_by(|left, right| right.1.total_cmp(&left.1));
        let mut ranked = Vec::with_capacity(nearest.len());
        for equal in nearest.chunk_by(|left, right| left.1.total_cmp(&right.1).is_eq()) {
            ranked.extend(self.in_order(equal)?);
        }
        if self.paths.is_some() {
            // Several chunks of a group can be equally near. The first of them represents the group.
            let mut seen = HashSet::new();
            ranked.retain(|found| seen.insert(found.key));
        }
        ranked.truncate(limit);
        Ok(ranked)
    }

    /// Rows that are equally near, by path and id: these are looked up for no others.
    fn in_order(&self, equal: &[ScoredSlot]) -> rusqlite::Result<Vec<RankedRow>> {
        let ranked = |(slot, similarity): &ScoredSlot| {
            let row = self.matrix.row(*slot);
            let key = group_key(self.paths.map(AsRef::as_ref), row)
                .ok_or(rusqlite::Error::QueryReturnedNoRows);
            Ok(RankedRow {
                row,
                key: key.map_err(|error| without_chunk(NEAREST, error))?,
                score: f64::from(*similarity),
            })
        };
        let ranked = equal
            .iter()
            .map(ranked)
            .collect::<rusqlite::Result<Vec<_>>>()?;
        if ranked.len() < 2 {
            return Ok(ranked);
        }
        let named = |found: RankedRow| Ok((name_of(self.connection, found.row, NEAREST)?, found));
        let mut named = ranked
            .into_iter()
            .map(named)
            .collect::<rusqlite::Result<Vec<_>>>()?;
        named.sort_unstable_by(|(left, _), (right, _)| by_name(left, right));
        Ok(named.into_iter().map(|(_, found)| found).collect())
    }
}

/// By path, then by id.
fn by_name(left: &(String, String), right: &(String, String)) -> Ordering {
    utf16::compare(&left.0, &right.0).then_with(|| utf16::compare(&left.1, &right.1))
}
