//! Edges as compressed rows: for each node its neighbours, in the order of ids.
//!
//! The graph is undirected and simple: an edge counts for both its ends, of several between two
//! nodes the strongest counts, and those of deleted nodes count not at all.

use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;

use super::cluster::{self, Clustering};
use super::load::{self, Table};
use super::nodes::Nodes;
use crate::error::Result;
use crate::interrupt::{self, Pace};

/// Two places and the strength between them.
pub type Edge = (u32, u32, f64);

/// Up to how many edges the rows are made on one thread.
const SMALL: usize = 200_000;
/// After so many edges somebody is asked whether to go on.
const PART: usize = 1 << 12;

/// Every edge between live nodes, from both its ends.
#[derive(Debug, Clone, Default)]
pub struct Edges {
    pub(super) generation: i64,
    /// Where the neighbours of each place begin.
    starts: Vec<usize>,
    /// How many each place has.
    degrees: Vec<u32>,
    targets: Vec<u32>,
    strengths: Vec<f64>,
    /// How many of the targets are of no row any more.
    left: usize,
    clustering: OnceLock<Clustering>,
    components: OnceLock<Vec<u32>>,
}

impl Edges {
    pub(super) fn load(table: &Table<'_>, nodes: &Nodes) -> rusqlite::Result<Self> {
        let largest = "SELECT coalesce(max(source), 0) FROM edges";
        let largest = table.connection.query_row(largest, [], |row| row.get(0))?;
        let live = |id| {
            let place = nodes.place_of(id)?;
            nodes.live[place as usize].then_some(place)
        };
        let lists = table.read(&load::pieces(largest), |connection, (after, up_to)| {
            let mut statement = connection.prepare_cached(
                "SELECT source, target, strength FROM edges WHERE source > ? AND source <= ?",
            )?;
            let mut rows = statement.query([after, up_to])?;
            let mut list: Vec<Edge> = Vec::new();
            while let Some(row) = rows.next()? {
                let ends = (live(row.get(0)?), live(row.get(1)?));
                if let (Some(source), Some(target)) = ends
                    && source != target
                {
                    list.push((source, target, row.get(2)?));
                }
            }
            Ok(list)
        })?;
        let lists: Vec<&[Edge]> = lists.iter().map(Vec::as_slice).collect();
        Ok(Self {
            generation: table.generation.1,
            ..Self::of(nodes.len(), &lists)?
        })
    }

    /// The graph of `count` places with these edges.
    #[cfg(test)]
    pub(crate) fn new(count: usize, list: &[Edge]) -> Self {
        Self::of(count, &[list]).expect("nobody interrupts")
    }

    fn of(count: usize, lists: &[&[Edge]]) -> rusqlite::Result<Self> {
        let edges: usize = lists.iter().map(|list| list.len()).sum();
        let threads = if edges > SMALL { load::threads() } else { 1 };
        let share = count.div_ceil(threads).max(1);
        let mut shares: Vec<Range<usize>> = (0..count)
            .step_by(share)
            .map(|start| start..count.min(start + share))
            .collect();
        let Some(first) = (!shares.is_empty()).then(|| shares.remove(0)) else {
            return Ok(Self::default());
        };
        let stop = Arc::new(AtomicBool::new(false));
        thread::scope(|scope| {
            let help = |places| {
                let stopped = Arc::clone(&stop);
                let is_unwanted = move || stopped.load(Ordering::Relaxed);
                move || interrupt::watched(is_unwanted, || Self::rows(places, lists))
            };
            let shares = shares.into_iter();
            let others: Vec<_> = shares.map(|places| scope.spawn(help(places))).collect();
            let first = Self::rows(first, lists);
            stop.store(first.is_err(), Ordering::Relaxed);
            let mut edges = first?;
            for other in others {
                // A panic goes on to whoever called, as it would on one thread.
                let rows = other.join().unwrap_or_else(|panic| resume_unwind(panic))?;
                edges.append(&rows);
            }
            Ok(edges)
        })
    }

    /// The rows of some places.
    fn rows(places: Range<usize>, lists: &[&[Edge]]) -> rusqlite::Result<Self> {
        let mut pace = Pace::default();
        let parts = || lists.iter().flat_map(|list| list.chunks(PART));
        let both_ways = |(source, target, strength): &Edge| {
            [(*source, *target, *strength), (*target, *source, *strength)]
        };
        let inside = |place: u32| {
            let inside = places.contains(&(place as usize));
            inside.then(|| place as usize - places.start)
        };
        let mut starts = vec![0; places.len() + 1];
        for part in parts() {
            pace.read(part.len())?;
            let ends = part.iter().flat_map(both_ways);
            for place in ends.filter_map(|(from, _, _)| inside(from)) {
                starts[place + 1] += 1;
            }
        }
        for place in 0..places.len() {
            starts[place + 1] += starts[place];
        }
        let mut parallel = vec![(0, 0.0); starts[places.len()]];
        let mut filled = starts.clone();
        for part in parts() {
            pace.read(part.len())?;
            for (from, to, strength) in part.iter().flat_map(both_ways) {
                if let Some(place) = inside(from) {
                    parallel[filled[place]] = (to, strength);
                    filled[place] += 1;
                }
            }
        }
        let mut rows = Self {
            starts: Vec::with_capacity(places.len()),
            degrees: Vec::with_capacity(places.len()),
            targets: Vec::with_capacity(parallel.len()),
            strengths: Vec::with_capacity(parallel.len()),
            ..Self::default()
        };
        for place in 0..places.len() {
            let row = starts[place]..starts[place + 1];
            pace.read(1 + row.len())?;
            rows.push_row(&mut parallel[row]);
        }
        Ok(rows)
    }

    fn push_row(&mut self, row: &mut [(u32, f64)]) {
        let start = self.targets.len();
        self.starts.push(start);
        row.sort_unstable_by_key(|(target, _)| *target);
        for (target, strength) in row {
            match self.strengths.last_mut() {
                Some(known)
                    if self.targets.len() > start && self.targets.last() == Some(target) =>
                {
                    *known = known.max(*strength);
                }
                _ => {
                    self.targets.push(*target);
                    self.strengths.push(*strength);
                }
            }
        }
        self.degrees.push((self.targets.len() - start) as u32);
    }

    /// Take the rows of the next places in.
    fn append(&mut self, rows: &Self) {
        let before = self.targets.len();
        self.starts
            .extend(rows.starts.iter().map(|start| before + start));
        self.degrees.extend_from_slice(&rows.degrees);
        self.targets.extend_from_slice(&rows.targets);
        self.strengths.extend_from_slice(&rows.strengths);
    }

    /// Change the strength between pairs of places, None for no edge, in a graph that has `count`
    /// places now.
    pub(super) fn change(&mut self, count: usize, changes: &[(u32, u32, Option<f64>)]) {
        let mut clustering = self.clustering.take();
        if count > self.len() {
            self.starts.resize(count, 0);
            self.degrees.resize(count, 0);
            self.components.take();
            if let Some(clustering) = &mut clustering {
                clustering.grow(count);
            }
        }
        for (one, other, strength) in changes {
            let was_joined = self.strength(*one, *other).is_some();
            self.put(*one, *other, *strength);
            self.put(*other, *one, *strength);
            if was_joined != strength.is_some() {
                self.components.take();
                if let Some(clustering) = &mut clustering {
                    let shared = self.shared(*one, *other);
                    clustering.update(self, [*one, *other], &shared, strength.is_some());
                }
            }
        }
        if let Some(clustering) = clustering {
            self.clustering = OnceLock::from(clustering);
        }
    }

    /// Change one end of an edge. A row that grows is written anew behind the others.
    fn put(&mut self, from: u32, to: u32, strength: Option<f64>) {
        let row = self.row(from);
        match (self.targets[row.clone()].binary_search(&to), strength) {
            (Ok(at), Some(strength)) => self.strengths[row.start + at] = strength,
            (Ok(at), None) => {
                let rest = row.start + at + 1..row.end;
                self.targets.copy_within(rest.clone(), row.start + at);
                self.strengths.copy_within(rest, row.start + at);
                self.degrees[from as usize] -= 1;
                self.left += 1;
            }
            (Err(at), Some(strength)) => {
                let start = self.targets.len();
                self.targets.extend_from_within(row.clone());
                self.targets.insert(start + at, to);
                self.strengths.extend_from_within(row.clone());
                self.strengths.insert(start + at, strength);
                self.starts[from as usize] = start;
                self.degrees[from as usize] += 1;
                self.left += row.len();
            }
            (Err(_), None) => {}
        }
    }

    /// The neighbours that two places have in common.
    fn shared(&self, one: u32, other: u32) -> Vec<u32> {
        let (few, many) = (self.neighbours(one), self.neighbours(other));
        let (few, many) = if few.len() > many.len() {
            (many, few)
        } else {
            (few, many)
        };
        let shared = few.iter().filter(|place| many.binary_search(place).is_ok());
        shared.copied().collect()
    }

    /// How many targets there are, and how many of them are of no row any more.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.targets.len(), self.left)
    }

    /// How many places there are; nodes that came since have no edges.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether there is no place.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The neighbours of a place, ascending.
    pub fn neighbours(&self, place: u32) -> &[u32] {
        &self.targets[self.row(place)]
    }

    /// Neighbours and strengths of a place.
    pub fn joined(&self, place: u32) -> impl Iterator<Item = (u32, f64)> + '_ {
        let row = self.row(place);
        let targets = self.targets[row.clone()].iter().copied();
        targets.zip(self.strengths[row].iter().copied())
    }

    /// How many neighbours a place has.
    pub fn degree(&self, place: u32) -> usize {
        self.degrees
            .get(place as usize)
            .map_or(0, |degree| *degree as usize)
    }

    /// The strength of the edge between two places.
    pub fn strength(&self, source: u32, target: u32) -> Option<f64> {
        let row = self.row(source);
        let found = self.targets[row.clone()].binary_search(&target).ok()?;
        Some(self.strengths[row][found])
    }

    /// For each place how much of its neighbours are joined themselves (`cluster.rs`); 0 for
    /// nodes that came since.
    pub fn clustering(&self) -> Result<&[f64]> {
        let clustering = known(&self.clustering, || Clustering::of(self))?;
        Ok(&clustering.coefficients)
    }

    /// The smallest place that each place is connected to.
    pub fn components(&self) -> Result<&[u32]> {
        let components = known(&self.components, || cluster::components(self))?;
        Ok(components)
    }

    fn row(&self, place: u32) -> Range<usize> {
        let start = self.starts.get(place as usize).copied().unwrap_or(0);
        start..start + self.degree(place)
    }
}

/// What was worked out before, or is now.
fn known<T>(cell: &OnceLock<T>, make: impl FnOnce() -> Result<T>) -> Result<&T> {
    if let Some(value) = cell.get() {
        return Ok(value);
    }
    let value = make()?;
    Ok(cell.get_or_init(|| value))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_strongest_of_parallel_edges_counts_from_both_ends() {
        let edges = Edges::new(4, &[(0, 1, 0.3), (1, 0, 0.9), (0, 1, 0.5), (2, 0, 1.0)]);
        assert_eq!(edges.joined(0).collect::<Vec<_>>(), [(1, 0.9), (2, 1.0)]);
        assert_eq!(edges.strength(1, 0), Some(0.9));
        assert_eq!(edges.strength(1, 2), None);
        assert_eq!(
            (edges.degree(0), edges.degree(3), edges.degree(9)),
            (2, 0, 0)
        );
        assert_eq!(edges.components().unwrap(), [0, 0, 0, 3]);
    }

    /// Neighbours, clustering coefficient and component.
    type Said = (Vec<(u32, f64)>, f64, u32);

    /// All that can be asked of a graph.
    fn said(edges: &Edges) -> Vec<Said> {
        let (clustering, components) = (edges.clustering().unwrap(), edges.components().unwrap());
        (0..edges.len())
            .map(|place| {
                let joined = edges.joined(place as u32).collect();
                (joined, clustering[place], components[place])
            })
            .collect()
    }

    #[test]
    fn a_large_graph_is_the_one_that_its_halves_make() {
        let list: Vec<Edge> = (0..=SMALL as u32)
            .map(|n| {
                (
                    n.wrapping_mul(2_654_435_761) % 30_011,
                    n * 7 % 30_011,
                    f64::from(n % 9),
                )
            })
            .collect();
        let list: Vec<Edge> = list
            .into_iter()
            .filter(|(one, other, _)| one != other)
            .collect();
        let (left, right) = list.split_at(1000);
        let edges = Edges::of(30_011, &[left, right]).unwrap();
        let rows = Edges::rows(0..30_011, &[&list]).unwrap();
        assert_eq!(said(&edges), said(&rows));
    }

    proptest! {
        #[test]
        fn a_changed_graph_is_the_one_made_anew(
            list in prop::collection::vec((0_u32..9, 0_u32..9, 1_u32..4), 0..30),
            changes in prop::collection::vec((0_u32..12, 0_u32..12, prop::option::of(1_u32..4)), 0..20),
            looks: bool,
        ) {
            let key = |one: u32, other: u32| (one.min(other), one.max(other));
            let mut pairs: BTreeMap<(u32, u32), f64> = list
                .iter()
                .filter(|(one, other, _)| one != other)
                .map(|(one, other, strength)| (key(*one, *other), f64::from(*strength)))
                .collect();
            let made = |count, pairs: &BTreeMap<(u32, u32), f64>| {
                let list: Vec<Edge> = pairs.iter().map(|((a, b), s)| (*a, *b, *s)).collect();
                Edges::new(count, &list)
            };
            let mut edges = made(9, &pairs);
            if looks {
                said(&edges);
            }
            let changes: Vec<(u32, u32, Option<f64>)> = changes
                .into_iter()
                .filter(|(one, other, _)| one != other)
                .map(|(one, other, strength)| (one, other, strength.map(f64::from)))
                .collect();
            edges.change(12, &changes);
            for (one, other, strength) in changes {
                match strength {
                    Some(strength) => pairs.insert(key(one, other), strength),
                    None => pairs.remove(&key(one, other)),
                };
            }
            prop_assert_eq!(said(&edges), said(&made(12, &pairs)));
        }
    }
}
