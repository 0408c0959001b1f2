//! Nodes near the seeds by all paths together (spec/pipeline.md, "spectral").

use super::nodes::Nodes;
use super::ranking::{Output, SlotScore, by_slot, finish};
use super::spectrum::{Coordinates, distance};
use hedgerow_engine::error::Result;
use hedgerow_engine::interrupt::CancelTicker;

/// Seeds compared between two checks for cancellation.
const SOME: usize = 1024;

/// Rank by the distance of coordinates: the highest `seed / (1 + distance)` over the seeds.
pub fn run(
    nodes: &Nodes,
    coordinates: &Coordinates,
    seeds: &[SlotScore],
    output: &Output,
) -> Result<Vec<SlotScore>> {
    let seeds = by_slot(seeds);
    let mut found = seeds.clone();
    let embedded: Vec<(u32, f64, &[f64])> = seeds
        .iter()
        .filter_map(|(seed, score)| {
            Some((
                coordinates.component(*seed)?,
                *score,
                coordinates.of_slot(*seed),
            ))
        })
        .collect();
    let mut pace = CancelTicker::default();
    for slot in 0..coordinates.len() as u32 {
        pace.step(1)?;
        let Some(component) = coordinates.component(slot) else {
            continue;
        };
        if !nodes.live[slot as usize] {
            continue;
        }
        let here = coordinates.of_slot(slot);
        let mut best: f64 = 0.0;
        for some in embedded.chunks(SOME) {
            pace.step(some.len() * here.len())?;
            let near = some.iter().filter(|(of, _, _)| *of == component);
            best = near
                .map(|(_, score, there)| score / (1.0 + distance(there, here)))
                .fold(best, f64::max);
        }
        match seeds.binary_search_by_key(&slot, |(seed, _)| *seed) {
            Ok(position) => found[position].1 = best.max(seeds[position].1),
            Err(_) => found.push((slot, best)),
        }
    }
    finish(nodes, &seeds, found, output, None)
}
