//! Vectors by the paths of their chunks: the nearest chunk stands for its path.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::codes::CodeQuery;
use super::kernels::{Planes, code_dots};
use super::matrix::FirstLook;
use super::nearest::{NEAREST, VectorReader};
use super::path_sample::{Members, PathSample};
use super::slots::{ScoredSlot, Slots};
use super::spread::{SAMPLE, Spread};
use crate::chunks::{Paths, without_chunk};
use crate::storage::cache::RowVersion;

/// By how much the number of chunks grows when those found have too few paths.
const MORE_CHUNKS: usize = 4;

/// Vectors, and the paths of their chunks.
#[derive(Clone, Copy)]
pub(crate) struct Groups<'a> {
    pub vectors: VectorReader<'a>,
    pub paths: &'a Arc<Paths>,
}

impl Groups<'_> {
    /// For each direction the nearest chunks of the nearest `limit` paths, and of all paths that are as
    /// near as the last of them. A path is as near as its nearest chunk.
    ///
    /// The nearest chunks are searched for, and more of them as long as they have too few paths.
    pub fn nearest(
        &self,
        look: FirstLook,
        directions: &[&[f32]],
        limit: usize,
        slots: Slots<'_>,
    ) -> rusqlite::Result<Vec<Vec<ScoredSlot>>> {
        let count = self.vectors.count(slots);
        let of_direction = |(direction, mut nearest): (&&[f32], Vec<ScoredSlot>)| {
            let mut chunks = limit;
            loop {
                let numbers = nearest.iter().map(|(slot, _)| self.number(*slot));
                let numbers: Vec<u32> = numbers.collect::<rusqlite::Result<_>>()?;
                let mut of_paths: BTreeMap<u32, f32> = BTreeMap::new();
                for ((_, similarity), number) in nearest.iter().zip(&numbers) {
                    let best = of_paths.entry(*number).or_insert(*similarity);
                    *best = best.max(*similarity);
                }
                if of_paths.len() >= limit || nearest.len() >= count {
                    let mut numbers = numbers.iter();
                    nearest.retain(|(_, similarity)| {
                        let number = numbers.next();
                        number.and_then(|number| of_paths.get(number)) == Some(similarity)
                    });
                    return Ok(nearest);
                }
                chunks = chunks.saturating_mul(MORE_CHUNKS);
                let more = self.vectors.nearest(look, &[direction], chunks, slots)?;
                nearest = more.concat();
            }
        };
        let nearest = self.vectors.nearest(look, directions, limit, slots)?;
        directions.iter().zip(nearest).map(of_direction).collect()
    }

    /// The number of a vector's path.
    fn number(&self, slot: usize) -> rusqlite::Result<u32> {
        let number = self.paths.of_row(self.vectors.matrix.row(slot));
        number.ok_or_else(|| without_chunk(NEAREST, rusqlite::Error::QueryReturnedNoRows))
    }

    /// How the similarities of the paths are spread for each direction; where there are many paths, those
    /// of the sample with the smallest hashes.
    pub fn spreads(
        &self,
        directions: &[&[f32]],
        slots: Slots<'_>,
    ) -> rusqlite::Result<Vec<Spread>> {
        let kept = &self.vectors.matrix.path_sample;
        let owned;
        let members = match (slots, kept.get()) {
            (Slots::All, Some(kept)) if Arc::ptr_eq(&kept.paths, self.paths) => &kept.members,
            (Slots::All, None) => {
                let members = self.sampled(slots);
                let sample = || PathSample {
                    paths: Arc::clone(self.paths),
                    members,
                };
                &kept.get_or_init(sample).members
            }
            _ => {
                owned = self.sampled(slots);
                &owned
            }
        };
        let spread = |direction: &&[f32]| {
            let best = self.best(direction, members)?;
            Ok(Spread::of(best.into_iter().flatten()))
        };
        directions.iter().map(spread).collect()
    }

    /// The slots of the first [`SAMPLE`] paths by hash that have a vector among `slots`.
    ///
    /// If most chunks are among them, nearly every path is, and the first paths are looked at. Otherwise
    /// the slots are, since nearly all paths might have none.
    fn sampled(&self, slots: Slots<'_>) -> Members {
        let count = self.vectors.count(slots);
        if count.saturating_mul(2) >= self.paths.rows() {
            let of_paths = self.paths.by_hash().map(|number| self.slots(number, slots));
            let members = of_paths.filter(|members| !members.is_empty());
            return Members::of(members.take(SAMPLE));
        }
        let mut cursor = self.paths.cursor();
        let listed = self.vectors.listed(slots).into_iter();
        let numbers = listed.filter_map(|slot| cursor.get(self.vectors.matrix.row(slot)));
        let first = self.paths.first_by_hash(numbers.collect(), SAMPLE);
        Members::of(first.into_iter().map(|number| self.slots(number, slots)))
    }

    /// The slots of a path's vectors that are among `slots`, ascending.
    fn slots(&self, number: u32, slots: Slots<'_>) -> Vec<usize> {
        let rows = self.paths.members(number);
        let members = rows.filter_map(|row| self.vectors.matrix.slot(row));
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
        let of_path = |number: &Option<i64>| {
            let number = number.and_then(|number| u32::try_from(number).ok());
            number.map_or_else(Vec::new, |number| self.slots(number, slots))
        };
        self.best(direction, &Members::of(numbers.iter().map(of_path)))
    }

    /// The similarity of the most similar of each path's vectors; None where it has none.
    fn best(&self, direction: &[f32], members: &Members) -> rusqlite::Result<Vec<Option<f32>>> {
        let possible;
        let members = if self.vectors.matrix.has_codes() {
            possible = self.possible(direction, members);
            &possible
        } else {
            members
        };
        let scored = self.vectors.similarities(direction, &members.slots)?;
        let best = members.ranges().map(|range| {
            let similarities = scored[range].iter().map(|(_, similarity)| *similarity);
            similarities.reduce(f32::max)
        });
        Ok(best.collect())
    }

    /// Those of each path's vectors that can be the most similar, by their codes.
    fn possible(&self, direction: &[f32], members: &Members) -> Members {
        let matrix = self.vectors.matrix;
        let rotated = matrix.rotation().rotated(direction);
        let query = CodeQuery::new(direction, &rotated, matrix.rotation(), matrix.longest());
        let planes = members.slots.iter().map(|slot| {
            let (block, offset) = matrix.at(*slot);
            block.codes.planes(offset)
        });
        let planes: Vec<Planes<'_>> = planes.collect();
        let sums = code_dots(query.both(), &planes);
        let bounds = members.slots.iter().zip(sums).map(|(slot, sums)| {
            let (block, offset) = matrix.at(*slot);
            let codes = &block.codes;
            query.bound(sums, codes.steps[offset], codes.errors[offset])
        });
        let bounds: Vec<_> = bounds.collect();
        Members::of(members.ranges().map(|range| {
            let of_path = &bounds[range.clone()];
            let certain = of_path.iter().map(|bound| bound.lowest());
            let certain = certain.fold(f32::NEG_INFINITY, f32::max);
            let possible = members.slots[range].iter().zip(of_path);
            let possible = possible.filter(|(_, bound)| bound.highest() >= certain);
            possible.map(|(slot, _)| *slot).collect()
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::*;
    use crate::chunks::Chunk;
    use crate::index::Index;
    use crate::text::tokenizer::TokenizerKind;
    use crate::unit_vector::to_blob;
    use crate::vectors::block::{Kept, Layout};
    use crate::vectors::matrix::Matrix;
    use crate::vectors::rotation::Rotation;
    use crate::vectors::slots::SlotSet;

    const CHUNKS: usize = 4000;

    /// 1,334 paths of three chunks each, more than a sample has.
    static PATHS: LazyLock<(Index, Arc<Paths>)> = LazyLock::new(|| {
        let index = Index::in_memory(TokenizerKind::Porter).unwrap();
        let chunk = |number: usize| Chunk {
            id: number.to_string(),
            path: format!("notes/{}.md", number / 3),
            ..Chunk::default()
        };
        let chunks: Vec<Chunk> = (0..CHUNKS).map(chunk).collect();
        index.upsert(&chunks.iter().collect::<Vec<_>>()).unwrap();
        let paths = index
            .database()
            .read(|connection| Paths::load(&(), connection));
        (index, Arc::new(paths.unwrap()))
    });

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
            let kept = Kept { values: true, signs: false };
            let mut matrix = Matrix::of(Layout { rotation: Rotation::new(2, Vec::new()), kept });
            for (row, _) in (1..).zip(&embedded).filter(|(_, embedded)| **embedded) {
                matrix.put(row, &to_blob(&[1.0, 0.0])).unwrap();
            }
            let set = SlotSet::new(matrix.slots().zip(&passing).filter(|(_, passes)| **passes).map(|(slot, _)| slot));
            let slots = if all { Slots::All } else { Slots::These(&set) };
            index.database().read(|connection| {
                let groups = Groups { vectors: VectorReader { matrix: &matrix, connection }, paths };
                let expected = paths.by_hash().map(|number| groups.slots(number, slots));
                let expected = expected.filter(|members| !members.is_empty()).take(SAMPLE);
                let mut expected: Vec<usize> = expected.flatten().collect();
                let mut found = groups.sampled(slots).slots;
                expected.sort_unstable();
                found.sort_unstable();
                assert_eq!(found, expected);
                Ok(())
            }).unwrap();
        }
    }
}
