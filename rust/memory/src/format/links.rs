//! The links in the text of a memory (spec/memory.md, "Links"): `[[name]]`, and Markdown links to files.

use std::ops::Range;
use std::sync::LazyLock;

use pulldown_cmark::{CowStr, Event, LinkType, Tag, TagEnd};
use regex::{Regex, bytes};

use crate::format::markdown;
use crate::text::trimmed;

static DESTINATION: LazyLock<Option<bytes::Regex>> = LazyLock::new(|| {
    let pattern =
        r"(?-u)^\]\(\s*(?:<((?:[^<>\n\\]|\\.)*)>|((?:[^\s()\\]|\\.|\((?:[^\s()\\]|\\.)*\))*))";
    bytes::Regex::new(pattern).ok()
});
static DEFINITION: LazyLock<Option<bytes::Regex>> = LazyLock::new(|| {
    // `[^1]:` begins a footnote.
    let pattern =
        r"(?m-u)^ {0,3}\[(?:[^\]\\\n^]|\\.)(?:[^\]\\\n]|\\.)*\]:[ \t]*(?:<([^<>\n]+)>|([^\s<>]+))";
    bytes::Regex::new(pattern).ok()
});
static HTML_PATH: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(?i)\b(?:src|href)\s*=\s*["']?([^"'\s>]+)"#).ok());

/// A link as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// A name, or the decoded path of a Markdown file.
    pub target: String,
    /// Whether it is a path from the folder of its file, and not a name.
    pub is_path: bool,
}

/// The position of a name or a destination in a source, in bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkPosition {
    /// The first byte.
    pub start: usize,
    /// The byte after the last one.
    pub end: usize,
    /// The target without escapes.
    pub target: String,
    /// False for a `[[name]]`.
    pub is_path: bool,
}

/// The links of a text in their order, and the paths in its HTML.
#[derive(Debug, Default)]
pub struct LinkPositions {
    /// Links to memories, images and attachments.
    pub links: Vec<LinkPosition>,
    /// The values of `src` and `href`.
    pub html_paths: Vec<String>,
}

/// Return the links of a Markdown text, in order, without those in code and comments.
///
/// With `has_named_paths` a Markdown link, also one without `.md`, leads to a name, as in
/// [`crate::format::vault::FolderKind::has_named_paths`]. Takes linear time.
pub fn links_in_text(text: &str, has_named_paths: bool) -> Vec<Link> {
    let marks = ["[[", "](", "][", "]:"];
    if !marks.iter().any(|mark| text.contains(mark)) {
        return Vec::new();
    }
    read(text, has_named_paths).links
}

/// Return the positions of the links of a Markdown text; none in code, comments and escapes.
///
/// Takes linear time.
pub fn link_positions(text: &str) -> LinkPositions {
    let reader = read(text, false);
    let mut links = reader.positions;
    let source = text.as_bytes();
    let definitions = DEFINITION
        .iter()
        .flat_map(|regex| regex.captures_iter(source));
    for found in definitions {
        let (Some(whole), Some(bare)) = (found.get(0), found.get(1).or_else(|| found.get(2)))
        else {
            continue;
        };
        if !is_hidden(&reader.hidden_spans, whole.start()) {
            links.push(LinkPosition {
                start: bare.start(),
                end: bare.end(),
                target: String::from_utf8_lossy(bare.as_bytes()).into_owned(),
                is_path: true,
            });
        }
    }
    links.sort();
    LinkPositions {
        links,
        html_paths: reader.html_paths,
    }
}

/// Whether a position is in code or HTML. The spans have the furthest end so far.
fn is_hidden(spans: &[Range<usize>], at: usize) -> bool {
    let before = spans.partition_point(|span| span.start <= at);
    before > 0 && at < spans[before - 1].end
}

fn read(text: &str, has_named_paths: bool) -> LinkReader<'_> {
    let mut reader = LinkReader {
        source: text,
        has_named_paths,
        ..LinkReader::default()
    };
    // Tables are not parsed, so that the bar in `[[name|alias]]` need not be escaped there.
    markdown::events(text, false, &mut |event, range| {
        reader.add(event, range);
        true
    });
    reader
}

/// An element that is open.
struct OpenElement {
    /// Whether its text is not part of the text of the block.
    hides: bool,
    /// The destination of a link or an image with one.
    target: Option<String>,
}

/// Collects the links of a text: of each block the Markdown links, then the `[[name]]`.
#[derive(Default)]
struct LinkReader<'a> {
    source: &'a str,
    has_named_paths: bool,
    links: Vec<Link>,
    positions: Vec<LinkPosition>,
    html_paths: Vec<String>,
    /// Code and HTML in the order of their starts.
    hidden_spans: Vec<Range<usize>>,
    /// The text of the block that is open, with NUL for what cannot be part of a name.
    text: String,
    /// The parts of that text: the offset in it, and that in the source.
    parts: Vec<(usize, usize)>,
    open: Vec<OpenElement>,
    /// The count of open elements that hide their text.
    hidden: usize,
    /// The offset in the source of the end of the last event.
    read_to: usize,
}

impl LinkReader<'_> {
    fn add(&mut self, event: Event<'_>, range: Range<usize>) {
        let is_start = matches!(event, Event::Start(_));
        let is_hidden = matches!(
            event,
            Event::Start(Tag::CodeBlock(_) | Tag::HtmlBlock)
                | Event::Code(_)
                | Event::Html(_)
                | Event::InlineHtml(_)
        );
        if is_hidden {
            // A block of code or HTML contains others of its kind: the furthest end counts.
            let furthest = self.hidden_spans.last().map_or(0, |span| span.end);
            self.hidden_spans.push(range.start..range.end.max(furthest));
        }
        match event {
            Event::Start(tag) => self.start(&tag, range.start),
            Event::End(tag) => self.end(tag, range.end),
            Event::Text(text) => self.add_text(&text, &range),
            Event::Html(html) | Event::InlineHtml(html) => {
                self.add_html(&html);
                self.write("\0", range.start);
            }
            // Code, the end of a line.
            _ => self.write("\0", range.start),
        }
        self.read_to = if is_start { range.start } else { range.end };
    }

    fn start(&mut self, tag: &Tag<'_>, start: usize) {
        let (target, is_image) = match tag {
            Tag::Link {
                link_type: LinkType::Autolink | LinkType::Email,
                ..
            } => (None, true),
            Tag::Link { dest_url, .. } => (Some(dest_url), false),
            Tag::Image { dest_url, .. } => (Some(dest_url), true),
            _ => (None, matches!(tag, Tag::CodeBlock(_))),
        };
        if !is_inline(tag.to_end()) {
            self.end_block();
        }
        if is_image {
            self.write("\0", start);
        }
        // An image that is a note shows the note in Obsidian.
        let is_link = !is_image || self.has_named_paths && matches!(tag, Tag::Image { .. });
        if is_link
            && self.hidden == 0
            && let Some(path) = target.and_then(|target| self.linked_file(target, is_image))
        {
            self.links.push(Link {
                target: path,
                is_path: !self.has_named_paths,
            });
        }
        self.hidden += usize::from(is_image);
        self.open.push(OpenElement {
            hides: is_image,
            target: target.map(ToString::to_string),
        });
    }

    /// The decoded target of a link that may lead to a memory; None for any other link.
    fn linked_file(&self, href: &CowStr<'_>, is_image: bool) -> Option<String> {
        if has_scheme(href) {
            return None;
        }
        let marks: &[char] = if self.has_named_paths {
            &['#']
        } else {
            &['?', '#']
        };
        let path = percent_decoded(trimmed(href).split(marks).next()?);
        let is_note = path.to_lowercase().ends_with(".md");
        let may_be_note = self.has_named_paths && !is_image && !path.is_empty();
        (is_note || may_be_note).then_some(path)
    }

    fn end(&mut self, tag: TagEnd, end: usize) {
        if let Some(open) = self.open.pop() {
            self.hidden -= usize::from(open.hides);
            if let Some(target) = open.target {
                self.add_destination(target, end);
            }
        }
        if !is_inline(tag) {
            self.end_block();
        }
    }

    /// Note the destination of a link that ends here, if it is written in parentheses.
    fn add_destination(&mut self, target: String, end: usize) {
        let source = self.source.as_bytes();
        let from = self.read_to.min(end);
        // The text of the link ends at the bracket after its last part.
        let Some(at) = find(&source[from..end], b"](").map(|at| from + at) else {
            return;
        };
        let found = DESTINATION
            .as_ref()
            .and_then(|regex| regex.captures(&source[at..end]));
        if let Some(place) = found.and_then(|found| found.get(1).or_else(|| found.get(2))) {
            self.positions.push(LinkPosition {
                start: at + place.start(),
                end: at + place.end(),
                target,
                is_path: true,
            });
        }
    }

    fn add_html(&mut self, html: &str) {
        let found = HTML_PATH.iter().flat_map(|regex| regex.captures_iter(html));
        let paths = found.filter_map(|found| Some(found.get(1)?.as_str().to_owned()));
        self.html_paths.extend(paths);
    }

    /// Add a text; an escaped bar is a bar, and other escapes make no link.
    fn add_text(&mut self, text: &str, range: &Range<usize>) {
        let Some(first) = text.chars().next().filter(|_| self.hidden == 0) else {
            return;
        };
        let source = self.source.as_bytes();
        let is_entity = source.get(range.start) == Some(&b'&')
            && source.get(range.clone()) != Some(text.as_bytes());
        // No event has the backslash of an escape.
        let is_escaped = range.start > self.read_to
            && range.start.checked_sub(1).and_then(|at| source.get(at)) == Some(&b'\\');
        if (is_entity || is_escaped) && first != '|' {
            self.write("\0", range.start);
            let rest = &text[first.len_utf8()..];
            let start = range.start + first.len_utf8();
            if !rest.is_empty() {
                self.write(rest, start);
            }
        } else {
            self.write(text, range.start);
        }
    }

    fn write(&mut self, text: &str, start: usize) {
        self.parts.push((self.text.len(), start));
        self.text.push_str(text);
    }

    fn end_block(&mut self) {
        if self.text.contains("[[") {
            for name in wikilinks(&self.text) {
                let at = name.as_ptr().addr() - self.text.as_ptr().addr();
                let last = name.chars().next_back().map_or(0, char::len_utf8);
                self.positions.push(LinkPosition {
                    start: self.position(at),
                    end: self.position(at + name.len() - last) + last,
                    target: name.to_owned(),
                    is_path: false,
                });
                self.links.push(Link {
                    target: name.to_owned(),
                    is_path: false,
                });
            }
        }
        self.text.clear();
        self.parts.clear();
    }

    /// The offset in the source of an offset in the text of the open block.
    fn position(&self, at: usize) -> usize {
        let part = self.parts.partition_point(|(offset, _)| *offset <= at);
        match part.checked_sub(1).and_then(|part| self.parts.get(part)) {
            Some((offset, start)) => start + at - offset,
            None => at,
        }
    }
}

fn is_inline(tag: TagEnd) -> bool {
    matches!(
        tag,
        TagEnd::Emphasis | TagEnd::Strong | TagEnd::Link | TagEnd::Image
    )
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

fn percent_decoded(text: &str) -> String {
    let source = text.as_bytes();
    let digit = |at: usize| char::from(*source.get(at)?).to_digit(16);
    let mut decoded = Vec::with_capacity(source.len());
    let mut at = 0;
    while at < source.len() {
        let escape = (source[at] == b'%').then(|| digit(at + 1).zip(digit(at + 2)));
        let byte = escape
            .flatten()
            .and_then(|(high, low)| u8::try_from(16 * high + low).ok());
        decoded.push(byte.unwrap_or(source[at]));
        at += if byte.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

/// The names in the `[[name#heading|alias]]` of a text; a heading alone has none.
pub fn wikilinks(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("[[") {
        match wikilink(&rest[at..]) {
            Some((name, length)) => {
                let name = trimmed(name);
                if !name.is_empty() && !name.contains('\0') {
                    names.push(name);
                }
                rest = &rest[at + length..];
            }
            None => rest = &rest[at + 1..],
        }
    }
    names
}

/// The name of the link that a text begins with, and the length of the link.
fn wikilink(text: &str) -> Option<(&str, usize)> {
    // Of a name and a heading, an alias may contain `#` and `|`, but no part contains a bracket.
    let inner = &text[2..];
    let end = inner.find(['[', ']', '\n'])?;
    if !inner[end..].starts_with("]]") {
        return None;
    }
    let inner = &inner[..end];
    let name = inner.find(['|', '#']).unwrap_or(end);
    Some((&inner[..name], end + 4))
}

/// Whether a text begins like an address, as in `https:` or `//`.
pub(crate) fn has_scheme(text: &str) -> bool {
    if text.starts_with("//") {
        return true;
    }
    let rest = text.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "+.-".contains(c));
    rest.starts_with(':') && text.starts_with(|c: char| c.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_those_of_the_text() {
        let text = "[[a b#h|c]] `[[no]]` \\[[no]] [x](d%20e.md#f) [y](https://x/z.md) ![[g]] [[ ]]\n\n    [[no]]\n\n> [[q&#124;r]] <b>[[s]]</b> [z](t.txt)\n";
        let targets = |has_named_paths| -> Vec<String> {
            let links = links_in_text(text, has_named_paths).into_iter();
            links.map(|link| link.target).collect()
        };
        assert_eq!(targets(false), ["d e.md", "a b", "g", "q", "s"]);
        assert_eq!(targets(true), ["d e.md", "a b", "g", "t.txt", "q", "s"]);
    }

    #[test]
    fn obsidian_reads_a_markdown_link_as_a_name() {
        let text = "[a](b%20c#d) ![e](f.md) ![g](h.png) [i](#j) [k](l?.md) [m](mailto:n) <o.md>";
        let links = links_in_text(text, true);
        let targets: Vec<&str> = links.iter().map(|link| link.target.as_str()).collect();
        assert_eq!(targets, ["b c", "f.md", "l?.md"]);
        assert!(links.iter().all(|link| !link.is_path));
    }

    #[test]
    fn positions_are_those_of_the_source() {
        let text = "é [[ a ]] [x](<b c.md>) ![i](d.png \"t\")\n\n[r]: e.md\n\n<img src='f.png'>\n\n`[[no]]`\n";
        let found = link_positions(text);
        let parts: Vec<&str> = found
            .links
            .iter()
            .map(|one| &text[one.start..one.end])
            .collect();
        assert_eq!(parts, ["a", "b c.md", "d.png", "e.md"]);
        assert_eq!(found.html_paths, ["f.png"]);
    }
}
