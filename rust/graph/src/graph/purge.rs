//! Nodes of which nothing is to be left in the file.

use rusqlite::{Connection, params};

use super::store::Store;
use super::write::{mark_deleted, next_generation};
use crate::schema::{EDGES_GENERATION, NODES_GENERATION};
use hedgerow_engine::error::Result;

impl Store {
    /// Remove what is known of nodes: their texts, edges and visits, and the actions of agents that
    /// name them. Ids stay taken, by deleted nodes without anything. The answer is how many there were.
    ///
    /// The bytes of what was removed stay in the file until `Index::vacuum`.
    pub fn purge<T: AsRef<str>>(&self, keys: &[T]) -> Result<usize> {
        self.index().database().try_write(|connection| {
            mark_deleted(connection, keys)?;
            let mut purged = 0;
            for key in keys {
                purged += usize::from(purge(connection, key.as_ref())?);
            }
            next_generation(connection, EDGES_GENERATION)?;
            Ok(purged)
        })
    }
}

fn purge(connection: &Connection, key: &str) -> rusqlite::Result<bool> {
    // The action names it as JSON, or as the text that it is.
    let quoted = serde_json::to_string(key).unwrap_or_default();
    connection.execute(
        "DELETE FROM agent_actions
             WHERE instr(action, ?1) OR instr(action, ?2) OR instr(coalesce(reason, ''), ?1)",
        params![key, quoted],
    )?;
    let mut find = connection.prepare_cached("SELECT id FROM nodes WHERE key = ?")?;
    let Some(id) = find
        .query_map([key], |row| row.get::<_, i64>(0))?
        .next()
        .transpose()?
    else {
        return Ok(false);
    };
    for table in ["visits", "last_visits", "agent_claims"] {
        connection.execute(&format!("DELETE FROM {table} WHERE node = ?"), [id])?;
    }
    connection.execute("DELETE FROM edges WHERE ?1 IN (source, target)", [id])?;
    let generation = next_generation(connection, NODES_GENERATION)?;
    connection.execute(
        "UPDATE nodes SET key = '(purged ' || id || ')', type = 'semantic', content_length = 0,
             weight = 0, category = 'general', emotion = 0, provenance = '', created_at = 0,
             updated_at = 0, last_replayed = 0, replay_interval = 1, deleted = TRUE, changed = ?2
             WHERE id = ?1",
        [id, generation],
    )?;
    Ok(true)
}
