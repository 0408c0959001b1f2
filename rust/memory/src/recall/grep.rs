//! Searching the files of a root for a text or a regular expression (spec/memory.md, "Grep").

use std::path::Path;

use hedgerow_engine::text::normalise::forms;
use hedgerow_engine::{Error, ErrorCode, Fix, Result, interrupt};
use regex::{Regex, RegexBuilder};
use serde_json::Value;

use crate::folder::source::{read_bytes, text_of};
use crate::skip::Skip;

/// The most bytes of a compiled pattern. A larger one would make searches slow.
const MAX_PATTERN_BYTES: usize = 1 << 20;
/// The most characters that are shown of a line.
const MAX_LINE: usize = 400;
/// The characters that are shown before a match that a line is cut for.
const BEFORE_MATCH: usize = 80;

/// A pattern to search for.
#[derive(Debug)]
pub struct Pattern(Regex);

/// A line with a match, and the lines around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineMatch {
    /// The path of the file below the folder.
    pub file: String,
    /// The number of the line, from 1.
    pub line: usize,
    /// The line, cut to 400 characters around the first match.
    pub text: String,
    /// The lines before it.
    pub before: Vec<String>,
    /// The lines after it.
    pub after: Vec<String>,
}

/// The result of a search.
#[derive(Debug, Default)]
pub struct Matches {
    /// The first lines that match, in the order of files and lines.
    pub lines: Vec<LineMatch>,
    /// The number of all lines that match.
    pub count: usize,
    /// The number of files with such a line.
    pub files: usize,
    /// Files that could not be read.
    pub skips: Vec<Skip>,
}

impl Pattern {
    /// Compile a pattern: a text, in any Unicode form, or with `is_regex` a regular expression.
    pub fn new(pattern: &str, is_regex: bool, ignore_case: bool) -> Result<Self> {
        if pattern.is_empty() {
            return Err(wrong(
                "the pattern is empty; give the text to find".to_owned(),
            ));
        }
        let source = if is_regex {
            pattern.to_owned()
        } else {
            let forms = forms(pattern);
            let forms: Vec<String> = forms.iter().map(|form| regex::escape(form)).collect();
            forms.join("|")
        };
        let compiled = RegexBuilder::new(&source)
            .case_insensitive(ignore_case)
            .size_limit(MAX_PATTERN_BYTES)
            .build();
        compiled.map(Self).map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => wrong(format!(
                "the pattern takes more than {} KiB compiled; make it shorter, or its repetitions smaller",
                MAX_PATTERN_BYTES / 1024
            )),
            error => wrong(format!(
                "the pattern is no regular expression: {}",
                sentence_of(&error)
            ))
            .with_fix(Fix {
                does: "find it as it is",
                operation: None,
                arguments: vec![("regex", Value::Bool(false))],
            }),
        })
    }
}

/// Search files below a folder, in their order, for lines that match. At most `limit` lines are returned,
/// each with up to `context` lines before and after; all are counted.
///
/// Takes time linear in the size of the files.
pub fn grep<'f>(
    folder: &Path,
    files: impl IntoIterator<Item = &'f str>,
    pattern: &Pattern,
    limit: usize,
    context: usize,
) -> Result<Matches> {
    let mut found = Matches::default();
    for file in files {
        interrupt::check()?;
        let text = read_bytes(&folder.join(file)).and_then(|data| text_of(&data));
        match text {
            Ok(text) => found.search(file, &text, pattern, limit, context),
            Err(error) => found.skips.push(error.skip(file)),
        }
    }
    Ok(found)
}

impl Matches {
    fn search(&mut self, file: &str, text: &str, pattern: &Pattern, limit: usize, context: usize) {
        let before = self.count;
        let lines: Vec<&str> = text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let Some(first) = pattern.0.find(line) else {
                continue;
            };
            self.count += 1;
            if self.lines.len() < limit {
                let shown = |lines: &[&str]| lines.iter().map(|line| cut(line, 0)).collect();
                let after = &lines[at + 1..];
                self.lines.push(LineMatch {
                    file: file.to_owned(),
                    line: at + 1,
                    text: cut(line, first.start()),
                    before: shown(&lines[at.saturating_sub(context)..at]),
                    after: shown(&after[..context.min(after.len())]),
                });
            }
        }
        self.files += usize::from(self.count > before);
    }
}

/// A line, or at most [`MAX_LINE`] characters of it around an offset, with an ellipsis at each cut.
fn cut(line: &str, offset: usize) -> String {
    let end_of = |text: &str, count: usize| text.char_indices().nth(count).map(|(end, _)| end);
    if end_of(line, MAX_LINE).is_none() {
        return line.to_owned();
    }
    let head = line[..offset].char_indices().rev().nth(BEFORE_MATCH - 1);
    let start = head.map_or(0, |(start, _)| start);
    let rest = &line[start..];
    let end = end_of(rest, MAX_LINE).unwrap_or(rest.len());
    let [left, right] = [start > 0, end < rest.len()].map(|is_cut| if is_cut { "…" } else { "" });
    format!("{left}{}{right}", &rest[..end])
}

/// Return the last line of an error of `regex`, which has the problem; the lines before show the pattern.
fn sentence_of(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    last.trim_start_matches("error: ").to_owned()
}

fn wrong(message: String) -> Error {
    Error::new(ErrorCode::InvalidOption, message)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn lines(text: &str, pattern: &Pattern, context: usize) -> Vec<LineMatch> {
        let mut found = Matches::default();
        found.search("a.md", text, pattern, 10, context);
        found.lines
    }

    #[test]
    fn a_text_is_found_as_it_is_and_in_both_unicode_forms() {
        let plain = Pattern::new("a.b", false, false).unwrap();
        let found = lines("axb\na.b\n", &plain, 0);
        assert_eq!(found.iter().map(|one| one.line).collect::<Vec<_>>(), [2]);
        for pattern in ["caf\u{e9}", "cafe\u{301}"] {
            let pattern = Pattern::new(pattern, false, true).unwrap();
            assert_eq!(lines("CAF\u{c9}\ncafe\u{301}\n", &pattern, 0).len(), 2);
        }
    }

    #[test]
    fn lines_around_a_match_are_shown() {
        let pattern = Pattern::new("^b|d$", true, false).unwrap();
        let found = lines("a\nb\nc\nd", &pattern, 1);
        let around: Vec<_> = found
            .iter()
            .map(|one| (&one.before[..], &one.after[..]))
            .collect();
        let [a, c] = ["a", "c"].map(str::to_owned);
        assert_eq!(around, [(&[a][..], &[c.clone()][..]), (&[c][..], &[][..])]);
    }

    #[test]
    fn a_long_line_is_cut_around_its_match() {
        let pattern = Pattern::new("needle", false, false).unwrap();
        let long = format!("{}needle{}", "é".repeat(10_000), "é".repeat(10_000));
        let found = lines(&long, &pattern, 0);
        assert_eq!(found[0].text.chars().count(), MAX_LINE + 2);
        assert!(found[0].text.contains("needle"));
    }

    #[test]
    fn what_is_no_pattern_says_why() {
        for (pattern, is_regex, expected) in [
            ("", false, "is empty"),
            ("a(", true, "unclosed group"),
            ("(a{1000}){1000}", true, "KiB compiled"),
        ] {
            let error = Pattern::new(pattern, is_regex, false).unwrap_err();
            assert!(error.message().contains(expected), "{error}");
        }
    }

    #[test]
    fn files_that_cannot_be_read_are_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.md"), "oak\noak\n").unwrap();
        fs::write(folder.path().join("b.md"), b"oak\xff").unwrap();
        let pattern = Pattern::new("oak", false, false).unwrap();
        let found = grep(folder.path(), ["a.md", "b.md", "c.md"], &pattern, 1, 0).unwrap();
        assert_eq!((found.count, found.files, found.lines.len()), (2, 1, 1));
        let codes: Vec<&str> = found.skips.iter().map(|skip| &*skip.code).collect();
        assert_eq!(codes, ["not_utf8", "unreadable"]);
    }
}
