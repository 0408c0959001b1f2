//! The whole graph in figures.

use super::snapshot::Needs;
use super::store::Store;
use hedgerow_engine::error::Result;
use hedgerow_engine::interrupt;

/// Counts of nodes and edges, and their connections.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Topology {
    /// The number of live nodes.
    pub nodes: usize,
    /// The number of joined pairs.
    pub edges: usize,
    /// The number of communities.
    pub communities: usize,
    /// The number of communities with one member.
    pub alone: usize,
    /// The mean isolation of the communities; 0 without any.
    pub isolation: f64,
    /// The mean cc of the nodes; 0 without any.
    pub clustering: f64,
}

impl Store {
    /// The whole graph in figures.
    pub fn topology(&self) -> Result<Topology> {
        let snapshot = self.snapshot(&Needs {
            edges: true,
            ..Needs::default()
        })?;
        let (nodes, edges) = (&snapshot.nodes, &snapshot.edges);
        let (communities, _) = snapshot.communities()?;
        let clustering = edges.clustering()?;
        let cc = |slot: &u32| clustering.get(*slot as usize).unwrap_or(0.0);
        let live: Vec<u32> = (0..nodes.len() as u32)
            .filter(|slot| nodes.live[*slot as usize])
            .collect();
        let mut labels: Vec<u32> = live.iter().map(|slot| communities.label(*slot)).collect();
        interrupt::sort(&mut labels, Ord::cmp)?;
        let groups: Vec<&[u32]> = labels.chunk_by(|left, right| left == right).collect();
        let isolation = groups.iter().map(|group| communities.isolation(group[0]));
        let ends: usize = live.iter().map(|slot| edges.degree(*slot)).sum();
        Ok(Topology {
            nodes: live.len(),
            edges: ends / 2,
            communities: groups.len(),
            alone: groups.iter().filter(|group| group.len() == 1).count(),
            isolation: mean(isolation.sum(), groups.len()),
            clustering: mean(live.iter().map(cc).sum(), live.len()),
        })
    }
}

fn mean(sum: f64, count: usize) -> f64 {
    if count == 0 { 0.0 } else { sum / count as f64 }
}
