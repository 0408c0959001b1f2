//! What is near the seeds by all paths at once (spec/pipeline.md, "spectral").

use super::nodes::Nodes;
use super::ranking::{Scored, Shape, by_place, finish};
use super::spectrum::{Coordinates, distance};
use hedgerow_engine::error::Result;
use hedgerow_engine::interrupt::Pace;

/// How many seeds are compared with before somebody asks whether to go on.
const SOME: usize = 1024;

/// Rank by the distance of coordinates: `seed / (1 + distance)`, of the seed for which it is most.
pub fn run(
    nodes: &Nodes,
    coordinates: &Coordinates,
    seeds: &[Scored],
    shape: &Shape,
) -> Result<Vec<Scored>> {
    let mut found = seeds.to_vec();
    let seeds_by_place = by_place(seeds);
    let embedded: Vec<(u32, f64, &[f64])> = seeds_by_place
        .iter()
        .filter_map(|(seed, score)| {
            Some((
                coordinates.component(*seed)?,
                *score,
                coordinates.of_place(*seed),
            ))
        })
        .collect();
    let mut pace = Pace::default();
    for place in 0..coordinates.len() as u32 {
        pace.step(1)?;
        let Some(component) = coordinates.component(place) else {
            continue;
        };
        if !nodes.live[place as usize] {
            continue;
        }
        let here = coordinates.of_place(place);
        let mut best: f64 = 0.0;
        for some in embedded.chunks(SOME) {
            pace.step(some.len() * here.len())?;
            let near = some.iter().filter(|(of, _, _)| *of == component);
            best = near
                .map(|(_, score, there)| score / (1.0 + distance(there, here)))
                .fold(best, f64::max);
        }
        match seeds_by_place.binary_search_by_key(&place, |(seed, _)| *seed) {
            Ok(_) => {
                // Seeds stand in another order here.
                pace.step(seeds.len())?;
                if let Some((_, score)) = found.iter_mut().find(|(seed, _)| *seed == place) {
                    *score = score.max(best);
                }
            }
            Err(_) => found.push((place, best)),
        }
    }
    finish(nodes, seeds, found, shape, None)
}
