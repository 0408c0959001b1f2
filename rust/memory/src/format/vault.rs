//! Notes of Obsidian and Logseq: comments, block ids, properties and the names of files
//! (spec/memory.md, "Vaults").

use std::borrow::Cow;
use std::sync::LazyLock;

use crate::day_format::DayFormat;
use crate::format::front_matter::FrontMatter;
use crate::text::{distinct, trimmed};
use crate::times::{StatedTime, stated_time};

/// The format of the titles of journals unless Logseq's settings have another.
static USUAL_TITLE: LazyLock<Option<DayFormat>> =
    LazyLock::new(|| DayFormat::parse("MMM Do, YYYY").ok());

const COMMENT: &str = "%%";
/// The longest run of backticks that counts as inline code. It keeps the time linear: a run without an
/// end is looked for in the whole line, once for each length.
const LONGEST_RUN: usize = 8;
/// Properties that Logseq writes for itself.
const OWN_PROPERTIES: [&str; 2] = ["id", "collapsed"];

/// The tool that keeps a vault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vault {
    /// Obsidian.
    Obsidian,
    /// Logseq.
    Logseq,
}

impl Vault {
    /// Return the tool with a name, as in `hedgerow.json`; None for any other name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "obsidian" => Some(Self::Obsidian),
            "logseq" => Some(Self::Logseq),
            _ => None,
        }
    }
}

/// How the files of a folder are read.
#[derive(Debug, Clone, Default)]
pub struct FolderKind {
    /// The tool, if the folder is a vault. Notes of a vault have marks outside their text.
    pub vault: Option<Vault>,
    /// The format of the names of daily notes.
    pub day_format: Option<DayFormat>,
    /// The format of the titles of daily notes, by which links name them.
    pub title_format: Option<DayFormat>,
}

impl FolderKind {
    /// Whether the folder is a vault.
    pub fn is_vault(&self) -> bool {
        self.vault.is_some()
    }

    /// Whether a Markdown link leads to a name, as `[[name]]` does: Obsidian resolves both alike.
    pub fn has_named_paths(&self) -> bool {
        self.vault == Some(Vault::Obsidian)
    }
}

/// Return a note without comments (`%%...%%`), block ids (`^id` at the end of a line) and the
/// properties `id::` and `collapsed::`. Front matter and code stay as they are.
///
/// The result has the lines of the text. A comment without an end is text. Takes linear time.
pub fn without_marks(text: &str) -> Cow<'_, str> {
    if ![COMMENT, "^", "::"].iter().any(|mark| text.contains(mark)) {
        return Cow::Borrowed(text);
    }
    let lines: Vec<&str> = text.split('\n').collect();
    let body = FrontMatter::read(&lines).body_start.min(lines.len());
    let mut reader = MarkReader {
        kept: String::with_capacity(text.len()),
        fence: None,
        has_comments: true,
    };
    for line in &lines[..body] {
        reader.kept.push_str(line);
        reader.kept.push('\n');
    }
    let start: usize = lines[..body].iter().map(|line| line.len() + 1).sum();
    reader.read(text.get(start..).unwrap_or_default());
    Cow::Owned(reader.kept)
}

struct MarkReader {
    kept: String,
    /// The character and the length of the fence that is open.
    fence: Option<(u8, usize)>,
    /// Whether a comment that starts may end.
    has_comments: bool,
}

impl MarkReader {
    fn read(&mut self, mut rest: &str) {
        loop {
            let end = rest.find('\n').unwrap_or(rest.len());
            let line = &rest[..end];
            let after = if self.is_code(line) {
                self.kept.push_str(line);
                &rest[end..]
            } else {
                self.read_line(rest, end)
            };
            match after.strip_prefix('\n') {
                Some(next) => {
                    self.kept.push('\n');
                    rest = next;
                }
                None => return,
            }
        }
    }

    /// Whether a line is in a fenced block of code, or starts or ends one.
    fn is_code(&mut self, line: &str) -> bool {
        let content = without_markers(line);
        let mark = content.bytes().next().filter(|byte| b"`~".contains(byte));
        let length = content
            .bytes()
            .take_while(|byte| Some(*byte) == mark)
            .count();
        match (self.fence, mark) {
            (Some((open, least)), Some(mark)) => {
                let rest = &content[length..];
                if mark == open && length >= least && trimmed(rest).is_empty() {
                    self.fence = None;
                }
                true
            }
            (Some(_), None) => true,
            (None, Some(mark)) if length >= 3 => {
                self.fence = Some((mark, length));
                true
            }
            _ => false,
        }
    }

    /// Keep the text of a line and of the line in which its last comment ends. Returns the rest from
    /// the end of that line on.
    fn read_line<'t>(&mut self, text: &'t str, end: usize) -> &'t str {
        let from = self.kept.len();
        let (mut at, mut end) = (0, end);
        while let Some(start) = self.comment_start(&text[at..end]) {
            let start = at + start;
            let Some(length) = text[start + 2..].find(COMMENT) else {
                self.has_comments = false;
                break;
            };
            self.kept.push_str(&text[at..start]);
            let close = start + 2 + length + 2;
            let inside = &text[start..close];
            self.kept.extend(inside.chars().filter(|one| *one == '\n'));
            at = close;
            end = end.max(close + text[close..].find('\n').unwrap_or(text.len() - close));
        }
        self.kept.push_str(&text[at..end]);
        self.end_line(from);
        &text[end..]
    }

    /// The offset of the first comment of a line, outside inline code.
    fn comment_start(&self, line: &str) -> Option<usize> {
        if !self.has_comments {
            return None;
        }
        let bytes = line.as_bytes();
        let mut at = 0;
        // A run of backticks that no later run of this length ends is text.
        while at < bytes.len() {
            if bytes[at] == b'`' {
                let run = bytes[at..].iter().take_while(|byte| **byte == b'`').count();
                let end = (run <= LONGEST_RUN).then(|| code_end(bytes, at + run, run));
                at = end.flatten().unwrap_or(at + run);
            } else if bytes[at..].starts_with(COMMENT.as_bytes()) {
                return Some(at);
            } else {
                at += 1;
            }
        }
        None
    }

    /// Drop the block id, or the property of Logseq, of the last line that was kept.
    fn end_line(&mut self, from: usize) {
        let start = self.kept[from..]
            .rfind('\n')
            .map_or(from, |at| from + at + 1);
        let line = &self.kept[start..];
        let name = property(line).map(|(name, _)| name);
        if name.is_some_and(|name| OWN_PROPERTIES.contains(&name)) {
            self.kept.truncate(start);
        } else if let Some(at) = block_id(line) {
            self.kept.truncate(start + at);
        }
    }
}

/// The line without the markers of lists and quotations before its text.
fn without_markers(line: &str) -> &str {
    let mut rest = line.trim_start_matches([' ', '\t']);
    loop {
        let inner = rest.strip_prefix('>').or_else(|| {
            let after = rest.strip_prefix(['-', '*', '+'])?;
            after.starts_with([' ', '\t']).then_some(after)
        });
        match inner {
            Some(inner) => rest = inner.trim_start_matches([' ', '\t']),
            None => return rest,
        }
    }
}

/// The offset after the run of `length` backticks that ends inline code.
fn code_end(line: &[u8], from: usize, length: usize) -> Option<usize> {
    let mut at = from;
    while at < line.len() {
        let run = line[at..].iter().take_while(|byte| **byte == b'`').count();
        if run == length {
            return Some(at + run);
        }
        at += run.max(1);
    }
    None
}

/// The offset of the space before the block id at the end of a line.
fn block_id(line: &str) -> Option<usize> {
    let line = line.trim_end_matches([' ', '\t']);
    let at = line.rfind('^')?;
    let is_id = |id: &str| {
        !id.is_empty()
            && id
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let before = line[..at].trim_end_matches([' ', '\t']);
    let is_apart = before.len() < at || at == 0;
    (is_apart && is_id(&line[at + 1..])).then_some(before.len())
}

/// The name and the value of a line `name:: value`, which may be an item of a list.
fn property(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start_matches([' ', '\t', '-']);
    let (name, value) = line.split_once("::")?;
    let is_name = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    let is_apart = value.is_empty() || value.starts_with([' ', '\t']);
    (is_name && is_apart).then(|| (name, trimmed(value)))
}

/// The properties of a page of Logseq: lines `name:: value` before its first text.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PageProperties {
    /// The title, or an empty text.
    pub title: String,
    /// Other names of the page.
    pub aliases: Vec<String>,
    /// The tags of the page.
    pub tags: Vec<String>,
}

/// Read the properties of a page from the lines after its front matter.
pub fn page_properties(body: &str) -> PageProperties {
    let mut found = PageProperties::default();
    let lines = body.split('\n').skip_while(|line| trimmed(line).is_empty());
    for (name, value) in lines.map_while(property) {
        match name.to_ascii_lowercase().as_str() {
            "title" => value.clone_into(&mut found.title),
            "alias" | "aliases" => found.aliases.extend(values(value)),
            "tags" => found.tags.extend(values(value)),
            _ => {}
        }
    }
    found
}

/// The values of a property, without the marks of links and tags.
fn values(text: &str) -> impl Iterator<Item = String> {
    let marks = |one: char| matches!(one, '[' | ']' | '#' | '"') || one.is_whitespace();
    let split = text.split(',').map(move |one| one.trim_matches(marks));
    split.filter(|one| !one.is_empty()).map(str::to_owned)
}

/// The names of a note of a vault that follow from its file name: `infra___k8s.md` is `infra/k8s`, and the
/// daily note `2026_04_18.md` is `2026-04-18`, `Apr 18th, 2026`, and the day in the format of titles.
pub fn names_of_file(path: &str, kind: &FolderKind) -> Vec<String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let by_format = kind.day_format.as_ref().and_then(|format| format.day(path));
    if let Some(day) = by_format.or_else(|| journal_day(stem)) {
        return journal_names(day, kind.title_format.as_ref());
    }
    let parts = stem
        .replace("___", "/")
        .replace("%2F", "/")
        .replace("%2f", "/");
    if parts == stem {
        Vec::new()
    } else {
        vec![parts]
    }
}

/// The day of a name in the default format of Logseq.
fn journal_day(stem: &str) -> Option<StatedTime> {
    let is_journal = matches!(stem.as_bytes(), [_, _, _, _, b'_', _, _, b'_', _, _]);
    is_journal.then(|| stated_time(&stem.replace('_', "-")))?
}

/// The names of the daily note of a day: its title in the format, the usual title of Logseq, and the day in
/// ISO 8601. Logseq takes each of them for the day.
fn journal_names(stated: StatedTime, title_format: Option<&DayFormat>) -> Vec<String> {
    let formats = title_format.into_iter().chain(USUAL_TITLE.as_ref());
    let titles = formats.map(|format| format.text(stated.date()));
    distinct(titles.chain([stated.iso_day()]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn comments_ids_and_own_properties_are_left_out() {
        for (text, kept) in [
            ("a %%b%% c", "a  c"),
            ("a\n%%\nb\n%%\nc", "a\n\n\n\nc"),
            ("a %%b\nc%% d %%e%% f", "a \n d  f"),
            ("`%%a%%` %%b%%", "`%%a%%` "),
            ("```\n%%a%%\n```\n%%b%%", "```\n%%a%%\n```\n"),
            ("~~~~\n%%a\n~~~\n%%\n~~~~\n", "~~~~\n%%a\n~~~\n%%\n~~~~\n"),
            ("100%% and more", "100%% and more"),
            ("a %%b%% c 50%% d", "a  c 50%% d"),
            ("text ^block-1", "text"),
            ("- item ^a1\n^table", "- item\n"),
            ("x^2 and 2^", "x^2 and 2^"),
            ("- a\n  id:: 65f-1\n  collapsed:: true\n- b", "- a\n\n\n- b"),
            ("id::no", "id::no"),
            (
                "---\na: '%%b%%'\n---\n%%c%%\nd",
                "---\na: '%%b%%'\n---\n\nd",
            ),
            (
                "> [!note] Title %%x%%\n> text ^id",
                "> [!note] Title \n> text",
            ),
        ] {
            assert_eq!(without_marks(text), kept, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn lines_stay(text in "[a%`~^:\\- \n]{0,80}") {
            let kept = without_marks(&text);
            prop_assert_eq!(kept.split('\n').count(), text.split('\n').count());
            prop_assert!(kept.len() <= text.len());
        }
    }

    #[test]
    fn properties_are_read_before_the_text() {
        let found = page_properties(
            "\ntitle:: Slugs\nalias:: [[Snails]], slakken\ntags:: #garden, pests\n\n- tags:: no\n",
        );
        assert_eq!(found.title, "Slugs");
        assert_eq!(found.aliases, ["Snails", "slakken"]);
        assert_eq!(found.tags, ["garden", "pests"]);
        assert_eq!(
            page_properties("a text: with:: more"),
            PageProperties::default()
        );
    }

    #[test]
    fn names_of_files_are_those_of_links() {
        let names = [
            "journals/2026_04_02.md",
            "pages/infra___k8s.md",
            "a%2Fb.md",
            "plain.md",
            "2026_13_01.md",
        ]
        .map(|path| names_of_file(path, &FolderKind::default()));
        assert_eq!(names[0], ["Apr 2nd, 2026", "2026-04-02"]);
        assert_eq!(names[1], ["infra/k8s"]);
        assert_eq!(names[2], ["a/b"]);
        assert!(names[3].is_empty() && names[4].is_empty());
        let kind = FolderKind {
            day_format: DayFormat::parse("DD-MM-YYYY").ok(),
            title_format: DayFormat::parse("dddd, D.M.YYYY").ok(),
            ..FolderKind::default()
        };
        assert_eq!(
            names_of_file("journals/03-04-2026.md", &kind),
            ["Friday, 3.4.2026", "Apr 3rd, 2026", "2026-04-03"]
        );
    }
}
