//! Spreading activation: what is near the seeds by any path lights up (spec/pipeline.md,
//! "spread"). After Collins and Loftus, 1975.

use super::edges::Edges;
use super::nodes::Nodes;
use super::ranking::{Scored, Shape, Wanted, by_place, finish};
use hedgerow_engine::error::Result;
use hedgerow_engine::interrupt::{self, Pace};

/// How activation spreads.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    /// How many edges it may travel.
    pub max_hops: usize,
    /// What is left of it after an edge, besides the edge's strength.
    pub edge_decay: f64,
    /// Less than this goes no further.
    pub min_activation: f64,
    /// Whether a node shares its activation out among its neighbours (the fan effect).
    pub share: bool,
    /// How the result is handed over.
    pub shape: Shape,
}

impl Spread {
    /// All seeds send at once; what arrives is added, and sent on.
    pub fn run(
        &self,
        nodes: &Nodes,
        edges: &Edges,
        seeds: &[Scored],
        wanted: Wanted,
    ) -> Result<Vec<Scored>> {
        let mut front = by_place(seeds);
        // Zeroed memory is only paid for where it is touched.
        let mut total = vec![0.0_f64; nodes.len()];
        let mut arrived = vec![0.0_f64; nodes.len()];
        let mut reached: Vec<u32> = Vec::new();
        for hop in 0..=self.max_hops {
            interrupt::check()?;
            for (place, activation) in &front {
                let total = &mut total[*place as usize];
                if *total == 0.0 {
                    reached.push(*place);
                }
                *total = (*total + activation).min(f64::MAX);
            }
            if hop < self.max_hops {
                front = self.hop(edges, &front, &mut arrived)?;
            }
            // The last to arrive send nothing on, and may stand in any order.
            if hop + 1 < self.max_hops {
                interrupt::sort(&mut front, |one, other| one.0.cmp(&other.0))?;
            }
        }
        let found = reached.into_iter().map(|place| {
            let weight = nodes.weights[place as usize];
            (place, weight * total[place as usize])
        });
        finish(nodes, seeds, found.collect(), &self.shape, wanted)
    }

    /// What arrives after one more edge, in no order. `arrived` is left all zeros.
    fn hop(&self, edges: &Edges, front: &[Scored], arrived: &mut [f64]) -> Result<Vec<Scored>> {
        let mut touched = Vec::new();
        let mut pace = Pace::default();
        for (place, activation) in front {
            pace.step(1 + edges.degree(*place))?;
            let mut sent = activation * self.edge_decay;
            if self.share {
                sent /= edges.degree(*place) as f64;
            }
            for (other, strength) in edges.joined(*place) {
                let part = sent * strength;
                let arrived = &mut arrived[other as usize];
                if *arrived == 0.0 && part > 0.0 {
                    touched.push(other);
                }
                *arrived = (*arrived + part).min(f64::MAX);
            }
        }
        let taken = touched.into_iter().map(|place| {
            let activation = std::mem::take(&mut arrived[place as usize]);
            (place, activation)
        });
        Ok(taken
            .filter(|(_, activation)| *activation > 0.0 && *activation >= self.min_activation)
            .collect())
    }
}
