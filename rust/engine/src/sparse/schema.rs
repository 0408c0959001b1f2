//! The table of sparse vectors, made when the first is stored.

use rusqlite::{Connection, OptionalExtension};

use crate::chunks::has_sparse_vectors;
use crate::sparse_vector::SparseVector;
use crate::storage::{Subject, disagreements, summarize};

/// The sparse vectors of chunks. It has no migrations: a file without such vectors has no table of them, and is
/// the same as before there were any.
pub static SPARSE: Subject = Subject {
    name: "sparse",
    migrations: &[],
    since_format: 1,
    register: |_| Ok(()),
    checks: &[problems],
    writing_checks: &[],
    maintenance: None,
};

/// The definition of the table as SQLite keeps it.
const TABLE: &str = "CREATE TABLE sparse_vectors (
    row INTEGER PRIMARY KEY,
    vector BLOB NOT NULL
) STRICT";

/// Make the table unless the file has it.
pub(super) fn create(connection: &Connection) -> rusqlite::Result<()> {
    if !has_sparse_vectors(connection)? {
        connection.execute_batch(TABLE)?;
    }
    Ok(())
}

fn definition(connection: &Connection) -> rusqlite::Result<Option<String>> {
    connection
        .prepare_cached("SELECT sql FROM sqlite_schema WHERE name = 'sparse_vectors'")?
        .query_row([], |row| row.get(0))
        .optional()
}

fn problems(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let Some(definition) = definition(connection)? else {
        return Ok(Vec::new());
    };
    if definition != TABLE {
        let changed = "the file is damaged: \"sparse_vectors\" is not defined as hedgerow does it";
        return Ok(vec![changed.to_owned()]);
    }
    let mut problems = disagreements(
        connection,
        &[(
            "sparse vectors have no chunk",
            "SELECT 'row ' || row FROM sparse_vectors
              WHERE row NOT IN (SELECT row FROM knowledge_chunks)",
        )],
    )?;
    let mut statement = connection.prepare("SELECT row, vector FROM sparse_vectors")?;
    let mut rows = statement.query([])?;
    let mut wrong = Vec::new();
    while let Some(row) = rows.next()? {
        let blob = row.get_ref(1)?.as_blob()?;
        if SparseVector::from_blob(blob).is_none() {
            wrong.push(format!("row {}", row.get::<_, i64>(0)?));
        }
    }
    problems.extend(summarize("sparse vectors are damaged", &wrong));
    Ok(problems)
}
