//! The similarities of all that is searched, not only of the best: what grouping compares and
//! score fusion measures by.

use super::kernels::Places;
use super::matrix::{Matrix, Scored, best};
use super::paths::Paths;
use super::search::without_chunk;
use super::spread::{Spread, sample};

/// The nearest of these vectors as [`Matrix::nearest`] finds them, and how similar all are.
pub(super) fn nearest_and_spread(
    matrix: &Matrix,
    direction: &[f32],
    mut places: Vec<usize>,
    limit: usize,
) -> (Vec<Scored>, Spread) {
    let count = places.len();
    // A sample is taken in row order, which may differ from the order of memory.
    places.sort_by_key(|place| matrix.row(*place));
    let sampled = matrix.similarities(direction, &sample(places.clone()));
    let spread = Spread::of(sampled.iter().map(|(_, similarity)| *similarity));
    let nearest = if sampled.len() == count {
        best(sampled.into_iter(), limit)
    } else {
        matrix.nearest(direction, limit, Places::These(&places))
    };
    (nearest, spread)
}

/// How similar each path is: as similar as the best of its chunks.
pub(super) struct PathSimilarities<'a> {
    paths: &'a Paths,
    chunks: Vec<Scored>,
    /// The number of each chunk's path.
    numbers: Vec<usize>,
    /// By the path's number; None where no chunk of it has a vector.
    of_paths: Vec<Option<f32>>,
}

impl<'a> PathSimilarities<'a> {
    pub fn new(
        matrix: &Matrix,
        paths: &'a Paths,
        direction: &[f32],
        places: &[usize],
    ) -> rusqlite::Result<Self> {
        let chunks = matrix.similarities(direction, places);
        let number = |(place, _): &Scored| {
            let number = matrix.row(*place).and_then(|row| paths.of_row(row));
            number.ok_or_else(|| without_chunk("a vector", rusqlite::Error::QueryReturnedNoRows))
        };
        let numbers = chunks.iter().map(number).collect::<Result<Vec<_>, _>>()?;
        let mut of_paths = vec![None; paths.len()];
        for ((_, similarity), number) in chunks.iter().zip(&numbers) {
            let best: &mut Option<f32> = &mut of_paths[*number];
            *best = Some(best.map_or(*similarity, |best| best.max(*similarity)));
        }
        Ok(Self {
            paths,
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

    /// The similarity of one path.
    pub fn of(&self, path: &str) -> Option<f32> {
        self.of_paths[self.paths.number(path)?]
    }

    /// How similar all paths are.
    pub fn spread(&self) -> Spread {
        let known: Vec<f32> = self.of_paths.iter().flatten().copied().collect();
        Spread::of(sample(known).into_iter())
    }
}
