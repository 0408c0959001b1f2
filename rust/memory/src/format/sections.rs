//! Sections of a Markdown text by their level-2 headings, as summaries of memories have them.

use crate::text::folded;

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

/// Return the text of the first level-1 heading, or an empty text.
pub fn first_heading(text: &str) -> &str {
    let mut names = headings(text).filter_map(|(_, heading)| match heading {
        Some((1, name)) if !name.is_empty() => Some(name),
        _ => None,
    });
    names.next().unwrap_or("")
}

/// Each line of a text, with the level and the name of a heading outside of fences.
fn headings(text: &str) -> impl Iterator<Item = (&str, Option<(usize, &str)>)> {
    let mut fence = "";
    text.split('\n').map(move |line| {
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
        (line, if is_text { heading_of(line) } else { None })
    })
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
}
