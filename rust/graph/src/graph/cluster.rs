//! Clustering coefficients and connected components.

use super::adjacency::Adjacency;
use super::column::Column;
use hedgerow_engine::error::Result;
use hedgerow_engine::interrupt::CancelTicker;

/// The clustering coefficient of each slot.
#[derive(Debug, Clone, Default)]
pub(crate) struct Clustering {
    /// The number of triangles at each slot.
    triangles: Column<u64>,
    /// The share of its pairs of neighbors that are joined: `2e / (d (d - 1))`, and 0 below two
    /// neighbors.
    pub coefficients: Column<f64>,
}

impl Clustering {
    pub fn of(edges: &Adjacency) -> Result<Self> {
        let triangles = triangles(edges)?;
        let coefficients = (0..).zip(&triangles);
        let coefficients = coefficients
            .map(|(slot, triangles)| coefficient(*triangles, edges.degree(slot)))
            .collect::<Vec<_>>();
        Ok(Self {
            triangles: triangles.into(),
            coefficients: coefficients.into(),
        })
    }

    /// Grow to `count` slots.
    pub fn grow(&mut self, count: usize) {
        self.triangles.grow(count, 0);
        self.coefficients.grow(count, 0.0);
    }

    /// Two slots with these neighbors in common were joined, or were separated.
    pub fn update(&mut self, edges: &Adjacency, ends: [u32; 2], shared: &[u32], joined: bool) {
        let at_ends = ends.iter().map(|end| (*end, shared.len() as u64));
        for (corner, count) in at_ends.chain(shared.iter().map(|corner| (*corner, 1))) {
            let known = self.triangles[corner as usize];
            let triangles = if joined { known + count } else { known - count };
            self.triangles.set(corner as usize, triangles);
            let coefficient = coefficient(triangles, edges.degree(corner));
            self.coefficients.set(corner as usize, coefficient);
        }
    }
}

fn coefficient(triangles: u64, degree: usize) -> f64 {
    if degree < 2 {
        return 0.0;
    }
    let degree = degree as f64;
    2.0 * triangles as f64 / (degree * (degree - 1.0))
}

/// Return the number of triangles at each slot.
///
/// Every triangle is found once, from its corner with the fewest neighbors. A node joined to all
/// others therefore takes no more than its share of the time.
fn triangles(edges: &Adjacency) -> Result<Vec<u64>> {
    let count = edges.len() as u32;
    let mut pace = CancelTicker::default();
    let rank = |slot: u32| (edges.degree(slot), slot);
    let later = (0..count).map(|slot| {
        pace.step(1 + edges.degree(slot))?;
        let neighbors = edges.neighbors(slot).iter().copied();
        let later = neighbors.filter(|other| rank(*other) > rank(slot));
        Ok(later.collect())
    });
    let later: Vec<Vec<u32>> = later.collect::<Result<_>>()?;
    let mut triangles = vec![0_u64; count as usize];
    // The slot whose later neighbors are marked, at each of them.
    let mut marks = vec![u32::MAX; count as usize];
    for slot in 0..count {
        for other in &later[slot as usize] {
            marks[*other as usize] = slot;
        }
        for other in &later[slot as usize] {
            pace.step(1 + later[*other as usize].len())?;
            for third in &later[*other as usize] {
                if marks[*third as usize] == slot {
                    for corner in [slot, *other, *third] {
                        triangles[corner as usize] += 1;
                    }
                }
            }
        }
    }
    Ok(triangles)
}

/// For each slot the smallest slot it is connected to.
pub(crate) fn components(edges: &Adjacency) -> Result<Vec<u32>> {
    let count = edges.len() as u32;
    let mut components = vec![u32::MAX; count as usize];
    let mut queue = Vec::new();
    let mut pace = CancelTicker::default();
    for first in 0..count {
        if components[first as usize] != u32::MAX {
            continue;
        }
        components[first as usize] = first;
        queue.push(first);
        while let Some(slot) = queue.pop() {
            pace.step(1 + edges.degree(slot))?;
            for other in edges.neighbors(slot) {
                if components[*other as usize] == u32::MAX {
                    components[*other as usize] = first;
                    queue.push(*other);
                }
            }
        }
    }
    Ok(components)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::edges::Edges;

    #[test]
    fn coefficients_agree_with_counting_pairs() {
        // A wheel, a tail and an isolated node.
        let list: Vec<(u32, u32, f64)> = (1..8)
            .map(|n| (0, n, 1.0))
            .chain((1..8).map(|n| (n, n % 7 + 1, 1.0)))
            .chain([(7, 8, 1.0)])
            .collect();
        let edges = Edges::new(10, &list);
        let counted = Clustering::of(&edges).unwrap().coefficients;
        for slot in 0..10 {
            let around = edges.neighbors(slot);
            let pairs = around.iter().enumerate().flat_map(|(n, one)| {
                let rest = &around[n + 1..];
                rest.iter().map(move |other| (*one, *other))
            });
            let (mut joined, mut all) = (0.0, 0.0);
            for (one, other) in pairs {
                all += 1.0;
                if edges.strength(one, other).is_some() {
                    joined += 1.0;
                }
            }
            let expected = if all > 0.0 { joined / all } else { 0.0 };
            assert!((counted[slot as usize] - expected).abs() < 1e-15, "{slot}");
        }
    }
}
