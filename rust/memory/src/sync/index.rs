//! A file of a root in its index: chunks and facts (spec/memory.md, "Sync").

use hedgerow_engine::chunks::Chunk;
use hedgerow_engine::sources::SourceFile as Row;
use hedgerow_engine::text::words::is_inflected_latin;
use serde_json::{Map, Value};

use crate::facts::document::Document;
use crate::facts::file::{LINK_MARKS, Memory, facts_of, memory_time};
use crate::facts::key::{DERIVED_FROM, INFLECTED};
use crate::folder::source::{SourceFile, Unreadable};
use crate::format::chunks::{REPEATED_LIMIT, SharedFields, markdown_chunks};
use crate::format::field_links::stated_links;
use crate::format::front_matter::FrontMatter;
use crate::format::page::{self, without_frame};
use crate::format::tags::inline_tags;
use crate::skip::{Skip, is_still_read, noted_skips};
use crate::sync::ledger::Record;
use crate::text::distinct;

/// The changes of a file in the index, if it has changed.
#[derive(Debug)]
pub(crate) struct IndexPart {
    /// The row of the file in the ledger.
    pub(crate) row: Row,
    /// The chunks to write.
    pub(crate) chunks: Vec<Chunk>,
    /// The ids of chunks removed from the file.
    pub(crate) removed: Vec<String>,
    /// Whether the file was not known before, and could be read.
    pub(crate) is_added: bool,
    /// Whether the file was known with other content.
    pub(crate) is_changed: bool,
}

impl IndexPart {
    /// A file that was parsed, or could not be; `row` has its signature and its digest.
    pub(crate) fn parsed(
        row: Row,
        before: Option<&Record>,
        document: Result<&Document<'_>, &Unreadable>,
        file: &str,
    ) -> Self {
        let ParsedFile {
            chunks,
            skips,
            facts,
        } = match document {
            Ok(document) => parse(document, file),
            Err(unreadable) => ParsedFile::refused(unreadable.clone().skip(&row.path)),
        };
        let known = before.map_or(0, |before| usize::try_from(before.chunks).unwrap_or(0));
        let gone = chunks.len()..known.max(chunks.len());
        let is_read = is_still_read(&skips);
        Self {
            removed: gone
                .map(|ordinal| format!("{}#{ordinal}", row.path))
                .collect(),
            row: Row {
                skips: noted_skips(&skips),
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

/// A file as chunks, with its front matter in each; the reason that they are missing, or the problems; and
/// the facts of the file.
#[derive(Debug, Default)]
pub struct ParsedFile {
    /// The chunks, in their order.
    pub chunks: Vec<Chunk>,
    /// The skipped parts.
    pub skips: Vec<Skip>,
    /// The names, time, scope, marks and parts of the score; for a file without chunks also its data in the
    /// manifest.
    pub facts: Map<String, Value>,
}

impl ParsedFile {
    fn refused(skip: Skip) -> Self {
        Self {
            skips: vec![skip],
            ..Self::default()
        }
    }
}

/// Make the chunks of a document, whose file has an absolute path that can be shown.
pub fn parse(document: &Document<'_>, file: &str) -> ParsedFile {
    let Document { path, matter, .. } = document;
    let stated = matter
        .tags()
        .into_iter()
        .chain(document.property_tags.clone());
    let tags = distinct(stated.chain(inline_tags(&document.body)));
    let front_matter = &document.front_matter;
    let mut metadata = Map::new();
    metadata.insert("front_matter".to_owned(), front_matter.clone().into());
    metadata.insert("body_start_line".to_owned(), (matter.body_start + 1).into());
    if let Some(stated) = memory_time(path, front_matter) {
        metadata.insert("date".to_owned(), stated.iso_day().into());
    }
    let shared = SharedFields {
        metadata: &metadata,
        tags: &tags,
        aliases: &document.aliases,
        repeated_limit: REPEATED_LIMIT,
    };
    let facts = || {
        facts_of(&Memory {
            path,
            title: &document.title,
            aliases: &document.aliases,
            tags: &tags,
            metadata: front_matter,
            links: &links_of(matter, &document.body),
        })
    };
    let skips = document.problems();
    let source = SourceFile { path, file };
    match markdown_chunks(&source, &without_frame(&document.lines), matter, shared) {
        Ok(chunks) => {
            let mut facts = facts();
            if chunks.iter().any(is_inflected) {
                facts.insert(INFLECTED.to_owned(), true.into());
            }
            ParsedFile {
                chunks,
                skips,
                facts,
            }
        }
        // An empty note is a note; there is nothing in it to find.
        Err(unreadable) if unreadable.code == "empty" => {
            let mut facts = facts();
            facts.extend(metadata);
            ParsedFile {
                chunks: Vec::new(),
                skips,
                facts,
            }
        }
        Err(unreadable) => ParsedFile::refused(unreadable.skip(path)),
    }
}

/// Whether Latin words of a text of a chunk have stems in the index.
fn is_inflected(chunk: &Chunk) -> bool {
    let tags = chunk.tags.join(" ");
    let texts = [
        &chunk.path,
        &chunk.title,
        &chunk.summary,
        &tags,
        &chunk.content,
    ];
    texts.into_iter().any(|text| is_inflected_latin(text))
}

/// The targets of the links under each mark that names other memories. A page is derived from its sources too.
pub fn links_of(matter: &FrontMatter, body: &str) -> Vec<(&'static str, Vec<String>)> {
    let stated = LINK_MARKS
        .into_iter()
        .filter_map(|key| match matter.fields.get(key) {
            None | Some(Value::Null) => None,
            Some(value) => Some((key, stated_links(value))),
        });
    let mut links: Vec<_> = stated.collect();
    let sources: Vec<String> = page::sources(body).map(str::to_owned).collect();
    if !sources.is_empty() {
        match links.iter_mut().find(|(key, _)| *key == DERIVED_FROM) {
            Some((_, targets)) => targets.extend(sources),
            None => links.push((DERIVED_FROM, sources)),
        }
    }
    links
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn parsed(text: &str) -> ParsedFile {
        parse(&Document::parse("notes/a.md", text), "/r/notes/a.md")
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
        fn any_text_has_chunks_or_a_reason(text: String, block in "[a-z:&*?!\\[\\]{}\\-#|> \"'\\n0-9]{0,60}") {
            for text in [text, format!("---\n{block}\n---\n# A\n\nbody\n")] {
                let found = parsed(&text);
                prop_assert!(!found.chunks.is_empty() || !found.skips.is_empty() || !found.facts.is_empty());
            }
        }
    }

    #[test]
    fn texts_with_accents_are_inflected() {
        let inflected = |text: &str| parsed(text).facts.get(INFLECTED).cloned();
        let english = format!(
            "{}said the café.\n",
            "Hedges are cut in winter. ".repeat(20)
        );
        assert_eq!(inflected(&english), None);
        let german = "Die Hecken werden im März geschnitten, für die Vögel und für die Bäume.\n";
        assert_eq!(inflected(german), Some(true.into()));
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
