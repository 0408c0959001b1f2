//! Edges as compressed rows: for each node its neighbors, in the order of ids.
//!
//! The graph is undirected and simple: an edge counts for both its ends, and of several between two
//! nodes the strongest counts. Edges of deleted nodes do not count.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use rusqlite::Connection;

use super::adjacency::{Adjacency, Edge};
use super::cluster::{self, Clustering};
use super::column::Column;
use super::edge_changes::{self, Change, generation};
use super::nodes::{self, Nodes};
use crate::schema::EDGES_GENERATION;
use hedgerow_engine::error::Result;
use hedgerow_engine::storage::Background;
use hedgerow_engine::storage::cache::{Cache, Version};
use hedgerow_engine::storage::parallel::{self, Table};

/// The share of edges that may change in memory is 1 in this number. Beyond it the rows are built
/// again.
const ONE_IN: usize = if cfg!(test) { 5 } else { 100 };
/// Up to this number of edges, the caller that needs them reads them.
const FEW: usize = if cfg!(test) { 50 } else { 10_000 };

/// An edge by the keys of its ends, with its strength.
pub type Link = (String, String, f64);

/// Every edge between live nodes, from both its ends.
#[derive(Debug, Clone, Default)]
pub struct Edges {
    pub(super) generation: i64,
    adjacency: Adjacency,
    clustering: OnceLock<Arc<Clustering>>,
    components: OnceLock<Arc<Vec<u32>>>,
}

/// The inputs for reading edges.
pub struct EdgeSource {
    pub(super) background: Background,
    pub(super) nodes: Arc<Cache<Nodes>>,
}

impl EdgeSource {
    /// The nodes of the same state.
    fn nodes(&self, connection: &Connection) -> rusqlite::Result<Arc<Nodes>> {
        nodes::of_state(&self.nodes, connection)
    }
}

impl Version for Edges {
    type Source = EdgeSource;
    const NAME: &'static str = "edges";

    fn generation(&self) -> i64 {
        self.generation
    }

    fn load(source: &EdgeSource, connection: &Connection) -> rusqlite::Result<Self> {
        let nodes = source.nodes(connection)?;
        let table = Table {
            background: &source.background,
            connection,
            generation: (EDGES_GENERATION, generation(connection)?),
        };
        Self::read(&table, &nodes)
    }

    fn next(
        self: &Arc<Self>,
        source: &EdgeSource,
        connection: &Connection,
        generation: i64,
    ) -> rusqlite::Result<Option<Self>> {
        let most = self.adjacency.targets() / (2 * ONE_IN);
        if let Some(ends) = edge_changes::since(connection, self.generation, most)? {
            let nodes = source.nodes(connection)?;
            let changes = edge_changes::changes(connection, &ends, &nodes, &self.adjacency)?;
            if changes.len() <= most {
                let mut next = Self::clone(self);
                next.change(nodes.len(), &changes);
                next.generation = generation;
                return Ok(Some(next));
            }
        }
        // Reading a few takes less time than starting a thread for them.
        let few = self.adjacency.targets() <= FEW;
        few.then(|| Self::load(source, connection)).transpose()
    }
}

impl Deref for Edges {
    type Target = Adjacency;

    fn deref(&self) -> &Adjacency {
        &self.adjacency
    }
}

impl Edges {
    fn read(table: &Table<'_>, nodes: &Nodes) -> rusqlite::Result<Self> {
        let largest = "SELECT coalesce(max(source), 0) FROM edges";
        let largest = table.connection.query_row(largest, [], |row| row.get(0))?;
        let live = |id| {
            let slot = nodes.slot_of(id)?;
            nodes.live[slot as usize].then_some(slot)
        };
        let lists = table.read(&parallel::pieces(largest), |connection, (after, up_to)| {
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

    /// The graph of `count` slots with these edges.
    #[cfg(test)]
    pub(crate) fn new(count: usize, list: &[Edge]) -> Self {
        Self::of(count, &[list]).expect("nobody interrupts")
    }

    fn of(count: usize, lists: &[&[Edge]]) -> rusqlite::Result<Self> {
        Ok(Self {
            adjacency: Adjacency::of(count, lists)?,
            ..Self::default()
        })
    }

    /// The graph between the live nodes of some, with its edges, or with `links` between their keys instead.
    pub(super) fn between(&self, nodes: &Nodes, links: Option<&[Link]>) -> rusqlite::Result<Self> {
        let list: Vec<Edge> = if let Some(links) = links {
            let edge = |(source, target, strength): &Link| {
                let ends = (nodes.find(source)?, nodes.find(target)?);
                (ends.0 != ends.1).then_some((ends.0, ends.1, *strength))
            };
            links.iter().filter_map(edge).collect()
        } else {
            let edges = nodes.order.iter().flat_map(|slot| {
                let later = self.joined(*slot).filter(move |(other, _)| slot < other);
                later.map(move |(other, strength)| (*slot, other, strength))
            });
            edges
                .filter(|(_, other, _)| nodes.live[*other as usize])
                .collect()
        };
        Ok(Self {
            generation: self.generation,
            ..Self::of(nodes.len(), &[&list])?
        })
    }

    /// Change the strengths between pairs of slots, None for no edge, in a graph that now has
    /// `count` slots.
    fn change(&mut self, count: usize, changes: &[Change]) {
        let mut clustering = self.clustering.take();
        if count > self.len() {
            self.adjacency.grow(count);
            self.components.take();
            if let Some(clustering) = &mut clustering {
                Arc::make_mut(clustering).grow(count);
            }
        }
        for (one, other, strength) in changes {
            let was_joined = self.strength(*one, *other).is_some();
            self.adjacency.put(*one, *other, *strength);
            self.adjacency.put(*other, *one, *strength);
            if was_joined != strength.is_some() {
                self.components.take();
                if let Some(clustering) = &mut clustering {
                    let shared = self.shared(*one, *other);
                    let clustering = Arc::make_mut(clustering);
                    clustering.update(&self.adjacency, [*one, *other], &shared, strength.is_some());
                }
            }
        }
        if let Some(clustering) = clustering {
            self.clustering = OnceLock::from(clustering);
        }
    }

    /// The clustering coefficient of each slot; nodes that were added since have none.
    pub fn clustering(&self) -> Result<&Column<f64>> {
        let clustering = known(&self.clustering, || Clustering::of(&self.adjacency))?;
        Ok(&clustering.coefficients)
    }

    /// The component of each slot: the smallest slot that it is connected to.
    pub fn components(&self) -> Result<&[u32]> {
        let components = known(&self.components, || cluster::components(&self.adjacency))?;
        Ok(components)
    }
}

/// The value of a cell, which is computed if it is empty.
fn known<T>(cell: &OnceLock<Arc<T>>, make: impl FnOnce() -> Result<T>) -> Result<&T> {
    if let Some(value) = cell.get() {
        return Ok(value);
    }
    let value = Arc::new(make()?);
    Ok(cell.get_or_init(|| value))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::graph::adjacency::SMALL;

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

    /// Neighbors, clustering coefficient and component.
    type Summary = (Vec<(u32, f64)>, f64, u32);

    /// Everything that a graph can be asked for.
    fn summary(edges: &Edges) -> Vec<Summary> {
        let (clustering, components) = (edges.clustering().unwrap(), edges.components().unwrap());
        (0..edges.len())
            .map(|slot| {
                let joined = edges.joined(slot as u32).collect();
                (joined, clustering[slot], components[slot])
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
        let rows = Edges {
            adjacency: Adjacency::on_one_thread(30_011, &[&list]),
            ..Edges::default()
        };
        assert_eq!(summary(&edges), summary(&rows));
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
                summary(&edges);
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
            prop_assert_eq!(summary(&edges), summary(&made(12, &pairs)));
        }
    }
}
