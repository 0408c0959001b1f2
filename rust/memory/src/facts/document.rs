//! A Markdown file of a root as read: the source of its chunks and its node.

use serde_json::{Map, Value};

use crate::day_format::DayFormat;
use crate::facts::file::TIME_FIELDS;
use crate::facts::scope::Scope;
use crate::format::chunks::bad_front_matter;
use crate::format::conflict::conflict_line;
use crate::format::front_matter::{FrontMatter, SCOPE};
use crate::format::links::{Link, links_in_text};
use crate::format::passages::shorten;
use crate::format::sections::first_heading;
use crate::format::vault;
use crate::format::vault::FolderKind;
use crate::skip::Skip;
use crate::text::{distinct, trimmed};
use crate::times::parse_time;

/// The most aliases of a file that count.
const MOST_ALIASES: usize = 100;
/// The most characters of a value in a message.
const LONGEST_SHOWN: usize = 60;

/// A file of a root, parsed once.
#[derive(Debug)]
pub struct Document<'t> {
    /// The path below the indexed folder.
    pub path: &'t str,
    /// The lines of the file.
    pub lines: Vec<&'t str>,
    /// The block at its head.
    pub matter: FrontMatter,
    /// The front matter as plain JSON.
    pub front_matter: Map<String, Value>,
    /// The text after the front matter.
    pub body: String,
    /// The title in the front matter, else the first heading, else an empty text.
    pub title: String,
    /// Other names of the file.
    pub aliases: Vec<String>,
    /// The tags of its page properties, which only notes of a vault have.
    pub property_tags: Vec<String>,
    /// Whether a Markdown link leads to a name, as in [`FolderKind::has_named_paths`].
    pub has_named_paths: bool,
}

impl<'t> Document<'t> {
    /// Parse the text of a file.
    pub fn parse(path: &'t str, text: &'t str) -> Self {
        let lines: Vec<&str> = text.split('\n').collect();
        let matter = FrontMatter::of_memory(&lines);
        let body = lines[matter.body_start.min(lines.len())..].join("\n");
        let mut front_matter = matter.to_json();
        let scope = Scope::stated(&matter.fields);
        if scope.is_unreadable() {
            front_matter.insert(SCOPE.to_owned(), scope.to_json().into());
        }
        Self {
            title: title_of(&matter, &body),
            aliases: aliases_of(&front_matter),
            path,
            lines,
            matter,
            front_matter,
            body,
            property_tags: Vec::new(),
            has_named_paths: false,
        }
    }

    /// Parse the text of a file of a folder. The text of a note of a vault is that of
    /// [`crate::format::vault::without_marks`].
    pub fn of_kind(kind: &FolderKind, path: &'t str, text: &'t str) -> Self {
        let mut document = Self::parse(path, text);
        if kind.is_vault() {
            document.add_vault_names(kind);
        }
        if let Some(format) = &kind.day_format {
            document.add_day_of_name(format);
        }
        document
    }

    /// Add the day that the name of the file states in a format as its `date`, unless its front matter
    /// states a time.
    fn add_day_of_name(&mut self, format: &DayFormat) {
        let mut stated = TIME_FIELDS
            .iter()
            .filter_map(|key| self.front_matter.get(*key));
        if stated.find_map(parse_time).is_some() {
            return;
        }
        if let Some(stated) = format.day(self.path) {
            self.front_matter
                .insert("date".to_owned(), stated.iso_day().into());
        }
    }

    /// Add the names that a note of a vault has by its page properties and its file name.
    fn add_vault_names(&mut self, kind: &FolderKind) {
        let properties = vault::page_properties(&self.body);
        if !properties.title.is_empty() && self.matter.text(&["title"]).is_empty() {
            self.title = properties.title;
        }
        let stated = std::mem::take(&mut self.aliases).into_iter();
        let aliases = stated.chain(properties.aliases);
        self.aliases = distinct(aliases.chain(vault::names_of_file(self.path, kind)));
        self.aliases.truncate(MOST_ALIASES);
        self.property_tags = properties.tags;
        self.has_named_paths = kind.has_named_paths();
    }

    /// The links in the text after the front matter, in order.
    pub fn links_in_text(&self) -> Vec<Link> {
        links_in_text(&self.body, self.has_named_paths)
    }

    /// Return the problems of the file.
    pub fn problems(&self) -> Vec<Skip> {
        problems(self.path, &self.lines, &self.matter)
    }
}

/// Return the problems of a file, each with its line. The file is read nevertheless.
pub(crate) fn problems(path: &str, lines: &[&str], matter: &FrontMatter) -> Vec<Skip> {
    let mut problems: Vec<Skip> = bad_front_matter(path, matter).into_iter().collect();
    let mut add = |code: &str, reason: String, line: Option<usize>| {
        problems.push(Skip {
            line: line.map(|line| line as u64),
            ..Skip::whole(path, code, reason)
        });
    };
    for (key, field) in matter.repeated_fields() {
        let reason = format!("{key} is not read, because {field} is there too; write one of them");
        add("bad_front_matter", reason, matter.line_of(lines, key));
    }
    let fields = matter.to_json();
    let stated = |field| Some((field, fields.get(field)?));
    for (field, value) in TIME_FIELDS.into_iter().filter_map(stated) {
        let is_empty =
            value.is_null() || value.as_str().is_some_and(|text| trimmed(text).is_empty());
        if !is_empty && parse_time(value).is_none() {
            let shown = shorten(&value.to_string(), LONGEST_SHOWN);
            let reason = format!("{field} is no date, as in 2026-04-18: {shown}");
            add("bad_front_matter", reason, matter.line_of(lines, field));
        }
    }
    if Scope::stated(&matter.fields).is_unreadable() {
        let shown = shorten(&matter.fields[SCOPE].to_string(), LONGEST_SHOWN);
        let reason = format!(
            "the scope cannot be read, so that no scope sees the memory; write it as in {{user: ana}}: {shown}"
        );
        add("bad_front_matter", reason, matter.line_of(lines, SCOPE));
    }
    if let Some(line) = conflict_line(lines) {
        let reason = "it is in conflict: git left two versions between <<<<<<< and >>>>>>>; keep one of \
                      them";
        add("git_conflict", reason.to_owned(), Some(line));
    }
    problems
}

fn title_of(matter: &FrontMatter, body: &str) -> String {
    let stated = matter.text(&["title"]);
    if stated.is_empty() {
        first_heading(body).to_owned()
    } else {
        stated
    }
}

/// Other names of a file: `aliases`, a list or one text with commas, and `permalink`, by which basic-memory
/// links to a note.
fn aliases_of(front_matter: &Map<String, Value>) -> Vec<String> {
    let permalink = front_matter.get("permalink").and_then(Value::as_str);
    let permalink = permalink.map(|path| path.trim_matches('/'));
    let given: Vec<&str> = match front_matter.get("aliases") {
        Some(Value::String(text)) => text.split(',').collect(),
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let named = given.into_iter().chain(permalink).map(trimmed);
    let named = named.filter(|one| !one.is_empty());
    let mut aliases = distinct(named.map(str::to_owned));
    aliases.truncate(MOST_ALIASES);
    aliases
}
