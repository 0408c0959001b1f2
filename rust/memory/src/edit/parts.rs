//! Parts of a Markdown text, read and edited: sections, ranges of lines, texts that occur once
//! (spec/memory.md, "Reading and editing").

use std::ops::Range;

use hedgerow_engine::text::suggest::nearest;
use hedgerow_engine::{Error, ErrorCode, Result};

use crate::format::chunks::with_commas;
use crate::format::front_matter::FrontMatter;
use crate::format::markdown::MarkdownDocument;
use crate::text::{folded, head, is_blank, trimmed, trimmed_end};

/// The most headings that an error names, and lines that it lists.
const SHOWN: usize = 12;
/// The most headings that an error compares with a name, and the most characters of each.
const COMPARED: usize = 1_000;
const LONGEST: usize = 100;
/// The bytes of a token of a budget, about.
const TOKEN: usize = 4;

/// The part of a text that is read.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted<'a> {
    /// The name of a section; None for the whole text.
    pub section: Option<&'a str>,
    /// The lines that are left out at the beginning.
    pub offset: usize,
    /// The most lines.
    pub limit: Option<usize>,
    /// The most tokens, each of four bytes; whole lines, but a longer first line is cut.
    pub budget: Option<usize>,
}

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
pub struct Part {
    /// The lines of the part.
    pub text: String,
    /// Its first line, from 1, and its last one.
    pub lines: (usize, usize),
    /// The lines after it in the section or the text.
    pub remaining: usize,
}

/// Where an edit puts a text.
#[derive(Debug, Clone, Copy)]
pub enum Place<'a> {
    /// In the place of the content of the section.
    Content,
    /// At the end of the section or of the text.
    End,
    /// At the beginning of the section or of the text, after the heading.
    Beginning,
    /// In the place of a text that occurs once in the section or the text.
    Of(&'a str),
}

/// Return a part of the text of `file`. Fails if it has no such section, or several, or fewer lines than the
/// offset.
pub fn part(text: &str, file: &str, wanted: Wanted<'_>) -> Result<Part> {
    let text = Source::of(text);
    let span = match wanted.section {
        Some(name) => text.section(name, file)?.lines,
        None => 0..text.lines.len(),
    };
    if wanted.offset > span.len() {
        let what = if wanted.section.is_some() {
            "the section"
        } else {
            file
        };
        let (offset, lines) = (with_commas(wanted.offset), with_commas(span.len()));
        return Err(invalid(format!(
            "offset is {offset}, and {what} has {lines} lines"
        )));
    }
    let start = span.start + wanted.offset;
    let most = wanted.limit.unwrap_or(usize::MAX);
    let mut end = start.saturating_add(most).min(span.end);
    let mut shown = text.lines[start..end].concat();
    if let Some(budget) = wanted.budget {
        let size = budget.saturating_mul(TOKEN);
        let mut room = size;
        let fits = |line: &&&str| {
            let left = room.checked_sub(line.len());
            room = left.unwrap_or(0);
            left.is_some()
        };
        let kept = text.lines[start..end].iter().take_while(fits).count();
        shown = text.lines[start..start + kept].concat();
        if kept == 0 && start < end {
            shown = cut(text.lines[start], size);
            end = start + 1;
        } else {
            end = start + kept;
        }
    }
    Ok(Part {
        text: shown,
        lines: (start + 1, end),
        remaining: span.end - end,
    })
}

/// The beginning of a line that has at most some bytes, with an ellipsis.
fn cut(line: &str, size: usize) -> String {
    let mut end = size.saturating_sub('…'.len_utf8());
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &line[..end])
}

/// Return the text of `file` with `new` in a place. Line ends are those of the text.
///
/// Fails if it has no such section, or several, and if a text that is to be replaced does not occur once.
pub fn edited(
    text: &str,
    file: &str,
    section: Option<&str>,
    place: Place<'_>,
    new: &str,
) -> Result<String> {
    let lines = Source::of(text);
    let section = section
        .map(|name| Ok((name, lines.section(name, file)?)))
        .transpose()?;
    match (place, &section) {
        (Place::Of(old), _) => lines.exchanged(section.as_ref(), old, new, file),
        (Place::End, _) => Ok(lines.appended(section.as_ref().map(|(_, one)| one), new)),
        (Place::Content, Some((name, section))) => Ok(lines.replaced(name, section, new)),
        _ => Ok(lines.prepended(section.as_ref().map(|(_, one)| one), new)),
    }
}

/// A section: its lines, of which the first are its heading.
#[derive(Debug, Clone)]
struct Section {
    lines: Range<usize>,
    heading: Range<usize>,
}

/// A heading of the text after the front matter, outside code, lists and quotations.
#[derive(Debug)]
struct Heading {
    level: usize,
    lines: Range<usize>,
    /// The text without mark-up.
    name: String,
    /// The text as it is written.
    written: String,
}

impl Heading {
    fn is_named(&self, folded_name: &str) -> bool {
        folded(&self.name) == folded_name || folded(&self.written) == folded_name
    }
}

/// A text as its lines, each with its line end.
struct Source<'t> {
    text: &'t str,
    lines: Vec<&'t str>,
    body_start: usize,
    headings: Vec<Heading>,
}

impl<'t> Source<'t> {
    fn of(text: &'t str) -> Self {
        let lines = split(text);
        let plain: Vec<&str> = lines.iter().map(|line| without_end(line)).collect();
        let body_start = FrontMatter::read(&plain).body_start.min(plain.len());
        let body = &plain[body_start..];
        let headings = MarkdownDocument::parse(body).into_headings().into_iter();
        let headings = headings.map(|heading| Heading {
            level: heading.level,
            lines: heading.start + body_start..heading.end + body_start,
            name: heading.text,
            written: written_name(body[heading.start]).to_owned(),
        });
        Self {
            text,
            headings: headings.collect(),
            lines,
            body_start,
        }
    }

    /// The section that a heading begins, with its subsections. `name` is the text of the heading, in any case,
    /// with or without `#`.
    fn section(&self, name: &str, file: &str) -> Result<Section> {
        let wanted = folded(written_name(name));
        let found: Vec<usize> = (0..self.headings.len())
            .filter(|at| self.headings[*at].is_named(&wanted))
            .collect();
        let [at] = found[..] else {
            return Err(invalid(self.unclear(name, &found, file)));
        };
        let heading = &self.headings[at];
        let mut after = self.headings[at + 1..].iter();
        let next = after.find(|one| one.level <= heading.level);
        Ok(Section {
            lines: heading.lines.start..next.map_or(self.lines.len(), |one| one.lines.start),
            heading: heading.lines.clone(),
        })
    }

    fn unclear(&self, name: &str, found: &[usize], file: &str) -> String {
        if !found.is_empty() {
            let lines = found.iter().take(SHOWN);
            let lines: Vec<String> = lines
                .map(|at| (self.headings[*at].lines.start + 1).to_string())
                .collect();
            let (count, lines) = (found.len(), lines.join(", "));
            return format!(
                "{file} has {count} sections '{name}', at lines {lines}; edit its whole text"
            );
        }
        let names: Vec<&str> = self
            .headings
            .iter()
            .map(|one| head(&one.name, LONGEST))
            .collect();
        let compared = names.iter().take(COMPARED).copied();
        let hint = match nearest(head(name, LONGEST), compared) {
            Some(near) => format!("did you mean '{near}'?"),
            None if names.is_empty() => "it has no headings".to_owned(),
            None => {
                let more = match names.len().saturating_sub(SHOWN) {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                format!(
                    "it has {}{more}",
                    names[..names.len().min(SHOWN)].join(", ")
                )
            }
        };
        format!("{file} has no section '{name}'; {hint}")
    }

    /// The text with another content of a section. The heading stays, unless `new` begins with one of the same
    /// name.
    fn replaced(&self, name: &str, section: &Section, new: &str) -> String {
        let newline = self.newline();
        let mut added = self.with_newlines(new.trim_matches(['\r', '\n']));
        let wanted = folded(written_name(name));
        let of_added = Source::of(&added);
        let first = of_added.headings.first().filter(|one| one.lines.start == 0);
        if !first.is_some_and(|first| first.is_named(&wanted)) {
            let heading = self.lines[section.heading.clone()].concat();
            added = format!("{}{newline}{newline}{added}", without_end(&heading));
        }
        let rest = self.lines[section.lines.end..].concat();
        let between = if rest.is_empty() { "" } else { newline };
        let before = self.lines[..section.lines.start].concat();
        format!("{before}{added}{newline}{between}{rest}")
    }

    /// The text with another at the end of a section, or at its own end. A blank line is between the two, unless
    /// both are items of a list.
    fn appended(&self, section: Option<&Section>, new: &str) -> String {
        let newline = self.newline();
        let end = section.map_or(self.lines.len(), |section| section.lines.end);
        let (before, rest) = (self.lines[..end].concat(), self.lines[end..].concat());
        let (before, added) = (
            trimmed_end(&before),
            self.with_newlines(new.trim_matches(['\r', '\n'])),
        );
        let joint = if before.is_empty() {
            String::new()
        } else {
            self.joint(before, &added)
        };
        let between = if rest.is_empty() { "" } else { newline };
        format!("{before}{joint}{added}{newline}{between}{rest}")
    }

    /// The text with another at the beginning of a section, or of its own, after the heading.
    ///
    /// Front matter and a heading of level 1 that a text begins with stay before it. A blank line is between the
    /// two, unless both are items of a list.
    fn prepended(&self, section: Option<&Section>, new: &str) -> String {
        let newline = self.newline();
        let start = section.map_or_else(|| self.start_of_text(), |section| section.heading.end);
        let (before, rest) = (self.lines[..start].concat(), self.lines[start..].concat());
        let (before, rest) = (trimmed_end(&before), rest.trim_start_matches(['\r', '\n']));
        let added = self.with_newlines(new.trim_matches(['\r', '\n']));
        let above = if before.is_empty() {
            String::new()
        } else {
            newline.repeat(2)
        };
        if is_blank(rest) {
            return format!("{before}{above}{added}{newline}");
        }
        let joint = self.joint(&added, rest);
        format!("{before}{above}{added}{joint}{rest}")
    }

    /// The line after front matter and a heading of level 1 at the beginning.
    fn start_of_text(&self) -> usize {
        let text = self.lines[self.body_start..].iter();
        let first = text.enumerate().find(|(_, line)| !is_blank(line));
        let first = first.map(|(at, _)| at + self.body_start);
        let title = self.headings.first().filter(|one| one.level == 1);
        match title.filter(|title| Some(title.lines.start) == first) {
            Some(title) => title.lines.end,
            None => self.body_start,
        }
    }

    /// The text with another in the place of `old`, which occurs once in a section, or anywhere.
    fn exchanged(
        &self,
        section: Option<&(&str, Section)>,
        old: &str,
        new: &str,
        file: &str,
    ) -> Result<String> {
        let span = section.map_or(0..self.lines.len(), |(_, section)| section.lines.clone());
        let before = self.lines[..span.start].concat();
        let part = self.lines[span.clone()].concat();
        let wanted = self.with_newlines(old);
        let found = occurrences(&part, &wanted);
        let [at] = found[..] else {
            let name = section.map(|(name, _)| *name);
            return Err(invalid(self.not_once(&found, before.len(), name, file)));
        };
        let rest = self.lines[span.end..].concat();
        let (start, end) = (&part[..at], &part[at + wanted.len()..]);
        Ok(format!(
            "{before}{start}{}{end}{rest}",
            self.with_newlines(new)
        ))
    }

    fn not_once(&self, found: &[usize], start: usize, section: Option<&str>, file: &str) -> String {
        let place = match section {
            Some(section) => format!("the section '{section}' of {file}"),
            None => file.to_owned(),
        };
        if found.is_empty() {
            return format!(
                "{place} does not have the text that is to be replaced; copy it as it is there"
            );
        }
        let line = |at: &usize| self.text[..start + at].matches('\n').count() + 1;
        let lines: Vec<String> = found.iter().map(|at| line(at).to_string()).collect();
        format!(
            "the text that is to be replaced occurs more than once in {place}, at lines {}; give more of it, \
             or a section",
            lines.join(", ")
        )
    }

    /// The line ends between two texts: a blank line, except between two items of a list.
    fn joint(&self, before: &str, after: &str) -> String {
        let last = split(before).pop().unwrap_or_default();
        let is_list = is_item(last) && is_item(after);
        self.newline().repeat(if is_list { 1 } else { 2 })
    }

    fn newline(&self) -> &'static str {
        if self.text.contains("\r\n") {
            "\r\n"
        } else {
            "\n"
        }
    }

    fn with_newlines(&self, text: &str) -> String {
        text.replace("\r\n", "\n").replace('\n', self.newline())
    }
}

/// The offsets of a text in another, overlapping ones too; at most a dozen.
fn occurrences(text: &str, wanted: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut from = 0;
    while found.len() < SHOWN
        && let Some(at) = text.get(from..).and_then(|rest| rest.find(wanted))
    {
        found.push(from + at);
        let step = text[from + at..].chars().next().map_or(1, char::len_utf8);
        from += at + step;
    }
    found
}

/// The lines of a text, each with its line end: `\r\n`, `\r` or `\n`.
pub(crate) fn split(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['\r', '\n']) {
        let end = if rest[at..].starts_with("\r\n") {
            at + 2
        } else {
            at + 1
        };
        lines.push(&rest[..end]);
        rest = &rest[end..];
    }
    if !rest.is_empty() {
        lines.push(rest);
    }
    lines
}

pub(crate) fn without_end(line: &str) -> &str {
    line.trim_end_matches(['\r', '\n'])
}

/// The text of a heading without the marks around it, as in `## Name ##`.
fn written_name(heading: &str) -> &str {
    let text = trimmed(heading);
    let level = text.len() - text.trim_start_matches('#').len();
    let rest = &text[level..];
    if !(1..=6).contains(&level) || !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
        return text;
    }
    let name = trimmed(rest);
    let bare = name.trim_end_matches('#');
    if bare.is_empty() || bare.ends_with([' ', '\t']) {
        trimmed_end(bare)
    } else {
        name
    }
}

/// Whether a text begins with the marker of a list item.
fn is_item(text: &str) -> bool {
    let text = text.trim_start();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = match digits {
        0 => text.strip_prefix(['-', '*', '+']),
        1..=9 => text[digits..].strip_prefix(['.', ')']),
        _ => None,
    };
    rest.is_some_and(|rest| rest.starts_with(char::is_whitespace))
}

fn invalid(message: String) -> Error {
    Error::new(ErrorCode::InvalidOption, message)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn section(text: &str, name: &str) -> Option<Range<usize>> {
        Source::of(text)
            .section(name, "x.md")
            .ok()
            .map(|one| one.lines)
    }

    fn read(text: &str, name: &str) -> String {
        let wanted = Wanted {
            section: Some(name),
            ..Wanted::default()
        };
        part(text, "x.md", wanted).unwrap().text
    }

    #[test]
    fn a_heading_may_be_underlined_and_have_markup() {
        let text = "Hedge\nrow\n=====\n\nlead\n\nThe **best** `saw`\n---\n\nold\n\n# End\n";
        assert_eq!(
            read(text, "the best saw"),
            "The **best** `saw`\n---\n\nold\n\n"
        );
        assert_eq!(read(text, "Hedge row").lines().count(), 11);
        let new = edited(text, "x.md", Some("The best saw"), Place::Content, "new").unwrap();
        assert_eq!(new, text.replace("old", "new"));
        let new = edited(text, "x.md", None, Place::Beginning, "new").unwrap();
        assert_eq!(new, text.replace("lead", "new\n\nlead"));
    }

    #[test]
    fn the_beginning_is_after_front_matter_and_title() {
        for (before, after) in [
            ("", "new\n"),
            ("old", "new\n\nold"),
            ("## Part\nold\n", "new\n\n## Part\nold\n"),
            ("---\na: 1\n---\nold\n", "---\na: 1\n---\n\nnew\n\nold\n"),
            (
                "---\na: 1\n---\n\n# T\n\n\nold\n",
                "---\na: 1\n---\n\n# T\n\nnew\n\nold\n",
            ),
            ("# T", "# T\n\nnew\n"),
            ("# T\r\nold\r\n", "# T\r\n\r\nnew\r\n\r\nold\r\n"),
        ] {
            let found = edited(before, "x.md", None, Place::Beginning, "new\n").unwrap();
            assert_eq!(found, after, "{before:?}");
        }
    }

    #[test]
    fn hostile_headings_take_linear_time() {
        let hashes = "#".repeat(200_000);
        let text = format!(
            "# {hashes}\n{}\n{}",
            "# ".repeat(100_000),
            "#\n".repeat(50_000)
        );
        assert_eq!(section(&text, &"x".repeat(1000)), None);
    }

    fn markdown() -> impl Strategy<Value = String> {
        let line = prop::sample::select(vec![
            "# A",
            "## B",
            "### C ##",
            "text",
            "- item",
            "```",
            "",
            "    # code",
            "> # q",
            "B\n---",
        ]);
        prop::collection::vec(line, 0..12).prop_map(|lines| lines.join("\n"))
    }

    proptest! {
        #[test]
        fn a_section_is_replaced_and_read_back(text in markdown()) {
            let Some(span) = section(&text, "b") else { return Ok(()) };
            let new = edited(&text, "x.md", Some("B"), Place::Content, "new words").unwrap();
            let found = read(&new, "B");
            prop_assert!(found.contains("new words"), "{new}");
            let lines = split(&text);
            prop_assert!(new.starts_with(&lines[..span.start].concat()));
            prop_assert!(new.ends_with(&lines[span.end..].concat()));
        }

        #[test]
        fn what_is_appended_is_last(text in markdown()) {
            let new = edited(&text, "x.md", None, Place::End, "end").unwrap();
            prop_assert!(new.starts_with(text.trim_end()) && new.ends_with("end\n"));
        }

        #[test]
        fn what_is_prepended_is_added_alone(text in markdown()) {
            let new = edited(&text, "x.md", None, Place::Beginning, "first words").unwrap();
            let rest = new.replacen("first words", "", 1);
            let words: Vec<&str> = text.split_whitespace().collect();
            prop_assert_eq!(rest.split_whitespace().collect::<Vec<_>>(), words);
        }

        #[test]
        fn any_part_of_any_text_is_lines_of_it(text: String, offset in 0_usize..4, limit in 1_usize..4) {
            let wanted = Wanted { offset, limit: Some(limit), ..Wanted::default() };
            if let Ok(part) = part(&text, "x.md", wanted) {
                prop_assert!(text.contains(&part.text));
            }
            prop_assert_eq!(split(&text).concat(), text);
        }
    }
}
