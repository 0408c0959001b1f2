//! The state of a store that one query reads.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::Store;
use super::build::{Build, SMALL};
use super::community::Communities;
use super::edges::Edges;
use super::load::Table;
use super::nodes::Nodes;
use super::spectrum::Coordinates;
use super::visits::Visits;
use crate::error::Result;
use crate::index::settings::{self, EDGES_GENERATION, NODES_GENERATION};

/// What a query reads beside the nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// Whether it asks for edges.
    pub edges: bool,
    /// Whose visits it asks for.
    pub agents: Vec<String>,
}

/// One state of a store: what was written meanwhile is not seen.
pub struct Snapshot {
    /// Every node.
    pub nodes: Arc<Nodes>,
    /// Every edge; none when they were not asked for.
    pub edges: Arc<Edges>,
    visits: Vec<(String, Arc<Vec<i64>>)>,
    builds: Arc<Builds>,
}

/// What the last query read, brought up to date by the next.
#[derive(Default)]
pub(super) struct Cache {
    nodes: Option<Arc<Nodes>>,
    edges: Option<Arc<Edges>>,
    visits: Option<Visits>,
    builds: Arc<Builds>,
}

/// What was worked out from the edges.
#[derive(Default)]
struct Builds {
    communities: Arc<Build<Communities>>,
    /// By the number of dimensions.
    coordinates: Mutex<BTreeMap<usize, Arc<Build<Coordinates>>>>,
}

impl Store {
    /// The state of this moment.
    pub fn snapshot(&self, needs: &Needs) -> Result<Snapshot> {
        self.index.on_reader(|reader| {
            // The lock is held since before the transaction begins: then no thread comes with an
            // older state than the one before, and none reads what another is reading already.
            let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
            let transaction = Transaction::new_unchecked(reader, TransactionBehavior::Deferred)?;
            cache.read(self, &transaction, needs)
        })
    }

    fn table<'s>(
        &'s self,
        connection: &'s Connection,
        generation: (&'static str, i64),
    ) -> Table<'s> {
        Table {
            index: &self.index,
            connection,
            generation,
        }
    }
}

impl Cache {
    fn read(
        &mut self,
        store: &Store,
        connection: &Connection,
        needs: &Needs,
    ) -> rusqlite::Result<Snapshot> {
        let nodes = self.nodes(store, connection)?;
        let edges = if needs.edges {
            self.edges(store, connection, &nodes)?
        } else {
            Arc::default()
        };
        let mut visits = Vec::new();
        if !needs.agents.is_empty() {
            let mut known = match self.visits.take() {
                Some(known) => known,
                None => Visits::begin(connection)?,
            };
            known.refresh(connection, &nodes)?;
            for agent in &needs.agents {
                visits.push((agent.clone(), known.of(connection, &nodes, agent)?));
            }
            self.visits = Some(known);
        }
        Ok(Snapshot {
            nodes,
            edges,
            visits,
            builds: Arc::clone(&self.builds),
        })
    }

    fn nodes(&mut self, store: &Store, connection: &Connection) -> rusqlite::Result<Arc<Nodes>> {
        let generation = settings::get(connection, NODES_GENERATION)?.unwrap_or_default();
        // Taken out, since they are not whole when reading fails on the way.
        let mut nodes = self.nodes.take().unwrap_or_default();
        if nodes.generation != generation {
            let table = store.table(connection, (NODES_GENERATION, generation));
            // Copied when another query still reads the older ones.
            Arc::make_mut(&mut nodes).refresh(&table)?;
        }
        self.nodes = Some(Arc::clone(&nodes));
        Ok(nodes)
    }

    fn edges(
        &mut self,
        store: &Store,
        connection: &Connection,
        nodes: &Nodes,
    ) -> rusqlite::Result<Arc<Edges>> {
        let generation = settings::get(connection, EDGES_GENERATION)?.unwrap_or_default();
        let known = match self.edges.take() {
            Some(edges) if edges.generation == generation => Some(edges),
            Some(edges) => store.links.bring_up(edges, connection, generation, nodes)?,
            None => None,
        };
        let edges = if let Some(edges) = known {
            edges
        } else {
            let table = store.table(connection, (EDGES_GENERATION, generation));
            Arc::new(Edges::load(&table, nodes)?)
        };
        self.edges = Some(Arc::clone(&edges));
        Ok(edges)
    }
}

impl Snapshot {
    /// When an agent last visited each place; it must be among those that were asked for.
    pub fn visits(&self, agent: &str) -> &[i64] {
        let found = self.visits.iter().find(|(name, _)| name == agent);
        found.map_or(&[], |(_, column)| column)
    }

    /// The communities, and whether they are of earlier edges.
    pub fn communities(&self) -> Result<(Arc<Communities>, bool)> {
        self.builds
            .communities
            .of(&self.edges, self.is_small(), Communities::of)
    }

    /// Coordinates of so many dimensions, and whether they are of earlier edges.
    pub fn coordinates(&self, dimensions: usize) -> Result<(Arc<Coordinates>, bool)> {
        let build = {
            let mut builds = self
                .builds
                .coordinates
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            Arc::clone(builds.entry(dimensions).or_default())
        };
        build.of(&self.edges, self.is_small(), move |edges| {
            Coordinates::of(edges, dimensions)
        })
    }

    fn is_small(&self) -> bool {
        self.nodes.order.len() <= SMALL
    }
}
