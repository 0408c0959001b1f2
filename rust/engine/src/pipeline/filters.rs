//! Running filters.

use super::ast::{Filter, NumberField};
use super::glob::Glob;
use super::run::Run;
use super::set::Set;
use crate::error::Result;
use crate::graph::NEVER;
use crate::graph::measure::since;

impl Run<'_> {
    /// Keep what passes, or what does not.
    pub fn filter(&mut self, set: &mut Set, filter: &Filter, negated: bool) -> Result<()> {
        let snapshot = self.snapshot;
        let (nodes, now) = (&snapshot.nodes, self.now);
        let mut keep = |passes: &dyn Fn(usize, f64) -> bool| {
            set.retain(|place, score| passes(place as usize, score) != negated)
        };
        match filter {
            Filter::Type(kinds) => {
                let wanted = nodes.types().iter().map(|kind| kinds.contains(kind));
                let passing: Vec<bool> = wanted.collect();
                keep(&|at, _| passing[nodes.kinds[at] as usize])
            }
            Filter::Category(categories) => {
                keep(&|at, _| categories.contains(&nodes.categories[at]))
            }
            Filter::Key(glob) => set.retain(|place, _| glob.matches(nodes.key(place)) != negated),
            Filter::Provenance(glob) => {
                let passing = passing(glob, nodes.sources());
                keep(&|at, _| passing[nodes.provenances[at] as usize])
            }
            Filter::Community(id) => {
                let wanted = nodes.place_of(*id);
                self.in_community(set, wanted, negated, &format!("no community {id}"))
            }
            Filter::CommunityOf(key) => {
                let member = nodes.find(key);
                let communities = self.communities()?;
                let wanted = member.map(|member| communities.label(member));
                self.in_community(set, wanted, negated, &format!("no node {key:?}"))
            }
            Filter::Number(field, comparison, number) => match field {
                NumberField::Weight => keep(&|at, _| comparison.holds(nodes.weights[at], *number)),
                NumberField::Emotion => {
                    keep(&|at, _| comparison.holds(nodes.emotions[at], *number))
                }
                NumberField::Score => keep(&|_, score| comparison.holds(score, *number)),
                NumberField::KeyLen => {
                    keep(&|at, _| comparison.holds(f64::from(nodes.key_lengths[at]), *number))
                }
                NumberField::ContentLen => {
                    keep(&|at, _| comparison.holds(f64::from(nodes.content_lengths[at]), *number))
                }
                NumberField::Degree => {
                    let edges = &snapshot.edges;
                    set.retain(|place, _| {
                        let degree = u32::try_from(edges.degree(place)).unwrap_or(u32::MAX);
                        comparison.holds(f64::from(degree), *number) != negated
                    })
                }
            },
            Filter::Age(comparison, seconds) => {
                keep(&|at, _| comparison.holds(since(nodes.updated[at], now), *seconds))
            }
            Filter::Created(comparison, seconds) => {
                keep(&|at, _| comparison.holds(since(nodes.created[at], now), *seconds))
            }
            Filter::Visited(agent, within) => {
                let visits = snapshot.visits(agent);
                keep(&|at, _| visited(visits, at, *within, now))
            }
            Filter::NotVisited(agent, within) => {
                let visits = snapshot.visits(agent);
                keep(&|at, _| !visited(visits, at, *within, now))
            }
        }
    }

    /// Keep the members of a community, which is known by its smallest place.
    fn in_community(
        &mut self,
        set: &mut Set,
        wanted: Option<u32>,
        negated: bool,
        missing: &str,
    ) -> Result<()> {
        let communities = self.communities()?;
        let nodes = &self.snapshot.nodes;
        let known = wanted
            .filter(|place| communities.label(*place) == *place && nodes.live[*place as usize]);
        if known.is_none() {
            self.warn(format!("community: there is {missing}"));
        }
        set.retain(|place, _| (known == Some(communities.label(place))) != negated)
    }
}

/// Whether the last visit is less than so long ago; whether there was one, where nobody says.
fn visited(visits: &[i64], at: usize, within: Option<i64>, now: i64) -> bool {
    match visits.get(at) {
        None | Some(&NEVER) => false,
        Some(visit) => within.is_none_or(|within| since(*visit, now) < within),
    }
}

/// For each text whether it is like the pattern.
fn passing(glob: &Glob, texts: &[String]) -> Vec<bool> {
    texts.iter().map(|text| glob.matches(text)).collect()
}
