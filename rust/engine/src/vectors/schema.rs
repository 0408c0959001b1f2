//! The tables of vectors.

use rusqlite::Connection;

use crate::storage::settings::{self, DIMENSIONS};
use crate::storage::{Subject, disagreements, summarize};
use crate::unit_vector;

/// The vectors of chunks.
pub static VECTORS: Subject = Subject {
    name: "vectors",
    migrations: &[create, add_staged, mark_what_is_not_to_be_had],
    since_format: 2,
    register: |_| Ok(()),
    checks: &[rows_without_chunk, malformed_vectors],
    writing_checks: &[],
    maintenance: None,
};

/// Vectors, each of length 1 in `f32`, little-endian, or [`unit_vector::NONE`].
fn create(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "CREATE TABLE embeddings (
             row INTEGER PRIMARY KEY,
             vector BLOB NOT NULL
         ) STRICT;",
    )
}

/// New vectors wait here until all are there (`index/staging.rs`).
fn add_staged(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "CREATE TABLE staged_embeddings (
             row INTEGER PRIMARY KEY,
             vector BLOB NOT NULL
         ) STRICT;",
    )
}

/// Before this migration an empty blob marked a vector that the embedder could not make; damage can
/// leave one too.
fn mark_what_is_not_to_be_had(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "UPDATE embeddings SET vector = x'01' WHERE length(vector) = 0;
         UPDATE staged_embeddings SET vector = x'01' WHERE length(vector) = 0;",
    )
}

fn rows_without_chunk(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    disagreements(
        connection,
        &[(
            "vectors have no chunk",
            "SELECT 'row ' || row FROM embeddings
              WHERE row NOT IN (SELECT row FROM knowledge_chunks)",
        )],
    )
}

/// Vectors that could not have been written: of another dimension, or not of length 1.
fn malformed_vectors(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let dimensions: usize = settings::get(connection, DIMENSIONS)?.unwrap_or_default();
    let mut statement =
        connection.prepare("SELECT row, vector FROM embeddings WHERE vector <> x'01'")?;
    let mut rows = statement.query([])?;
    let (mut wrong, mut values) = (Vec::new(), Vec::new());
    while let Some(row) = rows.next()? {
        values.clear();
        let read = unit_vector::read_blob(row.get_ref(1)?.as_blob()?, &mut values);
        if !read || values.len() != dimensions || unit_vector::unit(&values) != values {
            wrong.push(format!("row {}", row.get::<_, i64>(0)?));
        }
    }
    let what = format!("vectors are not of length 1 in {dimensions} dimensions");
    Ok(summarize(&what, &wrong).into_iter().collect())
}
