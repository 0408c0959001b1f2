//! Further along the line that the seeds lie on (spec/pipeline.md, "manifold").

use super::nodes::Nodes;
use super::ranking::{Output, SlotScore, by_slot, finish};
use super::spectrum::{Coordinates, distance};
use hedgerow_engine::error::Result;
use hedgerow_engine::interrupt::{self, CancelTicker};

/// A direction along the axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direction {
    /// Either.
    #[default]
    Both,
    /// From the first seed to the last.
    Forward,
    /// From the last seed to the first.
    Backward,
}

/// The axis is found when it moves less than this.
const SETTLED: f64 = 1e-13;
/// The most steps of the iteration. The axis reached by then is used.
const MAX_STEPS: usize = 1000;

/// Rank the nodes along the axis of the seeds; None if there is none, as with fewer than two seeds.
pub fn run(
    nodes: &Nodes,
    coordinates: &Coordinates,
    seeds: &[SlotScore],
    direction: Direction,
    output: &Output,
) -> Result<Option<Vec<SlotScore>>> {
    let Some(component) = heaviest(coordinates, seeds)? else {
        return Ok(None);
    };
    let Some(line) = Line::through(coordinates, component, seeds)? else {
        return Ok(None);
    };
    let mut pace = CancelTicker::default();
    let mut found = seeds.to_vec();
    let known = by_slot(seeds);
    for slot in 0..coordinates.len() as u32 {
        pace.step(1 + line.axis.len())?;
        if coordinates.component(slot) != Some(component)
            || !nodes.live[slot as usize]
            || known.binary_search_by_key(&slot, |(seed, _)| *seed).is_ok()
        {
            continue;
        }
        let (along, beside) = line.project(coordinates.of_slot(slot));
        let along = match direction {
            Direction::Both => along.abs(),
            Direction::Forward => along.max(0.0),
            Direction::Backward => (-along).max(0.0),
        };
        found.push((slot, along / (line.reach + beside)));
    }
    finish(nodes, seeds, found, output, None).map(Some)
}

/// Return the seeds alone, for the case without an axis.
pub fn seeds_alone(nodes: &Nodes, seeds: &[SlotScore], output: &Output) -> Result<Vec<SlotScore>> {
    finish(nodes, seeds, seeds.to_vec(), output, None)
}

/// The component in which the seeds weigh most; of equals, the one with the smallest slot.
fn heaviest(coordinates: &Coordinates, seeds: &[SlotScore]) -> Result<Option<u32>> {
    let mut parts: Vec<SlotScore> = by_slot(seeds)
        .into_iter()
        .filter_map(|(seed, score)| Some((coordinates.component(seed)?, score)))
        .collect();
    // The sort is stable, so that the sums run in the order of slots.
    interrupt::sort(&mut parts, |one, other| one.0.cmp(&other.0))?;
    let mut best: Option<(u32, f64)> = None;
    for part in parts.chunk_by(|one, other| one.0 == other.0) {
        let mass: f64 = part.iter().map(|(_, score)| score).sum();
        if best.is_none_or(|(_, most)| mass > most) {
            best = Some((part[0].0, mass));
        }
    }
    Ok(best.map(|(component, _)| component))
}

/// The seeds' center and principal axis.
struct Line {
    center: Vec<f64>,
    axis: Vec<f64>,
    /// The distance along the axis from the center to the furthest seed.
    reach: f64,
}

impl Line {
    fn through(
        coordinates: &Coordinates,
        component: u32,
        seeds: &[SlotScore],
    ) -> Result<Option<Self>> {
        let usable: Vec<(u32, f64)> = seeds
            .iter()
            .copied()
            .filter(|(seed, _)| coordinates.component(*seed) == Some(component))
            .collect();
        let (first, last) = match &usable[..] {
            [first, .., last] => (coordinates.of_slot(first.0), coordinates.of_slot(last.0)),
            _ => return Ok(None),
        };
        let points: Vec<(&[f64], f64)> = by_slot(&usable)
            .into_iter()
            .map(|(seed, score)| (coordinates.of_slot(seed), score))
            .collect();
        let center = center(&points)?;
        let Some(mut axis) = principal_axis(&points, &center)? else {
            return Ok(None);
        };
        let forward: f64 = (last.iter().zip(first).zip(&axis))
            .map(|((last, first), axis)| (last - first) * axis)
            .sum();
        if forward < 0.0 {
            for value in &mut axis {
                *value = -*value;
            }
        }
        let mut line = Self {
            center,
            axis,
            reach: 0.0,
        };
        let mut pace = CancelTicker::default();
        let mut reach: f64 = 0.0;
        for (point, _) in &points {
            pace.step(1 + point.len())?;
            reach = reach.max(line.project(point).0.abs());
        }
        line.reach = reach;
        Ok((reach > 0.0).then_some(line))
    }

    /// Return the position of a point along the axis, and its distance from the axis.
    fn project(&self, point: &[f64]) -> (f64, f64) {
        let offset = |slot: usize| point[slot] - self.center[slot];
        let along: f64 = (0..point.len())
            .map(|slot| offset(slot) * self.axis[slot])
            .sum();
        let beside: f64 = (0..point.len())
            .map(|slot| (offset(slot) - along * self.axis[slot]).powi(2))
            .sum();
        (along, beside.sqrt())
    }
}

fn center(points: &[(&[f64], f64)]) -> Result<Vec<f64>> {
    let mut pace = CancelTicker::default();
    let mass: f64 = points.iter().map(|(_, weight)| weight).sum();
    let width = points.first().map_or(0, |(point, _)| point.len());
    (0..width)
        .map(|slot| {
            pace.step(points.len())?;
            let weighted = points.iter().map(|(p, weight)| weight * p[slot]);
            Ok(weighted.sum::<f64>() / mass)
        })
        .collect()
}

/// The direction in which weighted points differ most, by power iteration from the two that are
/// furthest apart; None if all points are equal.
fn principal_axis(points: &[(&[f64], f64)], center: &[f64]) -> Result<Option<Vec<f64>>> {
    let Some(mut axis) = furthest_apart(points)?.and_then(unit) else {
        return Ok(None);
    };
    let mut pace = CancelTicker::default();
    for _ in 0..MAX_STEPS {
        let mut next = vec![0.0; axis.len()];
        for (point, weight) in points {
            pace.step(1 + point.len())?;
            let along: f64 = (point.iter().zip(center).zip(&axis))
                .map(|((point, center), axis)| (point - center) * axis)
                .sum();
            for ((next, point), center) in next.iter_mut().zip(*point).zip(center) {
                *next += weight * along * (point - center);
            }
        }
        let Some(next) = unit(next) else {
            return Ok(Some(axis));
        };
        let moved = distance(&next, &axis);
        axis = next;
        if moved < SETTLED {
            break;
        }
    }
    Ok(Some(axis))
}

fn furthest_apart(points: &[(&[f64], f64)]) -> Result<Option<Vec<f64>>> {
    let mut pace = CancelTicker::default();
    let mut best: Option<(f64, &[f64], &[f64])> = None;
    for (slot, (one, _)) in points.iter().enumerate() {
        for (other, _) in &points[slot + 1..] {
            pace.step(1 + one.len())?;
            let apart = distance(one, other);
            if best.is_none_or(|(known, _, _)| apart > known) {
                best = Some((apart, one, other));
            }
        }
    }
    Ok(best.map(|(_, one, other)| {
        let differences = other.iter().zip(one);
        differences.map(|(other, one)| other - one).collect()
    }))
}

fn unit(mut vector: Vec<f64>) -> Option<Vec<f64>> {
    let length = vector.iter().map(|value| value * value).sum::<f64>().sqrt();
    if length <= 0.0 {
        return None;
    }
    for value in &mut vector {
        *value /= length;
    }
    Some(vector)
}
