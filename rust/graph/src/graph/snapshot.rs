//! The state of a store that one query reads.

use std::collections::{BTreeMap, HashSet, VecDeque};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::build::{Build, SMALL};
use super::column::Column;
use super::community::Communities;
use super::edge_changes;
use super::edges::{self, Edges, Link};
use super::nodes::{self, Nodes};
use super::spectrum::Coordinates;
use super::visits::{self, Visits};
use hedgerow_engine::error::Result;
use hedgerow_engine::index::Index;
use hedgerow_engine::index::session::{self, Session};
use hedgerow_engine::storage::Background;
use hedgerow_engine::storage::cache::Cache;
use hedgerow_engine::sync::{Arc, Mutex, lock};

/// The number of restarts of a query while others write faster than it can read. After that it
/// reads in its own transaction.
const ATTEMPTS: usize = 4;

/// The number of dimensions for which coordinates are cached. Each takes memory for every node, and
/// pipelines may use 256 different ones.
const DIMENSIONS: usize = 4;

/// The data that a query reads in addition to the nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// Whether it reads edges.
    pub edges: bool,
    /// The agents whose visits it reads.
    pub agents: Vec<String>,
}

/// A state of a store. Later writes are not seen.
pub struct Snapshot {
    /// Every node.
    pub nodes: Arc<Nodes>,
    /// Every edge; none if they are not needed.
    pub edges: Arc<Edges>,
    visits: Vec<(String, Arc<Visits>)>,
    never: Column<i64>,
    builds: Arc<Builds>,
}

/// The state cached in memory for the next query.
pub(super) struct CachedState {
    pub nodes: Arc<Cache<Nodes>>,
    pub edges: Cache<Edges>,
    /// By the agent.
    visits: Mutex<BTreeMap<String, Arc<Cache<Visits>>>>,
    builds: Arc<Builds>,
}

/// Results computed from the edges.
struct Builds {
    background: Background,
    communities: Arc<Build<Communities>>,
    /// For the numbers of dimensions that queries used last, the latest at the end.
    coordinates: Mutex<VecDeque<(usize, Arc<Build<Coordinates>>)>>,
}

/// An agent, and the cache of its visits.
type AgentVisits = (String, Arc<Cache<Visits>>);

/// Generations that a query needs and that are not in memory: it starts again after later ones are.
#[derive(Default)]
struct MissingGenerations {
    nodes: Option<i64>,
    edges: Option<i64>,
    visits: Option<i64>,
}

impl Builds {
    fn new(background: &Background) -> Self {
        Self {
            background: background.clone(),
            communities: Arc::default(),
            coordinates: Mutex::default(),
        }
    }

    /// The build of coordinates with this number of dimensions.
    fn coordinates(&self, dimensions: usize) -> Arc<Build<Coordinates>> {
        let mut builds = lock(&self.coordinates);
        let known = builds.iter().position(|(of, _)| *of == dimensions);
        let build = known.and_then(|position| builds.remove(position));
        let (_, build) = build.unwrap_or_else(|| (dimensions, Arc::default()));
        builds.push_back((dimensions, Arc::clone(&build)));
        let dropped = (builds.len() > DIMENSIONS).then(|| builds.pop_front());
        drop(builds);
        // Freed after the lock is released.
        drop(dropped);
        build
    }
}

impl CachedState {
    pub fn new(background: &Background) -> Self {
        let nodes = Arc::new(Cache::new(background.clone(), background.clone()));
        let source = edges::EdgeSource {
            background: background.clone(),
            nodes: Arc::clone(&nodes),
        };
        Self {
            nodes,
            edges: Cache::new(background.clone(), source),
            visits: Mutex::default(),
            builds: Arc::new(Builds::new(background)),
        }
    }

    fn visits(&self, agent: &str) -> Arc<Cache<Visits>> {
        let mut visits = lock(&self.visits);
        let new = || {
            let source = visits::VisitSource {
                agent: agent.to_owned(),
                nodes: Arc::clone(&self.nodes),
            };
            Arc::new(Cache::new(self.builds.background.clone(), source))
        };
        Arc::clone(visits.entry(agent.to_owned()).or_insert_with(new))
    }

    /// The present state.
    pub fn snapshot(&self, index: &Index, needs: &Needs) -> Result<Snapshot> {
        self.with_caches(index, needs, |visits, waits| {
            index.database().on_reader(|reader| {
                let transaction =
                    Transaction::new_unchecked(reader, TransactionBehavior::Deferred)?;
                self.state(&transaction, needs, visits, waits)
            })
        })
    }

    /// Let `work` read the present state, and the index in the same transaction.
    ///
    /// Meanwhile the thread must not use the store or its index: in memory it could wait for a
    /// writer that waits for it.
    pub fn in_session<T>(
        &self,
        index: &Index,
        needs: &Needs,
        searched: session::Needs<'_>,
        mut work: impl FnMut(&Snapshot, &Session<'_>) -> Result<T>,
    ) -> Result<T> {
        self.with_caches(index, needs, |visits, waits| {
            index.session(searched, |session| {
                let read = |connection: &Connection| self.state(connection, needs, visits, waits);
                match session.read(read)? {
                    Ok(snapshot) => work(&snapshot, session).map(Ok),
                    Err(missed) => Ok(Err(missed)),
                }
            })
        })
    }

    /// Call `read` with the data that it needs in memory, and again while the data has another
    /// generation than the transaction of `read`.
    fn with_caches<T>(
        &self,
        index: &Index,
        needs: &Needs,
        mut read: impl FnMut(&[AgentVisits], bool) -> Result<std::result::Result<T, MissingGenerations>>,
    ) -> Result<T> {
        index.database().check_process()?;
        let agents = needs.agents.iter();
        let visits: Vec<AgentVisits> = agents
            .map(|agent| (agent.clone(), self.visits(agent)))
            .collect();
        let (mut missed, mut attempt) = (MissingGenerations::default(), 0);
        loop {
            // Outside a transaction: reading everything takes long and opens a separate
            // transaction.
            self.nodes.wait_for_newer(missed.nodes)?;
            if needs.edges {
                self.edges.wait_for_newer(missed.edges)?;
            }
            for (_, cache) in &visits {
                cache.wait_for_newer(missed.visits)?;
            }
            match read(&visits, attempt < ATTEMPTS)? {
                Ok(value) => return Ok(value),
                Err(what) => missed = what,
            }
            attempt += 1;
        }
    }

    /// Return the state that `connection` sees. If a part is not in memory, and the caller `waits`
    /// for it and starts again, return that part instead.
    fn state(
        &self,
        connection: &Connection,
        needs: &Needs,
        visits: &[AgentVisits],
        waits: bool,
    ) -> rusqlite::Result<std::result::Result<Snapshot, MissingGenerations>> {
        let kept = self;
        let mut missed = MissingGenerations::default();
        let generation = nodes::generation(connection)?;
        let Some(nodes) = kept.nodes.current(connection, generation, waits)? else {
            missed.nodes = Some(generation - 1);
            return Ok(Err(missed));
        };
        let mut edges = Arc::default();
        if needs.edges {
            let generation = edge_changes::generation(connection)?;
            let Some(found) = kept.edges.current(connection, generation, waits)? else {
                missed.edges = Some(generation - 1);
                return Ok(Err(missed));
            };
            edges = found;
        }
        let mut columns = Vec::new();
        for (agent, cache) in visits {
            let last = visits::last(connection)?;
            let Some(found) = cache.current(connection, last, waits)? else {
                missed.visits = Some(last - 1);
                return Ok(Err(missed));
            };
            columns.push((agent.clone(), found));
        }
        Ok(Ok(Snapshot {
            nodes,
            edges,
            visits: columns,
            never: Column::default(),
            builds: Arc::clone(&kept.builds),
        }))
    }
}

impl Snapshot {
    /// The state as if it had only the nodes with these keys. With `links`, these are the edges between them.
    pub fn within(&self, keys: &HashSet<String>, links: Option<&[Link]>) -> Result<Self> {
        let nodes = Arc::new(self.nodes.within(keys));
        let background = &self.builds.background;
        let edges = self.edges.between(&nodes, links);
        let edges = edges.map_err(|error| background.error(&error))?;
        Ok(Self {
            nodes,
            edges: Arc::new(edges),
            visits: self.visits.clone(),
            never: Column::default(),
            builds: Arc::new(Builds::new(background)),
        })
    }

    /// When an agent last visited each slot. The agent must be one of [`Needs::agents`].
    pub fn visits(&self, agent: &str) -> &Column<i64> {
        let found = self.visits.iter().find(|(name, _)| name == agent);
        found.map_or(&self.never, |(_, visits)| &visits.column)
    }

    /// The communities, and whether they are of earlier edges.
    pub fn communities(&self) -> Result<(Arc<Communities>, bool)> {
        self.builds.communities.of(
            &self.edges,
            self.is_small(),
            &self.builds.background,
            "communities",
            Communities::of,
        )
    }

    /// Return coordinates of this number of dimensions, and whether they belong to earlier edges.
    pub fn coordinates(&self, dimensions: usize) -> Result<(Arc<Coordinates>, bool)> {
        self.builds.coordinates(dimensions).of(
            &self.edges,
            self.is_small(),
            &self.builds.background,
            "coordinates",
            move |edges| Coordinates::of(edges, dimensions),
        )
    }

    fn is_small(&self) -> bool {
        self.nodes.order.len() <= SMALL
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Store;
    use crate::graph::node::Node;

    #[test]
    fn coordinates_are_kept_for_the_last_numbers_of_dimensions() {
        let store = Store::in_memory().unwrap();
        store
            .upsert(
                &[&Node {
                    key: "a".to_owned(),
                    ..Node::default()
                }],
                1,
            )
            .unwrap();
        let snapshot = store.snapshot(&Needs::default()).unwrap();
        for dimensions in [1, 2, 3, 4, 1, 5] {
            snapshot.coordinates(dimensions).unwrap();
        }
        let kept = snapshot.builds.coordinates.lock().unwrap();
        let kept: Vec<usize> = kept.iter().map(|(dimensions, _)| *dimensions).collect();
        assert_eq!(kept, [3, 4, 1, 5]);
    }
}
