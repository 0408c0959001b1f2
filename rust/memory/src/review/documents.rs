//! All memories of a folder in memory, for what looks at each of them: lint, audit, deduplication, pages,
//! forgetting, and the health of a root (spec/memory.md, "Processing", "Forgetting").

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use hedgerow_graph::graph::EdgeInput;
use serde_json::{Map, Value};

use crate::day_format::{DayFormat, days_in_name};
use crate::facts::document::{Document, problems};
use crate::facts::file::{FileFacts, Memory, TIME_FIELDS, facts_of, memory_time};
use crate::facts::marks::Validity;
use crate::facts::names::{FileTitles, Names, bucket, stated_type};
use crate::facts::scope::{Scope, Visibility};
use crate::folder::Listing;
use crate::folder::source::{Unreadable, read_bytes, text_of};
use crate::format::field_links::links_in_fields;
use crate::format::front_matter::FrontMatter;
use crate::format::links::links_in_text;
use crate::format::tags::bracketed_tags;
use crate::format::vault::FolderKind;
use crate::format::vault::without_marks;
use crate::parallel;
use crate::recall::columns::FileColumns;
use crate::skip::Skip;
use crate::sync::file_node::file_node;
use crate::sync::index::links_of;
use crate::sync::nodes::Nodes;
use crate::times::{StatedTime, parse_time};

/// The length of a day in ISO 8601.
pub(super) const DAY: usize = "2026-04-18".len();
/// The fields that say when a memory was last changed; the first that holds a time counts.
const CHANGED: [&str; 3] = ["updated_at", "created_at", "date"];

/// A file of a root, parsed once, with its text.
#[derive(Debug)]
pub struct StoredDocument {
    /// The path below the indexed folder.
    pub path: String,
    /// The whole text, with newlines as line ends.
    pub text: String,
    /// The block at its head.
    pub matter: FrontMatter,
    /// The front matter as plain JSON.
    pub front_matter: Map<String, Value>,
    /// The title in the front matter, else the first heading, else an empty text.
    pub title: String,
    /// Other names of the file.
    pub aliases: Vec<String>,
    /// Whether it sums up others, by its type or its folder.
    pub is_page: bool,
    /// The tags of its page properties, which only notes of a vault have.
    property_tags: Vec<String>,
    has_named_paths: bool,
    body_at: usize,
}

impl StoredDocument {
    /// Parse a file.
    pub fn parse(path: String, text: String, kind: &FolderKind) -> Self {
        let Document {
            matter,
            front_matter,
            title,
            aliases,
            property_tags,
            has_named_paths,
            lines,
            ..
        } = Document::of_kind(kind, &path, &text);
        let before = lines.iter().take(matter.body_start);
        let body_at = before
            .map(|line| line.len() + 1)
            .sum::<usize>()
            .min(text.len());
        Self {
            is_page: is_page(&path, &front_matter, kind.is_vault()),
            path,
            text,
            matter,
            front_matter,
            title,
            aliases,
            property_tags,
            has_named_paths,
            body_at,
        }
    }

    /// The text after the front matter.
    pub fn body(&self) -> &str {
        &self.text[self.body_at..]
    }

    /// The lines of the text after the front matter, each with its number in the file, from 1.
    pub fn body_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (self.matter.body_start + 1..).zip(self.body().split('\n'))
    }

    /// The time of the memory.
    pub fn time(&self) -> Option<StatedTime> {
        memory_time(&self.path, &self.front_matter)
    }

    /// When it was last changed, in microseconds, as far as its front matter tells.
    pub fn changed(&self) -> Option<i64> {
        let mut stated = CHANGED.iter().filter_map(|key| self.front_matter.get(*key));
        stated.find_map(parse_time).map(|stated| stated.time.micros)
    }

    /// The links of the front matter and the text, each with its target and whether it is a path.
    pub(super) fn links(&self) -> impl Iterator<Item = (String, bool)> {
        let fields = self
            .matter
            .fields
            .iter()
            .map(|(key, one)| (key.as_str(), one));
        let stated = links_in_fields(fields)
            .0
            .into_iter()
            .map(|link| (link.0, link.3));
        let in_text = links_in_text(self.body(), self.has_named_paths).into_iter();
        stated.chain(in_text.map(|link| (link.target, link.is_path)))
    }

    pub(super) fn problems(&self) -> Vec<Skip> {
        let lines: Vec<&str> = self.text.split('\n').collect();
        problems(&self.path, &lines, &self.matter)
    }

    fn ambiguous_day(&self, format: Option<&DayFormat>) -> Option<Skip> {
        if format.is_some_and(|format| format.day(&self.path).is_some()) {
            return None;
        }
        let days = days_in_name(&self.path);
        let mut stated = TIME_FIELDS
            .iter()
            .filter_map(|key| self.front_matter.get(*key));
        if days.len() < 2 || stated.find_map(parse_time).is_some() {
            return None;
        }
        let days: Vec<String> = days.iter().map(|day| day.iso_day()).collect();
        let reason = format!(
            "its name may mean {}: state the format in hedgerow.json (\"dailyNotes\": \"DD-MM-YYYY\"), or \
             a date in its front matter",
            days.join(" or ")
        );
        Some(Skip::whole(&self.path, "ambiguous_day", reason))
    }
}

fn is_page(path: &str, front_matter: &Map<String, Value>, is_vault: bool) -> bool {
    let stated = stated_type(front_matter);
    let is_of_bucket = bucket(path, stated.as_deref()) == "page";
    if is_vault {
        // In Logseq, all notes but journals are in `pages`.
        return is_of_bucket && front_matter.contains_key("type");
    }
    is_of_bucket || path.starts_with("pages/")
}

/// The visible memories of a folder, in the order of their paths.
#[derive(Debug, Default)]
pub struct Documents {
    /// The memories.
    pub files: Vec<StoredDocument>,
    /// The files and folders that could not be read.
    pub skips: Vec<Skip>,
    columns: OnceLock<Arc<FileColumns>>,
}

impl Documents {
    /// Read the files of a listing of a folder.
    pub fn read(folder: &Path, listing: &Listing, kind: &FolderKind) -> Self {
        let mut paths: Vec<&str> = listing.files.iter().map(|(path, _)| &**path).collect();
        paths.sort_unstable();
        let read = |path: &&str| {
            let text = read_bytes(&folder.join(path)).and_then(|data| text_of(&data));
            let text = text.map_err(|error: Unreadable| error.skip(path))?;
            Ok(StoredDocument::parse((*path).to_owned(), text, kind))
        };
        let mut documents = Self {
            skips: listing.skips.clone(),
            ..Self::default()
        };
        for read in parallel::map(&paths, read) {
            match read {
                Ok(document) => documents.files.push(document),
                Err(skip) => documents.skips.push(skip),
            }
        }
        documents
    }

    /// Documents that are not in files, or not yet.
    pub fn of(mut files: Vec<StoredDocument>) -> Self {
        files.sort_by(|one, other| one.path.cmp(&other.path));
        Self {
            files,
            ..Self::default()
        }
    }

    /// Keep the visible memories alone. The scope of a file that cannot be read is unknown, so within a scope
    /// no such file is named.
    #[must_use]
    pub fn within(mut self, visible: &Visibility) -> Self {
        if visible.is_whole() {
            return self;
        }
        self.skips.clear();
        self.files
            .retain(|file| visible.sees(&Scope::stated(&file.front_matter)));
        self
    }

    /// The columns of the memories, which say what holds.
    pub fn columns(&self) -> &Arc<FileColumns> {
        self.columns.get_or_init(|| {
            let facts = parallel::map(&self.files, |file| {
                let facts = facts_of(&Memory {
                    path: &file.path,
                    title: &file.title,
                    aliases: &file.aliases,
                    tags: &[],
                    metadata: &file.front_matter,
                    links: &links_of(&file.matter, file.body()),
                });
                FileFacts::new(&file.path, &facts)
            });
            Arc::new(FileColumns::of_files(facts))
        })
    }

    /// Whether a memory holds at a time, in microseconds since 1970.
    pub fn holds(&self, path: &str, at: i64) -> bool {
        let number = self.columns().number_of(path);
        number.is_none_or(|number| self.columns().holds(number, at))
    }

    /// The validity of a memory at a time.
    pub fn validity(&self, path: &str, at: i64) -> Validity {
        let number = self.columns().number_of(path);
        number.map_or_else(Validity::default, |number| {
            self.columns().validity_at(number, at, false)
        })
    }

    /// The problems of the front matter and the text of each file.
    pub fn problems(&self) -> Vec<Skip> {
        let found = parallel::map(&self.files, StoredDocument::problems);
        found.into_iter().flatten().collect()
    }

    /// The files whose name may mean two days, which then count as none.
    pub fn ambiguous_days(&self, format: Option<&DayFormat>) -> Vec<Skip> {
        let found = self
            .files
            .iter()
            .filter_map(|file| file.ambiguous_day(format));
        found.collect()
    }

    /// The files that names mean.
    pub(super) fn names(&self) -> Names {
        Names::new(self.files.iter().map(|file| FileTitles {
            path: &file.path,
            title: &file.title,
            aliases: &file.aliases,
        }))
    }

    /// The edges of the links between the memories, in order. They are those of a store that has read the
    /// files as they are.
    pub fn edges(&self, kind: &FolderKind) -> Vec<EdgeInput> {
        let read = parallel::map(&self.files, |file| {
            let text = if kind.is_vault() {
                without_marks(&file.text)
            } else {
                Cow::Borrowed(file.text.as_str())
            };
            let node = file_node(&Document::of_kind(kind, &file.path, &text), 0).ok()?;
            let linked = serde_json::from_value(Value::Object(node.facts)).ok()?;
            Some((file.path.clone(), linked))
        });
        let nodes = Nodes::of_files(read.into_iter().flatten());
        nodes.difference(&[], None).1
    }

    /// The links that lead to no memory, as (file, target), each once. A tag that is written as a link is none.
    pub fn unresolved_links(&self) -> Vec<(&str, String)> {
        let names = self.names();
        let found = parallel::map(&self.files, |file| {
            let mut tags = bracketed_tags(file.body());
            tags.extend_from_slice(&file.property_tags);
            let mut missing: Vec<String> = Vec::new();
            for (target, is_path) in file.links() {
                let is_missing = names.find(&target, is_path, &file.path).is_none();
                if is_missing && !tags.contains(&target) && !missing.contains(&target) {
                    missing.push(target);
                }
            }
            missing
        });
        let found = self.files.iter().zip(found);
        found
            .flat_map(|(file, missing)| missing.into_iter().map(|one| (file.path.as_str(), one)))
            .collect()
    }
}
