//! Skipped files and lines, with reasons (spec/ingest.md, "What is left out, and named").

use std::ffi::OsStr;
use std::fmt::{self, Write};
use std::io;

use serde_json::{Value, json};

/// Something that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skip {
    /// The file or folder, as text that can be shown.
    pub path: String,
    /// A code of the list.
    pub code: String,
    /// A sentence that names the fix.
    pub reason: String,
    /// The line, counted from 1; None for the whole file.
    pub line: Option<u64>,
}

impl Skip {
    /// Leave out a whole file or folder.
    pub fn whole(path: impl Into<String>, code: &str, reason: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            code: code.to_owned(),
            reason: reason.into(),
            line: None,
        }
    }

    /// Return the skip for a path that the system refuses.
    pub fn refused(path: impl Into<String>, error: &io::Error) -> Self {
        Self::whole(path, "unreadable", why_unreadable(error))
    }
}

impl fmt::Display for Skip {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(formatter, "{}:{line}: {}", self.path, self.reason),
            None => write!(formatter, "{}: {}", self.path, self.reason),
        }
    }
}

/// Skips as a ledger has them.
pub fn noted_skips(skips: &[Skip]) -> String {
    if skips.is_empty() {
        return String::new();
    }
    let rows = skips
        .iter()
        .map(|skip| json!([skip.path, skip.code, skip.reason, skip.line]));
    Value::Array(rows.collect()).to_string()
}

/// The skips that a ledger has, none for an empty text; None if the text is damaged.
pub fn skips_of(noted: &str) -> Option<Vec<Skip>> {
    type Row = (String, String, String, Option<u64>);
    if noted.is_empty() {
        return Some(Vec::new());
    }
    let rows: Vec<Row> = serde_json::from_str(noted).ok()?;
    let skip = |(path, code, reason, line)| Skip {
        path,
        code,
        reason,
        line,
    };
    Some(rows.into_iter().map(skip).collect())
}

/// The codes of problems of a file that is read nevertheless.
const STILL_READ: [&str; 3] = ["bad_front_matter", "bad_line", "git_conflict"];

/// Whether a file with these problems could be read.
pub(crate) fn is_still_read(skips: &[Skip]) -> bool {
    skips
        .iter()
        .all(|skip| STILL_READ.contains(&skip.code.as_str()))
}

/// Why the system refused a file, in words.
pub fn why_unreadable(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "permission denied; make it readable".to_owned(),
        io::ErrorKind::NotFound => {
            "no such file (a broken link, or it was removed meanwhile)".to_owned()
        }
        io::ErrorKind::IsADirectory => "a folder, not a file".to_owned(),
        _ => without_number(&error.to_string()),
    }
}

/// A message of the system without the number that the standard library adds.
fn without_number(message: &str) -> String {
    match message.split_once(" (os error ") {
        Some((text, _)) => text.to_owned(),
        None => message.to_owned(),
    }
}

/// A name as text that can be shown, with bytes that are not UTF-8 as `\xff`.
pub fn printable(name: &OsStr) -> String {
    let mut text = String::new();
    for chunk in name.as_encoded_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            // Writing to a String cannot fail.
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}
