//! Which chunks there are, without their texts.

use rusqlite::params_from_iter;

use super::changes;
use super::filters::Filters;
use super::session::Session;
use crate::error::Result;

impl Session<'_> {
    /// How many transactions changed a chunk or a vector. Equal numbers mean an equal state.
    pub fn generation(&self) -> Result<i64> {
        self.read(changes::generation)
    }

    /// Id and path of every chunk in row order, and the generation they are of.
    pub fn paths_by_id(&self) -> Result<(i64, Vec<(String, String)>)> {
        self.read(|connection| {
            let paths = connection
                .prepare_cached("SELECT id, path FROM knowledge_chunks ORDER BY row")?
                .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect::<rusqlite::Result<_>>()?;
            Ok((changes::generation(connection)?, paths))
        })
    }

    /// The ids of the chunks that pass the filters, in row order.
    pub fn ids(&self, filters: &Filters) -> Result<Vec<String>> {
        self.read(|connection| {
            let conditions = filters.conditions()?;
            let sql = format!(
                "SELECT chunk.id FROM knowledge_chunks AS chunk WHERE TRUE{} ORDER BY chunk.row",
                conditions.sql()
            );
            connection
                .prepare_cached(&sql)?
                .query_map(params_from_iter(&conditions.values), |row| row.get(0))?
                .collect()
        })
    }
}
