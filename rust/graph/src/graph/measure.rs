//! Measures of a single node: outlier, priority, recency (spec/pipeline.md, "Values").

use super::column::Column;
use super::community::Communities;
use super::nodes::Nodes;
use super::spectrum::{Coordinates, distance};
use super::visits::NEVER;
use hedgerow_engine::error::Result;
use hedgerow_engine::interrupt::{self, CancelTicker};

const DAY: f64 = 86_400.0;
/// The most a node can be overdue.
const MOST_OVERDUE: f64 = 5.0;
/// How overdue a node is that was never replayed.
const NEVER_REPLAYED: f64 = 3.0;
/// The fewest members of a community that can have outliers.
const FEWEST_MEMBERS: usize = 3;

/// The displacement of a slot: 1 less its clustering coefficient.
pub fn displacement(clustering: &Column<f64>, slot: u32) -> f64 {
    1.0 - clustering.get(slot as usize).unwrap_or(0.0)
}

/// How much a node is due to be replayed: displacement times overdue times emotion.
pub fn priority(nodes: &Nodes, slot: u32, displacement: f64, now: i64) -> f64 {
    let slot = slot as usize;
    let overdue = match nodes.replayed[slot] {
        0 => NEVER_REPLAYED,
        replayed => {
            let elapsed = since(replayed, now) as f64;
            (elapsed / (f64::from(nodes.intervals[slot]) * DAY)).min(MOST_OVERDUE)
        }
    };
    displacement * overdue * (1.0 + nodes.emotions[slot] / 10.0)
}

/// How long ago a visit was: 0 for just now, 0.5 after a week, 1 for never.
pub fn recency(visited: i64, now: i64) -> f64 {
    if visited == NEVER {
        return 1.0;
    }
    1.0 - (-(since(visited, now) as f64) / (7.0 * DAY)).exp2()
}

/// The seconds from `then` to `now`; 0 for a time in the future.
pub fn since(then: i64, now: i64) -> i64 {
    now.saturating_sub(then).max(0)
}

/// For each slot the distance to the mean of its community over the median of these distances; None
/// without coordinates.
pub fn outliers(communities: &Communities, coordinates: &Coordinates) -> Result<Vec<Option<f64>>> {
    interrupt::check()?;
    let mut outliers = vec![None; coordinates.len()];
    let mut members: Vec<(u32, u32)> = (0..coordinates.len() as u32)
        .filter(|slot| coordinates.component(*slot).is_some())
        .map(|slot| (communities.label(slot), slot))
        .collect();
    interrupt::sort(&mut members, Ord::cmp)?;
    for community in members.chunk_by(|left, right| left.0 == right.0) {
        let slots: Vec<u32> = community.iter().map(|(_, slot)| *slot).collect();
        for (slot, value) in slots.iter().zip(of_community(coordinates, &slots)?) {
            outliers[*slot as usize] = Some(value);
        }
    }
    Ok(outliers)
}

fn of_community(coordinates: &Coordinates, slots: &[u32]) -> Result<Vec<f64>> {
    if slots.len() < FEWEST_MEMBERS {
        return Ok(vec![1.0; slots.len()]);
    }
    let points: Vec<&[f64]> = slots
        .iter()
        .map(|slot| coordinates.of_slot(*slot))
        .collect();
    let width = points.iter().map(|point| point.len()).min().unwrap_or(0);
    let middle: Vec<f64> = (0..width)
        .map(|slot| {
            interrupt::check()?;
            Ok(points.iter().map(|p| p[slot]).sum::<f64>() / points.len() as f64)
        })
        .collect::<Result<_>>()?;
    let mut pace = CancelTicker::default();
    let distances = points.iter().map(|point| {
        pace.step(width)?;
        Ok(distance(point, &middle))
    });
    let distances: Vec<f64> = distances.collect::<Result<_>>()?;
    let median = median(&distances)?;
    if median <= 0.0 {
        return Ok(vec![1.0; slots.len()]);
    }
    Ok(distances.into_iter().map(|value| value / median).collect())
}

fn median(values: &[f64]) -> Result<f64> {
    let mut values = values.to_vec();
    interrupt::sort(&mut values, f64::total_cmp)?;
    let half = values.len() / 2;
    Ok(if values.len().is_multiple_of(2) {
        f64::midpoint(values[half - 1], values[half])
    } else {
        values[half]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recency_halves_its_distance_to_one_every_week() {
        let week = 7 * 86_400;
        assert_eq!(recency(0, week).to_bits(), 0.5_f64.to_bits());
        assert!((recency(0, 2 * week) - 0.75).abs() < 1e-15);
        assert!((recency(6 * 86_400, week) - 0.0943).abs() < 1e-4);
        assert_eq!(recency(NEVER, 0).to_bits(), 1.0_f64.to_bits());
        assert_eq!(recency(week, 0).to_bits(), 0.0_f64.to_bits());
    }
}
