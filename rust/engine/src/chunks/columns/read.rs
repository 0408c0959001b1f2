//! Reading the fields of chunks: one pass over the rows for all columns, and of the metadata only the
//! keys that they need.

use std::collections::BTreeSet;
use std::fmt;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};

use super::column_id::ColumnId;
use super::segment::{ColumnSegment, SegmentBuilder};
use super::value_key::{NO_SCALAR, value_key};
use crate::chunks::filters::{Field, TestedChunk, damaged};
use crate::chunks::metadata_index::{self, DeclaredKey, OTHER, declared};
use crate::chunks::row_set::RowSet;
use crate::interrupt::{CancelTicker, among_statements};

/// The most memory of the columns of a handle in bytes, by estimate. Beyond it, the least recently used columns
/// are dropped. A column takes 12 bytes a row, and 10 bytes and its text for each distinct value, so several columns
/// of a million rows fit. A filter on a field that does not fit reads every row.
pub(super) const MAX_BYTES: usize = if cfg!(test) { 1 << 13 } else { 128 << 20 };

/// The segment of each column, or None for a column that is too large.
pub(super) type Segments<'i> = Vec<(&'i ColumnId, Option<ColumnSegment>)>;

/// The values of some columns as they are read.
pub(super) struct ColumnReading<'i> {
    columns: Vec<ColumnBuilder<'i>>,
    /// The memory of all columns in bytes, by estimate.
    bytes: usize,
    /// The rows that were read.
    rows: RowSet,
}

struct ColumnBuilder<'i> {
    id: &'i ColumnId,
    /// None if the column did not fit into [`MAX_BYTES`] next to the others.
    builder: Option<SegmentBuilder>,
}

impl<'i> ColumnReading<'i> {
    /// Read all rows. The values of declared keys come from their index in the file, which is smaller than
    /// the chunks.
    pub fn all(
        connection: &Connection,
        ids: impl IntoIterator<Item = &'i ColumnId>,
    ) -> rusqlite::Result<Self> {
        let mut reading = Self::of(ids);
        let keys = declared(connection)?;
        let mut pace = CancelTicker::default();
        let mut others = Vec::new();
        for at in 0..reading.columns.len() {
            let id = reading.columns[at].id;
            match keys.iter().find(|key| id.is_of(key)) {
                Some(key) => reading.read_declared(connection, at, key, &mut pace)?,
                None => others.push(at),
            }
        }
        let fields = reading.fields(&others);
        let mut statement = connection.prepare_cached(&fields.sql())?;
        let mut found = statement.query([])?;
        while let Some(found) = found.next()? {
            pace.read(1 + others.len())?;
            reading.read_row(found, &fields, &others)?;
        }
        Ok(reading)
    }

    /// Read the existing rows among these.
    pub fn some(
        connection: &Connection,
        ids: impl IntoIterator<Item = &'i ColumnId>,
        rows: impl Iterator<Item = i64>,
    ) -> rusqlite::Result<Self> {
        let mut reading = Self::of(ids);
        let all: Vec<usize> = (0..reading.columns.len()).collect();
        let fields = reading.fields(&all);
        let sql = format!("{} WHERE row = ?", fields.sql());
        let mut statement = connection.prepare_cached(&sql)?;
        let mut pace = CancelTicker::default();
        for row in rows {
            pace.read(1 + all.len())?;
            let mut found = statement.query([row])?;
            if let Some(found) = found.next()? {
                reading.read_row(found, &fields, &all)?;
            }
        }
        Ok(reading)
    }

    fn of(ids: impl IntoIterator<Item = &'i ColumnId>) -> Self {
        let columns = ids.into_iter().map(|id| ColumnBuilder {
            id,
            builder: Some(SegmentBuilder::default()),
        });
        Self {
            columns: columns.collect(),
            bytes: 0,
            rows: RowSet::default(),
        }
    }

    /// The rows that exist, and the segment of each column.
    pub fn finish(self) -> rusqlite::Result<(RowSet, Segments<'i>)> {
        let segments = self.columns.into_iter().map(|column| {
            let segment = column.builder.map(SegmentBuilder::finish).transpose();
            Ok((column.id, among_statements(segment)?))
        });
        Ok((self.rows, segments.collect::<rusqlite::Result<_>>()?))
    }

    fn fields(&self, columns: &[usize]) -> Fields {
        Fields::of(columns.iter().map(|at| &self.columns[*at].id.field))
    }

    /// Read the scalars of a declared key from their index.
    fn read_declared(
        &mut self,
        connection: &Connection,
        column: usize,
        key: &DeclaredKey,
        pace: &mut CancelTicker,
    ) -> rusqlite::Result<()> {
        let sql = "SELECT value, row FROM metadata_values WHERE key = ?";
        let mut statement = connection.prepare_cached(sql)?;
        let mut found = statement.query([key.number])?;
        let (mut text, mut of_text) = (None, Vec::new());
        while let Some(found) = found.next()? {
            pace.read(1)?;
            let next = found.get_ref(0)?.as_str()?;
            if text.as_deref() != Some(next) {
                of_text = if next == OTHER {
                    NO_SCALAR.to_vec()
                } else {
                    let value = serde_json::from_str::<Value>(next);
                    value_key(&value.map_err(|_| metadata_index::damaged())?)
                };
                text = Some(next.to_owned());
            }
            self.add(column, of_text.clone(), found.get(1)?);
        }
        Ok(())
    }

    /// Add a row of the statement of `fields` to some columns.
    fn read_row(
        &mut self,
        found: &Row<'_>,
        fields: &Fields,
        columns: &[usize],
    ) -> rusqlite::Result<()> {
        let row: i64 = found.get(0)?;
        self.rows.insert(row);
        if columns.is_empty() {
            return Ok(());
        }
        fields.with_subject(found, |subject| {
            for at in columns {
                for key in self.columns[*at].id.keys(subject) {
                    self.add(*at, key, row);
                }
            }
        })
    }

    fn add(&mut self, column: usize, key: Vec<u8>, row: i64) {
        if let Some(builder) = &mut self.columns[column].builder {
            self.bytes += builder.add(key, row);
        }
        while self.bytes > MAX_BYTES {
            let size =
                |column: &ColumnBuilder<'_>| column.builder.as_ref().map(SegmentBuilder::bytes);
            let largest = self.columns.iter_mut().max_by_key(|column| size(column));
            let Some(dropped) = largest.and_then(|column| column.builder.take()) else {
                return;
            };
            self.bytes -= dropped.bytes();
        }
    }
}

/// The fields that some columns need of a row.
struct Fields {
    /// The fields that are columns of the table.
    own: BTreeSet<Field>,
    /// The keys of the metadata, ascending.
    keys: Vec<String>,
}

impl Fields {
    fn of<'f>(fields: impl Iterator<Item = &'f Field> + Clone) -> Self {
        let keys: BTreeSet<&str> = fields.clone().flat_map(Field::top_keys).collect();
        Self {
            own: fields
                .filter(|field| !field.is_metadata())
                .cloned()
                .collect(),
            keys: keys.into_iter().map(str::to_owned).collect(),
        }
    }

    fn has(&self, field: &Field) -> bool {
        self.own.contains(field)
    }

    /// Return a statement that reads the needed columns and NULL for the rest, so that an index of the file
    /// may suffice.
    fn sql(&self) -> String {
        let columns = [
            (self.has(&Field::Id), "id"),
            (self.has(&Field::Path), "path"),
            (self.has(&Field::Ordinal), "ordinal"),
            (self.has(&Field::Tags), "tags"),
            (!self.keys.is_empty(), "metadata"),
        ];
        let columns = columns.map(|(is_needed, name)| if is_needed { name } else { "NULL" });
        format!("SELECT row, {} FROM knowledge_chunks", columns.join(", "))
    }

    /// Call `see` with the values of a row of the statement.
    fn with_subject(
        &self,
        found: &Row<'_>,
        see: impl FnOnce(&TestedChunk<'_>),
    ) -> rusqlite::Result<()> {
        let text = |at, is_needed: bool| match found.get_ref(at)? {
            ValueRef::Text(text) => std::str::from_utf8(text).map_err(|_| damaged()),
            ValueRef::Null if !is_needed => Ok(""),
            _ => Err(damaged()),
        };
        let ordinal = if self.has(&Field::Ordinal) {
            found.get(3).map_err(|_| damaged())?
        } else {
            0
        };
        let tags: Vec<String> = if self.has(&Field::Tags) {
            serde_json::from_str(text(4, true)?).map_err(|_| damaged())?
        } else {
            Vec::new()
        };
        let metadata = if self.keys.is_empty() {
            Map::new()
        } else {
            entries(text(5, true)?, &self.keys).map_err(|_| damaged())?
        };
        see(&TestedChunk {
            id: text(1, self.has(&Field::Id))?,
            path: text(2, self.has(&Field::Path))?,
            ordinal,
            tags: &tags,
            metadata: &metadata,
        });
        Ok(())
    }
}

/// The entries of an object in JSON whose names are among `names`, which ascend.
fn entries(json: &str, names: &[String]) -> serde_json::Result<Map<String, Value>> {
    let mut reader = serde_json::Deserializer::from_str(json);
    let map = Entries(names).deserialize(&mut reader)?;
    reader.end()?;
    Ok(map)
}

struct Entries<'n>(&'n [String]);

impl<'de> DeserializeSeed<'de> for Entries<'_> {
    type Value = Map<String, Value>;

    fn deserialize<D: serde::Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Entries<'_> {
    type Value = Map<String, Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Map::new();
        while let Some(name) = map.next_key_seed(Name(self.0))? {
            match name {
                Some(name) => {
                    entries.insert(name.clone(), map.next_value()?);
                }
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(entries)
    }
}

/// Reads a name, and finds it among others.
struct Name<'n>(&'n [String]);

impl<'de, 'n> DeserializeSeed<'de> for Name<'n> {
    type Value = Option<&'n String>;

    fn deserialize<D: serde::Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_str(self)
    }
}

impl<'n> Visitor<'_> for Name<'n> {
    type Value = Option<&'n String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        let found = self.0.binary_search_by(|known| known.as_str().cmp(name));
        Ok(found.ok().map(|at| &self.0[at]))
    }
}
