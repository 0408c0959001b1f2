//! Cutting text: lines into passages, a paragraph to its first sentence, a text to a length.

use crate::text::{self, is_space, is_word};

/// The most characters of a passage: some 350 words.
pub const PASSAGE_LIMIT: usize = 2000;

/// The most characters of a summary taken from the text; longer ones end in an ellipsis.
pub const SUMMARY_LIMIT: usize = 280;

/// Boundaries nested deeper than this are ignored: lines are cut between instead.
const DEEPEST: u8 = 6;

/// The depth of a line on which no block starts.
pub const NO_BOUNDARY: u8 = DEEPEST + 1;

/// A full stop after these, or after one letter (initials, "e.g."), does not end a sentence.
const ABBREVIATIONS: [&str; 17] = [
    "dr", "mr", "mrs", "ms", "prof", "st", "vs", "etc", "approx", "ca", "cf", "no", "nr", "bijv",
    "enz", "dhr", "mevr",
];
/// The longest abbreviation that is recognized, in characters.
const LONGEST_ABBREVIATION: usize = 6;

/// A text and its first and last line, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// The lines, joined by newlines.
    pub text: String,
    /// The first line, counted from 1.
    pub first_line: usize,
    /// The last line, inclusive.
    pub last_line: usize,
}

/// Lines from a start to an end, exclusive.
type Span = (usize, usize);

/// Cuts parts of one text into passages of at most `PASSAGE_LIMIT` characters.
///
/// Between blocks that are shallow first, then between deeper ones, then at ends of lines; only a
/// line longer than a passage is itself cut. Blank lines between passages belong to neither; nothing
/// else is lost.
pub struct PassageSplitter<'a> {
    lines: &'a [&'a str],
    /// For each line the depth of the block that starts on it, or `NO_BOUNDARY`.
    boundaries: &'a [u8],
    /// The characters before each line, line ends included.
    offsets: Vec<usize>,
}

impl<'a> PassageSplitter<'a> {
    /// A splitter of a text, with the depth of the block that starts on each line.
    pub fn new(lines: &'a [&'a str], boundaries: &'a [u8]) -> Self {
        let mut offsets = Vec::with_capacity(lines.len() + 1);
        offsets.push(0);
        let mut offset = 0;
        for line in lines {
            offset += text::length(line) + 1;
            offsets.push(offset);
        }
        Self {
            lines,
            boundaries,
            offsets,
        }
    }

    /// The count of characters of the text, without line ends.
    pub fn length(&self) -> usize {
        self.offsets.last().unwrap_or(&0) - self.lines.len()
    }

    /// Return the passages of the lines from `start` to `end`, exclusive.
    pub fn split(&self, start: usize, end: usize) -> Vec<Passage> {
        let mut passages = Vec::new();
        for (first, last) in self.pack((start, end), 0) {
            self.add_passages(first, last, &mut passages);
        }
        passages
    }

    fn pack(&self, span: Span, depth: u8) -> Vec<Span> {
        if self.size(span) <= PASSAGE_LIMIT || span.1 - span.0 <= 1 {
            return vec![span];
        }
        let segments = self.segments(span, depth);
        if let [only] = segments[..] {
            return self.pack(only, depth + 1);
        }
        let spans = segments
            .into_iter()
            .flat_map(|segment| self.pack(segment, depth + 1));
        self.merge(&spans.collect::<Vec<_>>())
    }

    /// Cut before each block of at most this depth; with a depth beyond `DEEPEST` before each line.
    fn segments(&self, (start, end): Span, depth: u8) -> Vec<Span> {
        let mut segments = Vec::new();
        let mut begin = start;
        for line in start + 1..end {
            if depth > DEEPEST || self.boundaries[line] <= depth {
                segments.push((begin, line));
                begin = line;
            }
        }
        segments.push((begin, end));
        segments
    }

    /// Join neighbors, aiming at equal sizes rather than at a full first passage.
    fn merge(&self, spans: &[Span]) -> Vec<Span> {
        let Some((&first, rest)) = spans.split_first() else {
            return Vec::new();
        };
        let last = rest.last().unwrap_or(&first);
        let total = self.size((first.0, last.1));
        let count = total.div_ceil(PASSAGE_LIMIT);
        let mut merged = Vec::new();
        let mut current = first;
        for &span in rest {
            let joined = (current.0, span.1);
            if self.size(current) * count < total && self.size(joined) <= PASSAGE_LIMIT {
                current = joined;
            } else {
                merged.push(current);
                current = span;
            }
        }
        merged.push(current);
        merged
    }

    fn size(&self, (start, end): Span) -> usize {
        (self.offsets[end] - self.offsets[start]).saturating_sub(1)
    }

    fn add_passages(&self, mut start: usize, mut end: usize, passages: &mut Vec<Passage>) {
        while start < end && text::is_blank(self.lines[start]) {
            start += 1;
        }
        while end > start && text::is_blank(self.lines[end - 1]) {
            end -= 1;
        }
        if start == end {
            return;
        }
        let (first_line, last_line) = (start + 1, end);
        let text = self.lines[start..end].join("\n");
        let mut add = |text: String| {
            passages.push(Passage {
                text,
                first_line,
                last_line,
            });
        };
        if self.size((start, end)) <= PASSAGE_LIMIT {
            add(text);
            return;
        }
        for piece in cut(&text) {
            if !text::is_blank(piece) {
                add(piece.to_owned());
            }
        }
    }
}

/// Cut one long line at ends of sentences, else at spaces, else at the limit.
fn cut(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((limit, _)) = rest.char_indices().nth(PASSAGE_LIMIT) {
        let head = &rest[..limit];
        // A passage is at least half full.
        let least = text::head(head, PASSAGE_LIMIT / 2).len();
        let cut = last_sentence_end(head)
            .filter(|end| *end >= least)
            .or_else(|| head.rfind(' ').map(|at| at + 1).filter(|end| *end >= least))
            .unwrap_or(limit);
        pieces.push(&rest[..cut]);
        rest = &rest[cut..];
    }
    pieces.push(rest);
    pieces
}

fn is_stop(character: char) -> bool {
    matches!(character, '.' | '!' | '?' | '…')
}

fn is_closing(character: char) -> bool {
    matches!(character, '"' | '\'' | '”' | '’' | ')' | ']')
}

fn is_wide_stop(character: char) -> bool {
    matches!(character, '。' | '！' | '？')
}

fn is_wide_closing(character: char) -> bool {
    matches!(character, '」' | '』' | '”' | '’' | '）')
}

/// The offset after the characters from `start` that fulfil a condition.
fn after(text: &str, start: usize, condition: impl Fn(char) -> bool) -> usize {
    let rest = &text[start..];
    let end = rest.find(|character| !condition(character));
    end.map_or(text.len(), |end| start + end)
}

/// The offset after the last sentence of a text and the white space behind it.
fn last_sentence_end(text: &str) -> Option<usize> {
    let mut found = None;
    let mut at = 0;
    while let Some(character) = text[at..].chars().next() {
        let next = at + character.len_utf8();
        let mut end = next;
        if is_stop(character) {
            let closed = after(text, next, is_closing);
            let spaced = after(text, closed, is_space);
            if spaced > closed {
                (end, found) = (spaced, Some(spaced));
            }
        } else if is_wide_stop(character) {
            end = after(text, next, is_wide_stop);
            found = Some(end);
        }
        at = end;
    }
    found
}

/// Return the first sentence of the first paragraph, at most `SUMMARY_LIMIT` characters.
pub fn first_sentence(text: &str) -> String {
    // Only the head is read, so that a long line costs no more than a short one.
    let text = text.trim_start_matches(is_space);
    let head = text::trimmed_end(text::head(text, 4 * SUMMARY_LIMIT));
    let flat = text::one_line(first_paragraph(head));
    let limit = text::head(&flat, SUMMARY_LIMIT).len();
    for end in sentence_ends(&flat) {
        if end > limit {
            break;
        }
        if end == flat.len() || !is_abbreviation(&flat[..end]) {
            return flat[..end].to_owned();
        }
    }
    shorten(&flat, SUMMARY_LIMIT)
}

/// The text before the first blank line.
fn first_paragraph(text: &str) -> &str {
    let mut from = 0;
    while let Some(at) = text[from..].find('\n') {
        let end = from + at;
        let gap = &text[end + 1..after(text, end + 1, is_space)];
        if gap.contains('\n') {
            return &text[..end];
        }
        from = end + 1;
    }
    text
}

/// The offsets after the sentences of a text on one line.
fn sentence_ends(text: &str) -> impl Iterator<Item = usize> {
    let mut at = 0;
    let mut before: Option<char> = None;
    std::iter::from_fn(move || {
        while let Some(character) = text[at..].chars().next() {
            let start = at;
            at += character.len_utf8();
            let preceding = before.replace(character);
            if is_stop(character) {
                let stops = after(text, start, is_stop);
                let closed = after(text, stops, is_closing);
                // A stop after a space ends nothing, such as that of `.net`.
                let is_apart = preceding.is_some_and(is_space);
                let is_several = stops > at;
                let is_last = text[closed..].chars().next().is_none_or(is_space);
                at = stops;
                before = text[..at].chars().next_back();
                if is_last && (!is_apart || is_several) {
                    at = closed;
                    before = text[..at].chars().next_back();
                    return Some(at);
                }
            } else if is_wide_stop(character) {
                let stops = after(text, at, is_wide_stop);
                at = after(text, stops, is_wide_closing);
                before = text[..at].chars().next_back();
                return Some(at);
            }
        }
        None
    })
}

/// Whether a text ends in an abbreviation or an initial, with its full stop.
fn is_abbreviation(text: &str) -> bool {
    let Some(text) = text.strip_suffix('.') else {
        return false;
    };
    let length = text.chars().rev().take_while(|one| is_word(*one)).count();
    if length == 1 {
        return true;
    }
    if length == 0 || length > LONGEST_ABBREVIATION {
        return false;
    }
    let start = text.char_indices().rev().nth(length - 1);
    let word = start
        .map_or(text, |(start, _)| &text[start..])
        .to_lowercase();
    ABBREVIATIONS.contains(&word.as_str())
}

/// Cut a text at a space so that it has at most `limit` characters, ellipsis included.
pub fn shorten(text: &str, limit: usize) -> String {
    if text.len() <= limit || text::length(text) <= limit {
        return text.to_owned();
    }
    let head = text::head(text, limit - 1);
    let half = text::head(head, limit / 2).len();
    let kept = match head.rfind(' ') {
        Some(space) if space > half => &head[..space],
        _ => head,
    };
    format!("{}…", text::trimmed_end(kept))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_ends_where_a_reader_ends_it() {
        for (text, sentence) in [
            (
                "See e.g. Dr. Smith at 3 p.m. today. More.",
                "See e.g. Dr. Smith at 3 p.m. today.",
            ),
            ("He said \"Stop.\" Then left.", "He said \"Stop.\""),
            ("庭のナメクジ。続き。", "庭のナメクジ。"),
            ("Wait... what? Yes.", "Wait..."),
            ("Use .net 1.2 now. More", "Use .net 1.2 now."),
            ("a\n \nb. c", "a"),
            ("One . Two. x", "One . Two."),
        ] {
            assert_eq!(first_sentence(text), sentence);
        }
    }

    #[test]
    fn a_short_text_ends_at_a_space() {
        assert_eq!(shorten("one two three", 20), "one two three");
        assert_eq!(shorten("one two three", 10), "one two…");
        assert_eq!(shorten("onetwothree", 5), "onet…");
    }

    #[test]
    fn passages_lose_nothing() {
        let text = "A sentence of words. ".repeat(500);
        let lines = [text.as_str()];
        let passages = PassageSplitter::new(&lines, &[NO_BOUNDARY]).split(0, 1);
        let joined: String = passages.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(joined, text);
        assert!(passages.iter().all(|one| one.text.len() <= PASSAGE_LIMIT));
    }
}
