//! Coordinates of nodes, whose distances say how well the nodes are connected
//! (spec/pipeline.md, "Coordinates").
//!
//! For each connected component, of the normalised Laplacian `L = I - D^-1/2 W D^-1/2` with
//! eigenvectors `u` and eigenvalues `λ`, ascending and without the zero: node `i` is at
//! `d_i^-1/2 · u_k(i) / √λ_k` for each `k`. With all of them the square of a distance is the
//! effective resistance between two nodes.

use nalgebra::{DMatrix, SymmetricEigen};

use super::edges::Edges;
use hedgerow_engine::error::Result;
use hedgerow_engine::interrupt::{self, CancelTicker};

/// Up to this number of nodes in a component, all its eigenvectors are computed.
const DENSE: usize = 600;
/// Eigenvalues this close are equal, and are not separated.
const EQUAL: f64 = 1e-8;
/// The most extra eigenvectors kept so that equal eigenvalues stay together.
const EXTRA: usize = 8;
/// The residual of the eigenvectors of large components: the length of `M x - μ x`.
const TOLERANCE: f64 = 1e-6;
/// Extra vectors in the iteration, so that the last ones converge sooner.
const GUARDS: usize = 8;
/// After this many rounds they are taken as they are.
const MAX_ROUNDS: usize = 100;
/// The highest degree of a filter, and how much it may raise one vector above another, as an
/// exponent of e: with much more the lower ones would be lost in rounding.
const MAX_DEGREE: f64 = 80.0;
const MAX_GROWTH: f64 = 20.0;

/// The coordinates of each slot that has an edge.
#[derive(Debug, Default)]
pub struct Coordinates {
    components: Vec<u32>,
    /// Where the coordinates of each slot begin; the last entry is where those of the last slot
    /// end.
    starts: Vec<usize>,
    values: Vec<f64>,
}

impl Coordinates {
    pub(crate) fn of(edges: &Edges, dimensions: usize) -> Result<Self> {
        let components = edges.components()?.to_vec();
        let mut members: Vec<u32> = (0..edges.len() as u32).collect();
        interrupt::sort(&mut members, |one, other| {
            components[*one as usize].cmp(&components[*other as usize])
        })?;
        let mut rows: Vec<Vec<f64>> = vec![Vec::new(); edges.len()];
        let component = |slot: &u32| components[*slot as usize];
        for members in members.chunk_by(|left, right| component(left) == component(right)) {
            if members.len() > 1 {
                let graph = Component::of(edges, members)?;
                for (slot, row) in members.iter().zip(graph.embed(dimensions)?) {
                    rows[*slot as usize] = row;
                }
            }
        }
        let mut starts = vec![0];
        let mut values = Vec::new();
        for row in rows {
            values.extend(row);
            starts.push(values.len());
        }
        Ok(Self {
            components,
            starts,
            values,
        })
    }

    /// Return the number of slots.
    pub fn len(&self) -> usize {
        self.components.len()
    }

    /// Whether there are zero slots.
    pub fn is_empty(&self) -> bool {
        self.components.is_empty()
    }

    /// The component of a slot; None for a node without edges, which has no coordinates.
    pub fn component(&self, slot: u32) -> Option<u32> {
        let component = self.components.get(slot as usize).copied();
        component.filter(|_| !self.of_slot(slot).is_empty())
    }

    /// The coordinates of a slot.
    pub fn of_slot(&self, slot: u32) -> &[f64] {
        let slot = slot as usize;
        match (self.starts.get(slot), self.starts.get(slot + 1)) {
            (Some(start), Some(end)) => &self.values[*start..*end],
            _ => &[],
        }
    }
}

/// The distance between two points.
pub(super) fn distance(one: &[f64], other: &[f64]) -> f64 {
    let squares = one
        .iter()
        .zip(other)
        .map(|(one, other)| (one - other).powi(2));
    squares.sum::<f64>().sqrt()
}

/// The cosine between a step from one node to another and the direction of a third; 0 for a step
/// of length 0.
pub(super) fn cosine_of_step(coordinates: &Coordinates, from: u32, step: u32, to: u32) -> f64 {
    let [from, step, to] = [from, step, to].map(|slot| coordinates.of_slot(slot));
    let (mut product, mut step_square, mut way_square) = (0.0, 0.0, 0.0);
    for ((from, step), to) in from.iter().zip(step).zip(to) {
        let (step, way) = (step - from, to - from);
        product += step * way;
        step_square += step * step;
        way_square += way * way;
    }
    let lengths = f64::sqrt(step_square) * f64::sqrt(way_square);
    if lengths > 0.0 {
        product / lengths
    } else {
        0.0
    }
}

/// A connected component. Its nodes are numbered from 0.
#[derive(Debug)]
struct Component {
    starts: Vec<usize>,
    targets: Vec<u32>,
    /// `w_ij / √(d_i d_j)`.
    weights: Vec<f64>,
    /// `√d_i`.
    roots: Vec<f64>,
}

/// Eigenvalues of the Laplacian, ascending, and an eigenvector for each.
type Spectrum = Vec<(f64, Vec<f64>)>;

impl Component {
    fn of(edges: &Edges, members: &[u32]) -> Result<Self> {
        let mut pace = CancelTicker::default();
        let strength = |slot: &u32| {
            edges
                .joined(*slot)
                .map(|(_, strength)| strength)
                .sum::<f64>()
        };
        let roots: Vec<f64> = members.iter().map(|slot| strength(slot).sqrt()).collect();
        let (mut starts, mut targets, mut weights) = (vec![0], Vec::new(), Vec::new());
        for (here, slot) in members.iter().enumerate() {
            pace.step(1 + edges.degree(*slot))?;
            for (other, strength) in edges.joined(*slot) {
                // Members are ascending, and neighbors are members.
                let there = members.binary_search(&other).unwrap_or_default();
                targets.push(there as u32);
                weights.push(strength / (roots[here] * roots[there]));
            }
            starts.push(targets.len());
        }
        Ok(Self {
            starts,
            targets,
            weights,
            roots,
        })
    }

    fn len(&self) -> usize {
        self.roots.len()
    }

    /// The coordinates of each node.
    fn embed(&self, dimensions: usize) -> Result<Vec<Vec<f64>>> {
        interrupt::check()?;
        let spectrum = if self.len() <= DENSE {
            self.dense_spectrum()
        } else {
            self.partial_spectrum(dimensions + EXTRA + 1)?
        };
        let kept = kept(&spectrum, dimensions);
        let mut pace = CancelTicker::default();
        let rows = (0..self.len()).map(|slot| {
            pace.step(kept)?;
            let spectrum = spectrum[..kept].iter();
            let value = |(value, vector): &(f64, Vec<f64>)| {
                vector[slot] / (self.roots[slot] * value.sqrt())
            };
            Ok(spectrum.map(value).collect())
        });
        rows.collect()
    }

    /// The whole spectrum without the zero.
    fn dense_spectrum(&self) -> Spectrum {
        let mut laplacian = DMatrix::identity(self.len(), self.len());
        for slot in 0..self.len() {
            for edge in self.starts[slot]..self.starts[slot + 1] {
                laplacian[(slot, self.targets[edge] as usize)] -= self.weights[edge];
            }
        }
        let Some((values, vectors)) = eigen(laplacian) else {
            return Vec::new();
        };
        let spectrum = values.iter().zip(vectors.column_iter()).skip(1);
        spectrum
            .filter(|(value, _)| **value > 0.0)
            .map(|(value, vector)| (*value, vector.iter().copied().collect()))
            .collect()
    }

    /// The smallest `wanted`, without the zero.
    ///
    /// They belong to the largest eigenvalues of `M = D^-1/2 W D^-1/2`, which are from -1 to 1. A
    /// block of vectors is turned towards them by Chebyshev polynomials of `M`, which stay small
    /// below the smallest eigenvalue of the block and rise steeply above it.
    fn partial_spectrum(&self, wanted: usize) -> Result<Spectrum> {
        let width = wanted + 1 + GUARDS;
        let mut block = DMatrix::from_fn(self.len(), width, |row, column| {
            jitter((row * width + column) as u64)
        });
        let mut values = Vec::new();
        for _ in 0..MAX_ROUNDS {
            let Some((ritz, residual)) = self.settle(&mut block, wanted + 1)? else {
                return Ok(Vec::new());
            };
            values = ritz;
            if residual <= TOLERANCE {
                break;
            }
            block = self.filtered(&block, &values)?;
        }
        // The first is the zero.
        let spectrum = (1..=wanted)
            .map(|k| (1.0 - values[k], block.column(k).iter().copied().collect()))
            .filter(|(value, _)| *value > 0.0)
            .collect();
        Ok(spectrum)
    }

    /// Turn a block into approximate eigenvectors, best first (Rayleigh and Ritz). Returns their
    /// eigenvalues, and the largest residual of the first `wanted`.
    fn settle(&self, block: &mut DMatrix<f64>, wanted: usize) -> Result<Option<(Vec<f64>, f64)>> {
        let base = std::mem::take(block).qr().q();
        let product = self.multiply(&base)?;
        // The best are the largest, which are the smallest of the negative.
        let Some((opposites, turn)) = eigen(-base.tr_mul(&product)) else {
            return Ok(None);
        };
        let values: Vec<f64> = opposites.iter().map(|value| -value).collect();
        *block = base * &turn;
        let product = product * turn;
        let residual = |column: usize| {
            let parts = product.column(column);
            let parts = parts.iter().zip(block.column(column));
            let squares = parts.map(|(product, x)| (product - values[column] * x).powi(2));
            squares.sum::<f64>().sqrt()
        };
        let worst = (0..wanted).map(residual).fold(0.0, f64::max);
        Ok(Some((values, worst)))
    }

    /// The block after a filter that raises it above its smallest eigenvalue.
    fn filtered(&self, block: &DMatrix<f64>, values: &[f64]) -> Result<DMatrix<f64>> {
        let least = values
            .last()
            .copied()
            .unwrap_or_default()
            .clamp(-0.9, 1.0 - 1e-9);
        let (middle, half) = ((least - 1.0) / 2.0, f64::midpoint(least, 1.0));
        let steepest = ((1.0 - middle) / half).acosh();
        let degree = (MAX_GROWTH / steepest).clamp(2.0, MAX_DEGREE) as usize;
        let shifted = |x: &DMatrix<f64>, scale: f64| {
            let mut pace = CancelTicker::default();
            let mut product = self.multiply(x)?;
            for column in 0..x.ncols() {
                pace.step(x.nrows())?;
                for row in 0..x.nrows() {
                    let value = product[(row, column)] - middle * x[(row, column)];
                    product[(row, column)] = scale * value / half;
                }
            }
            Ok(product)
        };
        let mut before = block.clone();
        let mut now = shifted(block, 1.0)?;
        for _ in 1..degree {
            let next = shifted(&now, 2.0)? - &before;
            before = std::mem::replace(&mut now, next);
        }
        Ok(now)
    }

    /// `M x` for each column.
    fn multiply(&self, x: &DMatrix<f64>) -> Result<DMatrix<f64>> {
        let mut pace = CancelTicker::default();
        let mut product = DMatrix::zeros(x.nrows(), x.ncols());
        for column in 0..x.ncols() {
            let from = x.column(column);
            for slot in 0..from.len() {
                let row = self.starts[slot]..self.starts[slot + 1];
                pace.step(1 + row.len())?;
                let joined = self.targets[row.clone()].iter().zip(&self.weights[row]);
                product[(slot, column)] = joined
                    .map(|(target, weight)| weight * from[*target as usize])
                    .sum();
            }
        }
        Ok(product)
    }
}

/// The eigenvalues of a symmetric matrix, ascending, and an eigenvector in each column.
fn eigen(matrix: DMatrix<f64>) -> Option<(Vec<f64>, DMatrix<f64>)> {
    let eigen = SymmetricEigen::try_new(matrix, f64::EPSILON, 0)?;
    let mut order: Vec<usize> = (0..eigen.eigenvalues.len()).collect();
    order.sort_by(|one, other| eigen.eigenvalues[*one].total_cmp(&eigen.eigenvalues[*other]));
    let values = order.iter().map(|slot| eigen.eigenvalues[*slot]);
    Some((values.collect(), eigen.eigenvectors.select_columns(&order)))
}

/// A number from -1 to 1 without a pattern, always the same for the same slot.
fn jitter(slot: u64) -> f64 {
    let mut bits = slot.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

/// Return the number of eigenvectors to keep: equal eigenvalues stay together.
fn kept(spectrum: &Spectrum, dimensions: usize) -> usize {
    let mut kept = dimensions.min(spectrum.len());
    while kept > 0
        && kept < spectrum.len().min(dimensions + EXTRA)
        && spectrum[kept].0 - spectrum[kept - 1].0 <= EQUAL
    {
        kept += 1;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring of rings, so that eigenvalues come in clusters.
    fn rings(count: u32, size: u32) -> Edges {
        let mut list = Vec::new();
        for ring in 0..count {
            for slot in 0..size {
                let next = (slot + 1) % size;
                let strength = 0.5 + f64::from((ring * 7 + slot) % 11) / 22.0;
                list.push((ring * size + slot, ring * size + next, strength));
            }
            list.push((ring * size, (ring + 1) % count * size, 0.3));
        }
        Edges::new((count * size) as usize, &list)
    }

    #[test]
    fn a_large_component_has_the_distances_of_a_dense_one() {
        let edges = rings(70, 9);
        assert!(edges.len() > DENSE);
        let slots: Vec<u32> = (0..edges.len() as u32).collect();
        let component = Component::of(&edges, &slots).unwrap();
        let dense = component.dense_spectrum();
        let partial = component.partial_spectrum(29).unwrap();
        assert_eq!(partial.len(), 29);
        for (dense, partial) in dense.iter().zip(&partial) {
            let (dense, partial) = (dense.0, partial.0);
            assert!((dense - partial).abs() < 1e-9, "{dense} {partial}");
        }
        let point = |spectrum: &Spectrum, slot: usize| -> Vec<f64> {
            let kept = kept(spectrum, 20);
            spectrum[..kept]
                .iter()
                .map(|(value, vector)| vector[slot] / value.sqrt())
                .collect()
        };
        for slot in [1, 40, 300, 629] {
            let distances = [&dense, &partial]
                .map(|spectrum| distance(&point(spectrum, 0), &point(spectrum, slot)));
            assert!((distances[0] - distances[1]).abs() < 1e-5, "{distances:?}");
        }
    }

    #[test]
    fn distances_of_all_dimensions_are_effective_resistances() {
        // A path: resistances add up.
        let edges = Edges::new(4, &[(0, 1, 1.0), (1, 2, 0.5), (2, 3, 0.25)]);
        let coordinates = Coordinates::of(&edges, 20).unwrap();
        let resistance =
            |one, other| distance(coordinates.of_slot(one), coordinates.of_slot(other)).powi(2);
        assert!((resistance(0, 1) - 1.0).abs() < 1e-9);
        assert!((resistance(0, 3) - 7.0).abs() < 1e-9);
        assert!((resistance(1, 3) - 6.0).abs() < 1e-9);
    }
}
