//! The tables of nodes and of agents.

use hedgerow_engine::storage::{Subject, disagreements, settings};
use rusqlite::Connection;

/// The number of transactions that changed a node.
pub(crate) const NODES_GENERATION: &str = "nodes_generation";
/// The registered types of nodes, separated by spaces.
pub(crate) const NODE_TYPES: &str = "node_types";
/// The number of transactions that changed an edge or the set of live nodes.
pub(crate) const EDGES_GENERATION: &str = "edges_generation";
/// The generation of the ledger at which the edges were those of the links of its files.
pub(crate) const LINKED_GENERATION: &str = "linked_generation";
/// The setting with the generation of edges after which every change is listed in `edge_changes`.
pub(crate) const EDGE_CHANGES_AFTER: &str = "edge_changes_after";

/// Nodes, edges and visits (spec/pipeline.md, "The tables").
pub static NODES: Subject = Subject {
    name: "nodes",
    migrations: &[create_nodes, create_edge_changes],
    since_format: 3,
    register: |_| Ok(()),
    checks: &[problems],
    writing_checks: &[],
    maintenance: None,
};

/// Past and current runs of agents (spec/agents.md, "The tables").
pub static AGENTS: Subject = Subject {
    name: "agents",
    migrations: &[create_agents],
    since_format: 4,
    register: |_| Ok(()),
    checks: &[],
    writing_checks: &[],
    maintenance: None,
};

/// Count one more transaction.
pub(crate) fn next_generation(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    let generation = settings::get::<i64>(connection, name)?.unwrap_or_default() + 1;
    settings::set(connection, name, Some(&generation.to_string()))?;
    Ok(generation)
}

/// A live node has its content in the chunk of its key; `graph` keeps the two in step. A node is
/// never removed, so that no other gets its id.
fn create_nodes(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "CREATE TABLE nodes (
             id INTEGER PRIMARY KEY AUTOINCREMENT,
             key TEXT NOT NULL UNIQUE,
             type TEXT NOT NULL,
             content_length INTEGER NOT NULL,
             weight REAL NOT NULL,
             category TEXT NOT NULL,
             emotion REAL NOT NULL,
             provenance TEXT NOT NULL,
             created_at INTEGER NOT NULL,
             updated_at INTEGER NOT NULL,
             last_replayed INTEGER NOT NULL,
             replay_interval INTEGER NOT NULL,
             deleted INTEGER NOT NULL,
             changed INTEGER NOT NULL
         ) STRICT;
         CREATE INDEX nodes_changed ON nodes (changed);
         CREATE TABLE edges (
             source INTEGER NOT NULL,
             target INTEGER NOT NULL,
             relation TEXT NOT NULL,
             strength REAL NOT NULL,
             PRIMARY KEY (source, target, relation)
         ) STRICT, WITHOUT ROWID;
         CREATE TABLE visits (
             id INTEGER PRIMARY KEY,
             node INTEGER NOT NULL,
             agent TEXT NOT NULL,
             at INTEGER NOT NULL,
             outcome TEXT NOT NULL
         ) STRICT;
         CREATE TABLE last_visits (
             agent TEXT NOT NULL,
             node INTEGER NOT NULL,
             at INTEGER NOT NULL,
             PRIMARY KEY (agent, node)
         ) STRICT, WITHOUT ROWID;",
    )
}

/// The edges that the last transactions changed: complete from the present generation on.
fn create_edge_changes(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "CREATE TABLE edge_changes (
             entry INTEGER PRIMARY KEY,
             generation INTEGER NOT NULL,
             source INTEGER NOT NULL,
             target INTEGER NOT NULL
         ) STRICT;",
    )?;
    let generation: i64 = settings::get(connection, EDGES_GENERATION)?.unwrap_or_default();
    settings::set(
        connection,
        EDGE_CHANGES_AFTER,
        Some(&generation.to_string()),
    )
}

fn create_agents(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "CREATE TABLE agent_runs (
             id INTEGER PRIMARY KEY AUTOINCREMENT,
             agent TEXT NOT NULL,
             definition TEXT NOT NULL,
             started INTEGER NOT NULL,
             expires INTEGER NOT NULL,
             ended INTEGER,
             status TEXT NOT NULL,
             permanent INTEGER NOT NULL DEFAULT FALSE,
             nodes INTEGER NOT NULL,
             applied INTEGER NOT NULL DEFAULT 0,
             rejected INTEGER NOT NULL DEFAULT 0,
             error TEXT,
             tokens_in INTEGER NOT NULL DEFAULT 0,
             tokens_out INTEGER NOT NULL DEFAULT 0
         ) STRICT;
         CREATE INDEX agent_runs_agent ON agent_runs (agent, id);
         CREATE TABLE agent_actions (
             run INTEGER NOT NULL,
             place INTEGER NOT NULL,
             line INTEGER NOT NULL,
             action TEXT NOT NULL,
             reason TEXT,
             PRIMARY KEY (run, place)
         ) STRICT, WITHOUT ROWID;
         CREATE TABLE agent_claims (
             node INTEGER PRIMARY KEY,
             agent TEXT NOT NULL,
             run INTEGER NOT NULL,
             expires INTEGER NOT NULL
         ) STRICT;
         CREATE TABLE agent_resumes (
             agent TEXT PRIMARY KEY,
             run INTEGER NOT NULL
         ) STRICT, WITHOUT ROWID;
         ALTER TABLE visits ADD COLUMN run INTEGER;",
    )
}

fn problems(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    disagreements(
        connection,
        &[
            (
                "nodes have no chunk",
                "SELECT key FROM nodes
                  WHERE NOT deleted AND key NOT IN (SELECT id FROM knowledge_chunks)",
            ),
            (
                "edges lead to no node",
                "SELECT source || ' to ' || target FROM edges
                  WHERE source NOT IN (SELECT id FROM nodes)
                     OR target NOT IN (SELECT id FROM nodes)",
            ),
            (
                "visits are of no node",
                "SELECT 'visit ' || id FROM visits WHERE node NOT IN (SELECT id FROM nodes)",
            ),
        ],
    )
}
