//! Running a pipeline over one state of a store, stage by stage.

use std::sync::Arc;
use std::time::Instant;

use super::ast::{Pipeline, Stage, Transform};
use super::outcome::{Options, Outcome, Ranked, Report};
use super::set::Set;
use crate::graph::community::Communities;
use crate::graph::ranking::Wanted;
use crate::graph::spectrum::Coordinates;
use crate::graph::{Snapshot, Store};
use hedgerow_engine::error::Result;
use hedgerow_engine::interrupt::{self, Pace};

/// A pipeline on its way.
pub(super) struct Run<'s> {
    pub store: &'s Store,
    pub snapshot: &'s Snapshot,
    pub now: i64,
    pub legs: Option<&'s [Ranked]>,
    outcome: Outcome,
}

/// Run a pipeline. What the data lacks is in the warnings; an error is one of the file's.
pub fn run(store: &Store, pipeline: &Pipeline, options: &Options) -> Result<Outcome> {
    let snapshot = store.snapshot(&pipeline.needs())?;
    let mut run = Run {
        store,
        snapshot: &snapshot,
        now: options.now,
        legs: options.legs.as_deref(),
        outcome: Outcome::default(),
    };
    let mut set = Set::listed(Vec::new());
    let mut rows_in = 0;
    for (number, stage) in pipeline.stages.iter().enumerate() {
        interrupt::check()?;
        let start = Instant::now();
        let wanted = match pipeline.stages.get(number + 1) {
            // Who wants to know what each stage did has it do all of it.
            // So does who leaves out some of it.
            Some(Stage::Transform(Transform::Limit(limit)))
                if !options.explain && options.without.is_empty() =>
            {
                Some(*limit)
            }
            _ => None,
        };
        let candidates = run.step(&mut set, stage, rows_in, wanted)?;
        if !options.without.is_empty() && stage.brings_nodes() {
            set.retain(|place, _| {
                let id = snapshot.nodes.ids[place as usize];
                options.without.binary_search(&id).is_err()
            })?;
        }
        if options.explain {
            run.outcome.stages.push(Report {
                name: stage.to_string(),
                rows_in,
                rows_out: set.len(),
                candidates,
                time: start.elapsed(),
            });
        }
        rows_in = set.len();
    }
    run.finish(set)
}

impl Stage {
    /// Whether nodes may come that were not in the set.
    fn brings_nodes(&self) -> bool {
        matches!(self, Self::Generator(_) | Self::Algorithm(_))
    }
}

impl Run<'_> {
    /// Run a stage; the answer is how many nodes it looked at. Where a limit follows at once,
    /// `wanted` is that limit.
    fn step(
        &mut self,
        set: &mut Set,
        stage: &Stage,
        rows_in: usize,
        wanted: Wanted,
    ) -> Result<usize> {
        let nodes = &self.snapshot.nodes;
        let mut candidates = rows_in;
        match stage {
            Stage::Generator(generator) => (*set, candidates) = self.generate(generator)?,
            Stage::Filter { negated, filter } => self.filter(set, filter, *negated)?,
            Stage::Algorithm(algorithm) => self.explore(set, algorithm, wanted)?,
            Stage::Transform(transform) => match transform {
                Transform::Sort(sort) => self.sort(set, sort, wanted)?,
                Transform::Limit(limit) => set.truncate(nodes, *limit),
                Transform::Rank(search) => {
                    let (found, seen) = self.searched(search, Some(set.list(nodes)))?;
                    let pairs = std::mem::take(&mut set.pairs);
                    *set = Set::listed(found);
                    set.pairs = pairs;
                    set.drop_pairs();
                    candidates = seen;
                }
                Transform::Count => self.outcome.count = Some(set.len()),
                Transform::Select(columns) => {
                    self.outcome.rows = Some(self.select(set, columns)?);
                    let names = columns.iter().map(|column| column.as_str().to_owned());
                    self.outcome.columns = Some(names.collect());
                }
            },
        }
        Ok(candidates)
    }

    fn finish(mut self, mut set: Set) -> Result<Outcome> {
        let nodes = &self.snapshot.nodes;
        let key = |place: u32| nodes.key(place).to_owned();
        if self.outcome.count.is_none() {
            let list = set.list(nodes);
            let mut pace = Pace::default();
            self.outcome.keys.reserve_exact(list.len());
            for (place, _) in &*list {
                pace.step(1)?;
                self.outcome.keys.push(key(*place));
            }
            self.outcome.scores = list.iter().map(|(_, score)| *score).collect();
        }
        let pairs = set.pairs.iter();
        self.outcome.pairs = pairs
            .map(|(left, right, similarity)| (key(*left), key(*right), *similarity))
            .collect();
        Ok(self.outcome)
    }

    /// Say what was missing.
    pub fn warn(&mut self, what: String) {
        self.outcome.warnings.push(what);
    }

    pub fn communities(&mut self) -> Result<Arc<Communities>> {
        let (communities, stale) = self.snapshot.communities()?;
        self.outcome.stale |= stale;
        Ok(communities)
    }

    pub fn coordinates(&mut self, dimensions: usize) -> Result<Arc<Coordinates>> {
        let (coordinates, stale) = self.snapshot.coordinates(dimensions)?;
        self.outcome.stale |= stale;
        Ok(coordinates)
    }
}
