//! The straightest paths between seeds (spec/pipeline.md, "geodesic").

use super::edges::Edges;
use super::nodes::Nodes;
use super::ranking::{Output, ResultLimit, SlotScore, finish, sort};
use super::spectrum::{Coordinates, cosine_of_step};
use hedgerow_engine::error::Result;
use hedgerow_engine::interrupt::CancelTicker;

/// Cosines this close are equal.
const EQUAL: f64 = 1e-9;

/// Options of the paths between seeds.
#[derive(Debug, Clone, PartialEq)]
pub struct Geodesic {
    /// The most edges in a path.
    pub max_path: usize,
    /// The most seeds used, the best first.
    pub max_seeds: usize,
    /// The options of every algorithm.
    pub output: Output,
}

impl Geodesic {
    /// Walk from every seed to every other. Each node between them gets half the product of their
    /// scores.
    pub fn run(
        &self,
        nodes: &Nodes,
        edges: &Edges,
        coordinates: &Coordinates,
        seeds: &[SlotScore],
        wanted: ResultLimit,
    ) -> Result<Vec<SlotScore>> {
        let mut best = seeds.to_vec();
        sort(nodes, &mut best)?;
        best.truncate(self.max_seeds);
        let mut sums = vec![0.0_f64; nodes.len()];
        let mut reached = Vec::new();
        let mut pace = CancelTicker::default();
        for (from, from_score) in &best {
            for (to, to_score) in &best {
                pace.step(1)?;
                let component = coordinates.component(*from);
                if from == to || component.is_none() || component != coordinates.component(*to) {
                    continue;
                }
                let walk = self.walk(nodes, edges, coordinates, (*from, *to), &mut pace)?;
                for slot in walk.unwrap_or_default() {
                    sums[slot as usize] += 0.5 * from_score * to_score;
                    reached.push(slot);
                }
            }
        }
        reached.sort_unstable();
        reached.dedup();
        let mut found: Vec<SlotScore> = seeds
            .iter()
            .map(|(seed, score)| (*seed, score + std::mem::take(&mut sums[*seed as usize])))
            .collect();
        let others = reached
            .into_iter()
            .filter(|slot| sums[*slot as usize] > 0.0);
        found.extend(others.map(|slot| (slot, sums[slot as usize])));
        finish(nodes, seeds, found, &self.output, wanted)
    }

    /// The nodes between two others, going on to the neighbor that is most in the direction of the
    /// end; None if the walk fails.
    fn walk(
        &self,
        nodes: &Nodes,
        edges: &Edges,
        coordinates: &Coordinates,
        (from, to): (u32, u32),
        pace: &mut CancelTicker,
    ) -> Result<Option<Vec<u32>>> {
        let mut path = vec![from];
        let mut here = from;
        for _ in 0..self.max_path {
            if edges.strength(here, to).is_some() {
                path.remove(0);
                return Ok(Some(path));
            }
            let mut best: Option<(u32, f64)> = None;
            for other in edges.neighbors(here) {
                pace.step(1 + path.len())?;
                if path.contains(other) {
                    continue;
                }
                let cosine = cosine_of_step(coordinates, here, *other, to);
                let better = best.is_none_or(|(known, known_cosine)| {
                    cosine > known_cosine + EQUAL
                        || (cosine >= known_cosine - EQUAL && nodes.by_key(*other, known).is_lt())
                });
                if better {
                    best = Some((*other, cosine));
                }
            }
            let Some((next, _)) = best.filter(|(_, cosine)| *cosine > 0.0) else {
                return Ok(None);
            };
            path.push(next);
            here = next;
        }
        Ok(None)
    }
}
