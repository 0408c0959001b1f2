//! Search by path: a path has the rank of its nearest chunk.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use hashlink::DefaultHashBuilder;

use super::best_slots::select;
use super::block::Rows;
use super::codes::{Bound, CodeQuery};
use super::kernels::{Planes, code_dots};
use super::matrix::{CoarsePass, SlotCursor};
use super::nearest::VectorReader;
use super::path_sample::{Members, PathSample};
use super::slots::{NEAREST, ScoredSlot, Slots};
use super::spread::{CosineStats, SAMPLE};
use crate::chunks::Paths;
use crate::interrupt::CancelTicker;
use crate::storage::cache::RowVersion;

/// The number of codes compared at once: their sums stay in the fastest cache.
const AT_ONCE: usize = 512;

/// The result of a search by path.
pub(super) struct NearestByPath {
    /// The nearest vectors of the nearest paths.
    pub nearest: Vec<ScoredSlot>,
    /// The spread of the similarities of the paths.
    pub spread: CosineStats,
    /// The similarity of each path by its number if all were computed; else empty.
    pub similarities: HashMap<u32, f32, DefaultHashBuilder>,
}

/// Vectors, and the paths of their chunks.
#[derive(Clone, Copy)]
pub(crate) struct Groups<'a> {
    pub vectors: VectorReader<'a>,
    pub paths: &'a Arc<Paths>,
}

impl Groups<'_> {
    /// For each direction the nearest vectors by path (see [`VectorReader::nearest`]), and the spread of the
    /// similarities of the paths.
    pub fn nearest_and_spreads(
        &self,
        look: CoarsePass,
        directions: &[&[f32]],
        limit: usize,
        slots: Slots<'_>,
    ) -> rusqlite::Result<Vec<NearestByPath>> {
        let nearest = |look, limit| {
            let paths = Some(&**self.paths);
            self.vectors.nearest(look, directions, limit, slots, paths)
        };
        if self.paths.len() > SAMPLE {
            let found = nearest(look, limit)?.into_iter();
            let found = found.zip(self.spreads(directions, slots)?);
            let of_direction = |(nearest, spread)| NearestByPath {
                nearest,
                spread,
                similarities: HashMap::default(),
            };
            return Ok(found.map(of_direction).collect());
        }
        // All paths count, so one search finds the best of each for everything.
        let of_paths = self.best_of_all(directions, slots)?;
        let fast = match look {
            CoarsePass::SignBits => nearest(look, limit)?,
            CoarsePass::HighPlane => Vec::new(),
        };
        let mut fast = fast.into_iter();
        let of_direction = |of_paths: Vec<(u32, ScoredSlot)>| {
            let similarities = of_paths.iter().map(|(path, best)| (*path, best.1));
            let similarities: HashMap<_, _, _> = similarities.collect();
            NearestByPath {
                spread: CosineStats::of(similarities.values().copied()),
                nearest: fast.next().unwrap_or_else(|| select(of_paths, limit, true)),
                similarities,
            }
        };
        Ok(of_paths.into_iter().map(of_direction).collect())
    }

    /// For each direction the nearest vectors of every path that has some among `slots`, with the number of
    /// the path.
    fn best_of_all(
        &self,
        directions: &[&[f32]],
        slots: Slots<'_>,
    ) -> rusqlite::Result<Vec<Vec<(u32, ScoredSlot)>>> {
        let matrix = self.vectors.matrix;
        let sample = match slots {
            Slots::All => self.kept_sample(),
            Slots::These(_) => None,
        };
        // A vector without a chunk is in no path. The search below reports it.
        if let Some(sample) = sample.filter(|sample| sample.first.slots.len() == matrix.len()) {
            let best = |direction: &&[f32]| self.best_of_members(direction, &sample.first);
            return directions.iter().map(best).collect();
        }
        let paths = self.paths;
        let look = CoarsePass::HighPlane;
        let found = self
            .vectors
            .nearest(look, directions, paths.len(), slots, Some(paths))?;
        let with_paths = |scored: Vec<ScoredSlot>| {
            let slots: Vec<usize> = scored.iter().map(|(slot, _)| *slot).collect();
            let numbers = self.vectors.paths_of(&slots, Some(paths))?;
            Ok(numbers.into_iter().zip(scored).collect())
        };
        found.into_iter().map(with_paths).collect()
    }

    /// The nearest of each path's vectors, with the number of the path.
    fn best_of_members(
        &self,
        direction: &[f32],
        members: &Members,
    ) -> rusqlite::Result<Vec<(u32, ScoredSlot)>> {
        let (members, scored) = self.compared(direction, members)?;
        let mut cursor = self.paths.cursor();
        let mut best = Vec::with_capacity(scored.len());
        for range in members.ranges() {
            let scored = &scored[range];
            let highest = scored.iter().map(|(_, similarity)| *similarity);
            let highest = highest.fold(f32::NEG_INFINITY, f32::max);
            let Some((first, _)) = scored.first() else {
                continue;
            };
            let number = cursor.number(self.vectors.matrix.row(*first), NEAREST)?;
            let nearest = scored
                .iter()
                .filter(|(_, similarity)| *similarity >= highest);
            best.extend(nearest.map(|nearest| (number, *nearest)));
        }
        Ok(best)
    }

    /// The sample that the matrix keeps, if it is of these paths. The first search makes it.
    fn kept_sample(&self) -> Option<&PathSample> {
        let kept = &self.vectors.matrix.path_sample;
        let sample = kept.get_or_init(|| self.sample());
        Arc::ptr_eq(&sample.paths, self.paths).then_some(sample)
    }

    /// The spread of the similarities of the paths for each direction; where there are many paths, those
    /// of the sample with the smallest hashes.
    fn spreads(
        &self,
        directions: &[&[f32]],
        slots: Slots<'_>,
    ) -> rusqlite::Result<Vec<CosineStats>> {
        let made;
        let sample = if let Some(kept) = self.kept_sample() {
            kept
        } else {
            made = self.sample();
            &made
        };
        let filtered;
        let members = match slots {
            Slots::All => &sample.first,
            Slots::These(_) => {
                let found = sample.filtered(slots);
                filtered = found.unwrap_or_else(|| self.sampled(slots, SAMPLE));
                &filtered
            }
        };
        let spread = |direction: &&[f32]| {
            let best = self.best(direction, members)?;
            Ok(CosineStats::of(best.into_iter().flatten()))
        };
        directions.iter().map(spread).collect()
    }

    /// The sample of all paths.
    fn sample(&self) -> PathSample {
        let members = self.sampled(Slots::All, 2 * SAMPLE);
        PathSample::new(Arc::clone(self.paths), &members)
    }

    /// The slots of the first `limit` paths by hash that have a vector among `slots`.
    ///
    /// If most chunks are among them, nearly every path is, and the first paths are looked at. Otherwise
    /// the slots are, since nearly all paths might have none.
    fn sampled(&self, slots: Slots<'_>, limit: usize) -> Members {
        let count = self.vectors.count(slots);
        if count.saturating_mul(2) >= self.paths.rows() {
            let mut cursor = self.vectors.matrix.cursor();
            let of_paths = self.paths.by_hash();
            let of_paths = of_paths.map(|number| self.slots(number, slots, &mut cursor));
            let members = of_paths.filter(|members| !members.is_empty());
            return Members::of(members.take(limit));
        }
        let mut cursor = self.paths.cursor();
        let listed = self.vectors.listed(slots).into_iter();
        let numbers = listed.filter_map(|slot| cursor.get(self.vectors.matrix.row(slot)));
        let first = self.paths.first_by_hash(numbers.collect(), limit);
        let mut cursor = self.vectors.matrix.cursor();
        let members = first
            .into_iter()
            .map(|number| self.slots(number, slots, &mut cursor));
        Members::of(members)
    }

    /// The slots of a path's vectors that are among `slots`, ascending.
    fn slots(&self, number: u32, slots: Slots<'_>, cursor: &mut SlotCursor<'_>) -> Vec<usize> {
        let rows = self.paths.members(number);
        let members = rows.filter_map(|row| cursor.get(row));
        members.filter(|slot| slots.contains(*slot)).collect()
    }

    /// How similar the paths of these numbers are to a direction: as similar as the most similar of
    /// their chunks among `slots`.
    pub fn similarities(
        &self,
        direction: &[f32],
        numbers: &[Option<i64>],
        slots: Slots<'_>,
    ) -> rusqlite::Result<Vec<Option<f32>>> {
        let mut cursor = self.vectors.matrix.cursor();
        let of_path = |number: &Option<i64>| {
            let number = number.and_then(|number| u32::try_from(number).ok());
            number.map_or_else(Vec::new, |number| self.slots(number, slots, &mut cursor))
        };
        self.best(direction, &Members::of(numbers.iter().map(of_path)))
    }

    /// The similarity of the most similar of each path's vectors; None where it has none.
    fn best(&self, direction: &[f32], members: &Members) -> rusqlite::Result<Vec<Option<f32>>> {
        let (members, scored) = self.compared(direction, members)?;
        let best = members.ranges().map(|range| {
            let similarities = scored[range].iter().map(|(_, similarity)| *similarity);
            similarities.reduce(f32::max)
        });
        Ok(best.collect())
    }

    /// The vectors of each path that can be its nearest, and the similarities of these.
    fn compared<'m>(
        &self,
        direction: &[f32],
        members: &'m Members,
    ) -> rusqlite::Result<(Cow<'m, Members>, Vec<ScoredSlot>)> {
        let possible = if self.vectors.matrix.has_codes() {
            Cow::Owned(self.possible(direction, members)?)
        } else {
            Cow::Borrowed(members)
        };
        let scored = self.vectors.similarities(direction, &possible.slots)?;
        Ok((possible, scored))
    }

    /// The vectors of each path that can be its nearest, by their codes.
    fn possible(&self, direction: &[f32], members: &Members) -> rusqlite::Result<Members> {
        let matrix = self.vectors.matrix;
        let rotated = matrix.rotation().rotated(direction);
        let query = CodeQuery::new(direction, &rotated, matrix.rotation(), matrix.longest());
        let mut bounds: Vec<Bound> = Vec::with_capacity(members.slots.len());
        let mut pace = CancelTicker::default();
        for slots in members.slots.chunks(AT_ONCE) {
            pace.read(slots.len())?;
            let codes = slots.iter().map(|slot| {
                let (Rows { codes, .. }, at) = matrix.at(*slot);
                (codes.planes(at), (codes.steps[at], codes.errors[at]))
            });
            let (planes, scales): (Vec<Planes<'_>>, Vec<(f32, f32)>) = codes.unzip();
            let sums = code_dots(query.both(), &planes).into_iter().zip(scales);
            bounds.extend(sums.map(|(sums, (step, error))| query.bound(sums, step, error)));
        }
        Ok(Members::of(members.ranges().map(|range| {
            let of_path = &bounds[range.clone()];
            let certain = of_path.iter().map(|bound| bound.lowest());
            let certain = certain.fold(f32::NEG_INFINITY, f32::max);
            let possible = members.slots[range].iter().zip(of_path);
            let possible = possible.filter(move |(_, bound)| bound.highest() >= certain);
            possible.map(|(slot, _)| *slot)
        })))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::*;
    use crate::chunks::Chunk;
    use crate::index::Index;
    use crate::text::tokenizer::TokenizerKind;
    use crate::unit_vector::{to_blob, unit};
    use crate::vectors::block::{Layout, Residency};
    use crate::vectors::matrix::Matrix;
    use crate::vectors::rotation::Rotation;
    use crate::vectors::slots::SlotSet;

    const CHUNKS: usize = 4000;

    /// 1,334 paths of three chunks each, more than a sample has.
    static PATHS: LazyLock<(Index, Arc<Paths>)> =
        LazyLock::new(|| with_paths((0..CHUNKS).map(|number| number / 3)));

    /// An index of chunks with these paths.
    fn with_paths(numbers: impl Iterator<Item = usize>) -> (Index, Arc<Paths>) {
        let index = Index::in_memory(TokenizerKind::Porter).unwrap();
        let chunk = |(id, number): (usize, usize)| Chunk {
            id: id.to_string(),
            path: format!("notes/{number}.md"),
            ..Chunk::default()
        };
        let chunks: Vec<Chunk> = numbers.enumerate().map(chunk).collect();
        index.upsert(&chunks.iter().collect::<Vec<_>>()).unwrap();
        let paths = index
            .database()
            .read(|connection| Paths::load(&crate::chunks::GroupField::Path, connection));
        (index, Arc::new(paths.unwrap()))
    }

    /// The similarity of each path, found by comparing all.
    fn best_of_paths(
        groups: &Groups<'_>,
        direction: &[f32],
        slots: Slots<'_>,
    ) -> BTreeMap<u32, f32> {
        let all = groups.vectors.listed(slots);
        let scored = groups.vectors.similarities(direction, &all).unwrap();
        let mut best = BTreeMap::new();
        for (slot, similarity) in scored {
            let row = groups.vectors.matrix.row(slot);
            let of_path = best
                .entry(groups.paths.of_row(row).unwrap())
                .or_insert(similarity);
            *of_path = similarity.max(*of_path);
        }
        best
    }

    /// Slots and bits of similarities of the nearest vector of each of the `limit` nearest paths, with
    /// their equals, found by comparing all.
    fn compared(
        groups: &Groups<'_>,
        direction: &[f32],
        limit: usize,
        slots: Slots<'_>,
    ) -> Vec<(usize, u32)> {
        let all = groups.vectors.listed(slots);
        let scored = groups.vectors.similarities(direction, &all).unwrap();
        let path = |slot: usize| {
            groups
                .paths
                .of_row(groups.vectors.matrix.row(slot))
                .unwrap()
        };
        let best = best_of_paths(groups, direction, slots);
        let mut of_paths: Vec<f32> = best.values().copied().collect();
        of_paths.sort_by(|left, right| right.total_cmp(left));
        let last = of_paths
            .get(limit - 1)
            .copied()
            .unwrap_or(f32::NEG_INFINITY);
        let is_found = |(slot, similarity): &(usize, f32)| {
            *similarity >= last && *similarity >= best[&path(*slot)]
        };
        bits(scored.into_iter().filter(is_found).collect())
    }

    fn bits(mut scored: Vec<ScoredSlot>) -> Vec<(usize, u32)> {
        scored.sort_unstable_by_key(|(slot, _)| *slot);
        scored
            .into_iter()
            .map(|(slot, similarity)| (slot, similarity.to_bits()))
            .collect()
    }

    /// Vectors in clusters, some of them equal.
    fn clustered(dimensions: usize, seed: u32) -> impl FnMut(usize) -> Vec<f32> {
        let mut state = seed | 1;
        let mut number = move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f32::from(u16::try_from(state >> 16).unwrap()) / 32_768.0 - 1.0
        };
        let centers: Vec<Vec<f32>> = (0..5)
            .map(|_| (0..dimensions).map(|_| number()).collect())
            .collect();
        move |nth| {
            let noise = if nth % 7 == 0 { 0.0 } else { 0.6 };
            let center = &centers[nth % 5];
            unit(
                &center
                    .iter()
                    .map(|x| x + noise * number())
                    .collect::<Vec<_>>(),
            )
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn the_nearest_of_each_path_are_those_of_comparing_all(
            dimensions in 2_usize..130,
            paths in prop_oneof![1_usize..9, 9_usize..200, 200_usize..2000],
            (are_scattered, every) in (any::<bool>(), 1_usize..20),
            limit in 1_usize..80,
            seed in any::<u32>(),
        ) {
            let chunks = 1500;
            let path = |chunk: usize| if are_scattered { chunk % paths } else { chunk * paths / chunks };
            let (index, paths) = with_paths((0..chunks).map(path));
            let kept = Residency { values: true, signs: true };
            let rotation = Rotation::new(dimensions, Vec::new());
            let mut matrix = Matrix::of(Layout { rotation, kept });
            let mut vector = clustered(dimensions, seed);
            for (row, nth) in (1..).zip(0..chunks) {
                matrix.put(row, &to_blob(&vector(nth))).unwrap();
            }
            let set = SlotSet::new(matrix.slots().step_by(every));
            let directions: Vec<Vec<f32>> = (0..3).map(vector).collect();
            let directions: Vec<&[f32]> = directions.iter().map(Vec::as_slice).collect();
            index.database().read(|connection| {
                let groups = Groups { vectors: VectorReader { matrix: &matrix, connection }, paths: &paths };
                for slots in [Slots::All, Slots::These(&set)] {
                    let find = |look| groups.vectors.nearest(look, &directions, limit, slots, Some(&*paths));
                    for (direction, found) in directions.iter().zip(find(CoarsePass::HighPlane)?) {
                        assert_eq!(bits(found), compared(&groups, direction, limit, slots));
                    }
                    // A fast search may miss some vectors, but the cosines of its hits are exact.
                    for (direction, found) in directions.iter().zip(find(CoarsePass::SignBits)?) {
                        let exact = groups.vectors.similarities(direction, &groups.vectors.listed(slots))?;
                        let exact = bits(exact);
                        assert!(bits(found).iter().all(|found| exact.contains(found)));
                    }
                }
                // The matrix keeps a sample of the first paths, and none of the others.
                let others = Arc::new(Paths::load(&crate::chunks::GroupField::Path, connection)?);
                for (paths, slots) in [(&paths, Slots::All), (&others, Slots::All), (&paths, Slots::These(&set))] {
                    let groups = Groups { paths, ..groups };
                    let found = groups.nearest_and_spreads(CoarsePass::HighPlane, &directions, limit, slots)?;
                    for (direction, found) in directions.iter().zip(found) {
                        assert_eq!(bits(found.nearest), compared(&groups, direction, limit, slots));
                        if paths.len() <= SAMPLE {
                            let best = best_of_paths(&groups, direction, slots);
                            assert_eq!(found.spread, CosineStats::of(best.values().copied()));
                            assert_eq!(found.similarities.into_iter().collect::<BTreeMap<_, _>>(), best);
                        }
                    }
                }
                Ok(())
            }).unwrap();
        }
    }

    fn some(share: u8, of: usize) -> impl Strategy<Value = Vec<bool>> {
        prop::collection::vec((0_u8..100).prop_map(move |one| one < share), of)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn a_sample_is_of_the_first_paths_by_hash_that_have_a_vector(
            (embedded, passing, all) in (1_u8..=100, 1_u8..=100, any::<bool>()).prop_flat_map(
                |(embedded, passing, all)| (some(embedded, CHUNKS), some(passing, CHUNKS), Just(all)),
            ),
        ) {
            let (index, paths) = &*PATHS;
            let kept = Residency { values: true, signs: false };
            let mut matrix = Matrix::of(Layout { rotation: Rotation::new(2, Vec::new()), kept });
            for (row, _) in (1..).zip(&embedded).filter(|(_, embedded)| **embedded) {
                matrix.put(row, &to_blob(&[1.0, 0.0])).unwrap();
            }
            let set = SlotSet::new(matrix.slots().zip(&passing).filter(|(_, passes)| **passes).map(|(slot, _)| slot));
            let slots = if all { Slots::All } else { Slots::These(&set) };
            index.database().read(|connection| {
                let groups = Groups { vectors: VectorReader { matrix: &matrix, connection }, paths };
                let mut cursor = matrix.cursor();
                let expected = paths.by_hash().map(|number| groups.slots(number, slots, &mut cursor));
                let expected = expected.filter(|members| !members.is_empty()).take(SAMPLE);
                let mut expected: Vec<usize> = expected.flatten().collect();
                expected.sort_unstable();
                let sample = groups.sample().filtered(slots).map(|sample| sample.slots);
                for mut found in [groups.sampled(slots, SAMPLE).slots].into_iter().chain(sample) {
                    found.sort_unstable();
                    assert!(found == expected, "{} of {}", found.len(), expected.len());
                }
                Ok(())
            }).unwrap();
        }
    }
}
