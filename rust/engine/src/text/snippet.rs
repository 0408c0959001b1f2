//! The part of a text that best shows the matches, without most of its mark-up.
//!
//! Lines of prose become one; items of lists and lines of code stay lines.

use std::collections::HashMap;
use std::ops::Range;

use super::category::is_letter_or_digit;
use super::marks::Highlighter;
use crate::error::Result;

/// Characters of a snippet, without the ellipses at its ends.
const LIMIT: usize = 240;

/// Lines of a snippet.
const LINES: usize = 6;

/// Characters at the beginning of a text from which a snippet is taken.
pub const LOOKED_AT: usize = 64 * 1024;

/// The separator between the headings of a title.
const TITLE_SEPARATOR: &str = " > ";

/// A snippet, with the places in it that were found, in characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snippet {
    /// At most six lines, with ellipses where something was cut off.
    pub text: String,
    /// Where in it the matches are.
    pub marks: Vec<Range<usize>>,
}

/// The part of a chunk with the most different matches.
pub fn snippet(content: &str, title: &str, marker: &mut Highlighter) -> Result<Snippet> {
    let looked_at = beginning(content);
    let plain = readable(looked_at, title);
    let places = marker.marks(&plain)?;
    let is_longer = looked_at.len() < content.len();
    Ok(cut(&plain.chars().collect::<Vec<_>>(), &places, is_longer))
}

/// The beginning of a text that is looked at.
pub fn beginning(text: &str) -> &str {
    match text.char_indices().nth(LOOKED_AT) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

fn cut(text: &[char], places: &[Range<usize>], is_longer: bool) -> Snippet {
    let start = best_start(text, places);
    let mut end = text.len().min(start + LIMIT);
    if end < text.len() {
        let from = start + LIMIT / 2;
        end = last_space(&text[from..end]).map_or(end, |at| from + at);
    }
    let mut breaks = (start..end).filter(|at| text[*at] == '\n');
    end = breaks.nth(LINES - 1).unwrap_or(end);
    let lead = if start > 0 { "… " } else { "" };
    let tail = if is_longer || end < text.len() {
        " …"
    } else {
        ""
    };
    let shifted = |at: usize| at - start + lead.chars().count();
    let inside = places
        .iter()
        .filter(|at| at.start >= start && at.end <= end);
    Snippet {
        text: [lead, &text[start..end].iter().collect::<String>(), tail].concat(),
        marks: inside
            .map(|at| shifted(at.start)..shifted(at.end))
            .collect(),
    }
}

fn last_space(text: &[char]) -> Option<usize> {
    text.iter().rposition(|c| c.is_whitespace())
}

/// A little before the window that holds the most different matches.
fn best_start(text: &[char], places: &[Range<usize>]) -> usize {
    if text.len() <= LIMIT || places.is_empty() {
        return 0;
    }
    let words: Vec<String> = places
        .iter()
        .map(|at| {
            text[at.clone()]
                .iter()
                .flat_map(|c| c.to_lowercase())
                .collect()
        })
        .collect();
    let (mut best, mut most) = (0, 0);
    let mut within: HashMap<&str, usize> = HashMap::new();
    let mut beyond = 0;
    for (index, place) in places.iter().enumerate() {
        // A match may be longer than the window.
        beyond = beyond.max(index);
        while beyond < places.len() && places[beyond].end <= place.start + LIMIT - 40 {
            *within.entry(&words[beyond]).or_default() += 1;
            beyond += 1;
        }
        if within.len() > most {
            (best, most) = (place.start, within.len());
        }
        if index < beyond {
            let word = words[index].as_str();
            match within.get_mut(word) {
                Some(count) if *count > 1 => *count -= 1,
                _ => {
                    within.remove(word);
                }
            }
        }
    }
    if best <= LIMIT / 3 {
        return 0;
    }
    let begin = best.saturating_sub(40);
    let space = text[begin..best].iter().position(|c| c.is_whitespace());
    space.map_or(best, |at| begin + at + 1)
}

/// A chunk's source without most of its mark-up: prose on one line, items and code on their own.
///
/// Headings that the title already shows are left out, and so are pictures and addresses.
fn readable(content: &str, title: &str) -> String {
    let shown: Vec<String> = title
        .split(TITLE_SEPARATOR)
        .map(str::to_lowercase)
        .collect();
    let mut text = String::with_capacity(content.len());
    let mut fence = None;
    let (mut is_in_list, mut ends_block) = (false, false);
    for line in content.split('\n') {
        let mark = fence_of(line);
        if mark.is_some() && (fence.is_none() || fence == mark) {
            fence = if fence.is_none() { mark } else { None };
            ends_block = true;
            continue;
        }
        if fence.is_some() {
            push_line(&mut text, line.trim_end());
            continue;
        }
        if line.trim().is_empty() {
            ends_block |= is_in_list;
        }
        if is_markup(line) {
            continue;
        }
        let plain = without_links(&without_pictures(without_heading_mark(line)));
        let plain = plain.trim();
        if text.is_empty() && shown.contains(&plain.to_lowercase()) {
            continue;
        }
        let words = plain.split_whitespace().collect::<Vec<_>>().join(" ");
        if words.is_empty() {
            continue;
        }
        if ends_block || is_item(plain) {
            is_in_list = is_item(plain);
            push_line(&mut text, &words);
        } else {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(&words);
        }
        ends_block = false;
    }
    text
}

fn push_line(text: &mut String, line: &str) {
    if !text.is_empty() && !line.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}

/// The mark of a fence, which begins or ends a block of code; None for any other line.
fn fence_of(line: &str) -> Option<&str> {
    let line = line.trim();
    ["```", "~~~"]
        .into_iter()
        .find(|mark| line.starts_with(mark))
}

/// Whether a line begins an item of a list.
fn is_item(line: &str) -> bool {
    let line = line.trim_start();
    let rest = line.strip_prefix(['-', '*', '+']).or_else(|| {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_numbered = (1..=9).contains(&(line.len() - rest.len()));
        rest.strip_prefix(['.', ')']).filter(|_| is_numbered)
    });
    rest.is_some_and(|rest| rest.starts_with([' ', '\t']))
}

/// Rules, underlines, and where links lead to: lines without words to read.
fn is_markup(line: &str) -> bool {
    let line = line.trim();
    let mut chars = line.chars();
    let Some(first) = chars.next() else {
        return false;
    };
    if !is_letter_or_digit(first) && first != '_' && chars.all(|c| c == first) {
        return true;
    }
    let target = line
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("]:"))
        .filter(|(name, _)| !name.is_empty() && !name.contains(']'))
        .map(|(_, target)| target);
    target.is_some_and(|target| {
        target.starts_with(char::is_whitespace) && target.split_whitespace().count() == 1
    })
}

fn without_heading_mark(line: &str) -> &str {
    let rest = line.trim_start();
    if line.len() - rest.len() > 3 {
        return line;
    }
    let text = rest.trim_start_matches('#');
    let marks = rest.len() - text.len();
    if (1..=6).contains(&marks) && text.starts_with(char::is_whitespace) {
        text.trim_start()
    } else {
        line
    }
}

/// `![text](address)` and `![text][name]`, which may hold no picture, are left out.
fn without_pictures(line: &str) -> String {
    replaced(line, "![", |rest| {
        // No further than the next: what stands between is looked through once.
        let inside = &rest[..rest.find("![").unwrap_or(rest.len())];
        let end = inside.find(']')?;
        Some(("", end + 1 + address(&rest[end + 1..])?))
    })
}

/// Of `[text](address)` and `[text][name]` the text is left.
fn without_links(line: &str) -> String {
    replaced(line, "[", |rest| {
        let end = rest.find(['[', ']'])?;
        if rest[end..].starts_with('[') {
            return None;
        }
        let target = address(&rest[end + 1..])?;
        Some((&rest[..end], end + 1 + target))
    })
}

/// How long the address is that a text begins with: `(...)` without spaces, or `[...]`.
fn address(text: &str) -> Option<usize> {
    if let Some(rest) = text.strip_prefix('(') {
        let end = rest.find(|c: char| matches!(c, '(' | ')') || c.is_whitespace())?;
        return rest[end..].starts_with(')').then_some(end + 2);
    }
    let rest = text.strip_prefix('[')?;
    let end = rest.find(['[', ']'])?;
    rest[end..].starts_with(']').then_some(end + 2)
}

/// The line after `replace` has seen what follows each `start`: where it answers with a text and a number
/// of bytes, that text replaces `start` and those bytes.
fn replaced<'a>(
    line: &'a str,
    start: &str,
    replace: impl Fn(&'a str) -> Option<(&'a str, usize)>,
) -> String {
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(start) {
        let after = &rest[at + start.len()..];
        if let Some((kept, length)) = replace(after) {
            text.push_str(&rest[..at]);
            text.push_str(kept);
            rest = &after[length..];
        } else {
            text.push_str(&rest[..at + start.len()]);
            rest = after;
        }
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::marks::MarkedPhrase;
    use super::super::tokenizer::TokenizerKind;
    use super::*;

    fn snippet_of(content: &str, title: &str, words: &[&str]) -> Snippet {
        let wanted: Vec<_> = words
            .iter()
            .map(|word| MarkedPhrase {
                words: vec![(*word).to_owned()],
                prefix: false,
            })
            .collect();
        let mut marker = Highlighter::new(&wanted, TokenizerKind::Porter).unwrap();
        snippet(content, title, &mut marker).unwrap()
    }

    #[test]
    fn mark_up_is_left_out() {
        for (content, plain) in [
            ("# Hedges\n\nCut  in\twinter.", "Cut in winter."),
            ("  ## Other\n---\n***\ntext", "Other text"),
            ("```rust\ncode\n```\n[1]: http://x\nafter", "code\nafter"),
            (
                "see [the map](a.md) and [more][2] here",
                "see the map and more here",
            ),
            ("![a picture](a.png) beside ![b][c] it", "beside it"),
            ("[a](b c) [d](e(f)) ![g [h]", "[a](b c) [d](e(f)) ![g [h]"),
            ("[] [x]: y z", "[] [x]: y z"),
            ("#hash ####### seven", "#hash ####### seven"),
            ("____", "____"),
            (
                "Eat:\n\n- slugs\n- beetles,\n  and worms\n\nNot milk.",
                "Eat:\n- slugs\n- beetles, and worms\nNot milk.",
            ),
            (
                "1. cut\n2) bend\n10 are not an item",
                "1. cut\n2) bend 10 are not an item",
            ),
            (
                "Run:\n```sh\nif x; then\n  [a](b)  # c\n\nfi\n```\nthen look",
                "Run:\nif x; then\n  [a](b)  # c\nfi\nthen look",
            ),
            ("~~~\n```\n~~~\nafter", "```\nafter"),
            ("```\nnever closed", "never closed"),
            ("", ""),
        ] {
            assert_eq!(readable(content, "Garden > Hedges"), plain, "{content}");
        }
    }

    #[test]
    fn it_begins_near_the_most_matches() {
        let long = format!(
            "{} the oak and the elm {}",
            "x ".repeat(300),
            "y ".repeat(300)
        );
        let found = snippet_of(&long, "", &["oak", "elm"]);
        assert!(found.text.starts_with("… x x"), "{}", found.text);
        assert!(found.text.ends_with(" …"));
        let chars: Vec<char> = found.text.chars().collect();
        let marked: Vec<String> = found
            .marks
            .iter()
            .map(|at| chars[at.clone()].iter().collect())
            .collect();
        assert_eq!(marked, ["oak", "elm"]);
        assert!(chars.len() <= LIMIT + 4);
    }

    #[test]
    fn it_has_few_lines() {
        let found = snippet_of(&"- oak\n".repeat(30), "", &["oak"]);
        assert_eq!(
            found.text,
            format!("{}- oak …", "- oak\n".repeat(LINES - 1))
        );
    }

    proptest! {
        #[test]
        fn every_text_has_a_snippet(content in "[ -~\n树é]{0,600}", title in "[a-z >]{0,12}") {
            let found = snippet_of(&content, &title, &["a", "b", "树"]);
            let length = found.text.chars().count();
            prop_assert!(length <= LIMIT + 4);
            prop_assert!(found.text.lines().count() <= LINES);
            prop_assert!(found.marks.iter().all(|at| at.start < at.end && at.end <= length));
        }
    }
}
