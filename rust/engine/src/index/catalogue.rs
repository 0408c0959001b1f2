//! Which chunks there are, without their texts.

use rusqlite::params_from_iter;

use super::filters::Filters;
use super::session::Session;
use crate::error::Result;

impl Session<'_> {
    /// The rows of the chunks that pass the filters, ascending.
    pub fn rows(&self, filters: &Filters) -> Result<Vec<i64>> {
        self.read(|connection| {
            let conditions = filters.conditions()?;
            let sql = format!(
                "SELECT chunk.row FROM knowledge_chunks AS chunk WHERE TRUE{} ORDER BY chunk.row",
                conditions.sql()
            );
            connection
                .prepare_cached(&sql)?
                .query_map(params_from_iter(&conditions.values), |row| row.get(0))?
                .collect()
        })
    }
}
