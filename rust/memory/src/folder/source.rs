//! A file to read: its names, its text, and the reasons for skipping parts.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::skip::{Skip, why_unreadable};
use crate::text;

/// The suffixes of Markdown files, in lower case.
pub const MARKDOWN_SUFFIXES: [&str; 2] = [".md", ".markdown"];
/// The suffixes of JSON Lines, in lower case.
pub const JSONL_SUFFIXES: [&str; 2] = [".jsonl", ".ndjson"];

/// The most bytes of a Markdown or text file, and of one line of JSON Lines.
pub const FILE_LIMIT: usize = 16 * 1024 * 1024;

/// The names of one file.
#[derive(Debug, Clone, Copy)]
pub struct SourceFile<'a> {
    /// The path of its chunks: the path given by the caller, joined by `/` with the path below it.
    pub path: &'a str,
    /// The absolute path. With it, a later run recognizes the file under another name.
    pub file: &'a str,
}

impl SourceFile<'_> {
    /// A title from the name of the file: no suffix, and spaces for hyphens, but not in a date.
    pub fn title(&self) -> String {
        title_from_name(self.path)
    }
}

/// The reason for which a whole file is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// A code of the list in spec/ingest.md.
    pub code: &'static str,
    /// A sentence that names the fix.
    pub reason: String,
}

impl Unreadable {
    /// An error with a code of the list in spec/ingest.md.
    pub fn new(code: &'static str, reason: impl Into<String>) -> Self {
        Self {
            code,
            reason: reason.into(),
        }
    }

    /// The error for a file that the system refuses.
    pub fn system(error: &io::Error) -> Self {
        Self::new("unreadable", why_unreadable(error))
    }

    /// The report of the file.
    pub fn skip(self, path: &str) -> Skip {
        Skip::whole(path, self.code, self.reason)
    }
}

/// Return the bytes of a file of at most `FILE_LIMIT` bytes.
pub fn read_bytes(file: &Path) -> Result<Vec<u8>, Unreadable> {
    read_open(File::open(file).map_err(|error| Unreadable::system(&error))?)
}

/// Like `read_bytes`, but of an open file.
pub fn read_open(file: File) -> Result<Vec<u8>, Unreadable> {
    let mut data = Vec::new();
    let limit = FILE_LIMIT as u64 + 1;
    let read = file.take(limit).read_to_end(&mut data);
    read.map_err(|error| Unreadable::system(&error))?;
    if data.len() > FILE_LIMIT {
        let limit = FILE_LIMIT / (1024 * 1024);
        let reason = format!("the file is larger than {limit} MiB; split it");
        return Err(Unreadable::new("too_large", reason));
    }
    Ok(data)
}

/// Decode UTF-8, with or without a byte order mark.
pub fn decode(data: &[u8]) -> Result<&str, Unreadable> {
    if data.starts_with(b"\xff\xfe") || data.starts_with(b"\xfe\xff") {
        let reason = "the file is UTF-16; convert it to UTF-8";
        return Err(Unreadable::new("not_utf8", reason));
    }
    if data.contains(&0) {
        let reason = "the file is binary, not text";
        return Err(Unreadable::new("binary", reason));
    }
    let data = data.strip_prefix(b"\xef\xbb\xbf").unwrap_or(data);
    std::str::from_utf8(data).map_err(|error| {
        let valid = &data[..error.valid_up_to()];
        let line = valid.split(|byte| *byte == b'\n').count();
        let byte = data[error.valid_up_to()];
        let reason = format!(
            "the file is not UTF-8 (byte 0x{byte:02x} on line {line}); convert it to UTF-8"
        );
        Unreadable::new("not_utf8", reason)
    })
}

/// Decode a file, with newlines as line ends.
pub fn text_of(data: &[u8]) -> Result<String, Unreadable> {
    let text = decode(data)?;
    if !text.contains('\r') {
        return Ok(text.to_owned());
    }
    Ok(text.replace("\r\n", "\n").replace('\r', "\n"))
}

/// Like `text_of`, but an error for a file in which there is nothing.
pub fn read_text(data: &[u8]) -> Result<String, Unreadable> {
    let text = text_of(data)?;
    if text::is_blank(&text) {
        return Err(Unreadable::new("empty", "the file is empty"));
    }
    Ok(text)
}

/// Return a title from a file's name: no suffix, and spaces for hyphens, but not in a date.
pub fn title_from_name(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => name,
    };
    let characters: Vec<char> = stem.chars().collect();
    let is_digit = |at: Option<&char>| at.is_some_and(char::is_ascii_digit);
    let spaced: String = characters
        .iter()
        .enumerate()
        .map(|(at, &character)| {
            let before = at.checked_sub(1).and_then(|at| characters.get(at));
            let is_between_digits = is_digit(before) && is_digit(characters.get(at + 1));
            match character {
                '-' | '_' if !is_between_digits => ' ',
                _ => character,
            }
        })
        .collect();
    let title = text::one_line(&spaced);
    if title.is_empty() {
        stem.to_owned()
    } else {
        title
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_becomes_a_title() {
        for (path, title) in [
            ("notes/my-first_note.md", "my first note"),
            ("2026-04-18-slugs.md", "2026-04-18 slugs"),
            (".hidden", ".hidden"),
            ("a/b", "b"),
            ("--.md", "--"),
        ] {
            assert_eq!(title_from_name(path), title);
        }
    }

    #[test]
    fn only_text_is_decoded() {
        assert_eq!(decode(b"\xef\xbb\xbfa\r\n"), Ok("a\r\n"));
        assert_eq!(text_of(b"a\r\nb\rc"), Ok("a\nb\nc".to_owned()));
        for (data, code) in [
            (&b"\xff\xfea\0"[..], "not_utf8"),
            (b"a\0", "binary"),
            (b"a\xff", "not_utf8"),
        ] {
            assert_eq!(decode(data).unwrap_err().code, code);
        }
        assert_eq!(read_text(b" \n").unwrap_err().code, "empty");
    }
}
