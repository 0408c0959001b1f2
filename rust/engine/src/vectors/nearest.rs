//! The nearest vectors, compared in full.

use std::borrow::Cow;

use rusqlite::{Connection, OptionalExtension};

use super::kernels::{TILE, dots};
use super::matrix::{FirstLook, Matrix};
use super::scan::{Candidate, candidates};
use super::slots::{ScoredSlot, Slots};
use super::spread::{SAMPLE, Spread, sample};
use crate::interrupt::Pace;
use crate::top_k::{self, Scored as _, TopK};
use crate::unit_vector::{damaged, read_blob};

/// Up to this many vectors, and up to `PART` times as many as are wanted, all are compared in full:
/// looking at codes first would take longer.
const FEW: usize = 256;
const PART: usize = 4;
/// How many vectors are searched for, and how many nearest of each, to see what is missed.
const RECALL_SAMPLE: usize = 64;
const RECALL_AT: usize = 60;
/// How many vectors are compared between two looks at whether somebody waits.
const AT_ONCE: usize = 1024;

/// What messages call a row that a vector was found for, should there be no chunk of it.
pub(crate) const NEAREST: &str = "a vector";

/// A matrix, and where the vectors are read from that it does not keep.
#[derive(Clone, Copy)]
pub(crate) struct VectorReader<'a> {
    pub matrix: &'a Matrix,
    pub connection: &'a Connection,
}

impl VectorReader<'_> {
    /// How similar to the query each of these vectors is.
    pub fn similarities(
        &self,
        query: &[f32],
        slots: &[usize],
    ) -> rusqlite::Result<Vec<ScoredSlot>> {
        let mut found = Vec::with_capacity(slots.len());
        let mut pace = Pace::default();
        for slots in slots.chunks(AT_ONCE) {
            pace.read(slots.len() * TILE)?;
            let rows = slots.iter().map(|slot| self.matrix.vector(*slot));
            let read;
            let rows = if let Some(rows) = rows.collect::<Option<Vec<&[f32]>>>() {
                rows
            } else {
                read = self.read(slots)?;
                read.iter().map(Vec::as_slice).collect()
            };
            found.extend(slots.iter().copied().zip(similarities(query, &rows)));
        }
        Ok(found)
    }

    /// These vectors.
    fn vectors(&self, slots: &[usize]) -> rusqlite::Result<Vec<Vec<f32>>> {
        let kept = slots.iter().map(|slot| self.matrix.vector(*slot));
        match kept.collect::<Option<Vec<&[f32]>>>() {
            Some(rows) => Ok(rows.into_iter().map(<[f32]>::to_vec).collect()),
            None => self.read(slots),
        }
    }

    /// These vectors, which are in the file alone.
    fn read(&self, slots: &[usize]) -> rusqlite::Result<Vec<Vec<f32>>> {
        let sql = "SELECT vector FROM embeddings WHERE row = ?";
        let mut find = self.connection.prepare_cached(sql)?;
        let dimensions = self.matrix.dimensions();
        let read = |slot: &usize| {
            let row = self.matrix.row(*slot);
            let mut vector = Vec::with_capacity(dimensions);
            let sound = find.query_row([row], |found| {
                Ok(read_blob(found.get_ref(0)?.as_blob()?, &mut vector))
            });
            if sound.optional()? != Some(true) || vector.len() != dimensions {
                return Err(damaged(row));
            }
            Ok(vector)
        };
        slots.iter().map(read).collect()
    }

    /// For each query the `limit` vectors among `slots` that are most similar to it, and all that
    /// are as similar as the last of them; in no order.
    pub fn nearest(
        &self,
        look: FirstLook,
        queries: &[&[f32]],
        limit: usize,
        slots: Slots<'_>,
    ) -> rusqlite::Result<Vec<Vec<ScoredSlot>>> {
        let count = self.count(slots);
        if count <= FEW.max(limit.saturating_mul(PART)) || !self.matrix.has_codes() {
            let slots = self.listed(slots);
            let all = |query: &&[f32]| {
                let mut scored = self.similarities(query, &slots)?;
                top_k::select(&mut scored, limit, ScoredSlot::order);
                Ok(scored)
            };
            return queries.iter().map(all).collect();
        }
        let found = candidates(self.matrix, look, queries, limit, slots)?;
        let of_query = |(query, found): (&&[f32], _)| self.best_of(query, limit, found);
        queries.iter().zip(found).map(of_query).collect()
    }

    /// What [`Self::nearest`] finds, and for each query the spread of its similarities to all of these
    /// vectors, or to a sample where there are many.
    pub fn nearest_and_spreads(
        &self,
        look: FirstLook,
        queries: &[&[f32]],
        limit: usize,
        slots: Slots<'_>,
    ) -> rusqlite::Result<(Vec<Vec<ScoredSlot>>, Vec<Spread>)> {
        let spread =
            |scored: &[ScoredSlot]| Spread::of(scored.iter().map(|(_, similarity)| *similarity));
        if self.count(slots) <= SAMPLE {
            // All count, so all are compared once for both.
            let slots = self.listed(slots);
            let both = |query: &&[f32]| {
                let mut scored = self.similarities(query, &slots)?;
                let spread = spread(&scored);
                top_k::select(&mut scored, limit, ScoredSlot::order);
                Ok((scored, spread))
            };
            let found = queries.iter().map(both);
            return found
                .collect::<rusqlite::Result<Vec<_>>>()
                .map(|found| found.into_iter().unzip());
        }
        let nearest = self.nearest(look, queries, limit, slots)?;
        let sampled = self.sampled(slots);
        let of_query = |query: &&[f32]| Ok(spread(&self.similarities(query, &sampled)?));
        let spreads = queries.iter().map(of_query);
        Ok((nearest, spreads.collect::<rusqlite::Result<_>>()?))
    }

    /// The sample that stands for these vectors, which are more than it has.
    fn sampled(&self, slots: Slots<'_>) -> Cow<'_, [usize]> {
        if let (Slots::All, Some(sampled)) = (slots, self.matrix.sample()) {
            return Cow::Borrowed(sampled);
        }
        let all = self.listed(slots);
        let sampled = sample(all.len());
        Cow::Owned(sampled.map_or_else(Vec::new, |sampled| sampled.map(|nth| all[nth]).collect()))
    }

    /// The share of the nearest vectors that a fast search finds, measured with some of the vectors as
    /// queries; None where searches are exact.
    pub fn recall(&self) -> rusqlite::Result<Option<f64>> {
        let look = self.matrix.first_look();
        if look == FirstLook::HighPlane {
            return Ok(None);
        }
        let step = self.matrix.len().div_ceil(RECALL_SAMPLE).max(1);
        let sampled: Vec<usize> = self.matrix.slots().step_by(step).collect();
        let queries = self.vectors(&sampled)?;
        let queries: Vec<&[f32]> = queries.iter().map(Vec::as_slice).collect();
        let all = Slots::All;
        let exact = self.nearest(FirstLook::HighPlane, &queries, RECALL_AT, all)?;
        let fast = self.nearest(look, &queries, RECALL_AT, all)?;
        let (mut wanted, mut found) = (0_u32, 0_u32);
        for (exact, fast) in exact.iter().zip(fast) {
            // Vectors that are as near as the last count, though not more than there are.
            let count = RECALL_AT.min(exact.len());
            let last = exact.iter().map(|(_, similarity)| *similarity);
            let last = last.fold(f32::INFINITY, f32::min);
            let near = fast.iter().filter(|(_, similarity)| *similarity >= last);
            found += u32::try_from(near.take(count).count()).unwrap_or(u32::MAX);
            wanted += u32::try_from(count).unwrap_or(u32::MAX);
        }
        Ok(Some(f64::from(found) / f64::from(wanted.max(1))))
    }

    /// How many vectors these are.
    pub fn count(&self, slots: Slots<'_>) -> usize {
        match slots {
            Slots::All => self.matrix.len(),
            Slots::These(set) => set.len(),
        }
    }

    /// These slots one by one.
    pub fn listed(&self, slots: Slots<'_>) -> Vec<usize> {
        match slots {
            Slots::All => self.matrix.slots().collect(),
            Slots::These(set) => set.iter().collect(),
        }
    }

    /// The best of these compared in full: the most promising first, until what is left cannot be
    /// among them.
    fn best_of(
        &self,
        query: &[f32],
        limit: usize,
        mut candidates: Vec<Candidate>,
    ) -> rusqlite::Result<Vec<ScoredSlot>> {
        candidates.sort_unstable_by(|left, right| {
            let by_bound = right.highest.total_cmp(&left.highest);
            by_bound.then(left.slot.cmp(&right.slot))
        });
        let mut best = TopK::new(limit);
        for part in candidates.chunks(limit.max(TILE)) {
            if part[0].highest < best.threshold() {
                break;
            }
            let slots: Vec<usize> = part.iter().map(|candidate| candidate.slot).collect();
            for scored in self.similarities(query, &slots)? {
                best.offer(scored);
            }
            best.cut();
        }
        Ok(best.finish())
    }
}

/// The cosine of `query` and each of `rows`, in the order of `rows`. All vectors must have length 1 and
/// the dimensions of `query`.
pub fn similarities(query: &[f32], rows: &[&[f32]]) -> Vec<f32> {
    dots(query, rows).into_iter().map(within_bounds).collect()
}

/// Rounding can leave a little more than 1.
fn within_bounds(similarity: f32) -> f32 {
    similarity.clamp(-1.0, 1.0)
}
