//! Writing nodes, edges and visits. Each call is one transaction.

use rusqlite::{CachedStatement, Connection, OptionalExtension, Params, params};

use super::edge_changes::{self, Ends};
use super::node::{Node, Outcome};
use super::store::Store;
use super::types::{self, TYPES};
use crate::schema::{NODES_GENERATION, next_generation};
use hedgerow_engine::chunks::Chunk;
use hedgerow_engine::error::{Error, ErrorCode, Result};
use hedgerow_engine::index::remove_chunks;
use hedgerow_engine::storage::WorkError;

/// An edge between two nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct EdgeInput {
    /// The key it leads from.
    pub source: String,
    /// The key it leads to.
    pub target: String,
    /// The relation of the edge. Two nodes may be joined by one edge of each relation.
    pub relation: String,
    /// How strong it is: above 0, up to 1.
    pub strength: f64,
}

/// An agent's visit to a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VisitInput {
    /// The agent.
    pub agent: String,
    /// The key of the node.
    pub key: String,
    /// The time, in Unix seconds.
    pub at: i64,
    /// How it ended.
    pub outcome: Outcome,
}

impl Store {
    /// Store nodes, each replacing the one of its key; returns the number of distinct keys.
    ///
    /// A replaced node keeps its id. Unless the new one has its own, it also keeps the time when it
    /// was created and, while its content stays the same, its vector. A deleted node is live again.
    /// `now` is used for times that are not given.
    pub fn upsert(&self, nodes: &[&Node], now: i64) -> Result<usize> {
        check_nodes(nodes)?;
        self.index
            .database()
            .try_write(|connection| self.put_nodes(connection, nodes, now))
    }

    /// Store checked nodes in the transaction of `connection`.
    pub(crate) fn put_nodes(
        &self,
        connection: &Connection,
        nodes: &[&Node],
        now: i64,
    ) -> std::result::Result<usize, WorkError> {
        let chunks: Vec<Chunk> = nodes.iter().map(|node| node.chunk()).collect();
        let chunks: Vec<&Chunk> = chunks.iter().collect();
        check_types(connection, nodes)?;
        let generation = next_generation(connection, NODES_GENERATION)?;
        let mut statements = NodeStatements::prepare(connection, generation)?;
        let mut revived = false;
        for node in nodes {
            revived |= statements.upsert(node, now)?;
        }
        if revived {
            edge_changes::record_all(connection)?;
        }
        self.index.put_chunks(connection, &chunks, "nodes", None)
    }

    /// Mark the nodes of these keys as deleted; return the number of nodes that existed.
    ///
    /// Ids, edges and visits stay, and count again once a node is upserted. The content is removed.
    pub fn delete<T: AsRef<str>>(&self, keys: &[T]) -> Result<usize> {
        self.index
            .database()
            .try_write(|connection| Ok(mark_deleted(connection, keys)?))
    }

    /// Join nodes, deleted ones too; an edge replaces the one of the same nodes and relation.
    pub fn link(&self, edges: &[EdgeInput]) -> Result<()> {
        for edge in edges {
            check_edge(edge)?;
        }
        self.index
            .database()
            .try_write(|connection| relink_in(connection, &[], edges))
    }

    /// Every edge between live nodes, by the keys of its ends and its relation.
    pub fn edges(&self) -> Result<Vec<EdgeInput>> {
        self.edges_where("WHERE NOT source.deleted AND NOT target.deleted", [])
    }

    /// Return the stored edges, or those that begin at a key. Edges of deleted nodes are among them: they count
    /// again once the nodes are live.
    pub fn stored_edges(&self, source: Option<&str>) -> Result<Vec<EdgeInput>> {
        match source {
            Some(source) => self.edges_where("WHERE source.key = ?", [source]),
            None => self.edges_where("", []),
        }
    }

    fn edges_where(&self, condition: &str, values: impl Params) -> Result<Vec<EdgeInput>> {
        self.index.database().on_reader(|connection| {
            let mut statement = connection.prepare_cached(&format!(
                "SELECT source.key, target.key, relation, strength FROM edges
                     JOIN nodes source ON source.id = source
                     JOIN nodes target ON target.id = target
                     {condition}
                     ORDER BY 1, 2, 3"
            ))?;
            let edges = statement.query_map(values, |row| {
                Ok(EdgeInput {
                    source: row.get(0)?,
                    target: row.get(1)?,
                    relation: row.get(2)?,
                    strength: row.get(3)?,
                })
            })?;
            edges.collect::<rusqlite::Result<Vec<_>>>()
        })
    }

    /// Remove an edge; returns whether there was one.
    pub fn unlink(&self, source: &str, target: &str, relation: &str) -> Result<bool> {
        self.index.database().try_write(|connection| {
            let (source, target) = (id_of(connection, source)?, id_of(connection, target)?);
            let removed = connection
                .prepare_cached(
                    "DELETE FROM edges WHERE source = ? AND target = ? AND relation = ?",
                )?
                .execute(params![source, target, relation])?;
            if removed > 0 {
                edge_changes::record(connection, &[(source, target)])?;
            }
            Ok(removed > 0)
        })
    }

    /// Note visits, for good. A failed visit counts for no filter.
    pub fn visit(&self, visits: &[VisitInput]) -> Result<()> {
        self.index.database().try_write(|connection| {
            for visit in visits {
                note_visit(connection, id_of(connection, &visit.key)?, visit, None)?;
            }
            Ok(())
        })
    }
}

/// Remove edges and put checked ones in the transaction of `connection`.
pub(crate) fn relink_in(
    connection: &Connection,
    removed: &[EdgeInput],
    added: &[EdgeInput],
) -> std::result::Result<(), WorkError> {
    let mut changed = Vec::with_capacity(removed.len() + added.len());
    let mut remove = connection
        .prepare_cached("DELETE FROM edges WHERE source = ? AND target = ? AND relation = ?")?;
    for edge in removed {
        let ends = ids_of(connection, edge)?;
        remove.execute(params![ends.0, ends.1, edge.relation])?;
        changed.push(ends);
    }
    put_edges(connection, added, &mut changed)?;
    edge_changes::record(connection, &changed)?;
    Ok(())
}

/// Mark the nodes of these keys as deleted in the transaction of `connection`; return the number of
/// nodes that existed.
pub(crate) fn mark_deleted<T: AsRef<str>>(
    connection: &Connection,
    keys: &[T],
) -> rusqlite::Result<usize> {
    let generation = next_generation(connection, NODES_GENERATION)?;
    let mut mark = connection.prepare_cached(
        "UPDATE nodes SET deleted = TRUE, changed = ? WHERE key = ? AND NOT deleted RETURNING id",
    )?;
    let (mut gone, mut ids) = (Vec::new(), Vec::new());
    for key in keys {
        let params = params![generation, key.as_ref()];
        if let Some(id) = mark.query_row(params, |row| row.get(0)).optional()? {
            gone.push(key.as_ref());
            ids.push(id);
        }
    }
    if !gone.is_empty() {
        edge_changes::record_deleted(connection, &ids)?;
        remove_chunks(connection, &gone)?;
    }
    Ok(gone.len())
}

/// Note a visit to the node of this id, whose key may have changed, and the run it belongs to.
pub(crate) fn note_visit(
    connection: &Connection,
    node: i64,
    visit: &VisitInput,
    run: Option<i64>,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO visits (node, agent, at, outcome, run) VALUES (?, ?, ?, ?, ?)",
        )?
        .execute(params![
            node,
            visit.agent,
            visit.at,
            visit.outcome.as_str(),
            run
        ])?;
    if visit.outcome != Outcome::Failed {
        connection
            .prepare_cached(
                "INSERT INTO last_visits VALUES (?, ?, ?)
                     ON CONFLICT DO UPDATE SET at = max(at, excluded.at)",
            )?
            .execute(params![visit.agent, node, visit.at])?;
    }
    Ok(())
}

/// The statements of writing nodes.
struct NodeStatements<'c> {
    generation: i64,
    find: CachedStatement<'c>,
    insert: CachedStatement<'c>,
    update: CachedStatement<'c>,
}

impl<'c> NodeStatements<'c> {
    fn prepare(connection: &'c Connection, generation: i64) -> rusqlite::Result<Self> {
        Ok(Self {
            generation,
            find: connection
                .prepare_cached("SELECT created_at, deleted FROM nodes WHERE key = ?")?,
            insert: connection.prepare_cached(
                "INSERT INTO nodes (key, type, content_length, weight, category, emotion,
                     provenance, created_at, updated_at, last_replayed, replay_interval, changed,
                     deleted)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, FALSE)",
            )?,
            update: connection.prepare_cached(
                "UPDATE nodes SET type = ?2, content_length = ?3, weight = ?4, category = ?5,
                     emotion = ?6, provenance = ?7, created_at = ?8, updated_at = ?9,
                     last_replayed = ?10, replay_interval = ?11, changed = ?12, deleted = FALSE
                  WHERE key = ?1",
            )?,
        })
    }

    /// Returns whether a deleted node is live again.
    fn upsert(&mut self, node: &Node, now: i64) -> rusqlite::Result<bool> {
        let old: Option<(i64, bool)> = self
            .find
            .query_row([&node.key], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let updated_at = node.updated_at.unwrap_or(now);
        let created_at = node
            .created_at
            .or(old.map(|(created_at, _)| created_at))
            .unwrap_or(updated_at);
        let statement = match old {
            Some(_) => &mut self.update,
            None => &mut self.insert,
        };
        statement.execute(params![
            node.key,
            node.kind,
            node.content.chars().count(),
            node.weight,
            node.category.as_str(),
            node.emotion,
            node.provenance,
            created_at,
            updated_at,
            node.last_replayed,
            node.replay_interval,
            self.generation,
        ])?;
        Ok(old.is_some_and(|(_, deleted)| deleted))
    }
}

/// Refuse nodes that cannot be stored; the error names the position.
pub(super) fn check_nodes(nodes: &[&Node]) -> Result<()> {
    for (position, node) in nodes.iter().enumerate() {
        node.check()
            .map_err(|error| error.at(&format!("nodes[{position}]")))?;
    }
    Ok(())
}

/// Refuse nodes of types that are not registered.
fn check_types(connection: &Connection, nodes: &[&Node]) -> std::result::Result<(), WorkError> {
    let mut registered = None;
    for (position, node) in nodes.iter().enumerate() {
        if TYPES.contains(&node.kind.as_str()) {
            continue;
        }
        let registered = match &mut registered {
            Some(registered) => registered,
            none => none.insert(types::read(connection)?),
        };
        if !registered.contains(&node.kind) {
            let kind = &node.kind;
            let known: Vec<&str> = TYPES
                .into_iter()
                .chain(registered.iter().map(String::as_str))
                .collect();
            let problem = format!(
                "type must be one of {}, not {kind:?}; or open the store with types=[{kind:?}]",
                known.join(", ")
            );
            let error = Error::new(ErrorCode::InvalidNode, problem);
            return Err(error.at(&format!("nodes[{position}]")).into());
        }
    }
    Ok(())
}

pub(crate) fn check_edge(edge: &EdgeInput) -> Result<()> {
    let problem = if edge.source == edge.target {
        format!("the node {:?} cannot be linked to itself", edge.source)
    } else if !(edge.strength > 0.0 && edge.strength <= 1.0) {
        format!(
            "the strength must be above 0 and at most 1, not {}",
            edge.strength
        )
    } else {
        return Ok(());
    };
    Err(Error::new(ErrorCode::InvalidEdge, problem))
}

/// Store checked edges in the transaction of `connection`, each replacing the one there is, and add
/// their ends to `changed`, which the caller records.
pub(crate) fn put_edges(
    connection: &Connection,
    edges: &[EdgeInput],
    changed: &mut Vec<Ends>,
) -> std::result::Result<(), WorkError> {
    let mut put = connection.prepare_cached("INSERT OR REPLACE INTO edges VALUES (?, ?, ?, ?)")?;
    for edge in edges {
        let (source, target) = ids_of(connection, edge)?;
        put.execute(params![source, target, edge.relation, edge.strength])?;
        changed.push((source, target));
    }
    Ok(())
}

pub(super) fn ids_of(
    connection: &Connection,
    edge: &EdgeInput,
) -> std::result::Result<(i64, i64), WorkError> {
    Ok((
        id_of(connection, &edge.source)?,
        id_of(connection, &edge.target)?,
    ))
}

/// The id of a node, deleted or not.
pub(crate) fn id_of(connection: &Connection, key: &str) -> std::result::Result<i64, WorkError> {
    let id = connection
        .prepare_cached("SELECT id FROM nodes WHERE key = ?")?
        .query_row([key], |row| row.get(0))
        .optional()?;
    id.ok_or_else(|| {
        Error::new(
            ErrorCode::UnknownNode,
            format!("there is no node {key:?}; upsert it first"),
        )
        .into()
    })
}
