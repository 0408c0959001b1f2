//! The similarities of all that is searched, not only of the best: what grouping compares and
//! score fusion measures by.

use super::best::{Best, Scored, best};
use super::kernels::Places;
use super::matrix::Matrix;
use super::paths::Paths;
use super::search::without_chunk;
use super::search_vector::NEAREST;
use super::session::Session;
use super::spread::{Spread, Sums, sample};

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
        let paths = session.paths.as_deref();
        let number = |(place, _): &Scored| {
            let row = matrix.row(*place);
            let number = row.zip(paths).and_then(|(row, paths)| paths.of_row(row));
            number.ok_or_else(|| without_chunk(NEAREST, rusqlite::Error::QueryReturnedNoRows))
        };
        let numbers = chunks.iter().map(number).collect::<Result<Vec<_>, _>>()?;
        let mut of_paths = vec![None; paths.map_or(0, Paths::len)];
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
