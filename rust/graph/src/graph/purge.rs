//! Purging nodes, so that nothing of them is left in the file.

use rusqlite::{Connection, params};

use super::edge_changes;
use super::store::Store;
use super::write::mark_deleted;
use crate::schema::{NODES_GENERATION, next_generation};
use hedgerow_engine::error::Result;
use hedgerow_engine::sources::forget_source;

impl Store {
    /// Remove everything about nodes: their texts, edges and visits, their files in the ledger, and the
    /// actions of agents that name them. Their ids stay taken, by deleted nodes without content. Returns
    /// the number of removed nodes.
    ///
    /// The removed bytes stay in the file until `Index::vacuum`.
    pub fn purge<T: AsRef<str>>(&self, keys: &[T]) -> Result<usize> {
        self.index().database().try_write(|connection| {
            mark_deleted(connection, keys)?;
            let mut purged = 0;
            for key in keys {
                purged += usize::from(purge(connection, key.as_ref())?);
            }
            Ok(purged)
        })
    }
}

fn purge(connection: &Connection, key: &str) -> rusqlite::Result<bool> {
    // An action has the key in JSON, where it may be escaped, or verbatim in a text.
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
    for table in ["last_visits", "agent_claims"] {
        connection.execute(&format!("DELETE FROM {table} WHERE node = ?"), [id])?;
    }
    purge_visits(connection, id)?;
    forget_source(connection, key)?;
    connection.execute("DELETE FROM edges WHERE ?1 IN (source, target)", [id])?;
    edge_changes::record(connection, &[(id, id)])?;
    let generation = next_generation(connection, NODES_GENERATION)?;
    // No node may have a NUL in its key, so this one is free.
    connection.execute(
        "UPDATE nodes SET key = '(purged ' || id || ')' || char(0), type = 'semantic', content_length = 0,
             weight = 0, category = 'general', emotion = 0, provenance = '', created_at = 0,
             updated_at = 0, last_replayed = 0, replay_interval = 1, deleted = TRUE, changed = ?2
             WHERE id = ?1",
        [id, generation],
    )?;
    Ok(true)
}

/// Delete the visits to a node. If the last visit of all is one of them, it is emptied instead of
/// deleted: the state in memory goes by the greatest id, which must not be used again.
fn purge_visits(connection: &Connection, node: i64) -> rusqlite::Result<()> {
    connection.execute(
        "DELETE FROM visits WHERE node = ? AND id < (SELECT max(id) FROM visits)",
        [node],
    )?;
    connection.execute(
        "UPDATE visits SET agent = '', at = 0, outcome = 'failed', run = NULL WHERE node = ?",
        [node],
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Node, Outcome, VisitInput};
    use crate::pipeline::{Options, parse, run};

    fn visit(key: &str) -> VisitInput {
        VisitInput {
            agent: "agent".to_owned(),
            key: key.to_owned(),
            at: 1,
            outcome: Outcome::default(),
        }
    }

    #[test]
    fn a_visit_is_seen_that_follows_the_purge_of_the_last_one() {
        let store = Store::in_memory().unwrap();
        let node = |key: &str| Node {
            key: key.to_owned(),
            ..Node::default()
        };
        let nodes = ["a", "b"].map(node);
        store.upsert(&nodes.each_ref(), 1).unwrap();
        let pipeline = parse("visited:agent", &[], &[]).unwrap();
        let visited = || run(&store, &pipeline, &Options::default()).unwrap().keys;
        store.visit(&[visit("b")]).unwrap();
        assert_eq!(visited(), ["b"]);
        assert_eq!(store.purge(&["b", "nobody"]).unwrap(), 1);
        store.visit(&[visit("a")]).unwrap();
        assert_eq!(visited(), ["a"]);
        assert_eq!(store.index().check().unwrap(), [] as [&str; 0]);
    }

    #[test]
    fn what_is_purged_leaves_room_for_a_node_of_any_key() {
        let store = Store::in_memory().unwrap();
        let node = |key: &str| Node {
            key: key.to_owned(),
            ..Node::default()
        };
        let nodes = ["a", "(purged 1)"].map(node);
        store.upsert(&nodes.each_ref(), 1).unwrap();
        assert_eq!(store.purge(&["a"]).unwrap(), 1);
        assert!(store.get("(purged 1)").unwrap().is_some());
    }
}
