//! Running the algorithms of the graph.

use super::ast::Algorithm;
use super::run::PipelineRun;
use super::set::Set;
use crate::graph::ranking::{ResultLimit, normalised};
use crate::graph::{manifold, spectral};
use hedgerow_engine::error::Result;

impl PipelineRun<'_> {
    /// Explore the graph from a set. `wanted` is the limit that follows, if one does.
    pub fn explore(
        &mut self,
        set: &mut Set,
        algorithm: &Algorithm,
        wanted: ResultLimit,
    ) -> Result<()> {
        let snapshot = self.snapshot;
        let (nodes, edges) = (&snapshot.nodes, &snapshot.edges);
        let seeds = normalised(set.list(nodes));
        if seeds.is_empty() {
            *set = Set::listed(Vec::new());
            return Ok(());
        }
        let found = match algorithm {
            Algorithm::SpreadingActivation(spread) => spread.run(nodes, edges, &seeds, wanted)?,
            Algorithm::Confluence(confluence) => confluence.run(nodes, edges, &seeds, wanted)?,
            Algorithm::Spectral { dimensions, output } => {
                let coordinates = self.coordinates(*dimensions)?;
                spectral::run(nodes, &coordinates, &seeds, output)?
            }
            Algorithm::Geodesic {
                dimensions,
                geodesic,
            } => {
                let coordinates = self.coordinates(*dimensions)?;
                geodesic.run(nodes, edges, &coordinates, &seeds, wanted)?
            }
            Algorithm::Manifold {
                dimensions,
                direction,
                output,
            } => {
                let coordinates = self.coordinates(*dimensions)?;
                let found = manifold::run(nodes, &coordinates, &seeds, *direction, output)?;
                if let Some(found) = found {
                    found
                } else {
                    let what = "manifold: a line takes two seeds that are connected; the result is the seeds";
                    self.warn(what.to_owned());
                    manifold::seeds_alone(nodes, &seeds, output)?
                }
            }
        };
        let pairs = std::mem::take(&mut set.pairs);
        *set = Set::listed(found);
        set.pairs = pairs;
        set.drop_pairs();
        Ok(())
    }
}
