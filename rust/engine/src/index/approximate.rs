//! Finding the nearest vectors by a graph instead of comparing all (spec/index.md, "Approximate
//! search").
//!
//! The graph is usearch's HNSW. It only proposes: what it finds is compared in full, so cosines and
//! order are those of the exact search, and what can be wrong is that something is missing.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};
use std::result::Result;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::{mem, thread};

use usearch::{Index as Hnsw, IndexOptions, MetricKind, ScalarKind};

use super::best::{Scored, best};
use super::kernels::Places;
use super::matrix::Matrix;
use crate::error::Error;

/// How many neighbours a vector of the graph has.
const NEIGHBOURS: usize = 16;
/// How many candidates are looked at to place a vector, and to find the nearest of one.
const PLACING: usize = 128;
const FINDING: usize = 256;
/// With fewer vectors than this all are compared, which takes no longer.
const LEAST_VECTORS: usize = 1000;
/// The most searches that the graph answers at the same time; further ones compare all.
const SEARCHES: usize = 64;
/// When so much of the graph is gone, as a part of what is left, it is made anew.
const GONE_PART: usize = 2;
/// How many vectors are searched for, and how many nearest of each, to see what is missed.
const RECALL_SAMPLE: usize = 100;
const RECALL_AT: usize = 60;

/// How the nearest vectors are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Vectors {
    /// By comparing all.
    #[default]
    Exact,
    /// By a graph in memory, which may miss some.
    Hnsw,
}

impl Vectors {
    /// The word users see.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Hnsw => "hnsw",
        }
    }

    /// The way of that name.
    pub fn from_name(name: &str) -> Result<Self, Error> {
        let all = [Self::Exact, Self::Hnsw];
        let named = all.into_iter().find(|vectors| vectors.as_str() == name);
        named.ok_or_else(|| Error::invalid_option("vectors", &all.map(Self::as_str), name))
    }
}

/// The graph of a handle, and how it comes about.
pub(super) struct Approximate {
    vectors: Vectors,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// None before it is made, and while it is brought up to date.
    graph: RwLock<Option<Graph>>,
    /// Whether somebody makes it now.
    making: AtomicBool,
    /// Whether the handle is closing, so that nothing needs to be made any more.
    closing: AtomicBool,
}

impl Approximate {
    pub fn new(vectors: Vectors) -> Self {
        Self {
            vectors,
            shared: Arc::default(),
        }
    }

    /// How vectors are found.
    pub fn vectors(&self) -> Vectors {
        self.vectors
    }

    /// Have whoever makes the graph stop soon.
    pub fn stop(&self) {
        self.shared.closing.store(true, Ordering::Relaxed);
    }

    /// Let go of the graph.
    pub fn clear(&self) {
        self.shared.put(None);
    }

    /// How many bytes of memory the graph takes now.
    pub fn bytes(&self) -> usize {
        self.shared.graph().as_ref().map_or(0, Graph::bytes)
    }

    /// What part of the nearest vectors the graph has found, when it was made; None without one.
    pub fn recall(&self) -> Option<f64> {
        self.shared.graph().as_ref().map(|graph| graph.recall)
    }

    /// For each query about the `limit` vectors most similar to it, in no order; None when all
    /// must be compared. A graph that is missing or out of date is made by a thread beside.
    pub fn nearest(
        &self,
        matrix: &Arc<Matrix>,
        queries: &[&[f32]],
        limit: usize,
    ) -> Option<Vec<Vec<Scored>>> {
        let count = matrix.len();
        let many = count >= LEAST_VECTORS && limit < count / 4;
        if self.vectors == Vectors::Exact || !many {
            return None;
        }
        let graph = self.shared.graph();
        let known = graph.as_ref().map(|graph| graph.generation);
        if known == Some(matrix.generation()) {
            let graph = graph.as_ref()?;
            let find = |query: &&[f32]| graph.nearest(matrix, query, limit);
            return queries.iter().map(find).collect();
        }
        drop(graph);
        // A search that began before the last write has no use for what it would undo.
        if known.is_none_or(|known| known < matrix.generation()) {
            self.make_beside(matrix);
        }
        None
    }

    fn make_beside(&self, matrix: &Arc<Matrix>) {
        if self.shared.making.swap(true, Ordering::Relaxed) {
            return;
        }
        let (shared, matrix) = (Arc::clone(&self.shared), Arc::clone(matrix));
        let make = move || {
            let _making = Making(&shared);
            let before = shared.put(None);
            let stop = || shared.closing.load(Ordering::Relaxed);
            // Where the library refuses, all vectors are compared as before.
            if let Ok(graph) = Graph::make(&matrix, before, &stop)
                && !stop()
            {
                shared.put(Some(graph));
            }
        };
        let thread = thread::Builder::new().name("hedgerow-vectors".to_owned());
        if thread.spawn(make).is_err() {
            self.shared.making.store(false, Ordering::Relaxed);
        }
    }
}

impl Shared {
    fn graph(&self) -> RwLockReadGuard<'_, Option<Graph>> {
        self.graph.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, graph: Option<Graph>) -> Option<Graph> {
        let mut known = self.graph.write().unwrap_or_else(PoisonError::into_inner);
        mem::replace(&mut known, graph)
    }
}

/// Who makes the graph; nobody else does until it is dropped.
struct Making<'s>(&'s Shared);

impl Drop for Making<'_> {
    fn drop(&mut self) {
        self.0.making.store(false, Ordering::Relaxed);
    }
}

/// The vectors of one generation of the index as a graph, by their rows.
struct Graph {
    generation: i64,
    hnsw: Hnsw,
    /// A fingerprint of each vector that is in it.
    known: BTreeMap<i64, u64>,
    /// How many were removed since it was made.
    gone: usize,
    recall: f64,
}

/// Why there is no graph: the library refused, or nobody needs one any more.
struct NoGraph;

impl<E: std::error::Error> From<E> for NoGraph {
    fn from(_: E) -> Self {
        Self
    }
}

impl Graph {
    /// The graph of these vectors, from an earlier one where that saves work. Made by one thread
    /// in row order: the same vectors give the same graph.
    fn make(
        matrix: &Matrix,
        before: Option<Self>,
        stop: &dyn Fn() -> bool,
    ) -> Result<Self, NoGraph> {
        let rows = matrix.sorted_rows();
        let mut graph = match before {
            Some(before) if before.serves(matrix) => before,
            _ => Self::empty(matrix)?,
        };
        graph
            .hnsw
            .reserve_capacity_and_threads(rows.len(), SEARCHES)?;
        let gone: Vec<i64> = (graph.known.keys().copied())
            .filter(|row| matrix.place(*row).is_none())
            .collect();
        for row in gone {
            graph.remove(row)?;
        }
        for (row, vector) in rows
            .iter()
            .filter_map(|row| Some((*row, matrix.vector(*row)?)))
        {
            if stop() {
                return Err(NoGraph);
            }
            graph.add(row, vector)?;
        }
        graph.generation = matrix.generation();
        graph.recall = graph.measured(matrix, &rows);
        Ok(graph)
    }

    fn empty(matrix: &Matrix) -> Result<Self, NoGraph> {
        Ok(Self {
            generation: matrix.generation(),
            hnsw: Hnsw::new(&IndexOptions {
                dimensions: matrix.dimensions(),
                metric: MetricKind::IP,
                quantization: ScalarKind::F32,
                connectivity: NEIGHBOURS,
                expansion_add: PLACING,
                expansion_search: FINDING,
                multi: false,
            })?,
            known: BTreeMap::new(),
            gone: 0,
            recall: 0.0,
        })
    }

    /// Whether it can be brought up to date, and is not mostly holes.
    fn serves(&self, matrix: &Matrix) -> bool {
        self.hnsw.dimensions() == matrix.dimensions() && self.gone * GONE_PART <= matrix.len()
    }

    fn remove(&mut self, row: i64) -> Result<(), NoGraph> {
        self.hnsw.remove(row.cast_unsigned())?;
        self.known.remove(&row);
        self.gone += 1;
        Ok(())
    }

    fn add(&mut self, row: i64, vector: &[f32]) -> Result<(), NoGraph> {
        let fingerprint = fingerprint(vector);
        match self.known.get(&row) {
            Some(known) if *known == fingerprint => return Ok(()),
            Some(_) => self.remove(row)?,
            None => {}
        }
        self.hnsw.add(row.cast_unsigned(), vector)?;
        self.known.insert(row, fingerprint);
        Ok(())
    }

    /// About the `limit` nearest, compared in full; None when too few were found.
    fn nearest(&self, matrix: &Matrix, query: &[f32], limit: usize) -> Option<Vec<Scored>> {
        let found = self.hnsw.search(query, limit).ok()?;
        let rows: Vec<i64> = found.keys.into_iter().map(u64::cast_signed).collect();
        let places = matrix.places(&rows);
        let enough = places.len() >= limit;
        enough.then(|| best(matrix.similarities(query, &places).into_iter(), limit))
    }

    /// What part of the nearest vectors it finds, for a few of the vectors themselves.
    fn measured(&self, matrix: &Matrix, rows: &[i64]) -> f64 {
        let step = rows.len().div_ceil(RECALL_SAMPLE).max(1);
        let sample = rows.iter().step_by(step);
        let queries: Vec<&[f32]> = sample.filter_map(|row| matrix.vector(*row)).collect();
        let limit = RECALL_AT.min(matrix.len());
        let exact = matrix.nearest(&queries, limit, Places::All(matrix.len()));
        let (mut wanted, mut found) = (0_u32, 0_u32);
        for (query, exact) in queries.iter().zip(exact) {
            let similarities = exact.iter().map(|(_, similarity)| *similarity);
            let last = similarities.fold(f32::INFINITY, f32::min);
            let near = self.nearest(matrix, query, limit).unwrap_or_default();
            // As near as the last is near enough.
            let near = near.iter().filter(|(_, similarity)| *similarity >= last);
            found += u32::try_from(near.take(limit).count()).unwrap_or(u32::MAX);
            wanted += u32::try_from(limit).unwrap_or(u32::MAX);
        }
        f64::from(found) / f64::from(wanted.max(1))
    }

    fn bytes(&self) -> usize {
        self.hnsw.memory_usage() + self.known.len() * size_of::<(i64, u64)>()
    }
}

/// A number by which a vector is known again; the same in every process.
fn fingerprint(vector: &[f32]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for number in vector {
        hasher.write_u32(number.to_bits());
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::super::vector::unit;
    use super::*;

    const COUNT: i64 = 1500;
    const DIMENSIONS: usize = 8;

    /// Made-up vectors, always the same for a seed.
    fn vectors(seed: u64) -> impl Iterator<Item = Vec<f32>> {
        let mut state = seed;
        let mut number = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            f32::from(state.to_le_bytes()[3]) - 127.5
        };
        std::iter::repeat_with(move || {
            let vector: Vec<f32> = (0..DIMENSIONS).map(|_| number()).collect();
            unit(&vector)
        })
    }

    fn graph(matrix: &Matrix, before: Option<Graph>) -> Graph {
        Graph::make(matrix, before, &|| false).ok().unwrap()
    }

    /// What a graph finds, by row.
    fn found(graph: &Graph, matrix: &Matrix, query: &[f32]) -> Vec<(i64, u32)> {
        let nearest = graph.nearest(matrix, query, 20).unwrap();
        let named = nearest
            .into_iter()
            .map(|(place, similarity)| (matrix.row(place).unwrap(), similarity.to_bits()));
        let mut named: Vec<_> = named.collect();
        named.sort_unstable();
        named
    }

    #[test]
    fn the_same_vectors_give_the_same_graph_and_true_cosines() {
        let matrix = Matrix::of(1, (1..=COUNT).zip(vectors(7)));
        let (one, other) = (graph(&matrix, None), graph(&matrix, None));
        assert!(one.recall > 0.95, "{}", one.recall);
        assert_eq!(one.recall.to_bits(), other.recall.to_bits());
        for query in vectors(9).take(30) {
            let near = found(&one, &matrix, &query);
            assert_eq!(near, found(&other, &matrix, &query));
            for (row, similarity) in near {
                let exact = matrix.similarities(&query, &[matrix.place(row).unwrap()]);
                assert_eq!(similarity, exact[0].1.to_bits());
            }
        }
    }

    #[test]
    fn it_follows_what_changed_and_is_made_anew_when_much_is_gone() {
        let before = Matrix::of(1, (1..=COUNT).zip(vectors(7)));
        let mut later: Vec<(i64, Vec<f32>)> = (1..=COUNT).zip(vectors(7)).skip(100).collect();
        for ((_, vector), other) in later.iter_mut().zip(vectors(3)).take(50) {
            *vector = other;
        }
        later.extend((COUNT + 1..COUNT + 51).zip(vectors(5)));
        let after = Matrix::of(2, later.into_iter());
        let followed = graph(&after, Some(graph(&before, None)));
        assert_eq!((followed.generation, followed.gone), (2, 150));
        assert_eq!(followed.known.len(), after.len());
        assert!(followed.recall > 0.95, "{}", followed.recall);
        for query in vectors(3).take(50) {
            let own = found(&followed, &after, &query);
            assert!(
                own.iter().any(|(row, _)| (101..=150).contains(row)),
                "{own:?}"
            );
        }
        let few = Matrix::of(3, (2000..2200).zip(vectors(11)));
        let emptied = graph(&few, Some(followed));
        assert_eq!(emptied.known.len(), 200);
        let anew = graph(&few, Some(emptied));
        assert_eq!((anew.gone, anew.known.len()), (0, 200));
    }

    #[test]
    fn nobody_waits_for_a_graph_of_a_closed_handle() {
        let matrix = Matrix::of(1, (1..=COUNT).zip(vectors(7)));
        assert!(Graph::make(&matrix, None, &|| true).is_err());
    }
}
