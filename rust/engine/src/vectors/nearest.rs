//! The nearest vectors, compared in full.

use std::borrow::Cow;

use rusqlite::{Connection, OptionalExtension};

use super::best_slots::{BestSlots, NearSlot, select};
use super::kernels::{TILE, dots};
use super::matrix::{CoarsePass, Matrix};
use super::scan::candidates;
use super::slots::{NEAREST, ScoredSlot, Slots};
use super::spread::{CosineStats, SAMPLE, sample};
use crate::chunks::Paths;
use crate::interrupt::CancelTicker;
use crate::top_k::{self, Scored as _};
use crate::unit_vector::{damaged, read_blob};

/// Up to this many vectors, and up to `PART` times as many as are wanted, all are compared in full:
/// looking at codes first would take longer.
const FEW: usize = 256;
const PART: usize = 4;
/// The number of vectors whose neighbors measure recall, and the number of neighbors of each.
const RECALL_SAMPLE: usize = 64;
const RECALL_AT: usize = 60;
/// The number of comparisons between two checks for cancellation.
const AT_ONCE: usize = 1024;

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
        let mut pace = CancelTicker::default();
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

    /// The vectors of the slots.
    fn vectors(&self, slots: &[usize]) -> rusqlite::Result<Vec<Vec<f32>>> {
        let kept = slots.iter().map(|slot| self.matrix.vector(*slot));
        match kept.collect::<Option<Vec<&[f32]>>>() {
            Some(rows) => Ok(rows.into_iter().map(<[f32]>::to_vec).collect()),
            None => self.read(slots),
        }
    }

    /// The vectors of the slots, read from the file.
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
    /// are as similar as the last of them; in no order. With `paths`, the most similar vectors of the
    /// `limit` most similar paths and of all that are as similar as the last of them: a path is as similar
    /// as its most similar vector.
    pub fn nearest(
        &self,
        look: CoarsePass,
        queries: &[&[f32]],
        limit: usize,
        slots: Slots<'_>,
        paths: Option<&Paths>,
    ) -> rusqlite::Result<Vec<Vec<ScoredSlot>>> {
        let limit = paths.map_or(limit, |paths| limit.min(paths.len().max(1)));
        let few = FEW.max(limit.saturating_mul(PART));
        if self.count(slots) <= few || !self.matrix.has_codes() {
            let slots = self.listed(slots);
            let of_paths = self.paths_of(&slots, paths)?;
            let all = |query: &&[f32]| {
                let scored = self.similarities(query, &slots)?;
                let scored = of_paths.iter().copied().zip(scored).collect();
                Ok(select(scored, limit, paths.is_some()))
            };
            return queries.iter().map(all).collect();
        }
        let found = candidates(self.matrix, look, queries, limit, slots, paths)?;
        let of_query =
            |(query, found): (&&[f32], _)| self.best_of(query, limit, paths.is_some(), found);
        queries.iter().zip(found).map(of_query).collect()
    }

    /// The numbers of the paths of these slots; 0 for each if vectors are not grouped.
    pub fn paths_of(&self, slots: &[usize], paths: Option<&Paths>) -> rusqlite::Result<Vec<u32>> {
        let Some(paths) = paths else {
            return Ok(vec![0; slots.len()]);
        };
        let mut cursor = paths.cursor();
        let number = |slot: &usize| cursor.number(self.matrix.row(*slot), NEAREST);
        slots.iter().map(number).collect()
    }

    /// The result of [`Self::nearest`], and for each query the mean and deviation of its cosines with all of
    /// these vectors, or with a sample if there are many.
    pub fn nearest_and_spreads(
        &self,
        look: CoarsePass,
        queries: &[&[f32]],
        limit: usize,
        slots: Slots<'_>,
    ) -> rusqlite::Result<(Vec<Vec<ScoredSlot>>, Vec<CosineStats>)> {
        let spread = |scored: &[ScoredSlot]| {
            CosineStats::of(scored.iter().map(|(_, similarity)| *similarity))
        };
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
        let nearest = self.nearest(look, queries, limit, slots, None)?;
        let sampled = self.sampled(slots);
        let of_query = |query: &&[f32]| Ok(spread(&self.similarities(query, &sampled)?));
        let spreads = queries.iter().map(of_query);
        Ok((nearest, spreads.collect::<rusqlite::Result<_>>()?))
    }

    /// The sample of these vectors, which are more than the sample has.
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
        let look = self.matrix.coarse_pass();
        if look == CoarsePass::HighPlane {
            return Ok(None);
        }
        let step = self.matrix.len().div_ceil(RECALL_SAMPLE).max(1);
        let sampled: Vec<usize> = self.matrix.slots().step_by(step).collect();
        let queries = self.vectors(&sampled)?;
        let queries: Vec<&[f32]> = queries.iter().map(Vec::as_slice).collect();
        let all = Slots::All;
        let exact = self.nearest(CoarsePass::HighPlane, &queries, RECALL_AT, all, None)?;
        let fast = self.nearest(look, &queries, RECALL_AT, all, None)?;
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

    /// The number of vectors in the slots.
    pub fn count(&self, slots: Slots<'_>) -> usize {
        match slots {
            Slots::All => self.matrix.len(),
            Slots::These(set) => set.len(),
        }
    }

    /// The slots as a list.
    pub fn listed(&self, slots: Slots<'_>) -> Vec<usize> {
        match slots {
            Slots::All => self.matrix.slots().collect(),
            Slots::These(set) => set.iter().collect(),
        }
    }

    /// The best of these compared in full: the most promising first, until the rest cannot be among
    /// them.
    fn best_of(
        &self,
        query: &[f32],
        limit: usize,
        by_path: bool,
        mut candidates: Vec<NearSlot>,
    ) -> rusqlite::Result<Vec<ScoredSlot>> {
        candidates.sort_unstable_by(|left, right| {
            let by_bound = right.highest.total_cmp(&left.highest);
            by_bound.then(left.slot.cmp(&right.slot))
        });
        let mut best = BestSlots::new(limit, by_path);
        let mut compared = Vec::new();
        for part in candidates.chunks(limit.max(TILE)) {
            if part[0].highest < best.threshold() {
                break;
            }
            let part = part.iter().filter(|candidate| best.can_be_best(candidate));
            let (slots, paths): (Vec<usize>, Vec<u32>) = part
                .map(|candidate| (candidate.slot, candidate.path))
                .unzip();
            let scored = paths.into_iter().zip(self.similarities(query, &slots)?);
            for (path, scored) in scored {
                best.offer(path, scored);
                compared.push((path, scored));
            }
            best.cut();
        }
        Ok(select(compared, limit, by_path))
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
