//! Markdown to chunks: one for each section, or passage of a long one (spec/ingest.md, "Markdown").

use hedgerow_engine::chunks::Chunk;
use serde_json::{Map, Value};

use crate::folder::source::{SourceFile, Unreadable};
use crate::format::front_matter::{FrontMatter, fields_length};
use crate::format::markdown::{MarkdownDocument, Section};
use crate::format::passages::{PASSAGE_LIMIT, Passage, PassageSplitter};
use crate::format::turns::{Turns, are_roles, voice_of_heading};
use crate::skip::Skip;
use crate::text;

/// Between the headings in a title, outermost first.
pub const TITLE_SEPARATOR: &str = " > ";

/// The most characters that titles, tags and metadata of one file may come to in all of its chunks.
pub const REPEATED_LIMIT: usize = 64 * 1024 * 1024;

/// The fields that all chunks of a file share.
#[derive(Debug, Clone, Copy)]
pub struct SharedFields<'a> {
    /// The metadata of every chunk, before the names and lines of its source.
    pub metadata: &'a Map<String, Value>,
    /// The tags of every chunk.
    pub tags: &'a [String],
    /// Other names of the note. They end the summary of the first chunk, so that they are found.
    pub aliases: &'a [String],
    /// The most characters that repeated fields may come to: `REPEATED_LIMIT`.
    pub repeated_limit: usize,
}

/// Return the report of front matter that could not be read, or of which only single lines could; None for a valid one.
pub fn bad_front_matter(path: &str, front_matter: &FrontMatter) -> Option<Skip> {
    let problem = front_matter.problem.as_ref()?;
    let reason = if front_matter.body_start == 0 {
        format!("front matter is not read: {problem}")
    } else {
        format!("front matter is not valid YAML ({problem}); used the lines that can be read")
    };
    Some(Skip {
        line: front_matter.problem_line.map(|line| line as u64),
        ..Skip::whole(path, "bad_front_matter", reason)
    })
}

/// Return the chunks of a Markdown text whose front matter has been read, in order.
///
/// Fails if there is nothing to make a chunk of (`empty`), or if the fields repeated in every chunk
/// come to too much (`too_large`).
pub fn markdown_chunks(
    source: &SourceFile<'_>,
    lines: &[&str],
    front_matter: &FrontMatter,
    shared: SharedFields<'_>,
) -> Result<Vec<Chunk>, Unreadable> {
    let lines = without_front_matter(lines, front_matter);
    if lines.iter().all(|line| text::is_blank(line)) {
        return Ok(vec![card(source, front_matter, shared)?]);
    }
    let document = MarkdownDocument::parse(&lines);
    let splitter = PassageSplitter::new(&lines, &document.boundaries);
    let start = front_matter.unread.iter().min().copied();
    let sections = document.sections(start.unwrap_or(front_matter.body_start));
    // Passages of a section are at least half as long as they may be, on the whole.
    let passages = splitter.length() / (PASSAGE_LIMIT / 2);
    let turns = Turns::of(&lines);
    let count = sections.len() + passages + turns.len();
    check_repeated(source, front_matter, shared, count)?;
    let headings = sections.iter().filter_map(|one| one.headings.last());
    let is_talk = are_roles(headings.map(String::as_str));
    let stated = front_matter.text(&["summary", "description"]);
    let note_title = front_matter.text(&["title"]);
    let mut chunks = Vec::with_capacity(sections.len());
    for section in &sections {
        let title = title_of(section, &note_title, source);
        let heading = voice_of_heading(&section.headings).filter(|_| is_talk);
        for piece in turns.pieces(&lines, section.start, section.end) {
            for passage in splitter.split(piece.start, piece.end) {
                let mut summary =
                    document.first_sentence(passage.first_line - 1, passage.last_line);
                if chunks.is_empty() {
                    if !stated.is_empty() {
                        summary.clone_from(&stated);
                    }
                    summary = with_aliases(summary, shared.aliases);
                }
                let mut chunk = chunk_of(source, chunks.len(), passage, title.clone(), summary);
                if let Some(voice) = piece.voice.or(heading.as_ref()) {
                    voice.add_to(&mut chunk.metadata);
                }
                chunks.push(with_shared_fields(chunk, shared));
            }
        }
    }
    Ok(chunks)
}

/// Blank the lines of the front matter, so that line numbers stay those of the file.
///
/// The lines that could not be read are text before the first section.
fn without_front_matter<'a>(lines: &[&'a str], front_matter: &FrontMatter) -> Vec<&'a str> {
    let start = front_matter.body_start.min(lines.len());
    let mut kept = vec![""; start];
    for at in front_matter.unread.iter().filter(|at| **at < start) {
        kept[*at] = lines[*at];
    }
    kept.extend_from_slice(&lines[start..]);
    kept
}

/// Join the headings above a section, under the title of the note if it has one.
fn title_of(section: &Section, note_title: &str, source: &SourceFile<'_>) -> String {
    let names = std::iter::once(note_title).chain(section.headings.iter().map(String::as_str));
    let mut path: Vec<&str> = Vec::new();
    for name in names.filter(|name| !name.is_empty()) {
        let is_repeated = path
            .last()
            .is_some_and(|above| text::casefold(above) == text::casefold(name));
        if !is_repeated {
            path.push(name);
        }
    }
    if path.is_empty() {
        return source.title();
    }
    path.join(TITLE_SEPARATOR)
}

/// Reject a file whose repeated fields would be many times as large in an index as on the disk.
fn check_repeated(
    source: &SourceFile<'_>,
    front_matter: &FrontMatter,
    shared: SharedFields<'_>,
    chunks: usize,
) -> Result<(), Unreadable> {
    let tags = front_matter.tags();
    let tags = tags.iter().map(|tag| text::length(tag)).sum::<usize>();
    // The path is in the id too.
    let names = text::length(source.file) + 2 * text::length(source.path);
    let title = text::length(&front_matter.text(&["title"]));
    let metadata = fields_length(shared.metadata);
    let size = title + tags + metadata + names;
    if size.saturating_mul(chunks) <= shared.repeated_limit {
        return Ok(());
    }
    let reason = format!(
        "its names and front matter, {} characters, would stand in each of about {} chunks, and come \
         to more than {} MiB; shorten the front matter, or split the file",
        with_commas(size),
        with_commas(chunks),
        shared.repeated_limit / (1024 * 1024),
    );
    Err(Unreadable::new("too_large", reason))
}

/// A number with commas between thousands.
pub(crate) fn with_commas(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn with_aliases(summary: String, aliases: &[String]) -> String {
    let aliases = aliases.join(", ");
    match (summary.is_empty(), aliases.is_empty()) {
        (_, true) => summary,
        (true, false) => aliases,
        (false, false) => format!("{summary}\n{aliases}"),
    }
}

/// The chunk of a note that is all front matter: its title, summary, aliases and tags.
fn card(
    source: &SourceFile<'_>,
    front_matter: &FrontMatter,
    shared: SharedFields<'_>,
) -> Result<Chunk, Unreadable> {
    let stated = front_matter.text(&["summary", "description"]);
    let summary = with_aliases(stated, shared.aliases);
    let mut title = front_matter.text(&["title"]);
    let tags = front_matter.tags();
    if title.is_empty() && summary.is_empty() && tags.is_empty() {
        let reason = "the file holds only front matter";
        return Err(Unreadable::new("empty", reason));
    }
    if title.is_empty() {
        title = source.title();
    }
    let passage = Passage {
        text: String::new(),
        first_line: 1,
        last_line: front_matter.body_start,
    };
    let tags = SharedFields {
        tags: &tags,
        ..shared
    };
    Ok(with_shared_fields(
        chunk_of(source, 0, passage, title, summary),
        tags,
    ))
}

fn with_shared_fields(mut chunk: Chunk, shared: SharedFields<'_>) -> Chunk {
    let mut metadata = shared.metadata.clone();
    // The facts of the file take precedence, in the place of a field of the same name.
    metadata.extend(std::mem::take(&mut chunk.metadata));
    chunk.metadata = metadata;
    chunk.tags = shared.tags.to_vec();
    chunk
}

/// The chunk of a passage, with the file and its lines as metadata.
pub fn chunk_of(
    source: &SourceFile<'_>,
    ordinal: usize,
    passage: Passage,
    title: String,
    summary: String,
) -> Chunk {
    Chunk {
        id: format!("{}#{ordinal}", source.path),
        path: source.path.to_owned(),
        ordinal: i64::try_from(ordinal).unwrap_or(i64::MAX),
        title,
        summary,
        content: passage.text,
        metadata: file_facts(source, passage.first_line, passage.last_line),
        ..Chunk::default()
    }
}

/// The metadata that every chunk of a file has.
pub fn file_facts(
    source: &SourceFile<'_>,
    first_line: usize,
    last_line: usize,
) -> Map<String, Value> {
    let mut facts = Map::new();
    facts.insert("source_file".to_owned(), source.file.into());
    facts.insert("line_start".to_owned(), first_line.into());
    facts.insert("line_end".to_owned(), last_line.into());
    facts
}
