//! The last visits to nodes: a column for each agent that a query names.

use std::sync::Arc;

use rusqlite::Connection;

use super::column::Column;
use super::node::Outcome;
use super::nodes::{self, Nodes};
use hedgerow_engine::storage::cache::{Cache, Version};

/// The time of the last visit of a node that was never visited.
pub const NEVER: i64 = i64::MIN;

/// The last visits of an agent that did not fail.
#[derive(Debug, Clone, Default)]
pub(crate) struct Visits {
    /// The id of the last visit that was read, of any agent.
    last: i64,
    /// The time of the last visit by slot; nodes beyond the end were never visited.
    pub column: Column<i64>,
}

/// The inputs for reading the visits of an agent.
pub(crate) struct VisitSource {
    pub agent: String,
    pub nodes: Arc<Cache<Nodes>>,
}

impl Version for Visits {
    type Source = VisitSource;
    const NAME: &'static str = "visits";

    fn generation(&self) -> i64 {
        self.last
    }

    fn load(source: &VisitSource, connection: &Connection) -> rusqlite::Result<Self> {
        let nodes = source.nodes(connection)?;
        let mut column: Vec<i64> = Vec::new();
        let mut statement =
            connection.prepare_cached("SELECT node, at FROM last_visits WHERE agent = ?")?;
        let mut rows = statement.query([&source.agent])?;
        while let Some(row) = rows.next()? {
            if let Some(slot) = nodes.slot_of(row.get(0)?) {
                let slot = slot as usize;
                column.resize(column.len().max(slot + 1), NEVER);
                column[slot] = column[slot].max(row.get(1)?);
            }
        }
        Ok(Self {
            last: last(connection)?,
            column: column.into(),
        })
    }

    /// Visits are only ever added.
    fn next(
        self: &Arc<Self>,
        source: &VisitSource,
        connection: &Connection,
        generation: i64,
    ) -> rusqlite::Result<Option<Self>> {
        let nodes = source.nodes(connection)?;
        let mut next = Self::clone(self);
        next.last = generation;
        let mut statement = connection.prepare_cached(
            "SELECT node, at FROM visits WHERE id > ? AND agent = ? AND outcome <> ? ORDER BY id",
        )?;
        let failed = Outcome::Failed.as_str();
        let mut rows = statement.query((self.last, &source.agent, failed))?;
        while let Some(row) = rows.next()? {
            if let Some(slot) = nodes.slot_of(row.get(0)?) {
                let slot = slot as usize;
                next.column.grow(slot + 1, NEVER);
                next.column.set(slot, next.column[slot].max(row.get(1)?));
            }
        }
        Ok(Some(next))
    }
}

impl VisitSource {
    /// The nodes of the same state.
    fn nodes(&self, connection: &Connection) -> rusqlite::Result<Arc<Nodes>> {
        nodes::of_state(&self.nodes, connection)
    }
}

/// The id of the last visit of any agent in the state that `connection` sees, which serves as a
/// generation.
pub(super) fn last(connection: &Connection) -> rusqlite::Result<i64> {
    connection
        .prepare_cached("SELECT coalesce(max(id), 0) FROM visits")?
        .query_row([], |row| row.get(0))
}
