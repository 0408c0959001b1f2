//! Claims: nodes that belong to a run until it ends or expires.

use rusqlite::{Connection, OptionalExtension, params};

use crate::graph::Store;
use hedgerow_engine::error::Result;

impl Store {
    /// The ids of the nodes that are claimed at `now`, ascending.
    pub fn claimed(&self, now: i64) -> Result<Vec<i64>> {
        self.index().database().read(|connection| {
            connection
                .prepare_cached("SELECT node FROM agent_claims WHERE expires > ? ORDER BY node")?
                .query_map([now], |row| row.get(0))?
                .collect()
        })
    }
}

/// The id of a live node that nobody claims at `now`.
pub(super) fn free_node(
    connection: &Connection,
    key: &str,
    now: i64,
) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached(
            "SELECT id FROM nodes WHERE key = ? AND NOT deleted AND NOT EXISTS (
                 SELECT 1 FROM agent_claims WHERE node = nodes.id AND expires > ?)",
        )?
        .query_row(params![key, now], |row| row.get(0))
        .optional()
}

/// Claim a free node for a run.
pub(super) fn claim(
    connection: &Connection,
    node: i64,
    agent: &str,
    run: i64,
    expires: i64,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT OR REPLACE INTO agent_claims VALUES (?, ?, ?, ?)")?
        .execute(params![node, agent, run, expires])?;
    Ok(())
}

/// The agent of another run that claims a node at `now`.
pub(super) fn claimed_by_other(
    connection: &Connection,
    node: i64,
    run: i64,
    now: i64,
) -> rusqlite::Result<Option<String>> {
    connection
        .prepare_cached(
            "SELECT agent FROM agent_claims WHERE node = ? AND run <> ? AND expires > ?",
        )?
        .query_row(params![node, run, now], |row| row.get(0))
        .optional()
}

/// Release everything that a run claims.
pub(super) fn release(connection: &Connection, run: i64) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM agent_claims WHERE run = ?")?
        .execute([run])?;
    Ok(())
}

/// Remove claims that have expired.
pub(super) fn forget_expired(connection: &Connection, now: i64) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM agent_claims WHERE expires <= ?")?
        .execute([now])?;
    Ok(())
}
