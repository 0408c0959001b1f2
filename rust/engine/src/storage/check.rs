//! Finding damage.

use std::collections::HashSet;

use rusqlite::Connection;

use super::database::Database;
use super::location::Location;
use super::schema;
use super::subject::SubjectCheck;
use crate::error::{Error, ErrorCode, Result};

/// The most rows that a problem names.
const NAMED: usize = 3;

impl Database {
    /// Look for damage: in the file, and in what each subject keeps there.
    ///
    /// The answer is one sentence for each problem, and what cannot be read is one. A read-only
    /// handle skips the checks that SQLite takes for writes.
    pub fn check(&self) -> Result<Vec<String>> {
        let (location, subjects) = (&self.location, self.location.subjects());
        // FTS5's part of the pragma trusts what its connection remembers of the full-text index,
        // which may be out of date; a new one remembers nothing.
        let mut problems = listed(self.on_new_reader(|connection| {
            let reading = subjects.iter().flat_map(|subject| subject.checks);
            let checks = [&(file_problems as SubjectCheck)]
                .into_iter()
                .chain(reading);
            match run(location, connection, checks) {
                Ok(problems) if problems.is_empty() => definition_problems(location, connection),
                found => found,
            }
        }))?;
        if !self.read_only {
            let writing = subjects.iter().flat_map(|subject| subject.writing_checks);
            problems.extend(listed(
                self.try_write(|connection| Ok(run(location, connection, writing)?)),
            )?);
        }
        // Several checks may have met the same page.
        let mut seen = HashSet::new();
        problems.retain(|problem| seen.insert(problem.clone()));
        Ok(problems)
    }
}

/// Collect problems; damage that stops a check is itself one.
fn run<'c>(
    location: &Location,
    connection: &Connection,
    checks: impl Iterator<Item = &'c SubjectCheck>,
) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for check in checks {
        match check(connection) {
            Ok(found) => problems.extend(found),
            Err(error) => {
                let told = location.error(&error);
                if !is_damage(&told) {
                    return Err(told);
                }
                problems.push(format!("the file is damaged: {error}"));
            }
        }
    }
    Ok(problems)
}

/// Definitions that are not ours, of which the other checks saw nothing.
fn definition_problems(location: &Location, connection: &Connection) -> Result<Vec<String>> {
    let changed = schema::changed_definitions(connection, location);
    let changed = changed.map_err(|error| location.error(&error))?;
    let named = |name| format!("the file is damaged: {name:?} is not defined as hedgerow does it");
    Ok(changed.into_iter().map(named).collect())
}

/// Return the problems found, or the damage that stopped the check.
fn listed(found: Result<Vec<String>>) -> Result<Vec<String>> {
    match found {
        Err(error) if is_damage(&error) => Ok(vec![error.message().to_owned()]),
        found => found,
    }
}

fn is_damage(error: &Error) -> bool {
    matches!(
        error.code(),
        ErrorCode::IndexDamaged | ErrorCode::NotAnIndex
    )
}

fn file_problems(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let lines = texts(connection, "PRAGMA integrity_check")?;
    Ok(lines.into_iter().filter(|line| line != "ok").collect())
}

/// Return a sentence for each query with rows: the problem, and the names in the rows.
pub fn disagreements(
    connection: &Connection,
    queries: &[(&str, &str)],
) -> rusqlite::Result<Vec<String>> {
    let mut problems = Vec::new();
    for (what, sql) in queries {
        problems.extend(summarize(what, &texts(connection, sql)?));
    }
    Ok(problems)
}

/// Return a sentence for all rows with one problem; None if the list is empty.
pub fn summarize(what: &str, found: &[String]) -> Option<String> {
    if found.is_empty() {
        return None;
    }
    let named = found.iter().take(NAMED).map(|name| format!("{name:?}"));
    let named = named.collect::<Vec<_>>().join(", ");
    let more = if found.len() > NAMED { ", …" } else { "" };
    Some(format!("{} {what}: {named}{more}", found.len()))
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
    use crate::chunks::Chunk;
    use crate::index::Index;
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
                vec![
                    "3 vectors are not of length 1 in 2 dimensions: \"row 1\", \"row 2\", \"row 3\"",
                ],
            ),
            (
                "UPDATE knowledge_chunks SET metadata = '{\"a\":{\"k\":1,\"k\":2}}' WHERE id = 'c'",
                vec!["1 chunks have a key twice in their metadata: \"c\""],
            ),
            (
                "UPDATE knowledge_chunks SET title = CAST(x'ff' AS TEXT) WHERE id = 'c'",
                vec!["1 chunks have texts that are not UTF-8: \"c\""],
            ),
            (
                "DROP TABLE embeddings",
                vec!["the file is damaged: no such table: embeddings"],
            ),
        ] {
            assert_eq!(problems_after(damage), expected, "{damage}");
        }
    }

    #[test]
    fn chunks_end_although_their_rows_go_backwards() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.db");
        let index = Index::open(&path, TokenizerKind::Porter, false).unwrap();
        let chunks: Vec<Chunk> = (0..900)
            .map(|number| Chunk {
                id: number.to_string(),
                content: "text ".repeat(20),
                ..Chunk::default()
            })
            .collect();
        index.upsert(&chunks.iter().collect::<Vec<_>>()).unwrap();
        index.close().unwrap();
        swap_pages(&path, "knowledge_chunks");
        let index = Index::open(&path, TokenizerKind::Porter, false).unwrap();
        let mut after = 0;
        let error = loop {
            match index.page(after, 256) {
                Ok(page) => {
                    assert!(page.after > after, "the rows end, or the pages never do");
                    after = page.after;
                }
                Err(error) => break error,
            }
        };
        assert_eq!(error.code(), ErrorCode::IndexDamaged, "{error}");
        assert!(error.message().contains("is out of order"), "{error}");
        let problems = index.check().unwrap();
        let told = |what: &str| problems.iter().any(|problem| problem.contains(what));
        assert!(told("chunks are out of order"), "{problems:?}");
    }

    /// Exchange two leaves of a table in the file, as a disk that mixes up its sectors.
    fn swap_pages(path: &std::path::Path, table: &str) {
        let connection = Connection::open(path).unwrap();
        let sql = "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path";
        let pages: Vec<usize> = connection
            .prepare(sql)
            .unwrap()
            .query_map([table], |row| row.get(0))
            .unwrap()
            .collect::<rusqlite::Result<_>>()
            .unwrap();
        connection.close().unwrap();
        let mut bytes = std::fs::read(path).unwrap();
        let [early, late] = [1, 4].map(|nth| (pages[nth] - 1) * 4096..pages[nth] * 4096);
        let kept = bytes[early.clone()].to_vec();
        bytes.copy_within(late.clone(), early.start);
        bytes[late].copy_from_slice(&kept);
        std::fs::write(path, bytes).unwrap();
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
            .database()
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
            (
                "UPDATE embeddings SET vector = x''",
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
                .database()
                .write(|connection| connection.execute_batch(damage))
                .unwrap();
            let error = index
                .search_vector(&[1.0, 2.0], 1, &crate::chunks::Filters::default())
                .unwrap_err();
            assert_eq!(error.code(), crate::ErrorCode::IndexDamaged, "{error}");
            assert!(error.message().contains(what), "{error}");
        }
    }
}
