//! Who visited which node when: a column for each agent that was asked for.

use std::collections::BTreeMap;
use std::sync::Arc;

use rusqlite::Connection;

use super::node::Outcome;
use super::nodes::Nodes;

/// When a node was visited that never was.
pub const NEVER: i64 = i64::MIN;

/// The last visits that did not fail, of the agents that were asked for so far.
#[derive(Debug, Default)]
pub(super) struct Visits {
    /// The last visit that was read.
    last: i64,
    agents: BTreeMap<String, Arc<Vec<i64>>>,
}

impl Visits {
    /// Read the visits since the last time, which only concern agents that were asked for.
    pub fn refresh(&mut self, connection: &Connection, nodes: &Nodes) -> rusqlite::Result<()> {
        let mut statement = connection.prepare_cached(
            "SELECT id, node, agent, at, outcome FROM visits WHERE id > ? ORDER BY id",
        )?;
        let mut rows = statement.query([self.last])?;
        let mut last = self.last;
        while let Some(row) = rows.next()? {
            last = row.get(0)?;
            let failed = row.get_ref(4)?.as_str()? == Outcome::Failed.as_str();
            let column = self.agents.get_mut(row.get_ref(2)?.as_str()?);
            if let (Some(column), Some(place), false) =
                (column, nodes.place_of(row.get(1)?), failed)
            {
                note(Arc::make_mut(column), place, row.get(3)?);
            }
        }
        self.last = last;
        Ok(())
    }

    /// The visits of an agent, by place; nodes beyond the end were never visited.
    pub fn of(
        &mut self,
        connection: &Connection,
        nodes: &Nodes,
        agent: &str,
    ) -> rusqlite::Result<Arc<Vec<i64>>> {
        if let Some(column) = self.agents.get(agent) {
            return Ok(Arc::clone(column));
        }
        let mut column = vec![NEVER; nodes.len()];
        let mut statement =
            connection.prepare_cached("SELECT node, at FROM last_visits WHERE agent = ?")?;
        let mut rows = statement.query([agent])?;
        while let Some(row) = rows.next()? {
            if let Some(place) = nodes.place_of(row.get(0)?) {
                note(&mut column, place, row.get(1)?);
            }
        }
        let column = Arc::new(column);
        self.agents.insert(agent.to_owned(), Arc::clone(&column));
        Ok(column)
    }

    /// Begin with what is in the file: of no agent yet, and up to its last visit.
    pub fn begin(connection: &Connection) -> rusqlite::Result<Self> {
        let last = connection
            .prepare_cached("SELECT coalesce(max(id), 0) FROM visits")?
            .query_row([], |row| row.get(0))?;
        Ok(Self {
            last,
            ..Self::default()
        })
    }
}

fn note(column: &mut Vec<i64>, place: u32, at: i64) {
    let place = place as usize;
    if column.len() <= place {
        column.resize(place + 1, NEVER);
    }
    column[place] = column[place].max(at);
}
