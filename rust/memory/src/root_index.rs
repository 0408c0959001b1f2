//! The index of a root: its files as chunks with what is known of each (spec/memory.md, "Sync").

use std::collections::HashSet;
use std::path::Path;

use hedgerow_engine::Result;
use hedgerow_engine::chunks::Chunk;
use hedgerow_engine::index::{FileSync, Index};
use hedgerow_engine::sources::SourceFile as Row;
use serde_json::{Map, Value, json};

use crate::chunks::{REPEATED_LIMIT, SharedFields, bad_front_matter, markdown_chunks};
use crate::conflict::conflict_line;
use crate::facts::{LINK_MARKS, Memory, facts_of};
use crate::folder::Signature;
use crate::front_matter::FrontMatter;
use crate::ledger::{Ledger, Record};
use crate::names::stated_links;
use crate::page::without_frame;
use crate::sections::first_heading;
use crate::skip::{Skip, printable};
use crate::source::{SourceFile, text_of};
use crate::sync::{Reading, Wanted, in_rounds};
use crate::tags::inline_tags;
use crate::text::trimmed;
use crate::times::memory_time;

/// The most aliases of a file that count.
const MOST_ALIASES: usize = 100;
/// The codes of what is wrong with a file that is read nevertheless.
const STILL_READ: [&str; 3] = ["bad_front_matter", "bad_line", "git_conflict"];

/// How many files a sync added to an index and changed in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Synced {
    /// Were not known before, and could be read.
    pub added: usize,
    /// Were known with other content.
    pub changed: usize,
}

/// Read files of a root into its index, in rounds, each in one transaction. `ledger` is that of the
/// index. A file that cannot be read has no chunks then. `progress(done, total)` counts files.
pub fn sync_files(
    index: &Index,
    ledger: &Ledger,
    folder: &Path,
    files: &[(String, Signature)],
    mut progress: impl FnMut(usize, usize) -> Result<()>,
) -> Result<Synced> {
    let wanted: Vec<Wanted> = (files.iter())
        .map(|(path, signature)| Wanted {
            path: path.clone(),
            place: folder.join(path),
            signature: *signature,
        })
        .collect();
    let mut synced = Synced::default();
    let make = |reading: Reading| Made::of(&reading, ledger, folder);
    in_rounds(&wanted, make, |made, done| {
        let mut sync = FileSync::default();
        for file in &made {
            sync.read
                .push((file.row.clone(), file.chunks.iter().collect()));
            sync.removed.extend_from_slice(&file.removed);
            synced.added += usize::from(file.is_added);
            synced.changed += usize::from(file.is_changed);
        }
        index.sync(&sync)?;
        progress(done, wanted.len())
    })?;
    Ok(synced)
}

/// What a file comes to in the index.
struct Made {
    row: Row,
    chunks: Vec<Chunk>,
    /// The ids of chunks that it no longer has.
    removed: Vec<String>,
    is_added: bool,
    is_changed: bool,
}

impl Made {
    fn of(reading: &Reading, ledger: &Ledger, folder: &Path) -> Self {
        let before = ledger.record(&reading.path);
        let row = Row {
            path: reading.path.clone(),
            signature: reading.signature.to_string(),
            settled: reading.settled,
            digest: reading.digest.clone(),
            ..Row::default()
        };
        match before.filter(|before| is_the_same(before, reading)) {
            Some(before) => Self::unchanged(row, before),
            None => Self::parsed(row, before, parse(reading, folder)),
        }
    }

    fn unchanged(row: Row, before: &Record) -> Self {
        let (skips, facts) = (before.source.skips.clone(), before.source.facts.clone());
        Self {
            row: Row {
                skips,
                facts,
                ..row
            },
            chunks: Vec::new(),
            removed: Vec::new(),
            is_added: false,
            is_changed: false,
        }
    }

    fn parsed(row: Row, before: Option<&Record>, parsed: Parsed) -> Self {
        let Parsed {
            chunks,
            skips,
            facts,
        } = parsed;
        let known = before.map_or(0, |before| {
            usize::try_from(before.source.chunks).unwrap_or(0)
        });
        let gone = chunks.len()..known.max(chunks.len());
        let is_read = skips
            .iter()
            .all(|skip| STILL_READ.contains(&skip.code.as_str()));
        Self {
            removed: gone
                .map(|ordinal| format!("{}#{ordinal}", row.path))
                .collect(),
            row: Row {
                skips: noted(&skips),
                facts: if facts.is_empty() {
                    String::new()
                } else {
                    Value::Object(facts).to_string()
                },
                ..row
            },
            chunks,
            is_added: before.is_none() && is_read,
            is_changed: before.is_some(),
        }
    }
}

fn is_the_same(before: &Record, reading: &Reading) -> bool {
    !reading.digest.is_empty() && before.source.digest == reading.digest
}

/// Skips as the ledger has them.
fn noted(skips: &[Skip]) -> String {
    if skips.is_empty() {
        return String::new();
    }
    let rows = skips
        .iter()
        .map(|skip| json!([skip.path, skip.code, skip.reason, skip.line]));
    Value::Array(rows.collect()).to_string()
}

/// A file as chunks, with its front matter in each; why there are none, or what is wrong with it; and
/// what is known of the file itself.
#[derive(Debug, Default)]
pub struct Parsed {
    /// Its chunks, in their order.
    pub chunks: Vec<Chunk>,
    /// What was left out.
    pub skips: Vec<Skip>,
    /// Its names, time, scope, marks and parts of its score; for a file without chunks also what the
    /// manifest has of it.
    pub facts: Map<String, Value>,
}

impl Parsed {
    fn refused(skip: Skip) -> Self {
        Self {
            skips: vec![skip],
            ..Self::default()
        }
    }
}

/// Make chunks of a file below `folder`.
pub fn parse(reading: &Reading, folder: &Path) -> Parsed {
    let path = reading.path.as_str();
    let text = match &reading.data {
        Ok(data) => text_of(data),
        Err(unreadable) => Err(unreadable.clone()),
    };
    match text {
        Ok(text) => parse_text(path, &printable(folder.join(path).as_os_str()), &text),
        Err(unreadable) => Parsed::refused(unreadable.skip(path)),
    }
}

fn parse_text(path: &str, file: &str, text: &str) -> Parsed {
    let lines: Vec<&str> = text.split('\n').collect();
    let matter = FrontMatter::read(&lines);
    let body = lines[matter.body_start.min(lines.len())..].join("\n");
    let front_matter = matter.to_json();
    let aliases = aliases_of(&front_matter);
    let tags = distinct(matter.tags().into_iter().chain(inline_tags(&body)));
    let mut metadata = Map::new();
    metadata.insert("front_matter".to_owned(), front_matter.clone().into());
    metadata.insert("body_start_line".to_owned(), (matter.body_start + 1).into());
    if let Some(stated) = memory_time(path, &front_matter) {
        let mut day = stated.time.to_iso();
        day.truncate("2026-04-18".len());
        metadata.insert("date".to_owned(), day.into());
    }
    let shared = SharedFields {
        metadata: &metadata,
        tags: &tags,
        aliases: &aliases,
        repeated_limit: REPEATED_LIMIT,
    };
    let facts = || {
        facts_of(&Memory {
            path,
            title: &title_of(&matter, &body),
            aliases: &aliases,
            tags: &tags,
            metadata: &front_matter,
            links: &links_of(&matter),
        })
    };
    let skips = problems_of(path, &lines, &matter);
    let source = SourceFile { path, file };
    match markdown_chunks(&source, &without_frame(&lines), &matter, shared) {
        Ok(chunks) => Parsed {
            chunks,
            skips,
            facts: facts(),
        },
        // An empty note is a note; there is nothing in it to find.
        Err(unreadable) if unreadable.code == "empty" => {
            let mut facts = facts();
            facts.extend(metadata);
            Parsed {
                chunks: Vec::new(),
                skips,
                facts,
            }
        }
        Err(unreadable) => Parsed::refused(unreadable.skip(path)),
    }
}

/// What is wrong with a file that is read nevertheless, each with its line.
pub fn problems_of(path: &str, lines: &[&str], matter: &FrontMatter) -> Vec<Skip> {
    let mut problems: Vec<Skip> = bad_front_matter(path, matter).into_iter().collect();
    if let Some(line) = conflict_line(lines) {
        let reason = "it is in conflict: git left two versions between <<<<<<< and >>>>>>>; keep one \
                      of them";
        let skip = Skip::whole(path, "git_conflict", reason);
        problems.push(Skip {
            line: Some(line as u64),
            ..skip
        });
    }
    problems
}

/// The title in the front matter, else the first heading, else an empty text.
fn title_of(matter: &FrontMatter, body: &str) -> String {
    let stated = matter.text(&["title"]);
    if stated.is_empty() {
        first_heading(body).to_owned()
    } else {
        stated
    }
}

/// Other names of a file: `aliases`, a list or one text with commas.
fn aliases_of(front_matter: &Map<String, Value>) -> Vec<String> {
    let given: Vec<&str> = match front_matter.get("aliases") {
        Some(Value::String(text)) => text.split(',').collect(),
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let named = given.into_iter().map(trimmed).filter(|one| !one.is_empty());
    let mut aliases = distinct(named.map(str::to_owned));
    aliases.truncate(MOST_ALIASES);
    aliases
}

/// The targets of the links under each mark that names other memories.
fn links_of(matter: &FrontMatter) -> Vec<(&'static str, Vec<String>)> {
    let stated = LINK_MARKS
        .into_iter()
        .filter_map(|key| match matter.fields.get(key) {
            None | Some(Value::Null) => None,
            Some(value) => Some((key, stated_links(value))),
        });
    stated.collect()
}

fn distinct(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut known = HashSet::new();
    texts.filter(|text| known.insert(text.clone())).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(text: &str) -> Parsed {
        parse_text("notes/a.md", "/r/notes/a.md", text)
    }

    #[test]
    fn a_file_has_its_front_matter_in_each_chunk() {
        let found = parsed("---\ntags: [a]\naliases: x, y\n---\n# One\n\nText #b\n\n# Two\n\nmore");
        assert_eq!(found.chunks.len(), 2);
        for chunk in &found.chunks {
            assert_eq!(chunk.tags, ["a", "b"]);
            assert_eq!(chunk.metadata["body_start_line"], 5);
            assert_eq!(chunk.metadata["front_matter"]["aliases"], "x, y");
        }
        assert_eq!(found.facts["title"], "One");
        assert_eq!(found.facts["aliases"], json!(["x", "y"]));
        assert!(found.skips.is_empty());
    }

    proptest! {
        #[test]
        fn any_bytes_have_chunks_or_a_reason(data: Vec<u8>, block in "[a-z:&*?!\\[\\]{}\\-#|> \"'\\n0-9]{0,60}") {
            let text = format!("---\n{block}\n---\n# A\n\nbody\n");
            for data in [data, text.into_bytes()] {
                let reading = Reading {
                    path: "a.md".to_owned(),
                    signature: "1.2.3.4".parse().unwrap(),
                    settled: true,
                    digest: String::new(),
                    data: Ok(data),
                };
                let found = parse(&reading, Path::new("/r"));
                prop_assert!(!found.chunks.is_empty() || !found.skips.is_empty() || !found.facts.is_empty());
            }
        }
    }

    #[test]
    fn an_empty_note_is_a_note() {
        let found = parsed("---\nweight: 1\n---\n");
        assert!(found.chunks.is_empty() && found.skips.is_empty());
        assert_eq!(found.facts["front_matter"], json!({"weight": 1}));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let found = parsed("---\na: [\n---\n<<<<<<< x\na\n=======\nb\n>>>>>>> y\n");
        let codes: Vec<_> = found
            .skips
            .iter()
            .map(|skip| (&*skip.code, skip.line))
            .collect();
        assert_eq!(codes[1], ("git_conflict", Some(4)));
        assert_eq!(codes[0].0, "bad_front_matter");
        assert!(!found.chunks.is_empty());
    }
}
