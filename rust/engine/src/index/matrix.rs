//! The vectors of an index in memory, one after the other, and scanning them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension};

use super::best::{Best, Scored};
use super::cache::Version;
use super::changes;
use super::coarse::{Coarse, Possible};
use super::kernels::{Places, dots};
use super::settings::{self, DIMENSIONS};
use super::vector::{damaged, read_blob};

/// Every vector of one generation of an index. The order of the rows is of no account.
#[derive(Debug, Clone, Default)]
pub(super) struct Matrix {
    generation: i64,
    dimensions: usize,
    /// The row of each vector.
    rows: Vec<i64>,
    /// Vector after vector.
    values: Vec<f32>,
    /// The same in bytes, to see from what is too far away.
    coarse: Coarse,
    /// The place of each row.
    places: HashMap<i64, usize>,
}

/// How many vectors are compared with every query before the next: they stay in a near cache.
const VECTORS_AT_ONCE: usize = 64;

impl Version for Matrix {
    type Source = ();
    const NAME: &'static str = "vectors";

    fn generation(&self) -> i64 {
        self.generation
    }

    fn load((): &(), connection: &Connection) -> rusqlite::Result<Self> {
        Self::load(connection, changes::generation(connection)?)
    }

    fn follow(
        self: &Arc<Self>,
        (): &(),
        connection: &Connection,
        generation: i64,
    ) -> rusqlite::Result<Option<Self>> {
        let Some(rows) = self.changed(connection)? else {
            return Ok(None);
        };
        let mut next = Self::clone(self);
        next.refresh(connection, generation, &rows)?;
        Ok(Some(next))
    }
}

impl Matrix {
    fn load(connection: &Connection, generation: i64) -> rusqlite::Result<Self> {
        let mut matrix = Self {
            generation,
            dimensions: settings::get(connection, DIMENSIONS)?.unwrap_or_default(),
            ..Self::default()
        };
        let mut statement = connection.prepare_cached("SELECT row, vector FROM embeddings")?;
        let mut found = statement.query([])?;
        while let Some(found) = found.next()? {
            matrix.put(found.get(0)?, found.get_ref(1)?.as_blob()?)?;
        }
        matrix.values.shrink_to_fit();
        Ok(matrix)
    }

    /// The rows to read again; None when everything must be.
    fn changed(&self, connection: &Connection) -> rusqlite::Result<Option<Vec<i64>>> {
        let dimensions: Option<usize> = settings::get(connection, DIMENSIONS)?;
        if dimensions.unwrap_or_default() != self.dimensions {
            return Ok(None);
        }
        changes::since(connection, self.generation)
    }

    fn refresh(
        &mut self,
        connection: &Connection,
        generation: i64,
        rows: &[i64],
    ) -> rusqlite::Result<()> {
        let mut find = connection.prepare_cached("SELECT vector FROM embeddings WHERE row = ?")?;
        for row in rows {
            let blob: Option<Vec<u8>> = find.query_row([row], |found| found.get(0)).optional()?;
            self.put(*row, &blob.unwrap_or_default())?;
        }
        self.generation = generation;
        Ok(())
    }

    /// Keep the vector of a row; an empty one is none.
    fn put(&mut self, row: i64, blob: &[u8]) -> rusqlite::Result<()> {
        if blob.is_empty() {
            self.remove(row);
            return Ok(());
        }
        if blob.len() != self.dimensions * size_of::<f32>() {
            return Err(damaged(row));
        }
        let end = self.values.len();
        if self.values.capacity() == end {
            // Less than doubling, since this is most of the memory that an index takes.
            self.values
                .reserve_exact((end / 8).max(64 * self.dimensions));
        }
        if !read_blob(blob, &mut self.values) {
            return Err(damaged(row));
        }
        match self.places.entry(row) {
            Entry::Vacant(entry) => {
                self.coarse.put(self.rows.len(), &self.values[end..]);
                entry.insert(self.rows.len());
                self.rows.push(row);
            }
            Entry::Occupied(entry) => {
                self.coarse.put(*entry.get(), &self.values[end..]);
                let start = entry.get() * self.dimensions;
                self.values.copy_within(end.., start);
                self.values.truncate(end);
            }
        }
        Ok(())
    }

    /// Drop the vector of a row, if it has one; the last vector takes its place.
    fn remove(&mut self, row: i64) {
        let Some(place) = self.places.remove(&row) else {
            return;
        };
        self.rows.swap_remove(place);
        self.coarse.swap_remove(place);
        let end = self.values.len() - self.dimensions;
        if let Some(moved) = self.rows.get(place) {
            self.places.insert(*moved, place);
            self.values.copy_within(end.., place * self.dimensions);
        }
        self.values.truncate(end);
    }

    /// How many bytes of memory it takes.
    pub fn bytes(&self) -> usize {
        self.values.capacity() * size_of::<f32>()
            + self.coarse.bytes()
            + self.rows.capacity() * size_of::<i64>()
            + self.places.capacity() * size_of::<(i64, usize)>()
    }

    /// Of which generation of the index it is.
    pub fn generation(&self) -> i64 {
        self.generation
    }

    /// How many numbers a vector has.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// The rows that have a vector, in their order.
    pub fn sorted_rows(&self) -> Vec<i64> {
        let mut rows = self.rows.clone();
        rows.sort_unstable();
        rows
    }

    /// The vector of a row.
    pub fn vector(&self, row: i64) -> Option<&[f32]> {
        let start = self.place(row)? * self.dimensions;
        self.values.get(start..start + self.dimensions)
    }

    /// How many vectors there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The row of a vector.
    pub fn row(&self, place: usize) -> Option<i64> {
        self.rows.get(place).copied()
    }

    /// The place of a row's vector.
    pub fn place(&self, row: i64) -> Option<usize> {
        self.places.get(&row).copied()
    }

    /// The places of those of these rows that have a vector, in the order of memory.
    pub fn places(&self, rows: &[i64]) -> Vec<usize> {
        let places = rows.iter().filter_map(|row| self.places.get(row).copied());
        let mut places: Vec<usize> = places.collect();
        places.sort_unstable();
        places
    }

    /// How similar to the query each of these vectors is.
    pub fn similarities(&self, query: &[f32], places: &[usize]) -> Vec<Scored> {
        let similarities = dots(query, &self.values, Places::These(places));
        let similarities = similarities.into_iter().map(within_bounds);
        places.iter().copied().zip(similarities).collect()
    }

    /// Tell the number of the query, a place and how similar the two are, for each query and all
    /// of these places, which are read once.
    pub fn scan(
        &self,
        queries: &[&[f32]],
        places: Places<'_>,
        mut tell: impl FnMut(usize, Scored),
    ) {
        for (from, part) in places.parts(VECTORS_AT_ONCE) {
            let values = &self.values[from * self.dimensions..];
            for (number, query) in queries.iter().enumerate() {
                let similarities = dots(query, values, part);
                for (place, similarity) in part.iter().zip(similarities) {
                    tell(number, (from + place, within_bounds(similarity)));
                }
            }
        }
    }

    /// For each query the `limit` vectors among `places` that are most similar to it, and all that
    /// are as similar as the last of them; in no order.
    pub fn nearest(
        &self,
        queries: &[&[f32]],
        limit: usize,
        places: Places<'_>,
    ) -> Vec<Vec<Scored>> {
        let possible = self.coarse.possible(queries, limit, places);
        let of_query = |(query, possible): (&&[f32], _)| self.best_of(query, limit, possible);
        queries.iter().zip(possible).map(of_query).collect()
    }

    /// The best of these compared in full: the most promising first, until what is left cannot be
    /// among them.
    fn best_of(&self, query: &[f32], limit: usize, mut possible: Vec<Possible>) -> Vec<Scored> {
        possible.sort_unstable_by(|left, right| right.highest.total_cmp(&left.highest));
        let mut best = Best::new(limit);
        for part in possible.chunks(limit.max(VECTORS_AT_ONCE)) {
            if part[0].highest < best.threshold() {
                break;
            }
            let places: Vec<usize> = part.iter().map(|possible| possible.place).collect();
            for scored in self.similarities(query, &places) {
                best.offer(scored);
            }
            best.cut();
        }
        best.finish()
    }
}

/// The cosine of two vectors of length 1. Rounding can leave a little more than 1.
fn within_bounds(similarity: f32) -> f32 {
    similarity.clamp(-1.0, 1.0)
}

#[cfg(test)]
impl Matrix {
    /// These vectors, all equally long.
    pub fn of(generation: i64, vectors: impl Iterator<Item = (i64, Vec<f32>)>) -> Self {
        let mut matrix = Self {
            generation,
            ..Self::default()
        };
        for (row, vector) in vectors {
            matrix.dimensions = vector.len();
            matrix.put(row, &super::vector::to_blob(&vector)).unwrap();
        }
        matrix
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::index::best::best;
    use crate::index::vector::{to_blob, unit};

    fn matrix(vectors: &[(i64, [f32; 2])]) -> Matrix {
        let mut matrix = Matrix {
            dimensions: 2,
            ..Matrix::default()
        };
        for (row, vector) in vectors {
            matrix.put(*row, &to_blob(vector)).unwrap();
        }
        matrix
    }

    fn content(matrix: &Matrix) -> Vec<(i64, Vec<f32>)> {
        let vectors = matrix.values.chunks(2).map(<[f32]>::to_vec);
        let mut content: Vec<_> = matrix.rows.iter().copied().zip(vectors).collect();
        content.sort_unstable_by_key(|(row, _)| *row);
        for (row, place) in matrix.rows.iter().zip(0..) {
            assert_eq!(matrix.places.get(row), Some(&place));
        }
        assert_eq!(matrix.places.len(), matrix.len());
        content
    }

    #[test]
    fn rows_come_change_and_go() {
        let mut matrix = matrix(&[(3, [1.0, 0.0]), (5, [0.0, 1.0]), (4, [0.6, 0.8])]);
        matrix.put(3, &to_blob(&[0.8, 0.6])).unwrap();
        matrix.put(5, &[]).unwrap();
        matrix.put(9, &[]).unwrap();
        assert_eq!(content(&matrix), [(3, vec![0.8, 0.6]), (4, vec![0.6, 0.8])]);
        assert_eq!(matrix.places(&[1, 3, 4, 5]).len(), 2);
        matrix.put(4, &[]).unwrap();
        matrix.put(3, &[]).unwrap();
        assert_eq!(content(&matrix), []);
        assert!(matrix.put(1, &to_blob(&[1.0])).is_err());
        assert!(matrix.put(1, &to_blob(&[1.0, f32::NAN])).is_err());
        assert_eq!(content(&matrix), []);
    }

    fn vectors() -> impl Strategy<Value = Vec<Vec<f32>>> {
        // Many are alike, and rounding leaves the cosine of some with themselves above 1.
        let number = prop_oneof![Just(0.0_f32), Just(-0.3), Just(0.7), -1.0_f32..1.0];
        let vector = move |dimensions| {
            prop::collection::vec(number.clone(), dimensions)
                .prop_map(|vector| unit(&vector))
                .prop_filter("a direction", |vector| !vector.is_empty())
        };
        (1_usize..30)
            .prop_flat_map(move |dimensions| prop::collection::vec(vector(dimensions), 1..150))
    }

    proptest! {
        #[test]
        fn the_nearest_are_those_of_comparing_all(
            vectors in vectors(),
            limit in 1_usize..40,
            every in 1_usize..4,
        ) {
            // More than are compared at once, and the opposite of each.
            let opposite = |vector: &Vec<f32>| vector.iter().map(|number| -number).collect();
            let opposites: Vec<Vec<f32>> = vectors.iter().map(opposite).collect();
            let all = [&vectors[..], &opposites, &vectors].concat();
            let matrix = Matrix::of(1, (1..).zip(all));
            let places: Vec<usize> = (0..matrix.len()).step_by(every).collect();
            let queries = [&vectors[0][..], &opposites[0]];
            let bits = |scored: Vec<Scored>| {
                let bits = scored.into_iter().map(|(place, similarity)| (place, similarity.to_bits()));
                let mut bits: Vec<_> = bits.collect();
                bits.sort_unstable();
                bits
            };
            let nearest = matrix.nearest(&queries, limit, Places::These(&places));
            for (query, nearest) in queries.iter().zip(nearest) {
                let all = matrix.similarities(query, &places).into_iter();
                prop_assert_eq!(bits(nearest), bits(best(all, limit)));
            }
        }
    }

    #[test]
    fn the_best_and_their_equals_are_kept() {
        let vectors: Vec<(i64, [f32; 2])> = (0..1000_i16)
            .map(|n| (i64::from(n), [f32::from(n % 10) / 10.0, 0.0]))
            .collect();
        let matrix = matrix(&vectors);
        for (limit, expected) in [(1, 100), (100, 100), (101, 200), (999, 1000), (5000, 1000)] {
            for sign in [1.0, -1.0] {
                let all = Places::All(matrix.len());
                let best = matrix.nearest(&[&[sign, 0.0]], limit, all).remove(0);
                assert_eq!(best.len(), expected, "{limit}");
                let worst = best.iter().map(|(_, s)| *s).fold(f32::MAX, f32::min);
                let all = vectors.iter().map(|(_, v)| v[0] * sign);
                assert_eq!(all.filter(|s| *s >= worst).count(), expected);
            }
        }
    }
}
