//! Edges as compressed rows: for each node its neighbours, in the order of ids.
//!
//! The graph is undirected and simple: an edge counts for both its ends, of several between two
//! nodes the strongest counts, and those of deleted nodes count not at all.

use std::sync::OnceLock;

use rusqlite::Connection;

use super::cluster;
use super::nodes::Nodes;

/// Every edge between live nodes, from both its ends.
#[derive(Debug, Default)]
pub struct Edges {
    pub(super) generation: i64,
    /// Where the neighbours of each place begin; one more, where the last end.
    starts: Vec<usize>,
    targets: Vec<u32>,
    strengths: Vec<f64>,
    clustering: OnceLock<Vec<f64>>,
    components: OnceLock<Vec<u32>>,
}

impl Edges {
    pub(super) fn load(
        connection: &Connection,
        generation: i64,
        nodes: &Nodes,
    ) -> rusqlite::Result<Self> {
        let mut statement =
            connection.prepare_cached("SELECT source, target, strength FROM edges")?;
        let mut rows = statement.query([])?;
        let mut list = Vec::new();
        let live = |id| {
            let place = nodes.place_of(id)?;
            nodes.live[place as usize].then_some(place)
        };
        while let Some(row) = rows.next()? {
            let ends = (live(row.get(0)?), live(row.get(1)?));
            if let (Some(source), Some(target)) = ends
                && source != target
            {
                list.push((source, target, row.get(2)?));
            }
        }
        Ok(Self {
            generation,
            ..Self::new(nodes.len(), &list)
        })
    }

    /// The graph of `count` places with these edges.
    pub fn new(count: usize, list: &[(u32, u32, f64)]) -> Self {
        let mut starts = vec![0; count + 1];
        for (source, target, _) in list {
            starts[*source as usize + 1] += 1;
            starts[*target as usize + 1] += 1;
        }
        for place in 0..count {
            starts[place + 1] += starts[place];
        }
        let mut rows = vec![(0, 0.0); 2 * list.len()];
        let mut ends = starts.clone();
        for (source, target, strength) in list {
            for (from, to) in [(*source, *target), (*target, *source)] {
                let end = &mut ends[from as usize];
                rows[*end] = (to, *strength);
                *end += 1;
            }
        }
        let mut edges = Self {
            starts: Vec::with_capacity(count + 1),
            targets: Vec::with_capacity(rows.len()),
            strengths: Vec::with_capacity(rows.len()),
            ..Self::default()
        };
        for place in 0..count {
            edges.push_row(&mut rows[starts[place]..starts[place + 1]]);
        }
        edges.starts.push(edges.targets.len());
        edges
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
    }

    /// How many places there are; nodes that came since have no edges.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
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
        self.row(place).len()
    }

    /// The strength of the edge between two places.
    pub fn strength(&self, source: u32, target: u32) -> Option<f64> {
        let row = self.row(source);
        let found = self.targets[row.clone()].binary_search(&target).ok()?;
        Some(self.strengths[row][found])
    }

    /// How much of each place's neighbours are joined themselves (`cluster.rs`).
    pub fn clustering(&self, place: u32) -> f64 {
        let values = self.clustering.get_or_init(|| cluster::coefficients(self));
        values.get(place as usize).copied().unwrap_or(0.0)
    }

    /// The smallest place that each place is connected to.
    pub fn components(&self) -> &[u32] {
        self.components.get_or_init(|| cluster::components(self))
    }

    fn row(&self, place: u32) -> std::ops::Range<usize> {
        let place = place as usize;
        match (self.starts.get(place), self.starts.get(place + 1)) {
            (Some(start), Some(end)) => *start..*end,
            _ => 0..0,
        }
    }
}

#[cfg(test)]
mod tests {
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
        assert_eq!(edges.components(), [0, 0, 0, 3]);
    }
}
