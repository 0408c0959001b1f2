//! Running generators: where a set comes from.

use super::ast::Generator;
use super::run::PipelineRun;
use super::set::Set;
use crate::graph::interference::{self, Vectors};
use crate::graph::ranking::{SlotScore, sort};
use hedgerow_engine::error::Result;

impl PipelineRun<'_> {
    /// Return the set of a generator, and its number of candidates.
    pub fn generate(&mut self, generator: &Generator) -> Result<(Set, usize)> {
        let snapshot = self.snapshot;
        let nodes = &snapshot.nodes;
        let all = nodes.order.len();
        Ok(match generator {
            Generator::All => (Set::all(nodes), all),
            Generator::Match(terms) => (Set::listed(self.matched(terms)?), all),
            Generator::Search(search) => {
                let (found, candidates) = self.searched(search, None)?;
                (Set::listed(found), candidates)
            }
            Generator::Seed(seeds) => (Set::listed(self.seeds(seeds)), seeds.len()),
            Generator::Neighbors(key, min_strength) => {
                let mut found = self.neighbors(key)?;
                let candidates = found.len();
                found.retain(|(_, strength)| strength >= min_strength);
                (Set::listed(found), candidates)
            }
            Generator::Interference {
                min_similarity,
                max_pairs,
            } => self.interfering(*min_similarity, *max_pairs)?,
        })
    }

    fn seeds(&mut self, seeds: &[(String, f64)]) -> Vec<SlotScore> {
        let mut list: Vec<SlotScore> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for (key, score) in seeds {
            match self.find(key) {
                Some(slot) if seen.insert(slot) => list.push((slot, *score)),
                Some(_) => {}
                None => self.warn(format!("seed: there is no node {key:?}")),
            }
        }
        list
    }

    fn neighbors(&mut self, key: &str) -> Result<Vec<SlotScore>> {
        let snapshot = self.snapshot;
        let Some(slot) = self.find(key) else {
            self.warn(format!("neighbors: there is no node {key:?}"));
            return Ok(Vec::new());
        };
        let mut found: Vec<SlotScore> = snapshot.edges.joined(slot).collect();
        sort(&snapshot.nodes, &mut found)?;
        Ok(found)
    }

    fn interfering(&mut self, min_similarity: f64, max_pairs: usize) -> Result<(Set, usize)> {
        let snapshot = self.snapshot;
        let nodes = &snapshot.nodes;
        let vectors = Vectors::read(self.session()?, nodes)?;
        if vectors.is_empty() {
            self.warn("interference-pairs: no node has a vector".to_owned());
        }
        let communities = self.communities()?;
        let pairs = vectors.interfering(nodes, &communities, min_similarity, max_pairs)?;
        let mut set = Set::listed(interference::ends(nodes, &pairs)?);
        set.pairs = pairs;
        Ok((set, vectors.len()))
    }
}
