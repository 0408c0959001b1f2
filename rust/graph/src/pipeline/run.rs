//! Running a pipeline over one state of a store, stage by stage.

use std::sync::Arc;
use std::time::Instant;

use super::ast::{Pipeline, Stage, Transform};
use super::outcome::{Options, Outcome, Ranked, Report};
use super::set::Set;
use crate::graph::community::Communities;
use crate::graph::ranking::ResultLimit;
use crate::graph::spectrum::Coordinates;
use crate::graph::{Snapshot, Store};
use hedgerow_engine::error::{Error, ErrorCode, Result};
use hedgerow_engine::index::session::Session;
use hedgerow_engine::interrupt::{self, CancelTicker};

/// A pipeline that is running.
pub(super) struct PipelineRun<'s> {
    pub store: &'s Store,
    pub snapshot: &'s Snapshot,
    /// The index in the state of the snapshot; None for a pipeline that does not read it.
    session: Option<&'s Session<'s>>,
    pub now: i64,
    options: &'s Options,
    /// Whether a search needs slugs, which the session lacks.
    pub lacks_slugs: bool,
    outcome: Outcome,
}

/// Run a pipeline. Warnings name missing data; an error comes from the file.
///
/// All stages read one state. A pipeline that reads the index does so in one transaction; any other
/// takes a snapshot of the nodes and runs outside of one.
pub fn run(store: &Store, pipeline: &Pipeline, options: &Options) -> Result<Outcome> {
    let needs = pipeline.needs();
    let outcome = match pipeline.index_needs(options.legs.is_none()) {
        None => {
            let snapshot = store.snapshot(&needs)?;
            run_stages(store, &snapshot, None, pipeline, options)?
        }
        Some(mut index) => {
            let run = |index| {
                store.in_session(&needs, index, |snapshot, session| {
                    run_stages(store, snapshot, Some(session), pipeline, options)
                })
            };
            let mut outcome = run(index)?;
            if outcome.is_none() {
                // Few searches come to the fuzzy rung, so slugs are not read beforehand.
                index.slugs = true;
                outcome = run(index)?;
            }
            outcome
        }
    };
    outcome.ok_or_else(|| {
        let message = "a pipeline lacks slugs that it has read; please report this";
        Error::new(ErrorCode::EngineFault, message)
    })
}

/// Run the stages; None if one needs slugs and the session lacks them.
fn run_stages(
    store: &Store,
    snapshot: &Snapshot,
    session: Option<&Session<'_>>,
    pipeline: &Pipeline,
    options: &Options,
) -> Result<Option<Outcome>> {
    let narrowed = match &options.within {
        Some(keys) => Some(snapshot.within(keys, options.links.as_deref())?),
        None => None,
    };
    let snapshot = narrowed.as_ref().unwrap_or(snapshot);
    let mut run = PipelineRun {
        store,
        snapshot,
        session,
        now: options.now,
        options,
        lacks_slugs: false,
        outcome: Outcome::default(),
    };
    let mut set = Set::listed(Vec::new());
    let mut rows_in = 0;
    for (number, stage) in pipeline.stages.iter().enumerate() {
        interrupt::check()?;
        let start = Instant::now();
        let wanted = match pipeline.stages.get(number + 1) {
            // Explanations, and stages that exclude some results, need the whole result.
            Some(Stage::Transform(Transform::Limit(limit)))
                if !options.explain && !options.leaves_out() =>
            {
                Some(*limit)
            }
            _ => None,
        };
        let candidates = run.step(&mut set, stage, rows_in, wanted)?;
        if run.lacks_slugs {
            return Ok(None);
        }
        if options.leaves_out() && stage.brings_nodes() {
            let nodes = &snapshot.nodes;
            set.retain(|slot, _| options.passes(nodes.ids[slot as usize]))?;
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
    run.finish(set).map(Some)
}

impl Stage {
    /// Whether its result may have nodes that were not in the set.
    fn brings_nodes(&self) -> bool {
        matches!(self, Self::Generator(_) | Self::Algorithm(_))
    }
}

impl<'s> PipelineRun<'s> {
    /// Run a stage; return the number of nodes examined. `wanted` is the limit that follows the
    /// stage, if any.
    fn step(
        &mut self,
        set: &mut Set,
        stage: &Stage,
        rows_in: usize,
        wanted: ResultLimit,
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
        let key = |slot: u32| nodes.key(slot).to_owned();
        if self.outcome.count.is_none() {
            let list = set.list(nodes);
            let mut pace = CancelTicker::default();
            self.outcome.keys.reserve_exact(list.len());
            for (slot, _) in &*list {
                pace.step(1)?;
                self.outcome.keys.push(key(*slot));
            }
            self.outcome.scores = list.iter().map(|(_, score)| *score).collect();
        }
        let pairs = set.pairs.iter();
        self.outcome.pairs = pairs
            .map(|(left, right, similarity)| (key(*left), key(*right), *similarity))
            .collect();
        Ok(self.outcome)
    }

    /// Return the results of the caller's legs for the searches; None to use the legs of the store.
    pub fn legs(&self) -> Option<&'s [Ranked]> {
        self.options.legs.as_deref()
    }

    /// The slot of a live node.
    pub fn find(&self, key: &str) -> Option<u32> {
        self.snapshot.nodes.find(key)
    }

    /// The index in the state of the snapshot.
    pub fn session(&self) -> Result<&'s Session<'s>> {
        self.session.ok_or_else(|| {
            let message =
                "a stage reads an index that its pipeline does not need; please report this";
            Error::new(ErrorCode::EngineFault, message)
        })
    }

    /// Add a warning about missing data.
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
