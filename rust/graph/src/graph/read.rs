//! Reading single nodes, and their neighbors.

use std::cmp::Ordering;

use rusqlite::{Connection, OptionalExtension};

use super::node::{Category, Node};
use super::nodes::word;
use super::snapshot::Needs;
use super::store::Store;
use hedgerow_engine::chunks::chunk_of;
use hedgerow_engine::error::Result;
use hedgerow_engine::interrupt::CancelTicker;

/// A key, and the keys of its neighbors, each with the strength of the edge.
pub type Neighbors = (String, Vec<(String, f64)>);

impl Store {
    /// The live node of a key.
    pub fn get(&self, key: &str) -> Result<Option<Node>> {
        self.index
            .database()
            .read(|connection| live_node(connection, key))
    }

    /// Return the number of live nodes.
    pub fn len(&self) -> Result<u64> {
        self.index.database().read(|connection| {
            connection
                .prepare_cached("SELECT count(*) FROM nodes WHERE NOT deleted")?
                .query_row([], |row| row.get(0))
        })
    }

    /// Whether there are zero live nodes.
    pub fn is_empty(&self) -> Result<bool> {
        self.len().map(|nodes| nodes == 0)
    }

    /// Every live node, by key, all of one state.
    pub fn nodes(&self) -> Result<Vec<Node>> {
        self.index.database().read(live_nodes)
    }

    /// The neighbors of the nodes of these keys: the strongest first, equals by key. Keys without
    /// a live node are left out.
    pub fn neighbors<T: AsRef<str>>(&self, keys: &[T]) -> Result<Vec<Neighbors>> {
        let snapshot = self.snapshot(&Needs {
            edges: true,
            ..Needs::default()
        })?;
        let (nodes, edges) = (&snapshot.nodes, &snapshot.edges);
        let of = |key: &T| {
            let slot = nodes.find(key.as_ref())?;
            let joined = edges.joined(slot);
            let mut joined: Vec<(String, f64)> = joined
                .map(|(other, strength)| (nodes.key(other).to_owned(), strength))
                .collect();
            joined.sort_unstable_by(strongest_first);
            Some((key.as_ref().to_owned(), joined))
        };
        let mut pace = CancelTicker::default();
        let mut found = Vec::new();
        for (key, joined) in keys.iter().filter_map(of) {
            pace.step(1 + joined.len())?;
            found.push((key, joined));
        }
        Ok(found)
    }
}

fn strongest_first(left: &(String, f64), right: &(String, f64)) -> Ordering {
    let by_strength = right.1.total_cmp(&left.1);
    by_strength.then_with(|| left.0.cmp(&right.0))
}

/// Every live node, by key, in the transaction of `connection`.
fn live_nodes(connection: &Connection) -> rusqlite::Result<Vec<Node>> {
    let keys: Vec<String> = connection
        .prepare_cached("SELECT key FROM nodes WHERE NOT deleted ORDER BY key")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let nodes = keys.iter().map(|key| live_node(connection, key));
    nodes.filter_map(rusqlite::Result::transpose).collect()
}

/// The live node of a key in the transaction of `connection`.
pub(crate) fn live_node(connection: &Connection, key: &str) -> rusqlite::Result<Option<Node>> {
    let found = connection
        .prepare_cached(
            "SELECT type, weight, category, emotion, provenance, updated_at, created_at,
                    last_replayed, replay_interval
               FROM nodes WHERE key = ? AND NOT deleted",
        )?
        .query_row([key], |row| {
            Ok(Node {
                key: key.to_owned(),
                kind: row.get(0)?,
                weight: row.get(1)?,
                category: word(row, 2, Category::from_name)?,
                emotion: row.get(3)?,
                provenance: row.get(4)?,
                updated_at: row.get(5)?,
                created_at: row.get(6)?,
                last_replayed: row.get(7)?,
                replay_interval: row.get(8)?,
                ..Node::default()
            })
        })
        .optional()?;
    let Some(node) = found else {
        return Ok(None);
    };
    let chunk = chunk_of(connection, key)?.unwrap_or_default();
    Ok(Some(Node {
        content: chunk.content,
        embedding: chunk.embedding,
        ..node
    }))
}
