//! What grouping and score fusion compare: the best chunk of each path, and the similarities of all
//! that is searched.

use std::collections::BTreeMap;

use super::best::{Best, Scored, best};
use super::kernels::Places;
use super::matrix::Matrix;
use super::paths::Paths;
use super::search::without_chunk;
use super::search_vector::NEAREST;
use super::session::Session;
use super::spread::{Spread, Sums, sample};

/// How many times as many chunks are asked for when those that came are of too few paths.
const MORE_CHUNKS: usize = 4;

/// For each direction the nearest of these vectors, and how similar all are. `nearest` finds them
/// where it is not known by the way.
pub(super) fn nearest_and_spread(
    matrix: &Matrix,
    directions: &[&[f32]],
    places: Places<'_>,
    limit: usize,
    nearest: impl FnOnce() -> Vec<Vec<Scored>>,
) -> Vec<(Vec<Scored>, Spread)> {
    let Some(sampled) = sample(places.len()) else {
        let mut found: Vec<(Best, Sums)> = (directions.iter())
            .map(|_| (Best::new(limit), Sums::default()))
            .collect();
        matrix.scan(directions, places, |direction, scored| {
            let (best, sums) = &mut found[direction];
            best.offer(scored);
            sums.add(scored.1);
        });
        let finish = |(best, sums): (Best, Sums)| (best.finish(), sums.spread());
        return found.into_iter().map(finish).collect();
    };
    // In row order, which may differ from the order of memory.
    let mut rows: Vec<usize> = places.iter().collect();
    rows.sort_by_key(|place| matrix.row(*place));
    let sampled: Vec<usize> = sampled.map(|nth| rows[nth]).collect();
    let spread = |direction: &&[f32]| {
        let scored = matrix.similarities(direction, &sampled);
        Spread::of(scored.into_iter().map(|(_, similarity)| similarity))
    };
    let spreads = directions.iter().map(spread);
    nearest().into_iter().zip(spreads).collect()
}

/// For each direction the chunks of the nearest `limit` paths, and of all that are as near as the
/// last of them, that are as near as their path: as near as its nearest chunk.
///
/// The nearest chunks are asked for, and more of them where they are of too few paths.
pub(super) fn nearest_of_paths(
    session: &Session<'_>,
    matrix: &Matrix,
    directions: &[&[f32]],
    places: Places<'_>,
    limit: usize,
) -> rusqlite::Result<Vec<Vec<Scored>>> {
    let of_direction = |(direction, mut nearest): (&&[f32], Vec<Scored>)| {
        let mut chunks = limit;
        loop {
            let numbers = numbers(session, matrix, &nearest)?;
            let mut of_paths: BTreeMap<usize, f32> = BTreeMap::new();
            for ((_, similarity), number) in nearest.iter().zip(&numbers) {
                let best = of_paths.entry(*number).or_insert(*similarity);
                *best = best.max(*similarity);
            }
            if of_paths.len() >= limit || nearest.len() == places.len() {
                let mut numbers = numbers.iter();
                nearest.retain(|(_, similarity)| {
                    let number = numbers.next();
                    number.and_then(|number| of_paths.get(number)) == Some(similarity)
                });
                return Ok(nearest);
            }
            chunks = chunks.saturating_mul(MORE_CHUNKS);
            nearest = matrix.nearest(&[direction], chunks, places).concat();
        }
    };
    let nearest = matrix.nearest(directions, limit, places);
    directions.iter().zip(nearest).map(of_direction).collect()
}

/// The number of each chunk's path.
fn numbers(
    session: &Session<'_>,
    matrix: &Matrix,
    chunks: &[Scored],
) -> rusqlite::Result<Vec<usize>> {
    let paths = session.paths.as_deref();
    let number = |(place, _): &Scored| {
        let row = matrix.row(*place);
        let number = row.zip(paths).and_then(|(row, paths)| paths.of_row(row));
        number.ok_or_else(|| without_chunk(NEAREST, rusqlite::Error::QueryReturnedNoRows))
    };
    chunks.iter().map(number).collect()
}

/// How similar each path is: as similar as the best of its chunks.
pub(super) struct PathSimilarities {
    chunks: Vec<Scored>,
    /// The number of each chunk's path.
    numbers: Vec<usize>,
    /// By the path's number; None where no chunk of it has a vector.
    pub of_paths: Vec<Option<f32>>,
}

impl PathSimilarities {
    pub fn new(
        session: &Session<'_>,
        matrix: &Matrix,
        direction: &[f32],
        places: Places<'_>,
    ) -> rusqlite::Result<Self> {
        let mut chunks = Vec::with_capacity(places.len());
        matrix.scan(&[direction], places, |_, scored| chunks.push(scored));
        let numbers = numbers(session, matrix, &chunks)?;
        let mut of_paths = vec![None; session.paths.as_deref().map_or(0, Paths::len)];
        for ((_, similarity), number) in chunks.iter().zip(&numbers) {
            let best: &mut Option<f32> = &mut of_paths[*number];
            *best = Some(best.map_or(*similarity, |best| best.max(*similarity)));
        }
        Ok(Self {
            chunks,
            numbers,
            of_paths,
        })
    }

    /// Of the best `limit` paths, and of all that are as good as the last of them, the chunks
    /// that are as good as their path.
    pub fn nearest(&self, limit: usize) -> Vec<Scored> {
        let of_paths = (0..).zip(&self.of_paths);
        let scored = of_paths.filter_map(|(number, similarity)| similarity.map(|s| (number, s)));
        let threshold = best(scored, limit)
            .into_iter()
            .map(|(_, similarity)| similarity)
            .fold(f32::INFINITY, f32::min);
        self.chunks
            .iter()
            .zip(&self.numbers)
            .filter(|((_, similarity), number)| {
                *similarity >= threshold && self.of_paths[**number] == Some(*similarity)
            })
            .map(|(scored, _)| *scored)
            .collect()
    }

    /// How similar all paths are.
    pub fn spread(&self) -> Spread {
        let known: Vec<f32> = self.of_paths.iter().flatten().copied().collect();
        match sample(known.len()) {
            None => Spread::of(known.into_iter()),
            Some(sampled) => Spread::of(sampled.map(|nth| known[nth])),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::filters::Filters;
    use super::super::session::Needs;
    use super::super::{Chunk, GroupBy, Index, Selection};
    use crate::text::tokenizer::TokenizerKind;

    fn chunk((number, (path, embedding)): (usize, (u8, Option<[i8; 2]>))) -> Chunk {
        Chunk {
            id: number.to_string(),
            path: format!("{path}.md"),
            content: "same".to_owned(),
            embedding: embedding.map(|numbers| numbers.map(f32::from).to_vec()),
            ..Chunk::default()
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// Statistics compare everything; without them the nearest chunks are asked for. Both must
        /// find the same paths and chunks, whether a path has most of the chunks or hardly one.
        #[test]
        fn the_nearest_paths_are_those_of_comparing_all(
            chunks in prop::collection::vec(
                (0_u8..12, prop::option::weighted(0.9, [-3_i8..4, 1..3])),
                1..150,
            ),
            crowd in 0_usize..150,
            limit in 1_usize..9,
            query in [-3_i8..4, 1..3],
        ) {
            let crowd = std::iter::repeat_n((99, Some(query)), crowd);
            let chunks: Vec<Chunk> = chunks.into_iter().chain(crowd).enumerate().map(chunk).collect();
            let index = Index::in_memory(TokenizerKind::Porter).unwrap();
            index.upsert(&chunks.iter().collect::<Vec<_>>()).unwrap();
            let query = query.map(f32::from);
            let found = |filters: &Filters, statistics| {
                let selection = Selection { limit, filters, group_by: Some(GroupBy::Path), statistics };
                let needs = Needs {
                    vectors: true,
                    group_by: selection.group_by,
                    ..Needs::default()
                };
                let found = index.session(needs, |session| {
                    let found = session.nearest_rows(&[&query, &query], &selection)?;
                    Ok(found.into_iter().map(|found| found.unwrap().rows).collect::<Vec<_>>())
                });
                found.unwrap()
            };
            let some = Filters {
                paths: (0..6).map(|path| format!("{path}.md")).collect(),
                ..Filters::default()
            };
            for filters in [Filters::default(), some] {
                prop_assert_eq!(found(&filters, false), found(&filters, true));
            }
        }
    }
}
