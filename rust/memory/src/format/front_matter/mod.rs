//! YAML front matter: the fields of a note, read, written and changed.
//!
//! spec/ingest.md, "Front matter", defines reading; spec/memory.md, "Front matter", defines
//! writing.

pub(crate) mod json;
pub(crate) mod nodes;
mod scalars;
mod yaml;

use serde_json::{Map, Value};

pub use json::fields_length;
use json::is_scalar;
pub(crate) use json::{json_text, number_of, number_text};
pub use nodes::YamlError;

use crate::format::passages::shorten;
use crate::text;
use nodes::LIMIT;

/// The field with the scope of a memory.
pub const SCOPE: &str = "scope";

/// The fields with a meaning for memories, which are read in any case: `Tags` is `tags`.
const FIELDS: [&str; 32] = [
    "aliases",
    "category",
    "confidence",
    "conflicts_with",
    "created",
    "created_at",
    "date",
    "derived_from",
    "emotion",
    "last_replayed",
    "links",
    "provenance",
    "related",
    "replay_interval",
    "retracted",
    "retraction_reason",
    "scope",
    "session_id",
    "source",
    "stale_after",
    "summary",
    "superseded_by",
    "supersedes",
    "tags",
    "title",
    "topic",
    "type",
    "updated_at",
    "valid_from",
    "valid_until",
    "weight",
    "written_by",
];

/// The most fields of a block that are read alone: each is a YAML document.
const MOST_ALONE: usize = 1000;

/// The longest description of a problem, in characters.
const LONGEST_PROBLEM: usize = 200;

/// The block at the head of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FrontMatter {
    /// The fields in their order. Numbers that JSON cannot hold are text.
    pub fields: Map<String, Value>,
    /// The index of the first line after the block; 0 if there is none.
    pub body_start: usize,
    /// The reason for which the block is not valid YAML. The fields are then those that read alone. Without a block, the
    /// reason for which what looks like one is not read.
    pub problem: Option<String>,
    /// The line of the problem in the file, counted from 1.
    pub problem_line: Option<usize>,
    /// The indexes of the lines of the file that could not be read.
    pub unread: Vec<usize>,
}

impl FrontMatter {
    /// Read the block between `---` on the first line and the next `---` or `...`.
    ///
    /// Without a closing line, or if the block is a list or running text, the front matter is
    /// empty, and the file starts at its first line. Takes linear time.
    pub fn read(lines: &[&str]) -> Self {
        let Some(end) = closing_line(lines) else {
            return Self::unread(unclosed(lines)).with_scope(lines);
        };
        let block = &lines[1..end];
        match yaml::load(&block.join("\n")) {
            Ok(Value::Object(fields)) => Self {
                fields,
                body_start: end + 1,
                ..Self::default()
            },
            // White space that YAML takes for text is nothing too. Comments alone may be the headings of a text.
            Ok(_) if block.iter().all(|line| is_comment(line)) => Self {
                body_start: end + 1,
                unread: (1..end).filter(|at| !text::is_blank(lines[*at])).collect(),
                ..Self::default()
            },
            Ok(_) => Self::unread(without_spaces(block)),
            Err(error) => Self::read_alone(block, end, &error),
        }
    }

    /// Like `read`, with the fields of memories under their names in lower case. A field that is there under both stays
    /// as it is.
    pub fn of_memory(lines: &[&str]) -> Self {
        let mut matter = Self::read(lines);
        if matter.fields.keys().any(|key| in_lower_case(key).is_some()) {
            let mut fields = Map::with_capacity(matter.fields.len());
            for (key, value) in &matter.fields {
                let name = in_lower_case(key).filter(|name| {
                    !matter.fields.contains_key(*name) && !fields.contains_key(*name)
                });
                fields.insert(name.unwrap_or(key).to_owned(), value.clone());
            }
            matter.fields = fields;
        }
        matter
    }

    /// The keys of fields of memories that are not read, because the block has the same field in lower case.
    pub fn repeated_fields(&self) -> impl Iterator<Item = (&str, &'static str)> {
        let keys = self.fields.keys();
        keys.filter_map(|key| Some((key.as_str(), in_lower_case(key)?)))
    }

    fn unread(problem: Option<String>) -> Self {
        Self {
            problem_line: problem.is_some().then_some(1),
            problem,
            ..Self::default()
        }
    }

    /// With the scope that lines which are not read state, as text: without it the memory would be seen by all.
    fn with_scope(mut self, lines: &[&str]) -> Self {
        let mut block = lines.iter().take_while(|line| !text::is_blank(line));
        let scope = block
            .find(|line| key_line(line).is_some_and(|(key, _)| key.eq_ignore_ascii_case(SCOPE)));
        if let Some(scope) = scope.filter(|_| self.problem.is_some()) {
            self.fields.insert(SCOPE.to_owned(), (*scope).into());
        }
        self
    }

    /// The front matter of a block that is not valid YAML: each field that can be read by itself.
    fn read_alone(block: &[&str], end: usize, error: &YamlError) -> Self {
        // Alone, an alias refers to nothing, and its name is not the text of the value.
        let (fields, unread) = fields_alone(block, !error.is_of_aliases);
        let has_keys = || block.iter().any(|line| key_line(line).is_some());
        if fields.is_empty() && !(error.is_of_aliases && has_keys()) {
            return Self::default();
        }
        Self {
            fields,
            body_start: end + 1,
            problem: Some(shorten(&error.problem, LONGEST_PROBLEM)),
            problem_line: error.line.map(|line| line + 2),
            unread: unread.into_iter().map(|at| at + 1).collect(),
        }
    }

    /// Return the first of the keys that holds text or a number, on one line; else an empty text. A title may hold
    /// any value.
    pub fn text(&self, keys: &[&str]) -> String {
        for key in keys {
            let line = match self.fields.get(*key) {
                Some(Value::String(text)) => text::one_line(text),
                Some(Value::Number(number)) => number_text(number),
                // A title of another form has words too, which are in no other field of a chunk.
                Some(value) if *key == "title" => title_text(value),
                _ => continue,
            };
            if !line.is_empty() {
                return line;
            }
        }
        String::new()
    }

    /// The line of a key in the lines of the file, counted from 1; None if it is not written as `key:`.
    pub fn line_of(&self, lines: &[&str], key: &str) -> Option<usize> {
        let block = lines.get(..self.body_start).unwrap_or_default();
        let line_of = |is_key: &dyn Fn(&str) -> bool| {
            let found = |line: &&str| key_line(line).is_some_and(|(name, _)| is_key(name));
            block.iter().position(found).map(|at| at + 1)
        };
        line_of(&|name| name == key).or_else(|| line_of(&|name| in_lower_case(name) == Some(key)))
    }

    /// The `tags`, a list or one text with commas, without `#` and without repetition.
    pub fn tags(&self) -> Vec<String> {
        let given: Vec<String> = match self.fields.get("tags") {
            Some(Value::String(text)) => text.split(',').map(str::to_owned).collect(),
            Some(Value::Array(items)) => items.iter().filter_map(scalar_text).collect(),
            Some(value) => scalar_text(value).into_iter().collect(),
            None => Vec::new(),
        };
        let mut tags: Vec<String> = Vec::new();
        let mut known = std::collections::HashSet::new();
        for tag in &given {
            let tag = text::trimmed(tag).trim_start_matches('#');
            if !tag.is_empty() && known.insert(tag.to_owned()) {
                tags.push(tag.to_owned());
            }
        }
        tags
    }

    /// The fields that a filter can use: scalars and lists of scalars.
    ///
    /// Without the title, tags and summary, which are fields of the chunk, and without nested values.
    pub fn metadata(&self) -> Map<String, Value> {
        let is_kept = |value: &Value| match value {
            Value::Array(items) => items.iter().all(is_scalar),
            value => is_scalar(value),
        };
        let fields = self.fields.iter().filter(|(key, value)| {
            !matches!(key.as_str(), "title" | "tags" | "summary") && is_kept(value)
        });
        fields
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    }

    /// Return all fields as plain JSON, with the items of lists as text.
    ///
    /// A short block with aliases can expand to a large value: one of too many parts, or nested too
    /// deep, is left out.
    pub fn to_json(&self) -> Map<String, Value> {
        json::fields(&self.fields)
    }
}

/// Return the field of memories that a key with capital letters is.
pub(crate) fn in_lower_case(key: &str) -> Option<&'static str> {
    if !key.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return None;
    }
    let is_it = |field: &&&str| field.eq_ignore_ascii_case(key);
    FIELDS.iter().find(is_it).copied()
}

/// A title as text: the items of a list with commas between them, a mapping as JSON.
fn title_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text::one_line(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(title_text).collect();
            items.join(", ")
        }
        value => text::one_line(&json_text(value)),
    }
}

/// A scalar as text, a boolean as `True` or `False`; None for any other value.
fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number_text(number)),
        Value::Bool(value) => Some(if *value { "True" } else { "False" }.to_owned()),
        _ => None,
    }
}

fn is_comment(line: &str) -> bool {
    line.starts_with('#') || text::is_blank(line)
}

fn is_fence(line: &str, fence: &str) -> bool {
    let rest = line.strip_prefix(fence);
    rest.is_some_and(|rest| rest.bytes().all(|byte| byte == b' ' || byte == b'\t'))
}

/// The reason for which lines that look like front matter, but are not a block, are not read.
fn unclosed(lines: &[&str]) -> Option<String> {
    let (first, rest) = lines.split_first()?;
    // A name before a colon is that of a speaker.
    let is_field = |line: &&str| {
        line.starts_with(|c: char| c.is_ascii_lowercase()) && key_line(line).is_some()
    };
    if is_fence(first, "---") && rest.first().is_some_and(is_field) {
        return Some("no line `---` ends it".to_owned());
    }
    let is_toml = is_fence(first, "+++") && rest.iter().any(|line| is_fence(line, "+++"));
    is_toml.then(|| "it is TOML between lines `+++`; write YAML between lines `---`".to_owned())
}

/// The reason for which a block of text is not read, if all its lines are fields without the space after the colon.
fn without_spaces(block: &[&str]) -> Option<String> {
    let mut fields = block.iter().filter(|line| !is_comment(line)).peekable();
    let first = fields.peek().copied()?;
    let is_field = |line: &&str| {
        line.split_once(':').is_some_and(|(key, value)| {
            let is_address = value.starts_with("//");
            key_line(&format!("{key}:")).is_some() && !value.is_empty() && !is_address
        })
    };
    fields.all(is_field).then(|| {
        format!(
            "a space is missing after the colon of `{}`",
            shorten(first, 40)
        )
    })
}

/// The index of the line that ends a block; None without a block.
fn closing_line(lines: &[&str]) -> Option<usize> {
    if !is_fence(lines.first()?, "---") {
        return None;
    }
    let rest = lines[1..].iter();
    let end = rest
        .enumerate()
        .find(|(_, line)| is_fence(line, "---") || is_fence(line, "..."));
    end.map(|(at, _)| at + 1)
}

/// Split `key: value`, without spaces at the end; the value is empty if the line ends after the colon.
fn key_line(line: &str) -> Option<(&str, &str)> {
    let line = text::trimmed_end(line);
    let is_key = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let end = line.bytes().position(|byte| !is_key(byte))?;
    let rest = line[end..].strip_prefix(':')?;
    if end == 0 {
        return None;
    }
    let value = rest.trim_start_matches([' ', '\t']);
    let has_space = value.len() < rest.len();
    (rest.is_empty() || has_space).then_some((&line[..end], value))
}

/// Read each field alone, with the lines below it that belong to it: a bad one costs only itself.
///
/// With `as_text` a one-line value that is not valid YAML alone is kept as written. Also returns the indexes
/// of unread lines. Of a block that is too long, only the lines within the limit of a block are read.
fn fields_alone(block: &[&str], as_text: bool) -> (Map<String, Value>, Vec<usize>) {
    let mut fields = Map::new();
    let mut unread = Vec::new();
    let mut size = 0;
    for (count, entry) in entries(block).into_iter().enumerate() {
        let lines = &block[entry.clone()];
        size += lines
            .iter()
            .map(|line| text::length(line) + 1)
            .sum::<usize>();
        let Some((key, value)) = key_line(lines[0]).filter(|_| size <= LIMIT && count < MOST_ALONE)
        else {
            unread.extend(entry);
            continue;
        };
        let has_more = lines[1..].iter().any(|line| !text::is_blank(line));
        let is_open = has_more && value.starts_with(['[', '{']);
        let read = match (has_more, value) {
            (true, "") if as_text => value_below(lines, key).or_else(|| items_below(lines)),
            (true, _) if is_open => load_brackets(value, &lines[1..]),
            (true, _) => value_below(lines, key),
            (false, "") => continue,
            (false, value) => match yaml::load(value) {
                // A text with a colon. A mapping in braces is one.
                Ok(Value::Object(_)) if !value.starts_with('{') => Some(value.into()),
                read => read.ok(),
            },
        };
        if let Some(value) = read {
            fields.insert(key.to_owned(), value);
        } else if as_text && !value.is_empty() && !(has_more && matches!(value, "[" | "{")) {
            fields.insert(key.to_owned(), as_written(value));
            unread.extend(entry.skip(1));
        } else {
            unread.extend(entry);
        }
    }
    unread.retain(|at| !text::is_blank(block[*at]));
    // A memory whose scope is lost would be seen by all.
    let is_scope =
        |at: &&usize| key_line(block[**at]).is_some_and(|(key, _)| key.eq_ignore_ascii_case(SCOPE));
    if let Some(at) = unread.iter().find(is_scope).copied() {
        fields.entry(SCOPE).or_insert_with(|| block[at].into());
    }
    (fields, unread)
}

/// A value that is not valid YAML: its text, or, in brackets, a list of the texts between commas.
fn as_written(value: &str) -> Value {
    let inner = value
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let is_list = |inner: &&str| !inner.contains(['[', ']', '{', '}', '"', '\'']);
    let items = inner
        .filter(is_list)
        .map(|inner| inner.split(',').map(text::trimmed));
    match items {
        Some(items) if items.clone().all(|item| !item.is_empty()) => items.collect(),
        _ => value.into(),
    }
}

/// The value of a field with the lines below it; None if they are not valid YAML.
fn value_below(lines: &[&str], key: &str) -> Option<Value> {
    match yaml::load(&lines.join("\n")) {
        Ok(Value::Object(mut fields)) => fields.remove(key),
        _ => None,
    }
}

/// The value of brackets that end on a later line, which may begin at the margin.
fn load_brackets(value: &str, below: &[&str]) -> Option<Value> {
    let lines = [value].into_iter().chain(below.iter().copied());
    let lines: Vec<&str> = lines.map(text::trimmed).collect();
    yaml::load(&lines.join(" ")).ok()
}

/// The items of a list below a key, one a line, of which some are not valid YAML: these are texts. None for other lines.
fn items_below(lines: &[&str]) -> Option<Value> {
    let mut indent = None;
    let rows = lines[1..].iter().map(|line| (*line, line.trim_start()));
    let rows = rows.filter(|(_, row)| !is_comment(row));
    let items = rows.map(|(line, row)| {
        let spaces = line.len() - row.len();
        let item = text::trimmed(row.strip_prefix("- ")?);
        (*indent.get_or_insert(spaces) == spaces)
            .then(|| yaml::load(item).unwrap_or_else(|_| item.into()))
    });
    items.collect()
}

/// The lines of each field, and each line that belongs to none.
fn entries(block: &[&str]) -> Vec<std::ops::Range<usize>> {
    let mut entries = Vec::new();
    let mut start = 0;
    let (mut is_field, mut is_open) = (false, false);
    for (at, line) in block.iter().enumerate() {
        let continues = text::is_blank(line)
            || line.starts_with([' ', '\t', '#'])
            || line.starts_with("- ")
            || line.starts_with("-\t")
            || (is_open && key_line(line).is_none());
        if at == start || !is_field || !continues {
            if at > start {
                entries.push(start..at);
            }
            start = at;
            let field = key_line(line);
            is_field = field.is_some();
            is_open = field.is_some_and(|(_, value)| value.starts_with(['[', '{']));
        }
        is_open &= !text::trimmed_end(line).ends_with([']', '}']);
    }
    if start < block.len() {
        entries.push(start..block.len());
    }
    entries
}
