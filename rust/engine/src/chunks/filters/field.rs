//! The part of a chunk that a condition tests.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::chunks::chunk::Chunk;

/// The prefix of a metadata key whose name would mean something else.
const METADATA: &str = "metadata.";

/// A part of a chunk that has a name in filters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Field {
    Id,
    Path,
    Ordinal,
    Tags,
    /// A key of the metadata, or keys of objects in it with dots between.
    Metadata(String),
    /// A key of the metadata whose dots have no meaning.
    Key(String),
}

/// The values that conditions test; values without a condition may be empty.
pub(crate) struct TestedChunk<'c> {
    pub id: &'c str,
    pub path: &'c str,
    pub ordinal: i64,
    pub tags: &'c [String],
    pub metadata: &'c Map<String, Value>,
}

impl<'c> TestedChunk<'c> {
    pub fn of(chunk: &'c Chunk) -> Self {
        Self {
            id: &chunk.id,
            path: &chunk.path,
            ordinal: chunk.ordinal,
            tags: &chunk.tags,
            metadata: &chunk.metadata,
        }
    }
}

impl Field {
    /// The field of a name; None for a name that is empty.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "id" => Self::Id,
            "path" => Self::Path,
            "ordinal" => Self::Ordinal,
            "tags" => Self::Tags,
            "" | METADATA => return None,
            key => Self::Metadata(key.strip_prefix(METADATA).unwrap_or(key).to_owned()),
        })
    }

    /// The field of a key of the metadata whose dots have no meaning.
    pub fn of_key(key: &str) -> Self {
        if key.contains('.') {
            Self::Key(key.to_owned())
        } else {
            Self::Metadata(key.to_owned())
        }
    }

    /// Whether the field is in the metadata.
    pub fn is_metadata(&self) -> bool {
        matches!(self, Self::Metadata(_) | Self::Key(_))
    }

    /// The keys of the metadata that [`Self::values`] looks at; none for other fields.
    pub fn top_keys(&self) -> impl Iterator<Item = &str> {
        let (key, first) = match self {
            Self::Metadata(key) => (Some(key), key.split_once('.').map(|(first, _)| first)),
            Self::Key(key) => (Some(key), None),
            _ => (None, None),
        };
        key.map(String::as_str).into_iter().chain(first)
    }

    /// The values that a chunk has there, most often one. A list is one value.
    pub fn values<'c>(&self, subject: &TestedChunk<'c>) -> Vec<Cow<'c, Value>> {
        let owned = |value: Value| vec![Cow::Owned(value)];
        match self {
            Self::Id => owned(subject.id.into()),
            Self::Path => owned(subject.path.into()),
            Self::Ordinal => owned(subject.ordinal.into()),
            Self::Tags => owned(subject.tags.into()),
            Self::Metadata(key) => {
                let mut found = Vec::new();
                reach(subject.metadata, key, &mut found);
                found
            }
            Self::Key(key) => subject
                .metadata
                .get(key)
                .map(Cow::Borrowed)
                .into_iter()
                .collect(),
        }
    }
}

/// Find the value of the whole key, dots included; else follow the part before the first dot. If
/// that is a list, all objects in it count.
fn reach<'c>(map: &'c Map<String, Value>, key: &str, found: &mut Vec<Cow<'c, Value>>) {
    if let Some(value) = map.get(key) {
        found.push(Cow::Borrowed(value));
        return;
    }
    let Some((first, rest)) = key.split_once('.') else {
        return;
    };
    match map.get(first) {
        Some(Value::Object(inner)) => reach(inner, rest, found),
        Some(Value::Array(items)) => {
            for inner in items.iter().filter_map(Value::as_object) {
                reach(inner, rest, found);
            }
        }
        _ => {}
    }
}
