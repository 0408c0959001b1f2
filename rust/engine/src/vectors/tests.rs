//! Matrices over random histories: hits equal those of a full comparison.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rusqlite::Connection;

use super::block::{Layout, Residency};
use super::kernels::with_each;
use super::matrix::{CoarsePass, Matrix};
use super::nearest::VectorReader;
use super::rotation::Rotation;
use super::slots::{ScoredSlot, SlotSet, Slots};
use crate::top_k::{self, Scored as _};
use crate::unit_vector::{to_blob, unit};

const KEPT: Residency = Residency {
    values: true,
    signs: true,
};

fn matrix(dimensions: usize, center: Vec<f32>) -> Matrix {
    Matrix::of(Layout {
        rotation: Rotation::new(dimensions, center),
        kept: KEPT,
    })
}

fn filled(vectors: &[Vec<f32>]) -> Matrix {
    let mut matrix = matrix(vectors[0].len(), Vec::new());
    for (row, vector) in (0..).zip(vectors) {
        matrix.put(row, &to_blob(vector)).unwrap();
    }
    matrix
}

/// Slots and bits of similarities, by row.
fn named(matrix: &Matrix, scored: Vec<ScoredSlot>) -> Vec<(i64, u32)> {
    let named = scored
        .into_iter()
        .map(|(slot, similarity)| (matrix.row(slot), similarity.to_bits()));
    let mut named: Vec<_> = named.collect();
    named.sort_unstable();
    named
}

fn found(
    matrix: &Matrix,
    look: CoarsePass,
    queries: &[&[f32]],
    limit: usize,
    slots: Slots<'_>,
) -> Vec<Vec<(i64, u32)>> {
    let connection = Connection::open_in_memory().unwrap();
    let vectors = VectorReader {
        matrix,
        connection: &connection,
    };
    let nearest = vectors.nearest(look, queries, limit, slots, None).unwrap();
    nearest
        .into_iter()
        .map(|scored| named(matrix, scored))
        .collect()
}

/// The hits of a full comparison.
fn compared(matrix: &Matrix, query: &[f32], limit: usize, slots: Slots<'_>) -> Vec<(i64, u32)> {
    let connection = Connection::open_in_memory().unwrap();
    let vectors = VectorReader {
        matrix,
        connection: &connection,
    };
    let mut all = vectors.similarities(query, &vectors.listed(slots)).unwrap();
    top_k::select(&mut all, limit, ScoredSlot::order);
    named(matrix, all)
}

fn vector(dimensions: usize) -> impl Strategy<Value = Vec<f32>> {
    // Many are alike, and rounding leaves the cosine of some with themselves above 1.
    let number = prop_oneof![
        Just(0.0_f32),
        Just(-0.3),
        Just(0.7),
        -1.0_f32..1.0,
        -1e-6_f32..1e-6
    ];
    prop::collection::vec(number, dimensions)
        .prop_map(|vector| unit(&vector))
        .prop_filter("a direction", |vector| !vector.is_empty())
}

fn vectors() -> impl Strategy<Value = Vec<Vec<f32>>> {
    (1_usize..150).prop_flat_map(|dimensions| prop::collection::vec(vector(dimensions), 2..80))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn the_nearest_are_those_of_comparing_all(
        vectors in vectors(),
        repeats in 4_usize..9,
        limit in 1_usize..40,
        every in 1_usize..40,
    ) {
        // More than one block, and the opposite of each.
        let opposite = |vector: &Vec<f32>| vector.iter().map(|number| -number).collect();
        let opposites: Vec<Vec<f32>> = vectors.iter().map(opposite).collect();
        let pairs = || vectors.iter().chain(&opposites).cloned();
        let all: Vec<Vec<f32>> = (0..repeats).flat_map(|_| pairs()).collect();
        let matrix = filled(&all);
        let some = SlotSet::new(matrix.slots().step_by(every));
        let queries: Vec<&[f32]> = all.iter().take(7).map(Vec::as_slice).collect();
        for slots in [Slots::All, Slots::These(&some)] {
            let nearest = found(&matrix, CoarsePass::HighPlane, &queries, limit, slots);
            for (query, nearest) in queries.iter().zip(nearest) {
                prop_assert_eq!(nearest, compared(&matrix, query, limit, slots));
            }
        }
    }

    #[test]
    fn a_batch_finds_to_the_bit_what_each_query_finds_alone(
        dimensions in 1_usize..150,
        count in 1_usize..40,
        changed in prop::collection::vec((0_i64..1100, any::<bool>()), 0..200),
        limit in 1_usize..70,
        every in 1_usize..20,
        seed in any::<u64>(),
    ) {
        let mut numbers = Numbers(seed | 1);
        let center = unit(&vec![1.0; dimensions]).iter().map(|x| x / 3.0).collect();
        let mut matrix = matrix(dimensions, center);
        for row in 0..1000 {
            matrix.put(row, &to_blob(&numbers.vector(dimensions))).unwrap();
        }
        // Replaced vectors of a block that versions share are in patches.
        let earlier = matrix.clone();
        for (row, is_deleted) in changed {
            let vector = if is_deleted { Vec::new() } else { to_blob(&numbers.vector(dimensions)) };
            matrix.put(row, &vector).unwrap();
        }
        let some = SlotSet::new(matrix.slots().step_by(every));
        let queries: Vec<Vec<f32>> = (0..count).map(|_| numbers.vector(dimensions)).collect();
        let queries: Vec<&[f32]> = queries.iter().map(Vec::as_slice).collect();
        for look in [CoarsePass::HighPlane, CoarsePass::SignBits] {
            for slots in [Slots::All, Slots::These(&some)] {
                let alone = queries.iter().flat_map(|query| found(&matrix, look, &[query], limit, slots));
                let alone: Vec<_> = alone.collect();
                with_each(|instructions| {
                    let batch = found(&matrix, look, &queries, limit, slots);
                    assert!(batch == alone, "{instructions:?} {look:?}");
                });
            }
        }
        drop(earlier);
    }

    #[test]
    fn rows_come_change_and_go_whatever_the_blocks(
        dimensions in 2_usize..70,
        seed in any::<u64>(),
        steps in prop::collection::vec((0_i64..600, 0_u8..8), 400..900),
    ) {
        let center = unit(&vec![1.0; dimensions]).iter().map(|x| x / 3.0).collect();
        let mut changed = matrix(dimensions, center);
        let mut expected: BTreeMap<i64, Vec<f32>> = BTreeMap::new();
        let mut numbers = Numbers(seed | 1);
        let mut versions = Vec::new();
        for (nth, (row, step)) in steps.into_iter().enumerate() {
            if step == 0 {
                changed.put(row, &[]).unwrap();
                expected.remove(&row);
            } else {
                let vector = numbers.vector(dimensions);
                changed.put(row, &to_blob(&vector)).unwrap();
                expected.insert(row, vector);
            }
            // Changes soon after this are in patches, and later ones in new blocks.
            if nth % 150 == 0 {
                versions.push((changed.clone(), expected.clone()));
            }
        }
        let query = numbers.vector(dimensions);
        versions.push((changed, expected));
        for (matrix, expected) in versions {
            let mut anew = matrix.emptied();
            for (row, vector) in &expected {
                anew.put(*row, &to_blob(vector)).unwrap();
            }
            prop_assert_eq!(matrix.len(), expected.len());
            let rows: Vec<i64> = matrix.slots().map(|slot| matrix.row(slot)).collect();
            prop_assert_eq!(rows, expected.keys().copied().collect::<Vec<_>>());
            for look in [CoarsePass::HighPlane, CoarsePass::SignBits] {
                // The hits of a fast search must not depend on the history of the blocks either.
                let all = |matrix| found(matrix, look, &[&query], 3, Slots::All);
                prop_assert_eq!(all(&matrix), all(&anew), "{:?}", look);
            }
            let some = SlotSet::new(matrix.slots().step_by(2));
            for slots in [Slots::All, Slots::These(&some)] {
                let nearest = found(&matrix, CoarsePass::HighPlane, &[&query], 20, slots);
                prop_assert_eq!(&nearest[0], &compared(&matrix, &query, 20, slots));
            }
        }
    }
}

/// Made-up vectors, always the same for a seed.
struct Numbers(u64);

impl Numbers {
    /// About normally distributed, and never 0: a vector of one 0 has no direction.
    fn number(&mut self) -> f32 {
        let mut state = self.0;
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        self.0 = state;
        let bytes = state.to_le_bytes();
        bytes.iter().map(|byte| f32::from(*byte) - 127.4).sum()
    }

    fn vector(&mut self, dimensions: usize) -> Vec<f32> {
        unit(&(0..dimensions).map(|_| self.number()).collect::<Vec<_>>())
    }

    /// A vector near another one.
    fn near(&mut self, center: &[f32], noise: f32) -> Vec<f32> {
        let other = self.vector(center.len());
        let near: Vec<f32> = (center.iter().zip(other))
            .map(|(x, other)| x + noise * other)
            .collect();
        unit(&near)
    }
}

#[test]
fn a_fast_search_finds_nearly_all_and_tells_true_cosines() {
    for (dimensions, noise) in [(64, 1.0), (128, 0.7), (384, 1.0), (384, 0.1)] {
        let mut numbers = Numbers(7);
        let centers: Vec<Vec<f32>> = (0..10).map(|_| numbers.vector(dimensions)).collect();
        let vectors = (0..4000).map(|nth| numbers.near(&centers[nth % 10], noise));
        let vectors: Vec<Vec<f32>> = vectors.collect();
        let matrix = filled(&vectors);
        let queries: Vec<Vec<f32>> = (0..20)
            .map(|n| numbers.near(&vectors[n * 100], 0.5))
            .collect();
        let queries: Vec<&[f32]> = queries.iter().map(Vec::as_slice).collect();
        let fast = found(&matrix, CoarsePass::SignBits, &queries, 60, Slots::All);
        let (mut hits, mut wanted) = (0_u32, 0_u32);
        for (query, fast) in queries.iter().zip(fast) {
            let exact = compared(&matrix, query, 60, Slots::All);
            wanted += u32::try_from(exact.len()).unwrap();
            let both = exact.iter().filter(|one| fast.contains(one));
            hits += u32::try_from(both.count()).unwrap();
        }
        let recall = f64::from(hits) / f64::from(wanted);
        assert!(recall >= 0.99, "{dimensions} {noise}: {recall}");
    }
}

#[test]
fn what_a_fast_search_finds_does_not_depend_on_what_is_gone() {
    let mut numbers = Numbers(3);
    let middle = numbers.vector(64);
    let center: Vec<f32> = middle.iter().map(|x| 0.9 * x).collect();
    let mut changed = matrix(64, center);
    for row in 0..2000 {
        let vector = numbers.near(&middle, 0.5);
        changed.put(row, &to_blob(&vector)).unwrap();
    }
    let unchanged = changed.clone();
    // Far from all others.
    let opposite: Vec<f32> = middle.iter().map(|x| -x).collect();
    changed.put(3000, &to_blob(&opposite)).unwrap();
    changed.put(3000, &[]).unwrap();
    let mut different = 0;
    for _ in 0..10_000 {
        let query = numbers.near(&middle, 0.5);
        let find = |matrix| found(matrix, CoarsePass::SignBits, &[&query], 60, Slots::All);
        different += u32::from(find(&changed) != find(&unchanged));
    }
    assert_eq!(different, 0);
}

#[test]
fn the_best_and_their_equals_are_kept() {
    let vectors: Vec<Vec<f32>> = (0..1000_u16)
        .map(|n| vec![f32::from(n % 10) / 10.0, 0.0])
        .collect();
    let matrix = filled(&vectors);
    for (limit, expected) in [(1, 100), (100, 100), (101, 200), (999, 1000), (5000, 1000)] {
        for sign in [1.0, -1.0] {
            let query = [sign, 0.0];
            let best =
                found(&matrix, CoarsePass::HighPlane, &[&query], limit, Slots::All).remove(0);
            assert_eq!(best.len(), expected, "{limit}");
            assert_eq!(best, compared(&matrix, &query, limit, Slots::All));
        }
    }
}

#[test]
fn what_is_no_vector_of_the_index_is_damage() {
    let mut matrix = filled(&[vec![1.0, 0.0]]);
    assert!(matrix.put(1, &to_blob(&[1.0])).is_err());
    assert!(matrix.put(1, &to_blob(&[1.0, f32::NAN])).is_err());
    assert!(matrix.put(1, &[0, 0, 0]).is_err());
    assert_eq!(matrix.len(), 1);
}

#[test]
fn vectors_of_very_many_numbers_are_compared_in_full() {
    let vector = |sign: f32, last: f32| {
        let mut vector = vec![sign; 70_000];
        vector[0] = last;
        unit(&vector)
    };
    let vectors: Vec<Vec<f32>> = (0..300_u16)
        .map(|n| vector(if n % 2 == 0 { 1.0 } else { -1.0 }, f32::from(n)))
        .collect();
    let matrix = filled(&vectors);
    let query = vector(1.0, 7.0);
    let nearest = found(&matrix, CoarsePass::HighPlane, &[&query], 3, Slots::All);
    assert_eq!(nearest[0], compared(&matrix, &query, 3, Slots::All));
}
