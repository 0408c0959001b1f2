//! Sections of a Markdown text by their level-2 headings, as summaries of memories have them.

use std::iter;

use crate::text::{folded, is_blank};

/// Return the folded name and the text of each level-2 section, in order.
pub fn level_two_sections(text: &str) -> Vec<(String, String)> {
    let mut sections: Vec<(String, Vec<&str>)> = Vec::new();
    for (line, heading) in headings(text) {
        match heading {
            Some((2, name)) => sections.push((folded(name), Vec::new())),
            // The text below a title belongs to no section.
            Some((1, _)) => sections.push((String::new(), Vec::new())),
            _ => {
                if let Some((_, lines)) = sections.last_mut() {
                    lines.push(line);
                }
            }
        }
    }
    let named = sections.into_iter().filter(|(name, _)| !name.is_empty());
    named
        .map(|(name, lines)| (name, lines.join("\n")))
        .collect()
}

/// Return a text in which each level-2 heading with one of the names is written `## Name`. Case and white space
/// of the heading do not count.
pub fn with_section_names(text: &str, names: &[&str]) -> String {
    let letters = |name: &str| folded(name).split(' ').collect::<String>();
    let lines = headings(text).map(|(lines, heading)| match heading {
        Some((2, name)) => {
            let found = names.iter().find(|one| letters(one) == letters(name));
            found.map_or_else(|| lines.to_owned(), |usual| format!("## {usual}"))
        }
        _ => lines.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Return the text of the first level-1 heading, or an empty text.
pub fn first_heading(text: &str) -> &str {
    let mut names = headings(text).filter_map(|(_, heading)| match heading {
        Some((1, name)) if !name.is_empty() => Some(name),
        _ => None,
    });
    names.next().unwrap_or("")
}

/// Each line of a text, with the level and the name of a heading outside of fences. A heading that is underlined
/// is one line with its underline.
fn headings(text: &str) -> impl Iterator<Item = (&str, Option<(usize, &str)>)> {
    // A line below a line of text, an item or HTML continues that, and cannot be underlined alone.
    let (mut fence, mut continues) = ("", false);
    let mut at = Some(0);
    iter::from_fn(move || {
        let start = at?;
        let (line, next) = line_at(text, start);
        at = next;
        let mark = fence_of(line);
        if !mark.is_empty() && fence.is_empty() {
            fence = mark;
        } else if !fence.is_empty()
            && mark.starts_with(fence)
            && line.trim_matches([' ', '\t', '`', '~']).is_empty()
        {
            fence = "";
        }
        let is_text = fence.is_empty() && mark.is_empty();
        let heading = if is_text { heading_of(line) } else { None };
        let is_first = is_text && heading.is_none() && is_paragraph(line) && !continues;
        if is_first && let Some(start_below) = next {
            let (below, after) = line_at(text, start_below);
            if let Some(level) = underlined_level(below) {
                at = after;
                let both = &text[start..start_below + below.len()];
                return Some((both, Some((level, line.trim_matches([' ', '\t', '\r'])))));
            }
        }
        continues = is_text && heading.is_none() && !is_blank(line);
        Some((line, heading))
    })
}

/// The line that begins at an offset, and the offset of the next one.
fn line_at(text: &str, start: usize) -> (&str, Option<usize>) {
    match text[start..].find('\n') {
        Some(length) => (&text[start..start + length], Some(start + length + 1)),
        None => (&text[start..], None),
    }
}

/// Whether a line is one of a paragraph. A paragraph of one line may be underlined.
fn is_paragraph(line: &str) -> bool {
    let text = outdented(line);
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let is_item = (1..=9).contains(&digits) && text[digits..].starts_with(['.', ')']);
    let is_other = [' ', '\t', '#', '>', '|', '<', '*', '+', '-'];
    !(is_blank(line) || is_item || text.starts_with(is_other))
}

/// The level of the heading that a line underlines.
fn underlined_level(line: &str) -> Option<usize> {
    let mark = outdented(line).trim_end_matches([' ', '\t', '\r']);
    let is_of = |sign: &str| !mark.is_empty() && mark.replace(sign, "").is_empty();
    if is_of("=") {
        Some(1)
    } else {
        is_of("-").then_some(2)
    }
}

/// A line without an indent of at most three spaces.
fn outdented(line: &str) -> &str {
    let spaces = line
        .bytes()
        .take(3)
        .take_while(|byte| *byte == b' ')
        .count();
    &line[spaces..]
}

/// The marks of the fence that a line opens or closes; empty for any other line.
fn fence_of(line: &str) -> &str {
    let line = outdented(line);
    let first = match line.as_bytes().first() {
        Some(first @ (b'`' | b'~')) => *first,
        _ => return "",
    };
    let length = line.bytes().take_while(|byte| *byte == first).count();
    if length < 3 { "" } else { &line[..length] }
}

/// The level and the name of the heading that a line is.
fn heading_of(line: &str) -> Option<(usize, &str)> {
    let line = outdented(line);
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let rest = &line[level..];
    let is_heading = (1..=6).contains(&level) && (rest.is_empty() || rest.starts_with([' ', '\t']));
    is_heading.then(|| (level, name_of(rest)))
}

/// The text of a heading without the closing `#` of `## Name ##`.
fn name_of(text: &str) -> &str {
    let text = text.trim_matches([' ', '\t']);
    let name = text.trim_end_matches('#');
    let is_closed = name.len() < text.len() && (name.is_empty() || name.ends_with([' ', '\t']));
    if is_closed {
        name.trim_end_matches([' ', '\t'])
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_have_the_text_below_their_headings() {
        let text = "# T ##\nlead\n## A  b ##\none\n### C\n```\n## no\n```\n## D#\n# U\nrest\n##\nx";
        let sections = level_two_sections(text);
        let expected = [("a b", "one\n### C\n```\n## no\n```"), ("d#", "")];
        let expected = expected.map(|(name, text)| (name.to_owned(), text.to_owned()));
        assert_eq!(sections, expected);
        assert_eq!(first_heading(text), "T");
        assert_eq!(first_heading("## a\n#\n# b"), "b");
    }

    #[test]
    fn a_line_that_is_a_paragraph_may_be_underlined() {
        let text = "A\n=\nlead\n\n B  b \n  ---\none\n\nC\n--- \n- d\n---\ne\nf\n---\n\n---";
        let expected = [("b b", "one\n"), ("c", "- d\n---\ne\nf\n---\n\n---")];
        let expected = expected.map(|(name, text)| (name.to_owned(), text.to_owned()));
        assert_eq!(level_two_sections(text), expected);
        assert_eq!(first_heading(text), "A");
        for text in [
            "a\nb\n==",
            "    a\n==",
            "> a\n==",
            "```\na\n==\n```",
            "a\n\n==",
            "a\n=-",
        ] {
            assert_eq!(first_heading(text), "", "{text}");
        }
    }

    #[test]
    fn names_of_sections_are_written_as_usual() {
        let text =
            "##  OPEN  questions ##\n\nOpen\nQuestions\n--\n\nA/B\n--\n\n# a / b\n\n## Other ##";
        let expected =
            "## Open Questions\n\nOpen\nQuestions\n--\n\n## A / B\n\n# a / b\n\n## Other ##";
        let names = ["Open Questions", "A / B"];
        assert_eq!(with_section_names(text, &names), expected);
    }
}
