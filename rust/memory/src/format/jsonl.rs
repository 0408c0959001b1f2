//! JSON Lines to chunks: one a line (spec/ingest.md, "JSON Lines").

use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;
use std::io::{self, BufRead, Read};

use hedgerow_engine::chunks::Chunk;
use hedgerow_engine::{ErrorCode, unit_vector};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::folder::source::{FILE_LIMIT, SourceFile, Unreadable, decode, title_from_name};
use crate::format::chunks::file_facts;
use crate::format::passages::shorten;
use crate::skip::Skip;
use crate::text;

const KEYS: [&str; 9] = [
    "id",
    "path",
    "title",
    "summary",
    "content",
    "tags",
    "metadata",
    "ordinal",
    "embedding",
];
const TEXT_KEYS: [&str; 5] = ["id", "path", "title", "summary", "content"];
const ORDINAL_LIMIT: i64 = 1 << 31;
const LONGEST_REASON: usize = 300;
/// The deepest nesting of metadata, and the most values, as in `Chunk`.
const DEPTH_LIMIT: usize = 100;
const MOST_VALUES: usize = 1_000_000;

/// Reads the chunk of each line. A bad line is reported, and the others are read.
///
/// Holds one line at a time, so the file may be larger than memory.
pub struct JsonLines {
    path: String,
    file: String,
    lines: Box<dyn BufRead + Send + Sync>,
    limit: usize,
    number: usize,
    is_empty: bool,
}

/// A chunk, or the report of a line that is not one.
pub type LineResult = Result<Chunk, Skip>;

impl JsonLines {
    /// A reader of the lines of a stream.
    pub fn new(source: &SourceFile<'_>, lines: Box<dyn BufRead + Send + Sync>) -> Self {
        Self {
            path: source.path.to_owned(),
            file: source.file.to_owned(),
            lines,
            limit: FILE_LIMIT,
            number: 0,
            is_empty: true,
        }
    }

    /// Return the next line with its length if it is longer than the limit; None at the end.
    fn next_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        let most = self.limit as u64 + 1;
        (&mut self.lines).take(most).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(None);
        }
        if line.len() > self.limit && !line.ends_with(b"\n") {
            // Of a line that is too long only as much is held as shows that.
            self.lines.skip_until(b'\n')?;
        }
        self.number += 1;
        Ok(Some(line))
    }

    fn read_line(&self, line: &[u8]) -> Result<Chunk, String> {
        if line.len() > self.limit {
            let limit = self.limit / (1024 * 1024);
            return Err(format!(
                "the line is longer than {limit} MiB; split its text"
            ));
        }
        let text = decode(line).map_err(|error| error.reason)?;
        let source = SourceFile {
            path: &self.path,
            file: &self.file,
        };
        chunk_of_record(&source, self.number, parse(text)?)
    }
}

impl Iterator for JsonLines {
    type Item = Result<LineResult, Unreadable>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let line = match self.next_line() {
                Ok(Some(line)) => line,
                Ok(None) if self.is_empty => {
                    self.is_empty = false;
                    return Some(Err(Unreadable::new("empty", "the file is empty")));
                }
                Ok(None) => return None,
                Err(error) => return Some(Err(Unreadable::system(&error))),
            };
            if line.iter().all(|byte| matches!(byte, b'\t'..=b'\r' | b' ')) {
                continue;
            }
            self.is_empty = false;
            let result = self.read_line(&line).map_err(|reason| Skip {
                line: Some(self.number as u64),
                ..Skip::whole(&self.path, "bad_line", shorten(&reason, LONGEST_REASON))
            });
            return Some(Ok(result));
        }
    }
}

fn parse(text: &str) -> Result<Map<String, Value>, String> {
    let text = text.trim_end_matches([' ', '\t', '\r', '\n']);
    let problem = RefCell::default();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let parsed = UniqueKeys::of(&problem)
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value));
    let value = parsed.map_err(|error| match problem.take() {
        Some(Problem::RepeatedKey(key)) => format!("the key \"{key}\" is repeated"),
        Some(Problem::TooDeep) => too_deep(),
        None => reason_of(&error, text),
    })?;
    if numbers_outside_of_texts(text).any(is_too_long) {
        return Err(too_long_number());
    }
    match value {
        Value::Object(record) => Ok(record),
        _ => Err("not a JSON object; every line is one object".to_owned()),
    }
}

/// Say why a line is not JSON. The parser says where, and the text at that place what.
fn reason_of(error: &serde_json::Error, text: &str) -> String {
    let column = error.column();
    let before = text.get(..column).unwrap_or(text);
    if has_lone_surrogate(before) {
        return "holds half of a surrogate pair".to_owned();
    }
    match numbers_outside_of_texts(before).last() {
        Some(number) if is_too_long(number) => return too_long_number(),
        Some(number) if number.parse::<f64>().is_ok_and(f64::is_infinite) => {
            return "a number is not a finite number, which JSON cannot hold".to_owned();
        }
        _ => {}
    }
    let words = ["NaN", "Infinity"];
    let rest = text.get(column.saturating_sub(1)..).unwrap_or("");
    if let Some(word) = words.iter().find(|word| rest.starts_with(**word)) {
        return format!("{word} is not a JSON number");
    }
    let message = error.to_string();
    let problem = message
        .rfind(" at line ")
        .map_or(&*message, |end| &message[..end]);
    format!("not JSON ({problem} at column {column})")
}

fn too_long_number() -> String {
    "a number has more than 64 bits; write it as text".to_owned()
}

fn too_deep() -> String {
    format!("nested too deep: at most {DEPTH_LIMIT} levels")
}

/// Whether one of the escapes in a text is half of a surrogate pair.
fn has_lone_surrogate(text: &str) -> bool {
    let (bytes, mut at) = (text.as_bytes(), 0);
    let units = std::iter::from_fn(|| {
        let is_escape = *bytes.get(at)? == b'\\';
        let digits = text.get(at + 2..at + 6);
        let digits = digits.filter(|_| is_escape && bytes[at + 1] == b'u');
        let unit = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok());
        at += if unit.is_some() {
            6
        } else {
            1 + usize::from(is_escape)
        };
        Some(unit.unwrap_or(u16::from(b' ')))
    });
    char::decode_utf16(units).any(|one| one.is_err())
}

/// The numbers of a JSON text.
fn numbers_outside_of_texts(text: &str) -> impl Iterator<Item = &str> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() {
            match bytes[at] {
                b'"' => {
                    at += 1;
                    while at < bytes.len() && bytes[at] != b'"' {
                        at += if bytes[at] == b'\\' { 2 } else { 1 };
                    }
                    at += 1;
                }
                b'-' | b'0'..=b'9' => {
                    let start = at;
                    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
                    at += bytes[at..].iter().take_while(|byte| is_part(byte)).count();
                    return Some(&text[start..at]);
                }
                _ => at += 1,
            }
        }
        None
    })
}

/// Whether a number is whole and has over 64 bits: the parser makes a decimal number of it.
fn is_too_long(number: &str) -> bool {
    let fits = number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok();
    !fits && !number.contains(['.', 'e', 'E'])
}

fn chunk_of_record(
    source: &SourceFile<'_>,
    number: usize,
    mut record: Map<String, Value>,
) -> Result<Chunk, String> {
    for key in TEXT_KEYS {
        if record.get(key).is_some_and(|value| !value.is_string()) {
            return Err(format!("\"{key}\" must be text"));
        }
    }
    let content = take_text(&mut record, "content");
    if text::is_blank(&content) {
        return Err("\"content\" is missing or blank; every line needs one".to_owned());
    }
    let ordinal = ordinal_of(&record, number)?;
    let or = |text: String, default: &dyn Fn() -> String| {
        if text.is_empty() { default() } else { text }
    };
    let path = or(take_text(&mut record, "path"), &|| source.path.to_owned());
    let id = take_text(&mut record, "id");
    let id = or(id, &|| format!("{}#{}", source.path, number - 1));
    let title = or(take_text(&mut record, "title"), &|| title_from_name(&path));
    let tags = tags_of(record.get("tags"))?;
    let embedding = embedding_of(record.get("embedding"))?;
    Ok(Chunk {
        id,
        path,
        content,
        title,
        summary: take_text(&mut record, "summary"),
        tags,
        ordinal,
        embedding,
        metadata: metadata_of(source, number, record)?,
    })
}

fn take_text(record: &mut Map<String, Value>, key: &str) -> String {
    match record.get_mut(key) {
        Some(Value::String(text)) => std::mem::take(text),
        _ => String::new(),
    }
}

fn ordinal_of(record: &Map<String, Value>, number: usize) -> Result<i64, String> {
    let ordinal = match record.get("ordinal") {
        None => i64::try_from(number - 1).ok(),
        Some(value) => value.as_i64(),
    };
    let ordinal = ordinal.filter(|ordinal| (0..ORDINAL_LIMIT).contains(ordinal));
    ordinal.ok_or_else(|| "\"ordinal\" must be a whole number from 0".to_owned())
}

fn tags_of(value: Option<&Value>) -> Result<Vec<String>, String> {
    let wrong = || "\"tags\" must be a list of texts, or one text with commas".to_owned();
    let items: Vec<&str> = match value {
        None => Vec::new(),
        Some(Value::String(text)) => text.split(',').collect(),
        Some(Value::Array(items)) => {
            let items = items.iter().map(Value::as_str);
            items.collect::<Option<_>>().ok_or_else(wrong)?
        }
        Some(_) => return Err(wrong()),
    };
    let mut known = HashSet::new();
    let tags = items.into_iter().map(text::trimmed);
    let tags = tags.filter(|tag| !tag.is_empty() && known.insert((*tag).to_owned()));
    Ok(tags.map(str::to_owned).collect())
}

fn embedding_of(value: Option<&Value>) -> Result<Option<Vec<f32>>, String> {
    let wrong = || "\"embedding\" must be one list of numbers, or null".to_owned();
    let items = match value {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Array(items)) => items,
        Some(_) => return Err(wrong()),
    };
    #[allow(clippy::cast_possible_truncation, reason = "vectors are stored as f32")]
    let numbers = items
        .iter()
        .map(|item| item.as_f64().map(|number| number as f32));
    let vector: Vec<f32> = numbers.collect::<Option<_>>().ok_or_else(wrong)?;
    let checked = unit_vector::check(&vector, "the embedding", ErrorCode::InvalidChunk);
    checked.map_err(|error| error.message().to_owned())?;
    Ok(Some(vector))
}

/// Join `metadata` with the keys that are not fields of a chunk, so that nothing is lost.
fn metadata_of(
    source: &SourceFile<'_>,
    number: usize,
    mut record: Map<String, Value>,
) -> Result<Map<String, Value>, String> {
    let inside = match record.remove("metadata") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(metadata)) => metadata,
        Some(_) => return Err("\"metadata\" must be an object".to_owned()),
    };
    let mut metadata = Map::new();
    let others = record
        .into_iter()
        .filter(|(key, _)| !KEYS.contains(&key.as_str()));
    metadata.extend(others);
    let twice = metadata.keys().filter(|key| inside.contains_key(*key));
    if let Some(key) = twice.min() {
        return Err(format!(
            "\"{key}\" is both outside and inside \"metadata\"; keep one"
        ));
    }
    metadata.extend(inside);
    metadata.extend(file_facts(source, number, number));
    check_size(&metadata)?;
    Ok(metadata)
}

/// Reject metadata that a chunk cannot have.
fn check_size(metadata: &Map<String, Value>) -> Result<(), String> {
    fn visit<'v>(
        values: impl Iterator<Item = &'v Value>,
        depth: usize,
        count: &mut usize,
    ) -> Result<(), String> {
        if depth > DEPTH_LIMIT {
            return Err(too_deep());
        }
        for value in values {
            *count += 1;
            if *count > MOST_VALUES {
                return Err(format!("\"metadata\" has more than {MOST_VALUES} values"));
            }
            match value {
                Value::Array(items) => visit(items.iter(), depth + 1, count)?,
                Value::Object(fields) => visit(fields.values(), depth + 1, count)?,
                _ => {}
            }
        }
        Ok(())
    }
    visit(metadata.values(), 1, &mut 0)
}

/// Why JSON that the parser can read is rejected.
enum Problem {
    RepeatedKey(String),
    TooDeep,
}

/// Reads JSON in which no object has a key twice: a parser keeps one of them and says nothing.
///
/// The parser's errors are texts, so a rejection is noted in `problem`.
#[derive(Clone, Copy)]
struct UniqueKeys<'p> {
    problem: &'p RefCell<Option<Problem>>,
    depth: usize,
}

impl<'p> UniqueKeys<'p> {
    fn of(problem: &'p RefCell<Option<Problem>>) -> Self {
        Self { problem, depth: 0 }
    }

    /// Return the reader of the values in a list or an object.
    fn nested<E: Error>(self) -> Result<Self, E> {
        if self.depth > DEPTH_LIMIT {
            return Err(self.reject(Problem::TooDeep));
        }
        let depth = self.depth + 1;
        Ok(Self { depth, ..self })
    }

    fn reject<E: Error>(self, problem: Problem) -> E {
        *self.problem.borrow_mut() = Some(problem);
        E::custom("rejected")
    }
}

impl<'de> DeserializeSeed<'de> for UniqueKeys<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for UniqueKeys<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON in which no object has a key twice")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let (nested, mut items) = (self.nested()?, Vec::new());
        while let Some(item) = access.next_element_seed(nested)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let (nested, mut fields) = (self.nested()?, Map::new());
        while let Some(key) = access.next_key::<String>()? {
            let value = access.next_value_seed(nested)?;
            if fields.contains_key(&key) {
                return Err(self.reject(Problem::RepeatedKey(key)));
            }
            fields.insert(key, value);
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn read(text: &str, limit: usize) -> (Vec<Chunk>, Vec<Skip>) {
        let source = SourceFile {
            path: "x.jsonl",
            file: "/x.jsonl",
        };
        let mut lines = JsonLines::new(&source, Box::new(Cursor::new(text.to_owned())));
        lines.limit = limit;
        let (mut chunks, mut skips) = (Vec::new(), Vec::new());
        for line in lines {
            match line.unwrap() {
                Ok(chunk) => chunks.push(chunk),
                Err(skip) => skips.push(skip),
            }
        }
        (chunks, skips)
    }

    #[test]
    fn a_bad_line_is_named_and_the_others_are_read() {
        for (line, reason) in [
            ("{", "not JSON (EOF while parsing an object at column 1)"),
            ("[1]", "not a JSON object"),
            (r#"{"content": "x", "a": NaN}"#, "NaN is not a JSON number"),
            (
                r#"{"content": "x", "a": {"b": 1, "b": 2}}"#,
                "the key \"b\" is repeated",
            ),
            (
                r#"{"content": "x", "a": 99999999999999999999}"#,
                "more than 64 bits",
            ),
            (r#"{"content": "x", "a": 1e999}"#, "not a finite number"),
            (r#"{"content": "\ud800"}"#, "half of a surrogate pair"),
            (r#"{"content": "\ud800\u0041"}"#, "half of a surrogate pair"),
            (
                r#"{"content": "\ud83e\udd94 \\ud800" x}"#,
                "not JSON (expected",
            ),
            (r#"{"content": "x", "the key ": 1 x}"#, "not JSON (expected"),
        ] {
            let text = format!("{{\"content\": \"before\"}}\n\n{line}\n{{\"content\": \"after\"}}");
            let (chunks, skips) = read(&text, FILE_LIMIT);
            let ids: Vec<&str> = chunks.iter().map(|chunk| chunk.id.as_str()).collect();
            assert_eq!(ids, ["x.jsonl#0", "x.jsonl#3"]);
            assert_eq!(skips[0].line, Some(3));
            assert!(skips[0].reason.contains(reason), "{}", skips[0].reason);
        }
    }

    #[test]
    fn numbers_in_texts_are_no_numbers() {
        let text = r#"{"a\"99": "9\\", "b": [1, -2, 3.5, 1e9], "c": "123"}"#;
        let numbers: Vec<&str> = numbers_outside_of_texts(text).collect();
        assert_eq!(numbers, ["1", "-2", "3.5", "1e9"]);
    }

    #[test]
    fn a_long_line_is_left_out_without_being_held() {
        let good = r#"{"content": "y"}"#;
        let limit = 1000;
        for long in ["x".repeat(5000), "x".repeat(limit), "x".repeat(limit + 1)] {
            let (chunks, skips) = read(&format!("{good}\n{long}\n{good}\n{long}"), limit);
            assert_eq!(chunks.len(), 2);
            assert_eq!(
                skips.iter().map(|skip| skip.line).collect::<Vec<_>>(),
                [Some(2), Some(4)]
            );
        }
    }

    #[test]
    fn nesting_has_a_limit() {
        for (depth, count) in [(99, 1), (100, 0), (120, 0), (5000, 0)] {
            let (open, close) = ("[".repeat(depth), "]".repeat(depth));
            let (chunks, _) = read(
                &format!("{{\"content\": \"x\", \"a\": {open}{close}}}"),
                FILE_LIMIT,
            );
            assert_eq!(chunks.len(), count, "{depth}");
        }
    }
}
