//! The one parser of Markdown, and the blocks that it finds in a text.
//!
//! It takes time linear in the length of a text, whatever is in it.

use std::borrow::Cow;
use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::format::passages::{NO_BOUNDARY, first_sentence, shorten};
use crate::text;

/// The most markers of lists and quotations on a line, and spaces and tabs before them, together.
///
/// For each line that continues a paragraph the parser may take time that grows with the number of
/// blocks around it.
pub const MOST_MARKERS: usize = 200;

const LONGEST_HEADING: usize = 200;
/// The most characters of a paragraph that are kept: no summary needs more.
const LONGEST_PARAGRAPH: usize = 4000;

/// Pass the events of a text, each with its range in bytes, to `receive`.
///
/// Lines end in a newline. The part of a line that is nested deeper than `MOST_MARKERS` is left out.
/// Stops as soon as `receive` returns false.
pub fn events(
    text: &str,
    has_tables: bool,
    receive: &mut dyn FnMut(Event<'_>, Range<usize>) -> bool,
) {
    // Without footnotes `[^1]: [[name]]` defines a reference, which has no text.
    let options = if has_tables {
        Options::ENABLE_TABLES
    } else {
        Options::ENABLE_FOOTNOTES
    };
    let text = shallow(text);
    for (event, range) in Parser::new_ext(&text, options).into_offset_iter() {
        if !receive(event, range) {
            break;
        }
    }
}

/// Blank text that is nested too deep, with unchanged offsets.
fn shallow(text: &str) -> Cow<'_, str> {
    let mut shallow = String::new();
    let mut copied = 0;
    let mut start = 0;
    for line in text.split('\n') {
        let end = start + line.len();
        if let Some(at) = too_deep(line.as_bytes()) {
            shallow.push_str(&text[copied..start + at]);
            shallow.extend(std::iter::repeat_n(' ', line.len() - at));
            copied = end;
        }
        start = end + 1;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    shallow.push_str(&text[copied..]);
    Cow::Owned(shallow)
}

/// The offset after the last marker that counts, if another one follows.
fn too_deep(line: &[u8]) -> Option<usize> {
    let is_blank = |at: usize| matches!(line.get(at), Some(b' ' | b'\t'));
    let mut at = 0;
    for _ in 0..MOST_MARKERS {
        at += if is_blank(at) {
            1
        } else {
            marker(&line[at..])?
        };
    }
    let mut next = at;
    while is_blank(next) {
        next += 1;
    }
    marker(&line[next..]).map(|_| at)
}

/// The length of the marker of a list or a quotation at the start of a text.
fn marker(text: &[u8]) -> Option<usize> {
    let is_blank = |at: usize| matches!(text.get(at), Some(b' ' | b'\t'));
    match text.first()? {
        b'>' => Some(1),
        b'-' | b'+' | b'*' => is_blank(1).then_some(1),
        b'0'..=b'9' => {
            let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let is_marker = digits <= 9
                && matches!(text.get(digits), Some(b'.' | b')'))
                && is_blank(digits + 1);
            is_marker.then_some(digits + 1)
        }
        _ => None,
    }
}

/// A heading of the document itself: not one in a list, a quotation or a fence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// 1 to 6.
    pub level: usize,
    /// The text without mark-up, on one line.
    pub text: String,
    /// The index of its first line.
    pub start: usize,
    /// The index of the line after it.
    pub end: usize,
}

/// Lines under a path of headings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// The index of the first line.
    pub start: usize,
    /// The index of the line after the last one.
    pub end: usize,
    /// The texts of the headings, outermost first.
    pub headings: Vec<String>,
}

/// The blocks of a Markdown text, as `CommonMark` with tables has them.
pub struct MarkdownDocument<'a> {
    lines: &'a [&'a str],
    headings: Vec<Heading>,
    /// The paragraphs in order, each with the line on which it starts, and without mark-up.
    paragraphs: Vec<(usize, String)>,
    /// For each line the depth of the block that starts on it, or `NO_BOUNDARY`.
    pub boundaries: Vec<u8>,
}

impl<'a> MarkdownDocument<'a> {
    /// Parse the lines of a text.
    pub fn parse(lines: &'a [&'a str]) -> Self {
        let mut reader = BlockReader::new(lines);
        events(&lines.join("\n"), true, &mut |event, range| {
            reader.add(event, &range);
            true
        });
        Self {
            lines,
            headings: reader.headings,
            paragraphs: reader.paragraphs,
            boundaries: reader.boundaries,
        }
    }

    /// The headings, in order.
    pub fn into_headings(self) -> Vec<Heading> {
        self.headings
    }

    /// The sections from a line on; an empty one is carried into its first subsection.
    pub fn sections(&self, start: usize) -> Vec<Section> {
        let end_of = |index: usize| {
            let next = self.headings.get(index);
            next.map_or(self.lines.len(), |heading| heading.start)
        };
        let mut sections = Vec::new();
        if start < end_of(0) {
            sections.push(Section {
                start,
                end: end_of(0),
                headings: Vec::new(),
            });
        }
        let mut path: Vec<&Heading> = Vec::new();
        let mut begin = None;
        for (index, heading) in self.headings.iter().enumerate() {
            path.retain(|above| above.level < heading.level);
            path.push(heading);
            let start = *begin.get_or_insert(heading.start);
            if self.is_carried(index, end_of(index + 1)) {
                continue;
            }
            sections.push(Section {
                start,
                end: end_of(index + 1),
                headings: path.iter().map(|heading| heading.text.clone()).collect(),
            });
            begin = None;
        }
        sections
    }

    /// Whether there is nothing between a heading and a deeper one after it.
    fn is_carried(&self, index: usize, end: usize) -> bool {
        let heading = &self.headings[index];
        let next = self.headings.get(index + 1);
        let is_deeper = next.is_some_and(|next| next.level > heading.level);
        let mut below = self.lines[heading.end.min(end)..end].iter();
        is_deeper && below.all(|line| text::is_blank(line))
    }

    /// Return the first sentence of the first paragraph in these lines that has words.
    pub fn first_sentence(&self, start: usize, end: usize) -> String {
        let first = self.paragraphs.partition_point(|(line, _)| *line < start);
        let within = self.paragraphs[first..]
            .iter()
            .take_while(|(line, _)| *line < end);
        let mut sentences = within.map(|(_, text)| first_sentence(text));
        sentences
            .find(|sentence| !sentence.is_empty())
            .unwrap_or_default()
    }
}

/// Cut a text into its blocks: headings, paragraphs, list items, tables, code.
///
/// Joined by newlines they are the text: blank lines stay with the block above them. Blocks in an item or a
/// quotation belong to it.
pub fn structures(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.split('\n').collect();
    let boundaries = MarkdownDocument::parse(&lines).boundaries;
    let starts = (1..lines.len()).filter(|line| match boundaries[*line] {
        0 => true,
        // The rows of a table stay together.
        1 => is_item(lines[*line]),
        _ => false,
    });
    let mut blocks = Vec::new();
    let mut begin = 0;
    for start in starts.chain([lines.len()]) {
        blocks.push(lines[begin..start].join("\n"));
        begin = start;
    }
    blocks
}

/// Whether a line starts with the marker of a list item.
fn is_item(line: &str) -> bool {
    let line = line.trim_start_matches(text::is_space);
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let after = if digits == 0 {
        line.strip_prefix(['-', '*', '+'])
    } else if digits <= 9 {
        line[digits..].strip_prefix(['.', ')'])
    } else {
        None
    };
    after.is_some_and(|rest| rest.chars().next().is_none_or(text::is_space))
}

/// An element that is open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The tag starts and ends within a paragraph or another block with text.
    Inline {
        is_image: bool,
    },
    /// The text of the tag is collected: a paragraph or a heading.
    Text,
    /// An item of a list, which may have text without a paragraph around it.
    Item,
    Table,
    Row,
    Cell,
    Other,
}

impl Kind {
    fn of(tag: &Tag<'_>) -> Self {
        match tag {
            Tag::Emphasis | Tag::Strong | Tag::Link { .. } => Self::Inline { is_image: false },
            Tag::Image { .. } => Self::Inline { is_image: true },
            Tag::Paragraph | Tag::Heading { .. } => Self::Text,
            Tag::Item => Self::Item,
            Tag::Table(_) => Self::Table,
            Tag::TableRow => Self::Row,
            Tag::TableCell => Self::Cell,
            _ => Self::Other,
        }
    }
}

/// Collects headings, paragraphs and boundaries. The text of images is left out.
struct BlockReader {
    headings: Vec<Heading>,
    paragraphs: Vec<(usize, String)>,
    boundaries: Vec<u8>,
    /// The offset in bytes of each line.
    offsets: Vec<usize>,
    open: Vec<Kind>,
    /// The number of open blocks, without inline ones.
    depth: usize,
    images: usize,
    /// The rows of the table that is open.
    rows: usize,
    /// The line on which the last block began.
    begin: usize,
    /// The text, so far, of the paragraph or heading that is open.
    text: Option<String>,
}

impl BlockReader {
    fn new(lines: &[&str]) -> Self {
        let mut offset = 0;
        let offsets = lines.iter().map(|line| {
            let start = offset;
            offset += line.len() + 1;
            start
        });
        Self {
            headings: Vec::new(),
            paragraphs: Vec::new(),
            offsets: offsets.collect(),
            boundaries: vec![NO_BOUNDARY; lines.len()],
            open: Vec::new(),
            depth: 0,
            images: 0,
            rows: 0,
            begin: 0,
            text: None,
        }
    }

    fn add(&mut self, event: Event<'_>, range: &Range<usize>) {
        match event {
            Event::Start(tag) => self.start(Kind::of(&tag), range.start),
            Event::End(tag) => self.end(tag, range.end),
            Event::Rule => {
                self.end_text();
                self.mark(range.start, self.depth);
            }
            Event::Text(text) | Event::Code(text) => self.add_text(&text, range.start),
            Event::SoftBreak | Event::HardBreak => self.add_text(" ", range.start),
            Event::InlineHtml(_) => self.add_text("", range.start),
            _ => {}
        }
    }

    fn start(&mut self, kind: Kind, offset: usize) {
        if let Kind::Inline { is_image } = kind {
            self.add_text("", offset);
            self.images += usize::from(is_image);
        } else {
            self.end_text();
            if kind != Kind::Cell {
                let is_later_row = self.count_row(kind);
                self.begin = self.mark(offset, self.depth + usize::from(is_later_row));
            }
            if kind == Kind::Text {
                self.text = Some(String::new());
            }
            self.depth += 1;
        }
        self.open.push(kind);
    }

    fn end(&mut self, tag: TagEnd, offset: usize) {
        if let Some(Kind::Inline { is_image }) = self.open.pop() {
            self.images -= usize::from(is_image);
            return;
        }
        self.depth = self.depth.saturating_sub(1);
        if let TagEnd::Heading(level) = tag {
            self.end_heading(level, offset);
        }
        self.end_text();
    }

    fn end_heading(&mut self, level: HeadingLevel, offset: usize) {
        let text = text::one_line(&self.text.take().unwrap_or_default());
        if self.depth == 0 {
            self.headings.push(Heading {
                level: level as usize,
                text: shorten(&text, LONGEST_HEADING),
                start: self.begin,
                end: self.line(offset.saturating_sub(1)) + 1,
            });
        }
    }

    /// Add to the text that is open; an item of a tight list has no paragraph around it.
    fn add_text(&mut self, text: &str, offset: usize) {
        if self.images > 0 {
            return;
        }
        if self.text.is_none() && self.open.last() == Some(&Kind::Item) {
            self.begin = self.mark(offset, self.depth);
            self.text = Some(String::new());
        }
        if let Some(open) = &mut self.text {
            open.push_str(text);
        }
    }

    fn end_text(&mut self) {
        if let Some(text) = self.text.take() {
            // Every passage of a long line reads this again.
            let head = text::head(text::trimmed(&text), LONGEST_PARAGRAPH);
            self.paragraphs.push((self.begin, text::one_line(head)));
        }
    }

    /// Note that a block starts here, and return its line.
    fn mark(&mut self, offset: usize, depth: usize) -> usize {
        let line = self.line(offset);
        let depth = u8::try_from(depth).unwrap_or(NO_BOUNDARY);
        if let Some(boundary) = self.boundaries.get_mut(line) {
            *boundary = depth.min(*boundary);
        }
        line
    }

    /// Whether this is a row of a table after the first, which the head stays with.
    fn count_row(&mut self, kind: Kind) -> bool {
        match kind {
            Kind::Table => self.rows = 0,
            Kind::Row => self.rows += 1,
            _ => {}
        }
        kind == Kind::Row && self.rows > 1
    }

    fn line(&self, offset: usize) -> usize {
        let after = self.offsets.partition_point(|start| *start <= offset);
        after.saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_nest_no_deeper_than_the_markers_of_a_line() {
        for marker in ["> ", ">", "- ", "+\t", "1. ", "123456789) ", "- > 1. "] {
            let text = format!("{0}a\n{0}b\n", marker.repeat(5000));
            let (mut depth, mut deepest) = (0_usize, 0);
            events(&text, false, &mut |event, _| {
                match event {
                    Event::Start(_) => depth += 1,
                    Event::End(_) => depth -= 1,
                    _ => {}
                }
                deepest = deepest.max(depth);
                true
            });
            // A list and its item for each marker.
            assert!(deepest <= 2 * MOST_MARKERS, "{marker}: {deepest}");
        }
    }

    #[test]
    fn offsets_after_a_line_that_is_too_deep_are_those_of_the_text() {
        let text = format!("{}é — 🦔\n\n# Ends\n", ">".repeat(500));
        assert_eq!(shallow(&text).len(), text.len());
        assert!(shallow(&text).ends_with(" \n\n# Ends\n"));
        assert!(matches!(shallow("> a\n-----"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_text_is_cut_into_its_blocks() {
        let text = "# A\n\nb\nc\n\n- d\n  - e\n- f\n\n|g|\n|-|\n|h|\n|i|";
        let blocks = structures(text);
        assert_eq!(blocks.join("\n"), text);
        assert_eq!(blocks.len(), 5, "{blocks:?}");
    }
}
