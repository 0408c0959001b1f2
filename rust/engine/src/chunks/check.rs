//! Finding chunks that could not have been written.

use std::collections::HashSet;
use std::fmt;

use rusqlite::{Connection, Row};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::storage::summarize;

/// A problem of some chunks, each named by its id.
#[derive(Default)]
struct Problems {
    out_of_order: Vec<String>,
    no_text: Vec<String>,
    no_tags: Vec<String>,
    no_object: Vec<String>,
    doubled: Vec<String>,
}

/// Read every row as a search would.
pub(super) fn malformed_rows(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare(
        "SELECT row, id, path, title, summary, tag_text, content, tags, metadata
           FROM knowledge_chunks ORDER BY row",
    )?;
    let mut found = statement.query([])?;
    let mut problems = Problems::default();
    let mut before = None;
    while let Some(found) = found.next()? {
        let row = found.get::<_, i64>(0)?;
        let id = String::from_utf8_lossy(found.get_ref(1)?.as_bytes()?).into_owned();
        if before.is_some_and(|before| before >= row) {
            problems.out_of_order.push(format!("row {row}"));
        }
        before = Some(row);
        problems.look_at(found, &id)?;
    }
    Ok(problems.sentences())
}

impl Problems {
    fn look_at(&mut self, found: &Row<'_>, id: &str) -> rusqlite::Result<()> {
        for column in 1..=6 {
            if found.get_ref(column)?.as_str().is_err() {
                self.no_text.push(id.to_owned());
                break;
            }
        }
        let [tags, metadata] = [found.get_ref(7)?, found.get_ref(8)?];
        if serde_json::from_slice::<Vec<String>>(tags.as_bytes()?).is_err() {
            self.no_tags.push(id.to_owned());
        }
        let metadata = metadata.as_bytes()?;
        if serde_json::from_slice::<Map<String, Value>>(metadata).is_err() {
            self.no_object.push(id.to_owned());
        } else if serde_json::from_slice::<DistinctKeys>(metadata).is_err() {
            self.doubled.push(id.to_owned());
        }
        Ok(())
    }

    fn sentences(&self) -> Vec<String> {
        let found = [
            ("chunks are out of order", &self.out_of_order),
            ("chunks have texts that are not UTF-8", &self.no_text),
            (
                "chunks have tags that are not a JSON array of texts",
                &self.no_tags,
            ),
            (
                "chunks have metadata that is not a JSON object",
                &self.no_object,
            ),
            ("chunks have a key twice in their metadata", &self.doubled),
        ];
        let sentences = found.iter().map(|(what, ids)| summarize(what, ids));
        sentences.flatten().collect()
    }
}

/// JSON in which no object has a key twice: a parser keeps one of them and says nothing.
struct DistinctKeys;

impl<'de> Deserialize<'de> for DistinctKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DistinctKeysVisitor)
    }
}

struct DistinctKeysVisitor;

impl<'de> Visitor<'de> for DistinctKeysVisitor {
    type Value = DistinctKeys;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON in which no object has a key twice")
    }

    fn visit_unit<E>(self) -> Result<DistinctKeys, E> {
        Ok(DistinctKeys)
    }

    fn visit_bool<E>(self, _: bool) -> Result<DistinctKeys, E> {
        Ok(DistinctKeys)
    }

    fn visit_i64<E>(self, _: i64) -> Result<DistinctKeys, E> {
        Ok(DistinctKeys)
    }

    fn visit_u64<E>(self, _: u64) -> Result<DistinctKeys, E> {
        Ok(DistinctKeys)
    }

    fn visit_f64<E>(self, _: f64) -> Result<DistinctKeys, E> {
        Ok(DistinctKeys)
    }

    fn visit_str<E>(self, _: &str) -> Result<DistinctKeys, E> {
        Ok(DistinctKeys)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<DistinctKeys, A::Error> {
        while items.next_element::<DistinctKeys>()?.is_some() {}
        Ok(DistinctKeys)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<DistinctKeys, A::Error> {
        let mut keys = HashSet::new();
        while let Some(key) = entries.next_key::<String>()? {
            entries.next_value::<DistinctKeys>()?;
            if !keys.insert(key) {
                return Err(A::Error::custom("a key twice"));
            }
        }
        Ok(DistinctKeys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_told_apart_at_every_depth() {
        let sound = |text: &str| serde_json::from_str::<DistinctKeys>(text).is_ok();
        for text in [
            "{}",
            r#"{"a": 1, "b": [null, true, -1, 0.5, "a", {"a": {"a": 1}}]}"#,
        ] {
            assert!(sound(text), "{text}");
        }
        for text in [
            r#"{"a": 1, "a": 1}"#,
            r#"{"a": 1, "\u0061": 2}"#,
            r#"{"b": [{"a": {"c": 1, "c": 2}}]}"#,
        ] {
            assert!(!sound(text), "{text}");
        }
    }
}
