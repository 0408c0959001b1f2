//! Facts: the notes of an index's ledger about a memory, in addition to its chunks (spec/memory.md, "Sync").

use std::sync::Arc;

use hedgerow_engine::calendar::Time;
use serde_json::{Map, Value};

use super::key;
use crate::day_format::day_of_name;
use crate::facts::names::{bucket, is_known_type, stated_type, type_words};
use crate::facts::scope::Scope;
use crate::format::front_matter::{SCOPE, json_text, number_of, number_text};
use crate::format::tags::{compared, compared_tags, is_within};
use crate::text::{one_line, trimmed};
use crate::times::{StatedTime, parse_age, parse_end, parse_time};

/// The fields of front matter that are marks, in the order of the facts.
pub const MARKS: [&str; 8] = [
    key::RETRACTED,
    key::SUPERSEDED_BY,
    key::SUPERSEDES,
    key::VALID_FROM,
    key::VALID_UNTIL,
    key::STALE_AFTER,
    key::DERIVED_FROM,
    key::RETRACTION_REASON,
];

/// The marks that name other memories.
pub const LINK_MARKS: [&str; 3] = [key::SUPERSEDES, key::SUPERSEDED_BY, key::DERIVED_FROM];

/// The fields that say when a memory is from; the first that holds a time counts.
pub const TIME_FIELDS: [&str; 4] = ["date", "created_at", "created", "updated_at"];

/// The types that raise the strength of a memory.
const STRONG: [&str; 4] = ["decision", "preference", "finding", "fact"];
const STRONG_TYPE: f64 = 0.05;
/// The writers of one memory that a filter compares. A list in front matter can be of any length.
const MOST_WRITERS: usize = 100;

/// The input of the facts of a memory.
#[derive(Debug, Clone, Copy)]
pub struct Memory<'a> {
    /// The path below the indexed folder.
    pub path: &'a str,
    /// The title, or an empty text.
    pub title: &'a str,
    /// Names other than the title.
    pub aliases: &'a [String],
    /// The tags of its chunks.
    pub tags: &'a [String],
    /// The front matter as results have it.
    pub metadata: &'a Map<String, Value>,
    /// The targets of the links under each of [`LINK_MARKS`] that front matter has.
    pub links: &'a [(&'a str, Vec<String>)],
}

/// Return the facts of a memory: its names, time, scope, marks and parts of its score. Facts
/// without a value are left out.
pub fn facts_of(memory: &Memory<'_>) -> Map<String, Value> {
    let Memory { path, metadata, .. } = *memory;
    let stated = stated_type(metadata);
    let time = memory_time(path, metadata);
    let mut types = type_words(path, stated.as_deref());
    types.retain(|word| !is_known_type(word));
    types.sort_unstable();
    let strength = strength(metadata);
    let words = all_text(metadata).to_lowercase();
    let is_day = time.is_some_and(|time: StatedTime| time.is_day);
    let facts = [
        (key::TITLE, text(memory.title)),
        (key::ALIASES, list(memory.aliases.to_vec())),
        (SCOPE, object(Scope::stated(metadata).to_json())),
        (key::TIME, time.map(|time| time.time.to_iso().into())),
        (key::DAY, is_day.then_some(Value::Bool(true))),
        (key::TYPES, list(types)),
        (key::TYPE, stated.map(Value::from)),
        (
            key::TAGS,
            list(compared_tags(metadata, memory.tags).into_iter().collect()),
        ),
        (key::WRITTEN_BY, list(writers(metadata))),
        (
            key::SESSION,
            session_id(metadata).map(|_| Value::Bool(true)),
        ),
        (key::STRENGTH, (strength != 0.0).then(|| strength.into())),
        (key::WORDS, text(&words)),
        (key::MARKS, object(marks(memory))),
    ];
    let stated = facts
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?)));
    stated.collect()
}

fn text(text: &str) -> Option<Value> {
    (!text.is_empty()).then(|| text.into())
}

fn list(items: Vec<String>) -> Option<Value> {
    (!items.is_empty()).then(|| items.into())
}

fn object(fields: Map<String, Value>) -> Option<Value> {
    (!fields.is_empty()).then(|| fields.into())
}

fn marks(memory: &Memory<'_>) -> Map<String, Value> {
    let mut marks = Map::new();
    for name in MARKS {
        let links = memory.links.iter().find(|(key, _)| *key == name);
        let value = match links {
            Some((_, targets)) => targets.clone().into(),
            None if LINK_MARKS.contains(&name) => continue,
            None => match memory.metadata.get(name) {
                None | Some(Value::Null) => continue,
                Some(value) => value.clone(),
            },
        };
        marks.insert(name.to_owned(), value);
    }
    marks
}

/// The writers of a memory as they are compared: a text, or the texts of a list.
fn writers(metadata: &Map<String, Value>) -> Vec<String> {
    let stated = metadata.get(key::WRITTEN_BY);
    let texts = match stated {
        Some(Value::Array(items)) => items.iter().take(MOST_WRITERS).collect(),
        _ => Vec::from_iter(stated),
    };
    let texts = texts.into_iter().filter_map(Value::as_str).map(compared);
    texts.filter(|name| !name.is_empty()).collect()
}

/// The session of a memory, under either of its names.
pub fn session_id(metadata: &Map<String, Value>) -> Option<&str> {
    let stated = ["session_id", "sessionId"].into_iter();
    let mut stated = stated.filter_map(|key| metadata.get(key)?.as_str());
    stated.find(|id| !trimmed(id).is_empty())
}

/// Return the memory strength: higher for decisions, preferences, findings, facts, and reviewed
/// memories.
pub fn strength(metadata: &Map<String, Value>) -> f64 {
    let kinds = ["type", "question_type"].into_iter();
    let mut kinds = kinds.filter_map(|key| metadata.get(key)?.as_str());
    let of_type = if kinds.any(|kind| STRONG.contains(&kind)) {
        STRONG_TYPE
    } else {
        0.0
    };
    let of_confidence = match metadata.get("confidence") {
        Some(Value::String(text)) if text == "user-reviewed" => 0.05,
        Some(Value::String(text)) if text == "agent-drafted" => 0.02,
        Some(value) => number_of(value).map_or(0.0, |number| (0.05 * number).clamp(0.0, 0.05)),
        None => 0.0,
    };
    of_type + of_confidence
}

/// All values of front matter, with a space between.
pub fn all_text(metadata: &Map<String, Value>) -> String {
    let mut text = String::new();
    metadata
        .values()
        .for_each(|value| add_text(value, &mut text));
    text
}

/// A value of front matter as one text.
pub fn value_text(value: &Value) -> String {
    let mut text = String::new();
    add_text(value, &mut text);
    text
}

fn add_text(value: &Value, text: &mut String) {
    let added = match value {
        Value::Null => return,
        Value::Array(items) => return items.iter().for_each(|item| add_text(item, text)),
        Value::Object(fields) => return fields.values().for_each(|field| add_text(field, text)),
        Value::String(added) => added.clone(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number_text(number),
    };
    if !text.is_empty() {
        text.push(' ');
    }
    text.push_str(&added);
}

/// The facts of one file in the ledger.
#[derive(Debug, Clone, Default)]
pub struct FileFacts {
    /// The path below the indexed folder.
    pub path: String,
    /// The title, or an empty text.
    pub title: String,
    /// Names other than the title.
    pub aliases: Vec<String>,
    /// The scope of the memory.
    pub scope: Scope,
    /// When it is from.
    pub time: Option<StatedTime>,
    /// The bucket of the depth policy, and the words that name its type, shared by all files of a type.
    pub kind: Arc<Kind>,
    /// The tags as they are compared.
    pub tags: Vec<String>,
    /// The writers as they are compared.
    pub writers: Vec<String>,
    /// Whether its front matter names a session.
    pub has_session: bool,
    /// Whether Latin words of its text have stems.
    pub is_inflected: bool,
    /// The memory strength.
    pub strength: f64,
    /// The values of the front matter in lower case.
    pub words: String,
    /// The marks, if it has any. Most files have none.
    pub marks: Option<Box<FileMarks>>,
}

/// What the type of a memory is called.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub struct Kind {
    /// The bucket of the depth policy.
    pub bucket: String,
    /// The words that name the type.
    pub types: Vec<String>,
}

impl AsRef<Self> for FileFacts {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl FileFacts {
    /// The facts of a file as the ledger has them.
    pub fn new(path: &str, facts: &Map<String, Value>) -> Self {
        let text = |key: &str| facts.get(key).and_then(Value::as_str);
        let list = |key: &str| {
            let items = facts
                .get(key)
                .and_then(Value::as_array)
                .into_iter()
                .flatten();
            items.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let is_set = |key: &str| facts.get(key) == Some(&Value::Bool(true));
        let stated = text(key::TYPE);
        let time = facts.get(key::TIME).and_then(parse_time);
        let time = time.map(|time| StatedTime {
            is_day: is_set(key::DAY),
            ..time
        });
        let marks = facts.get(key::MARKS).and_then(Value::as_object);
        Self {
            path: path.to_owned(),
            title: text(key::TITLE).unwrap_or_default().to_owned(),
            aliases: list(key::ALIASES),
            scope: Scope::stated(facts),
            time,
            kind: Arc::new(Kind {
                bucket: bucket(path, stated).to_owned(),
                types: type_words(path, stated),
            }),
            tags: list(key::TAGS),
            writers: list(key::WRITTEN_BY),
            has_session: is_set(key::SESSION),
            is_inflected: is_set(key::INFLECTED),
            strength: facts
                .get(key::STRENGTH)
                .and_then(Value::as_f64)
                .unwrap_or(0.0),
            words: text(key::WORDS).unwrap_or_default().to_owned(),
            marks: marks.map(|marks| Box::new(FileMarks::new(marks, time.map(|time| time.time)))),
        }
    }

    /// Whether one of some writers has written it, or one nested in them.
    pub(crate) fn is_by(&self, writers: &[String]) -> bool {
        let is_one = |name: &String| writers.iter().any(|writer| is_within(name, writer));
        self.writers.iter().any(is_one)
    }
}

/// The marks of a memory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileMarks {
    pub(super) is_retracted: bool,
    pub(super) retracted_since: Option<Time>,
    pub(super) reason: Option<String>,
    pub(super) from: Option<Time>,
    pub(super) until: Option<Time>,
    pub(super) stale_after: Option<Time>,
    pub(super) supersedes: Vec<String>,
    pub(super) superseded_by: Vec<String>,
    pub(super) derived_from: Vec<String>,
    contradicts: bool,
    unreadable: Vec<(&'static str, String)>,
}

impl FileMarks {
    /// The marks of the fact of that name, for a memory of this time.
    pub fn new(marks: &Map<String, Value>, time: Option<Time>) -> Self {
        let value = |key: &str| marks.get(key).unwrap_or(&Value::Null);
        let names = |key: &str| {
            let items = value(key).as_array().into_iter().flatten();
            items.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let from = parse_time(value(key::VALID_FROM)).map(|stated| stated.time);
        let until = parse_end(value(key::VALID_UNTIL));
        let contradicts = matches!((from, until), (Some(from), Some(until)) if until < from);
        let (from, until) = if contradicts {
            (None, None)
        } else {
            (from, until)
        };
        let stale = value(key::STALE_AFTER);
        Self {
            is_retracted: is_retracted(value(key::RETRACTED)),
            retracted_since: parse_time(value(key::RETRACTED)).map(|stated| stated.time),
            reason: marks.get(key::RETRACTION_REASON).map(reason),
            from,
            until,
            stale_after: match (parse_age(stale), time) {
                (Some(days), Some(time)) => time.after_days(days),
                _ => parse_end(stale),
            },
            supersedes: names(key::SUPERSEDES),
            superseded_by: names(key::SUPERSEDED_BY),
            derived_from: names(key::DERIVED_FROM),
            contradicts,
            unreadable: unreadable(marks),
        }
    }

    /// Whether it ends before it begins, so that neither time counts.
    pub fn contradicts_itself(&self) -> bool {
        self.contradicts
    }

    /// The marks that should be a time and are not, each as its field and its value.
    pub fn unreadable(&self) -> &[(&'static str, String)] {
        &self.unreadable
    }
}

fn unreadable(marks: &Map<String, Value>) -> Vec<(&'static str, String)> {
    let times = [key::VALID_FROM, key::VALID_UNTIL, key::STALE_AFTER].into_iter();
    let stated = times.filter_map(|field| Some((field, marks.get(field)?)));
    let is_read = |field: &str, value: &Value| {
        parse_time(value).is_some() || (field == key::STALE_AFTER && parse_age(value).is_some())
    };
    stated
        .filter(|(field, value)| !is_read(field, value))
        .map(|(field, value)| (field, shown(value)))
        .collect()
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => json_text(other),
    }
}

/// Whether the value of `retracted` retracts a memory. Any text counts, so that no retraction is lost
/// because it lacks a date.
pub fn is_retracted(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !matches!(text.as_str(), "" | "false" | "no"),
        Value::Number(number) => number.as_f64() != Some(0.0),
        _ => true,
    }
}

fn reason(value: &Value) -> String {
    match value {
        Value::String(text) => one_line(text),
        other => one_line(&value_text(other)),
    }
}

/// When a memory is from: by its front matter, else by the day its name begins with.
pub fn memory_time(path: &str, metadata: &Map<String, Value>) -> Option<StatedTime> {
    event_time(path, metadata, &TIME_FIELDS)
}

/// The time under the first of the keys that holds one, else the day with which the name begins.
pub fn event_time(path: &str, metadata: &Map<String, Value>, keys: &[&str]) -> Option<StatedTime> {
    let mut stated = keys.iter().filter_map(|key| metadata.get(*key));
    stated
        .find_map(parse_time)
        .or_else(|| day_of_name(path, None))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn facts(metadata: Value) -> Value {
        let Value::Object(metadata) = metadata else {
            panic!("an object")
        };
        let links = [(key::SUPERSEDES, vec!["old".to_owned()])];
        let has_link = metadata.contains_key(key::SUPERSEDES);
        let memory = Memory {
            path: "garden/2026-04-18-slugs.md",
            title: "Slugs",
            aliases: &["Snails".to_owned()],
            tags: &["Beer".to_owned()],
            metadata: &metadata,
            links: if has_link { &links } else { &[] },
        };
        facts_of(&memory).into()
    }

    #[test]
    fn facts_of_a_memory() {
        let found = facts(json!({}));
        let expected = json!({
            "title": "Slugs", "aliases": ["Snails"], "time": "2026-04-18T00:00:00+00:00", "day": true,
            "types": ["garden"], "tags": ["beer"],
        });
        assert_eq!(found, expected);
        let found = facts(json!({
            "type": "Finding", "date": "2026-01-02T03:04:05+01:00", "scope": {"user": 7},
            "retracted": false, "supersedes": "[[old]]", "valid_from": null, "tags": "A b",
            "session_id": "s", "confidence": 0.5, "written_by": ["Codex/S1", 7, " "],
        }));
        let expected = json!({
            "title": "Slugs", "aliases": ["Snails"], "scope": {"user": "7"},
            "time": "2026-01-02T03:04:05+01:00", "type": "finding", "tags": ["a", "b", "beer"],
            "session": true, "strength": 0.025,
            "words": "finding 2026-01-02t03:04:05+01:00 7 false [[old]] a b s 0.5 codex/s1 7  ",
            "written_by": ["codex/s1"],
            "marks": {"retracted": false, "supersedes": ["old"]},
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn the_strength_of_a_memory() {
        for (metadata, expected) in [
            (json!({}), 0.0),
            (json!({"type": "fact"}), 0.05),
            (json!({"question_type": "preference"}), 0.05),
            (json!({"type": "note", "confidence": "agent-drafted"}), 0.02),
            (json!({"confidence": 0.5}), 0.025),
            (json!({"confidence": 7}), 0.05),
            (json!({"confidence": -1}), 0.0),
            (json!({"confidence": true}), 0.0),
            (json!({"type": ["decision"]}), 0.0),
        ] {
            let found = strength(metadata.as_object().unwrap());
            assert!((found - expected).abs() < 1e-12, "{metadata}: {found}");
        }
    }
}
