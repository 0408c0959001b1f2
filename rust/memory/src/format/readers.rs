//! Readers: one file to chunks, by the suffix of its name.

use std::fs::File;
use std::io::{BufReader, Cursor};
use std::path::Path;
use std::vec;

use crate::folder::source::{
    JSONL_SUFFIXES, MARKDOWN_SUFFIXES, SourceFile, Unreadable, read_bytes, read_text,
};
use crate::format::chunks::{REPEATED_LIMIT, SharedFields, bad_front_matter, markdown_chunks};
use crate::format::front_matter::FrontMatter;
use crate::format::jsonl::{JsonLines, LineResult};
use crate::format::plain_text::plain_text_chunks;

/// The chunks of one file in order, and between them the reports of parts that are left out.
///
/// An error ends the file, perhaps after some chunks.
pub enum FileChunks {
    /// The chunks of a file that was read completely, and the error after them.
    Whole(vec::IntoIter<LineResult>, Option<Unreadable>),
    /// The chunks of JSON Lines, read while they are used.
    Lines(JsonLines),
}

impl Iterator for FileChunks {
    type Item = Result<LineResult, Unreadable>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Whole(chunks, error) => match chunks.next() {
                Some(result) => Some(Ok(result)),
                None => error.take().map(Err),
            },
            Self::Lines(lines) => lines.next(),
        }
    }
}

/// Read a file as chunks. `data` are its bytes if they have been read.
///
/// A name with a suffix that is not known is read as plain text: the caller asked for it by name.
pub fn read_chunks(source: &SourceFile<'_>, data: Option<&[u8]>) -> Result<FileChunks, Unreadable> {
    let name = source.path.to_lowercase();
    let has_suffix = |suffixes: &[&str]| suffixes.iter().any(|suffix| name.ends_with(suffix));
    if has_suffix(&JSONL_SUFFIXES) {
        return Ok(FileChunks::Lines(json_lines(source, data)?));
    }
    let text = match data {
        Some(data) => read_text(data)?,
        None => read_text(&read_bytes(Path::new(source.file))?)?,
    };
    if has_suffix(&MARKDOWN_SUFFIXES) {
        return Ok(read_markdown(source, &text));
    }
    let chunks = plain_text_chunks(source, &text);
    let results: Vec<LineResult> = chunks.into_iter().map(Ok).collect();
    Ok(FileChunks::Whole(results.into_iter(), None))
}

fn json_lines(source: &SourceFile<'_>, data: Option<&[u8]>) -> Result<JsonLines, Unreadable> {
    if let Some(data) = data {
        return Ok(JsonLines::new(source, Box::new(Cursor::new(data.to_vec()))));
    }
    let file = File::open(source.file).map_err(|error| Unreadable::system(&error))?;
    Ok(JsonLines::new(source, Box::new(BufReader::new(file))))
}

fn read_markdown(source: &SourceFile<'_>, text: &str) -> FileChunks {
    let lines: Vec<&str> = text.split('\n').collect();
    let front_matter = FrontMatter::read(&lines);
    let shared = SharedFields {
        metadata: &front_matter.metadata(),
        tags: &front_matter.tags(),
        aliases: &[],
        repeated_limit: REPEATED_LIMIT,
    };
    let mut results: Vec<LineResult> = bad_front_matter(source.path, &front_matter)
        .map(Err)
        .into_iter()
        .collect();
    let error = match markdown_chunks(source, &lines, &front_matter, shared) {
        Ok(chunks) => {
            results.extend(chunks.into_iter().map(Ok));
            None
        }
        Err(error) => Some(error),
    };
    FileChunks::Whole(results.into_iter(), error)
}
