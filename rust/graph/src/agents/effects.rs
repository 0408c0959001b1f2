//! Preconditions and effects of each action.

use rusqlite::{Connection, OptionalExtension, params};

use super::action::Action;
use super::claims::claimed_by_other;
use crate::graph::Store;
use crate::graph::edge_changes;
use crate::graph::node::{Category, Node};
use crate::graph::read::live_node;
use crate::graph::types::{self, TYPES};
use crate::graph::write::{EdgeInput, check_edge, mark_deleted, put_edges, relink_in};
use crate::schema::{NODES_GENERATION, next_generation};
use hedgerow_engine::chunks::{Chunk, chunk_of};
use hedgerow_engine::error::Error;
use hedgerow_engine::index::remove_chunks;
use hedgerow_engine::storage::WorkError;

/// The relation of edges that agents add.
const LINK: &str = "link";
/// The relation of edges from a node that an agent wrote to the nodes it covers.
const DERIVED: &str = "derived";

/// The weight of a node by how sure the agent is that wrote it.
const CONFIDENCES: [(&str, f64); 3] = [("high", 0.9), ("medium", 0.7), ("low", 0.5)];

/// Why an action stopped: it is rejected, with the reason, or nothing of the run can be stored.
pub(super) enum Stop {
    Rejected(String),
    Failed(WorkError),
}

impl From<rusqlite::Error> for Stop {
    fn from(error: rusqlite::Error) -> Self {
        Self::Failed(error.into())
    }
}

impl From<WorkError> for Stop {
    fn from(failure: WorkError) -> Self {
        Self::Failed(failure)
    }
}

/// A check that the action did not pass.
impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Rejected(error.message().to_owned())
    }
}

type Done<T> = std::result::Result<T, Stop>;

fn rejected<T>(reason: impl Into<String>) -> Done<T> {
    Err(Stop::Rejected(reason.into()))
}

/// The transaction in which a run is applied.
pub(super) struct Application<'a> {
    pub store: &'a Store,
    pub connection: &'a Connection,
    /// The agent of the run.
    pub agent: &'a str,
    pub run: i64,
    /// The time, in Unix seconds.
    pub now: i64,
    /// The contents that the model was shown, by key.
    pub shown: &'a [(String, String)],
    /// The ids of the nodes that were changed.
    pub touched: Vec<i64>,
}

impl Application<'_> {
    /// Check an action and do it. Everything is checked before anything is written.
    pub fn act(&mut self, action: &Action) -> Done<()> {
        match action {
            Action::LinkAdd { a, b, strength } => self.link(a, b, *strength),
            Action::Weight { key, value } => self.set_weight(key, *value),
            Action::Categorize { key, category } => self.categorize(key, category),
            Action::WriteNode {
                key,
                content,
                kind,
                confidence,
                covers,
            } => {
                let node = self.written(key, content, kind, confidence.as_deref())?;
                self.write(&node, covers)
            }
            Action::Refine { key, content } => self.refine(key, content),
            Action::Delete { key } => self.delete(key),
            Action::Rename { key, new_key } => self.rename(key, new_key),
            Action::Note => Ok(()),
        }
    }

    fn link(&mut self, a: &str, b: &str, strength: f64) -> Done<()> {
        let edge = EdgeInput {
            source: a.to_owned(),
            target: b.to_owned(),
            relation: LINK.to_owned(),
            strength,
        };
        check_edge(&edge)?;
        let (from, to) = (self.live(a)?, self.live(b)?);
        let known: Option<f64> = self
            .connection
            .prepare_cached(
                "SELECT max(strength) FROM edges
                  WHERE relation = ?3 AND ((source, target) = (?1, ?2)
                                        OR (source, target) = (?2, ?1))",
            )?
            .query_row(params![from, to, LINK], |row| row.get(0))?;
        if let Some(known) = known {
            return rejected(format!("{a:?} and {b:?} are linked already, with {known}"));
        }
        relink_in(self.connection, &[], &[edge])?;
        self.touched.extend([from, to]);
        Ok(())
    }

    fn set_weight(&mut self, key: &str, value: f64) -> Done<()> {
        if !(0.0..=1.0).contains(&value) {
            return rejected(format!("the weight must be from 0 to 1, not {value}"));
        }
        let node = self.changeable(key)?;
        self.update(
            node,
            "UPDATE nodes SET weight = ?, changed = ? WHERE id = ?",
            value,
        )
    }

    fn categorize(&mut self, key: &str, category: &str) -> Done<()> {
        let Some(category) = Category::from_name(category) else {
            let names = Category::ALL.iter().map(|one| one.as_str());
            return rejected(one_of("category", names, category));
        };
        let node = self.changeable(key)?;
        let sql = "UPDATE nodes SET category = ?, changed = ? WHERE id = ?";
        self.update(node, sql, category.as_str())
    }

    fn update(&mut self, node: i64, sql: &str, value: impl rusqlite::ToSql) -> Done<()> {
        let generation = next_generation(self.connection, NODES_GENERATION)?;
        self.connection
            .prepare_cached(sql)?
            .execute(params![value, generation, node])?;
        self.touched.push(node);
        Ok(())
    }

    /// The node that an agent writes.
    fn written(
        &self,
        key: &str,
        content: &str,
        kind: &str,
        confidence: Option<&str>,
    ) -> Done<Node> {
        let registered = types::read(self.connection)?;
        let known: Vec<&str> = TYPES
            .into_iter()
            .chain(registered.iter().map(String::as_str))
            .collect();
        if !known.contains(&kind) {
            return rejected(one_of("type", known.into_iter(), kind));
        }
        let sure = confidence.unwrap_or("medium");
        let Some((_, weight)) = CONFIDENCES.iter().find(|(name, _)| *name == sure) else {
            let names = CONFIDENCES.iter().map(|(name, _)| *name);
            return rejected(one_of("confidence", names, sure));
        };
        let node = Node {
            key: key.to_owned(),
            kind: kind.to_owned(),
            content: content.to_owned(),
            weight: *weight,
            provenance: self.provenance(),
            updated_at: Some(self.now),
            ..Node::default()
        };
        node.check()?;
        Ok(node)
    }

    fn write(&mut self, node: &Node, covers: &[String]) -> Done<()> {
        let key = &node.key;
        self.check_writable(key)?;
        let edges: Vec<EdgeInput> = covers
            .iter()
            .map(|covered| covering(key, covered))
            .collect();
        for edge in &edges {
            check_edge(edge)?;
            self.live(&edge.target)?;
        }
        self.store.put_nodes(self.connection, &[node], self.now)?;
        let written = self.live(key)?;
        // A node that is rewritten covers what its new text covers, and nothing else.
        let mut changed = self
            .connection
            .prepare_cached("DELETE FROM edges WHERE source = ? AND relation = ? RETURNING target")?
            .query_map(params![written, DERIVED], |row| Ok((written, row.get(0)?)))?
            .collect::<rusqlite::Result<_>>()?;
        put_edges(self.connection, &edges, &mut changed)?;
        edge_changes::record(self.connection, &changed)?;
        self.touched.push(written);
        Ok(())
    }

    /// Refuse to replace anything but a node that the agent wrote itself.
    fn check_writable(&self, key: &str) -> Done<()> {
        match self.row(key)? {
            None if chunk_of(self.connection, key)?.is_some() => {
                rejected(format!("{key:?} is the id of a chunk that is not a node"))
            }
            None => Ok(()),
            Some(old) if old.provenance == self.provenance() => self.unclaimed(key, old.id),
            Some(old) if old.deleted => rejected(format!("the node {key:?} was deleted")),
            Some(old) => rejected(format!(
                "there is a node {key:?} from {:?}; refine it, or write another",
                old.provenance
            )),
        }
    }

    fn refine(&mut self, key: &str, content: &str) -> Done<()> {
        let id = self.changeable(key)?;
        let node = self.unchanged(key)?;
        let refined = Node {
            content: content.to_owned(),
            updated_at: Some(self.now),
            embedding: None,
            ..node
        };
        self.store
            .put_nodes(self.connection, &[&refined], self.now)?;
        self.touched.push(id);
        Ok(())
    }

    fn delete(&mut self, key: &str) -> Done<()> {
        let node = self.changeable(key)?;
        self.unchanged(key)?;
        mark_deleted(self.connection, &[key])?;
        self.touched.push(node);
        Ok(())
    }

    fn rename(&mut self, key: &str, new_key: &str) -> Done<()> {
        let id = self.changeable(key)?;
        let renamed = Node {
            key: new_key.to_owned(),
            ..Node::default()
        };
        renamed.check()?;
        if self.row(new_key)?.is_some() {
            return rejected(format!(
                "the key {new_key:?} is taken, or was taken by a deleted node"
            ));
        }
        if chunk_of(self.connection, new_key)?.is_some() {
            return rejected(format!(
                "{new_key:?} is the id of a chunk that is not a node"
            ));
        }
        let chunk = chunk_of(self.connection, key)?.unwrap_or_default();
        let chunk = Chunk {
            id: new_key.to_owned(),
            path: new_key.to_owned(),
            ..chunk
        };
        remove_chunks(self.connection, &[key])?;
        self.store
            .index()
            .put_chunks(self.connection, &[&chunk], "nodes", None)?;
        self.update(
            id,
            "UPDATE nodes SET key = ?, changed = ? WHERE id = ?",
            new_key,
        )
    }

    /// The provenance of nodes that the agent writes.
    fn provenance(&self) -> String {
        format!("agent:{}:write", self.agent)
    }

    /// The id of a live node.
    fn live(&self, key: &str) -> Done<i64> {
        match self.row(key)? {
            Some(row) if !row.deleted => Ok(row.id),
            Some(_) => rejected(format!("the node {key:?} is deleted")),
            None => rejected(format!("there is no node {key:?}")),
        }
    }

    /// The id of a live node that no other run claims.
    fn changeable(&self, key: &str) -> Done<i64> {
        let id = self.live(key)?;
        self.unclaimed(key, id)?;
        Ok(id)
    }

    fn unclaimed(&self, key: &str, id: i64) -> Done<()> {
        match claimed_by_other(self.connection, id, self.run, self.now)? {
            Some(other) => rejected(format!("the agent {other:?} is at work on {key:?}")),
            None => Ok(()),
        }
    }

    /// Return a live node. Its content must be the content that the model was shown, if it was
    /// shown.
    fn unchanged(&self, key: &str) -> Done<Node> {
        let Some(node) = live_node(self.connection, key)? else {
            return rejected(format!("there is no node {key:?}"));
        };
        let mut shown = self.shown.iter();
        match shown.find(|(known, _)| known == key) {
            Some((_, content)) if *content != node.content => {
                rejected(format!("{key:?} was changed since the run began"))
            }
            _ => Ok(node),
        }
    }

    fn row(&self, key: &str) -> rusqlite::Result<Option<NodeRow>> {
        self.connection
            .prepare_cached("SELECT id, deleted, provenance FROM nodes WHERE key = ?")?
            .query_row([key], |row| {
                Ok(NodeRow {
                    id: row.get(0)?,
                    deleted: row.get(1)?,
                    provenance: row.get(2)?,
                })
            })
            .optional()
    }
}

struct NodeRow {
    id: i64,
    deleted: bool,
    provenance: String,
}

/// The edge from a node that was written to one that it covers.
fn covering(key: &str, covered: &str) -> EdgeInput {
    EdgeInput {
        source: key.to_owned(),
        target: covered.to_owned(),
        relation: DERIVED.to_owned(),
        strength: 1.0,
    }
}

fn one_of<'n>(what: &str, names: impl Iterator<Item = &'n str>, given: &str) -> String {
    let names: Vec<&str> = names.collect();
    format!(
        "the {what} must be one of {}, not {given:?}",
        names.join(", ")
    )
}
