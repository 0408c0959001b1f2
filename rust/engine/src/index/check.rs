//! Finding damage.

use rusqlite::{Connection, ErrorCode as SqliteCode};

use super::settings::{self, DIMENSIONS};
use super::{Index, vector};
use crate::error::Result;

/// Each query finds the ids of chunks, or the numbers of rows, that something is wrong with.
const DISAGREEMENTS: [(&str, &str); 10] = [
    (
        "chunks are not in the full-text index",
        "SELECT id FROM knowledge_chunks
          WHERE row NOT IN (SELECT id FROM knowledge_fts_docsize)",
    ),
    (
        "rows of the full-text index have no chunk",
        "SELECT 'row ' || id FROM knowledge_fts_docsize
          WHERE id NOT IN (SELECT row FROM knowledge_chunks)",
    ),
    (
        "chunks have tags that are not a JSON array of texts",
        "SELECT id FROM knowledge_chunks
          WHERE CASE WHEN json_valid(tags) THEN json_type(tags) <> 'array'
                       OR EXISTS (SELECT 1 FROM json_each(tags) WHERE type <> 'text')
                     ELSE 1 END",
    ),
    (
        "chunks have a text of their tags that is not their tags",
        "SELECT id FROM knowledge_chunks
          WHERE CASE WHEN json_valid(tags) THEN tag_text <>
                     (SELECT coalesce(group_concat(value, ' ' ORDER BY key), '')
                        FROM json_each(tags))
                     ELSE 0 END",
    ),
    (
        "chunks have metadata that is not a JSON object",
        "SELECT id FROM knowledge_chunks
          WHERE CASE WHEN json_valid(metadata) THEN json_type(metadata) <> 'object'
                     ELSE 1 END",
    ),
    (
        "vectors have no chunk",
        "SELECT 'row ' || row FROM embeddings
          WHERE row NOT IN (SELECT row FROM knowledge_chunks)",
    ),
    (
        "chunks of files, or their files, are missing",
        "SELECT 'row ' || row FROM source_chunks
          WHERE row NOT IN (SELECT row FROM knowledge_chunks)
             OR source NOT IN (SELECT id FROM sources)",
    ),
    (
        "nodes have no chunk",
        "SELECT key FROM nodes
          WHERE NOT deleted AND key NOT IN (SELECT id FROM knowledge_chunks)",
    ),
    (
        "edges lead to no node",
        "SELECT source || ' to ' || target FROM edges
          WHERE source NOT IN (SELECT id FROM nodes) OR target NOT IN (SELECT id FROM nodes)",
    ),
    (
        "visits are of no node",
        "SELECT 'visit ' || id FROM visits WHERE node NOT IN (SELECT id FROM nodes)",
    ),
];

impl Index {
    /// Look for damage: in the file, in the full-text index, and between it and the chunks.
    ///
    /// The answer is one sentence for each problem. A read-only handle cannot have FTS5
    /// compare its index with the texts, and compares the rows alone.
    pub fn check(&self) -> Result<Vec<String>> {
        // FTS5's part of the pragma trusts what its connection remembers of the full-text index,
        // which may be out of date; a new one remembers nothing.
        let mut problems = self.on_new_reader(|connection| {
            let mut problems = Vec::new();
            note(&mut problems, file_problems(connection))?;
            for (what, sql) in DISAGREEMENTS {
                note(&mut problems, disagreement(connection, what, sql))?;
            }
            note(&mut problems, vector_problems(connection))?;
            Ok(problems)
        })?;
        if !self.read_only {
            // FTS5 takes the command for a change, though it makes none.
            let compared = self.write(|connection| {
                let mut problems = Vec::new();
                note(&mut problems, text_problems(connection))?;
                Ok(problems)
            })?;
            problems.extend(compared);
        }
        Ok(problems)
    }
}

/// Collect problems; damage that stops a check is itself one.
fn note(problems: &mut Vec<String>, found: rusqlite::Result<Vec<String>>) -> rusqlite::Result<()> {
    match found {
        Ok(found) => problems.extend(found),
        Err(error) if error.sqlite_error_code() == Some(SqliteCode::DatabaseCorrupt) => {
            problems.push(format!("the file is damaged: {error}"));
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

fn file_problems(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let lines = texts(connection, "PRAGMA integrity_check")?;
    Ok(lines.into_iter().filter(|line| line != "ok").collect())
}

/// FTS5's own check; rank 1 has it read the texts and compare.
fn text_problems(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let checked = connection.execute_batch(
        "INSERT INTO knowledge_fts (knowledge_fts, rank) VALUES ('integrity-check', 1)",
    );
    match checked {
        Ok(()) => Ok(Vec::new()),
        Err(error) if error.sqlite_error_code() == Some(SqliteCode::DatabaseCorrupt) => Ok(vec![
            "the full-text index and the texts of the chunks differ".to_owned(),
        ]),
        Err(error) => Err(error),
    }
}

/// Vectors that could not have been written: of another dimension, or not of length 1.
fn vector_problems(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let dimensions: usize = settings::get(connection, DIMENSIONS)?.unwrap_or_default();
    let mut statement =
        connection.prepare("SELECT row, vector FROM embeddings WHERE length(vector) > 0")?;
    let mut rows = statement.query([])?;
    let (mut wrong, mut values) = (Vec::new(), Vec::new());
    while let Some(row) = rows.next()? {
        values.clear();
        let read = vector::read_blob(row.get_ref(1)?.as_blob()?, &mut values);
        if !read || values.len() != dimensions || vector::unit(&values) != values {
            wrong.push(format!("row {}", row.get::<_, i64>(0)?));
        }
    }
    let what = format!("vectors are not of length 1 in {dimensions} dimensions");
    Ok(summed_up(&what, &wrong))
}

fn disagreement(connection: &Connection, what: &str, sql: &str) -> rusqlite::Result<Vec<String>> {
    Ok(summed_up(what, &texts(connection, sql)?))
}

/// One sentence for all that is wrong in one way.
fn summed_up(what: &str, found: &[String]) -> Vec<String> {
    if found.is_empty() {
        return Vec::new();
    }
    let first: Vec<String> = found.iter().take(3).map(|id| format!("{id:?}")).collect();
    let more = if found.len() > 3 { ", …" } else { "" };
    vec![format!(
        "{} {what}: {}{more}",
        found.len(),
        first.join(", ")
    )]
}

fn texts(connection: &Connection, sql: &str) -> rusqlite::Result<Vec<String>> {
    connection
        .prepare(sql)?
        .query_map([], |row| row.get(0))?
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::Chunk;
    use crate::text::tokenizer::TokenizerKind;

    /// An index of three chunks that somebody else wrote into.
    fn problems_after(damage: &str) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.db");
        let index = Index::open(&path, TokenizerKind::Porter, false).unwrap();
        let chunks = ["a", "b", "c"].map(|id| Chunk {
            id: id.to_owned(),
            content: format!("the text of {id}"),
            tags: vec!["two words".to_owned(), "nul\0".to_owned()],
            embedding: Some(vec![1.0, 2.0]),
            ..Chunk::default()
        });
        index.upsert(&chunks.each_ref()).unwrap();
        assert_eq!(index.check().unwrap(), [] as [&str; 0]);
        Connection::open(&path)
            .unwrap()
            .execute_batch(damage)
            .unwrap();
        index.check().unwrap()
    }

    #[test]
    fn damage_is_found_and_named() {
        let differ = "the full-text index and the texts of the chunks differ";
        for (damage, expected) in [
            (
                "DELETE FROM knowledge_chunks WHERE id = 'b'",
                vec![
                    "1 rows of the full-text index have no chunk: \"row 2\"",
                    "1 vectors have no chunk: \"row 2\"",
                    differ,
                ],
            ),
            (
                "UPDATE knowledge_chunks SET content = 'another text' WHERE id = 'b'",
                vec![differ],
            ),
            (
                "INSERT INTO knowledge_chunks
                 SELECT 9, 'z', path, 0, '', '', '[]', '', 'unseen', '{}'
                   FROM knowledge_chunks LIMIT 1",
                vec!["1 chunks are not in the full-text index: \"z\"", differ],
            ),
            (
                "UPDATE knowledge_chunks SET tags = '[1]', tag_text = tag_text WHERE id = 'a'",
                vec![
                    "1 chunks have tags that are not a JSON array of texts: \"a\"",
                    "1 chunks have a text of their tags that is not their tags: \"a\"",
                ],
            ),
            (
                "UPDATE knowledge_chunks SET metadata = '[]'",
                vec!["3 chunks have metadata that is not a JSON object: \"a\", \"b\", \"c\""],
            ),
            (
                "UPDATE embeddings SET vector = x'000080bf' WHERE row = 2;
                 UPDATE embeddings SET vector = x'000080bf000080bf' WHERE row = 1;
                 UPDATE embeddings SET vector = x'' WHERE row = 3",
                vec!["2 vectors are not of length 1 in 2 dimensions: \"row 1\", \"row 2\""],
            ),
        ] {
            assert_eq!(problems_after(damage), expected, "{damage}");
        }
    }

    #[test]
    fn a_damaged_row_is_an_error_where_it_is_read() {
        let index = Index::in_memory(TokenizerKind::Porter).unwrap();
        let chunk = Chunk {
            id: "a".to_owned(),
            ..Chunk::default()
        };
        index.upsert(&[&chunk]).unwrap();
        index
            .write(|connection| connection.execute_batch("UPDATE knowledge_chunks SET tags = 'x'"))
            .unwrap();
        let error = index.get("a").unwrap_err();
        assert_eq!(error.code(), crate::ErrorCode::IndexDamaged, "{error}");
    }

    #[test]
    fn a_damaged_vector_is_an_error_where_it_is_read() {
        for (damage, what) in [
            (
                "UPDATE embeddings SET vector = x'00'",
                "the vector of row 1 is not one",
            ),
            ("UPDATE embeddings SET row = 2", "a vector has no chunk"),
            (
                "UPDATE settings SET value = 'x' WHERE name = 'dimensions'",
                "invalid digit",
            ),
        ] {
            let index = Index::in_memory(TokenizerKind::Porter).unwrap();
            let chunk = Chunk {
                id: "a".to_owned(),
                embedding: Some(vec![1.0, 2.0]),
                ..Chunk::default()
            };
            index.upsert(&[&chunk]).unwrap();
            index
                .write(|connection| connection.execute_batch(damage))
                .unwrap();
            let error = index
                .search_vector(&[1.0, 2.0], 1, &crate::index::Filters::default())
                .unwrap_err();
            assert_eq!(error.code(), crate::ErrorCode::IndexDamaged, "{error}");
            assert!(error.message().contains(what), "{error}");
        }
    }
}
