//! Communities by label propagation, and how much each keeps to itself.

use super::edges::Edges;
use hedgerow_engine::error::Result;
use hedgerow_engine::interrupt::CancelTicker;

/// After this many sweeps the labels are taken as they are.
const MAX_SWEEPS: usize = 100;
/// Votes this close are equal.
const EQUAL: f64 = 1e-9;

/// The community of each slot.
#[derive(Debug, Default, PartialEq)]
pub struct Communities {
    /// The smallest slot of each slot's community.
    labels: Vec<u32>,
    /// At the smallest slot of each community, its isolation.
    isolations: Vec<f64>,
}

impl Communities {
    pub(crate) fn of(edges: &Edges) -> Result<Self> {
        let labels = smallest_members(propagate(edges)?);
        let isolations = isolations(edges, &labels)?;
        Ok(Self { labels, isolations })
    }

    /// The smallest slot of a slot's community. A node that was added since is one by itself.
    pub fn label(&self, slot: u32) -> u32 {
        self.labels.get(slot as usize).copied().unwrap_or(slot)
    }

    /// The isolation of a slot's community: the share of the strength of its edges that is inside
    /// it; 1 without edges.
    pub fn isolation(&self, slot: u32) -> f64 {
        let community = self.label(slot) as usize;
        self.isolations.get(community).copied().unwrap_or(1.0)
    }
}

/// Give each slot the label with the strongest votes of its neighbors: its own label if it is among
/// the best, else the smallest of the best. Later slots see the new labels of earlier slots in the
/// same pass.
///
/// A slot is visited again only if the label of a neighbor changed: otherwise it would keep its
/// own.
fn propagate(edges: &Edges) -> Result<Vec<u32>> {
    let count = edges.len();
    let mut labels: Vec<u32> = (0..count as u32).collect();
    let mut votes = vec![0.0_f64; count];
    let mut named = Vec::new();
    let mut open = vec![true; count];
    let mut pace = CancelTicker::default();
    for _ in 0..MAX_SWEEPS {
        let mut changed = false;
        for slot in 0..count as u32 {
            if !std::mem::replace(&mut open[slot as usize], false) {
                continue;
            }
            pace.step(1 + edges.degree(slot))?;
            for (other, strength) in edges.joined(slot) {
                let label = labels[other as usize];
                if votes[label as usize] == 0.0 {
                    named.push(label);
                }
                votes[label as usize] += strength;
            }
            let label = elect(labels[slot as usize], &named, &votes);
            for label in named.drain(..) {
                votes[label as usize] = 0.0;
            }
            if label != labels[slot as usize] {
                labels[slot as usize] = label;
                changed = true;
                for other in edges.neighbors(slot) {
                    open[*other as usize] = true;
                }
            }
        }
        if !changed {
            break;
        }
    }
    Ok(labels)
}

fn elect(own: u32, named: &[u32], votes: &[f64]) -> u32 {
    let vote = |label: u32| votes[label as usize];
    let best = named.iter().map(|label| vote(*label)).fold(0.0, f64::max);
    if vote(own) >= best - EQUAL {
        return own;
    }
    let best = named.iter().filter(|label| vote(**label) >= best - EQUAL);
    best.min().copied().unwrap_or(own)
}

/// Rename each group after its smallest member.
fn smallest_members(labels: Vec<u32>) -> Vec<u32> {
    let mut smallest = vec![u32::MAX; labels.len()];
    for (slot, label) in (0..).zip(&labels) {
        let known = &mut smallest[*label as usize];
        *known = slot.min(*known);
    }
    labels
        .into_iter()
        .map(|label| smallest[label as usize])
        .collect()
}

fn isolations(edges: &Edges, labels: &[u32]) -> Result<Vec<f64>> {
    let mut pace = CancelTicker::default();
    let mut sums = vec![(0.0, 0.0); labels.len()];
    for (slot, label) in (0..).zip(labels) {
        pace.step(1 + edges.degree(slot))?;
        let (inside, all) = &mut sums[*label as usize];
        for (other, strength) in edges.joined(slot) {
            *all += strength;
            if labels[other as usize] == *label {
                *inside += strength;
            }
        }
    }
    let share = |(inside, all)| if all > 0.0 { inside / all } else { 1.0 };
    Ok(sums.into_iter().map(share).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_triangles_on_a_bridge_are_two_communities() {
        let edges = Edges::new(
            8,
            &[
                (0, 1, 1.0),
                (1, 2, 0.8),
                (0, 2, 0.6),
                (2, 3, 0.5),
                (3, 4, 0.4),
                (4, 5, 0.9),
                (5, 6, 1.0),
                (4, 6, 0.7),
            ],
        );
        let communities = Communities::of(&edges).unwrap();
        assert_eq!(communities.labels, [0, 0, 0, 0, 4, 4, 4, 7]);
        assert!((communities.isolation(3) - 5.8 / 6.2).abs() < 1e-12);
        assert!((communities.isolation(6) - 5.2 / 5.6).abs() < 1e-12);
        assert!(
            [7, 99]
                .iter()
                .all(|slot| communities.isolation(*slot) >= 1.0)
        );
        assert_eq!(communities.label(99), 99);
    }
}
