//! The data that a pipeline reads in addition to the nodes.

use super::ast::{
    Filter, Generator, NumberField, Pipeline, ShownColumn, SortBy, SortValue, Stage, Transform,
};
use crate::graph::Needs;
use hedgerow_engine::index::session;
use hedgerow_engine::retrieval::Mode;

impl Pipeline {
    /// Return the data read in addition to the nodes.
    pub fn needs(&self) -> Needs {
        let mut needs = Needs::default();
        for stage in &self.stages {
            stage.add_to(&mut needs);
        }
        needs.agents.sort_unstable();
        needs.agents.dedup();
        needs
    }

    /// Return the parts of the index that the pipeline reads; None if no stage reads it. `own_legs`
    /// is true if searches use the keyword leg of the store.
    pub(super) fn index_needs(&self, own_legs: bool) -> Option<session::Needs<'static>> {
        let mut needs: Option<session::Needs<'static>> = None;
        for stage in &self.stages {
            match stage {
                Stage::Generator(Generator::Match(_) | Generator::Interference { .. }) => {
                    needs.get_or_insert_default();
                }
                Stage::Generator(Generator::Search(search))
                | Stage::Transform(Transform::Rank(search))
                    if own_legs && search.mode != Mode::Semantic =>
                {
                    needs.get_or_insert_default().keywords = true;
                }
                _ => {}
            }
        }
        needs
    }
}

impl Stage {
    fn add_to(&self, needs: &mut Needs) {
        match self {
            Self::Generator(Generator::Neighbors(..) | Generator::Interference { .. })
            | Self::Algorithm(_) => needs.edges = true,
            Self::Filter { filter, .. } => match filter {
                Filter::Community(_)
                | Filter::CommunityOf(_)
                | Filter::Number(NumberField::Degree, ..) => needs.edges = true,
                Filter::Visited(agent, _) | Filter::NotVisited(agent, _) => {
                    needs.agents.push(agent.clone());
                }
                _ => {}
            },
            Self::Transform(Transform::Sort(sort)) => match &sort.by {
                SortBy::Key => {}
                SortBy::Value(value) => value.add_to(needs),
                SortBy::Sum(terms) => terms.iter().for_each(|(_, value)| value.add_to(needs)),
            },
            Self::Transform(Transform::Select(columns)) => {
                needs.edges |= columns.iter().any(|column| {
                    matches!(
                        column,
                        ShownColumn::Community
                            | ShownColumn::Degree
                            | ShownColumn::Isolation
                            | ShownColumn::Priority
                    )
                });
            }
            Self::Generator(_) | Self::Transform(_) => {}
        }
    }
}

impl SortValue {
    fn add_to(&self, needs: &mut Needs) {
        match self {
            Self::Degree
            | Self::Clustering
            | Self::Isolation
            | Self::Priority
            | Self::SpectralPriority => needs.edges = true,
            Self::Recency(agent) => needs.agents.push(agent.clone()),
            _ => {}
        }
    }
}
