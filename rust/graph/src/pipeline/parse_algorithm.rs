//! Reading algorithms.

use super::ast::Algorithm;
use super::parse_value::params;
use super::piece::Piece;
use super::problem::Problem;
use crate::graph::confluence::Confluence;
use crate::graph::geodesic::Geodesic;
use crate::graph::manifold::Direction;
use crate::graph::ranking::Output;
use crate::graph::spread::SpreadingActivation;

const OUTPUT: [&str; 3] = ["seeds", "k", "mix"];
/// The largest values of parameters.
const MAX_HOPS: usize = 100;
const MAX_PATH: usize = 1000;
const MAX_DIMENSIONS: usize = 256;
/// The default number of dimensions of the coordinates.
pub(super) const DIMENSIONS: usize = 20;
/// The default number of results of an algorithm on coordinates, without the seeds.
const LIMIT: usize = 20;

pub(super) const DIRECTIONS: [(&str, Direction); 3] = [
    ("both", Direction::Both),
    ("fwd", Direction::Forward),
    ("rev", Direction::Backward),
];

pub(super) fn algorithm(name: &str, items: &[Piece<'_>]) -> Result<Algorithm, Problem> {
    let mut algorithm = default(name);
    let own: &[&str] = match algorithm {
        Algorithm::SpreadingActivation(_) => &["max_hops", "edge_decay", "min_activation", "norm"],
        Algorithm::Confluence(_) => &["max_hops", "edge_decay", "min_sources"],
        Algorithm::Spectral { .. } => &["dims"],
        Algorithm::Geodesic { .. } => &["dims", "max_path", "max_seeds"],
        Algorithm::Manifold { .. } => &["dims", "dir"],
    };
    let known = [own, &OUTPUT[..]].concat();
    params(items, &known, |name, value| {
        let coordinates = !matches!(
            algorithm,
            Algorithm::SpreadingActivation(_) | Algorithm::Confluence(_)
        );
        match name {
            "seeds" => {
                output(&mut algorithm).keep_seeds =
                    value.choice(&[("keep", true), ("drop", false)])?;
            }
            "mix" => output(&mut algorithm).mix = value.real(0.0..=1.0)?,
            "k" => {
                let limit = value.integer(usize::from(coordinates)..=usize::MAX)?;
                output(&mut algorithm).limit = Some(limit).filter(|limit| *limit > 0);
            }
            name => set(&mut algorithm, name, value)?,
        }
        Ok(())
    })?;
    Ok(algorithm)
}

/// An algorithm with its default parameters.
pub(super) fn default(name: &str) -> Algorithm {
    let output = |limit| Output {
        keep_seeds: true,
        limit,
        mix: 1.0,
    };
    match name {
        "spread" => Algorithm::SpreadingActivation(SpreadingActivation {
            max_hops: 3,
            edge_decay: 0.5,
            min_activation: 0.005,
            share: false,
            output: output(None),
        }),
        "confluence" => Algorithm::Confluence(Confluence {
            max_hops: 3,
            edge_decay: 0.5,
            min_sources: 2,
            output: output(None),
        }),
        "spectral" => Algorithm::Spectral {
            dimensions: DIMENSIONS,
            output: output(Some(LIMIT)),
        },
        "geodesic" => Algorithm::Geodesic {
            dimensions: DIMENSIONS,
            geodesic: Geodesic {
                max_path: 8,
                max_seeds: 8,
                output: output(Some(LIMIT)),
            },
        },
        _ => Algorithm::Manifold {
            dimensions: DIMENSIONS,
            direction: Direction::Both,
            output: output(Some(LIMIT)),
        },
    }
}

fn output(algorithm: &mut Algorithm) -> &mut Output {
    match algorithm {
        Algorithm::SpreadingActivation(SpreadingActivation { output, .. })
        | Algorithm::Confluence(Confluence { output, .. })
        | Algorithm::Spectral { output, .. }
        | Algorithm::Geodesic {
            geodesic: Geodesic { output, .. },
            ..
        }
        | Algorithm::Manifold { output, .. } => output,
    }
}

/// A parameter that not every algorithm has.
fn set(algorithm: &mut Algorithm, name: &str, value: Piece<'_>) -> Result<(), Problem> {
    match algorithm {
        Algorithm::SpreadingActivation(spread) => match name {
            "max_hops" => spread.max_hops = value.integer(1..=MAX_HOPS)?,
            "edge_decay" => spread.edge_decay = value.real(0.0..=1.0)?,
            "min_activation" => spread.min_activation = value.real(0.0..=f64::MAX)?,
            _ => spread.share = value.choice(&[("none", false), ("out", true)])?,
        },
        Algorithm::Confluence(confluence) => match name {
            "max_hops" => confluence.max_hops = value.integer(1..=MAX_HOPS)?,
            "edge_decay" => confluence.edge_decay = value.real(0.0..=1.0)?,
            _ => confluence.min_sources = value.integer(1..=usize::MAX)?,
        },
        Algorithm::Geodesic { geodesic, .. } if name == "max_path" => {
            geodesic.max_path = value.integer(1..=MAX_PATH)?;
        }
        Algorithm::Geodesic { geodesic, .. } if name == "max_seeds" => {
            geodesic.max_seeds = value.integer(2..=usize::MAX)?;
        }
        Algorithm::Manifold { direction, .. } if name == "dir" => {
            *direction = value.choice(&DIRECTIONS)?;
        }
        Algorithm::Spectral { dimensions, .. }
        | Algorithm::Geodesic { dimensions, .. }
        | Algorithm::Manifold { dimensions, .. } => {
            *dimensions = value.integer(1..=MAX_DIMENSIONS)?;
        }
    }
    Ok(())
}
