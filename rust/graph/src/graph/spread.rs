//! Spreading activation: nodes near the seeds by any path become active (spec/pipeline.md,
//! "spread"). After Collins and Loftus, 1975.

use super::edges::Edges;
use super::nodes::Nodes;
use super::ranking::{Output, ResultLimit, SlotScore, by_slot, finish};
use hedgerow_engine::error::Result;
use hedgerow_engine::interrupt::{self, CancelTicker};

/// How activation spreads.
#[derive(Debug, Clone, PartialEq)]
pub struct SpreadingActivation {
    /// The most edges that activation travels.
    pub max_hops: usize,
    /// The factor on activation for each edge, in addition to the strength of the edge.
    pub edge_decay: f64,
    /// Activation below this is dropped.
    pub min_activation: f64,
    /// Whether a node divides its activation among its neighbors (the fan effect).
    pub share: bool,
    /// The options of every algorithm.
    pub output: Output,
}

impl SpreadingActivation {
    /// Spread activation. All seeds send in the same step; activations that arrive are added and
    /// sent on.
    pub fn run(
        &self,
        nodes: &Nodes,
        edges: &Edges,
        seeds: &[SlotScore],
        wanted: ResultLimit,
    ) -> Result<Vec<SlotScore>> {
        let mut front = by_slot(seeds);
        // Zeroed memory costs nothing until it is written.
        let mut total = vec![0.0_f64; nodes.len()];
        let mut arrived = vec![0.0_f64; nodes.len()];
        let mut reached: Vec<u32> = Vec::new();
        for hop in 0..=self.max_hops {
            interrupt::check()?;
            for (slot, activation) in &front {
                let total = &mut total[*slot as usize];
                if *total == 0.0 {
                    reached.push(*slot);
                }
                *total = (*total + activation).min(f64::MAX);
            }
            if hop < self.max_hops {
                front = self.hop(edges, &front, &mut arrived)?;
            }
            // The last to arrive send nothing on, so that their order does not matter.
            if hop + 1 < self.max_hops {
                interrupt::sort(&mut front, |one, other| one.0.cmp(&other.0))?;
            }
        }
        let found = reached.into_iter().map(|slot| {
            let weight = nodes.weights[slot as usize];
            (slot, weight * total[slot as usize])
        });
        finish(nodes, seeds, found.collect(), &self.output, wanted)
    }

    /// Return the activation that arrives after one more edge, in no order. `arrived` is all zeros
    /// before and after.
    fn hop(
        &self,
        edges: &Edges,
        front: &[SlotScore],
        arrived: &mut [f64],
    ) -> Result<Vec<SlotScore>> {
        let mut touched = Vec::new();
        let mut pace = CancelTicker::default();
        for (slot, activation) in front {
            pace.step(1 + edges.degree(*slot))?;
            let mut sent = activation * self.edge_decay;
            if self.share {
                sent /= edges.degree(*slot) as f64;
            }
            for (other, strength) in edges.joined(*slot) {
                let part = sent * strength;
                let arrived = &mut arrived[other as usize];
                if *arrived == 0.0 && part > 0.0 {
                    touched.push(other);
                }
                *arrived = (*arrived + part).min(f64::MAX);
            }
        }
        let taken = touched.into_iter().map(|slot| {
            let activation = std::mem::take(&mut arrived[slot as usize]);
            (slot, activation)
        });
        Ok(taken
            .filter(|(_, activation)| *activation > 0.0 && *activation >= self.min_activation)
            .collect())
    }
}
