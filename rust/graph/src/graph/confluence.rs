//! Where the paths from several seeds meet (spec/pipeline.md, "confluence").

use super::edges::Edges;
use super::nodes::Nodes;
use super::ranking::{Output, ResultLimit, SlotScore, by_slot, finish};
use hedgerow_engine::error::Result;
use hedgerow_engine::interrupt::CancelTicker;

/// How far the paths go.
#[derive(Debug, Clone, PartialEq)]
pub struct Confluence {
    /// The most edges in a path.
    pub max_hops: usize,
    /// The factor on the score of a seed for each edge.
    pub edge_decay: f64,
    /// The number of seeds that must reach a node, at most the number of seeds.
    pub min_sources: usize,
    /// The options of every algorithm.
    pub output: Output,
}

impl Confluence {
    /// Search from every seed, breadth first.
    pub fn run(
        &self,
        nodes: &Nodes,
        edges: &Edges,
        seeds: &[SlotScore],
        wanted: ResultLimit,
    ) -> Result<Vec<SlotScore>> {
        let mut sums = vec![0.0_f64; nodes.len()];
        let mut sources = vec![0_u32; nodes.len()];
        // The last search that reached each slot, from 1.
        let mut seen = vec![0_u32; nodes.len()];
        let mut reached = Vec::new();
        let (mut front, mut next) = (Vec::new(), Vec::new());
        let mut pace = CancelTicker::default();
        for (search, (seed, score)) in (1..).zip(by_slot(seeds)) {
            seen[seed as usize] = search;
            front.clear();
            front.push(seed);
            let mut share = score;
            for hop in 0..=self.max_hops {
                pace.step(front.len())?;
                for slot in &front {
                    let at = *slot as usize;
                    sums[at] += share;
                    if sources[at] == 0 {
                        reached.push(*slot);
                    }
                    sources[at] += 1;
                }
                if hop == self.max_hops {
                    break;
                }
                share *= self.edge_decay;
                next.clear();
                for slot in &front {
                    pace.step(edges.degree(*slot))?;
                    for other in edges.neighbors(*slot) {
                        if seen[*other as usize] != search {
                            seen[*other as usize] = search;
                            next.push(*other);
                        }
                    }
                }
                std::mem::swap(&mut front, &mut next);
            }
        }
        let enough = self.min_sources.min(seeds.len());
        let found = reached
            .into_iter()
            .filter(|slot| sources[*slot as usize] as usize >= enough);
        let found = found.map(|slot| (slot, sums[slot as usize]));
        finish(nodes, seeds, found.collect(), &self.output, wanted)
    }
}
