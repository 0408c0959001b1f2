//! Running filters.

use super::ast::{Filter, NumberField};
use super::run::PipelineRun;
use super::set::Set;
use crate::graph::NEVER;
use crate::graph::column::{Column, Value};
use crate::graph::measure::since;
use hedgerow_engine::error::Result;
use hedgerow_engine::text::glob::Glob;

impl PipelineRun<'_> {
    /// Keep the nodes that pass, or those that do not.
    pub fn filter(&mut self, set: &mut Set, filter: &Filter, negated: bool) -> Result<()> {
        let snapshot = self.snapshot;
        let (nodes, now) = (&snapshot.nodes, self.now);
        match filter {
            Filter::Type(kinds) => {
                let wanted = nodes.types().iter().map(|kind| kinds.contains(kind));
                let passing: Vec<bool> = wanted.collect();
                keep(set, negated, &nodes.kinds, |kind| passing[kind as usize])
            }
            Filter::Category(categories) => {
                let passes = |category| categories.contains(&category);
                keep(set, negated, &nodes.categories, passes)
            }
            Filter::Key(glob) => set.retain(|slot, _| glob.matches(nodes.key(slot)) != negated),
            Filter::Provenance(glob) => {
                let passing = passing(glob, nodes.sources());
                let passes = |source| passing[source as usize];
                keep(set, negated, &nodes.provenances, passes)
            }
            Filter::Community(id) => {
                let wanted = nodes.slot_of(*id);
                self.in_community(set, wanted, negated, &format!("no community {id}"))
            }
            Filter::CommunityOf(key) => {
                let member = self.find(key);
                let communities = self.communities()?;
                let wanted = member.map(|member| communities.label(member));
                self.in_community(set, wanted, negated, &format!("no node {key:?}"))
            }
            Filter::Number(field, comparison, number) => {
                let holds = |value| comparison.holds(value, *number);
                self.filter_by_number(set, *field, negated, holds)
            }
            Filter::Age(comparison, seconds) => keep(set, negated, &nodes.updated, |time| {
                comparison.holds(since(time, now), *seconds)
            }),
            Filter::Created(comparison, seconds) => keep(set, negated, &nodes.created, |time| {
                comparison.holds(since(time, now), *seconds)
            }),
            Filter::Visited(agent, within) => {
                let passes = |visit| visited(visit, *within, now) != negated;
                set.retain_by(snapshot.visits(agent), NEVER, passes)
            }
            Filter::NotVisited(agent, within) => {
                let passes = |visit| visited(visit, *within, now) == negated;
                set.retain_by(snapshot.visits(agent), NEVER, passes)
            }
        }
    }

    /// Keep the nodes with a number that `holds` accepts, or those with another.
    fn filter_by_number(
        &self,
        set: &mut Set,
        field: NumberField,
        negated: bool,
        holds: impl Fn(f64) -> bool,
    ) -> Result<()> {
        let (nodes, edges) = (&self.snapshot.nodes, &self.snapshot.edges);
        match field {
            NumberField::Weight => keep(set, negated, &nodes.weights, holds),
            NumberField::Emotion => keep(set, negated, &nodes.emotions, holds),
            NumberField::Score => set.retain(|_, score| holds(score) != negated),
            NumberField::KeyLen => keep(set, negated, &nodes.key_lengths, |length| {
                holds(length.into())
            }),
            NumberField::ContentLen => keep(set, negated, &nodes.content_lengths, |length| {
                holds(length.into())
            }),
            NumberField::Degree => set.retain(|slot, _| {
                let degree = u32::try_from(edges.degree(slot)).unwrap_or(u32::MAX);
                holds(degree.into()) != negated
            }),
        }
    }

    /// Keep the members of a community, or the others. `wanted` is its smallest slot.
    fn in_community(
        &mut self,
        set: &mut Set,
        wanted: Option<u32>,
        negated: bool,
        missing: &str,
    ) -> Result<()> {
        let communities = self.communities()?;
        let nodes = &self.snapshot.nodes;
        let known =
            wanted.filter(|slot| communities.label(*slot) == *slot && nodes.live[*slot as usize]);
        if known.is_none() {
            self.warn(format!("community: there is {missing}"));
        }
        set.retain(|slot, _| (known == Some(communities.label(slot))) != negated)
    }
}

/// Keep the nodes whose value in a column passes, or those whose value does not.
fn keep<T: Value>(
    set: &mut Set,
    negated: bool,
    column: &Column<T>,
    passes: impl Fn(T) -> bool,
) -> Result<()> {
    set.retain_by(column, T::default(), |value| passes(value) != negated)
}

/// Whether the last visit was less than `within` seconds ago; without it, whether there was one.
fn visited(visit: i64, within: Option<i64>, now: i64) -> bool {
    visit != NEVER && within.is_none_or(|within| since(visit, now) < within)
}

/// For each text whether it matches.
fn passing(glob: &Glob, texts: &[String]) -> Vec<bool> {
    texts.iter().map(|text| glob.matches(text)).collect()
}
