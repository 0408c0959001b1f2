//! The text of a hit that a reranker reads (spec/retrieval.md, "Rerank text").

use crate::index::Hit;
use crate::text::whitespace::{collapse_into, trim};

/// The UTF-16 units of content that replace a missing title and summary.
const SNIPPET_UNITS: usize = 280;

/// Title and summary, a line each; the one there is; or else the beginning of the content.
pub fn rerank_text(hit: &Hit) -> String {
    match (trim(&hit.title), trim(&hit.summary)) {
        ("", "") => snippet(&hit.content),
        ("", only) | (only, "") => only.to_owned(),
        (title, summary) => format!("{title}\n{summary}"),
    }
}

/// Title, summary and content, a line each without blank ones, cut after `chars` characters.
pub fn whole_text(hit: &Hit, chars: usize) -> String {
    let mut text = String::new();
    for part in [&hit.title, &hit.summary, &hit.content] {
        if trim(part).is_empty() {
            continue;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text.extend(part.chars().take(chars));
    }
    if let Some((end, _)) = text.char_indices().nth(chars) {
        text.truncate(end);
    }
    text
}

/// `content` on one line, cut after [`SNIPPET_UNITS`] and then ended by `...`.
fn snippet(content: &str) -> String {
    let mut text = String::new();
    collapse_into(&mut text, content.chars());
    let mut units = 0;
    let end = text.char_indices().find_map(|(offset, c)| {
        units += c.len_utf16();
        (units > SNIPPET_UNITS).then_some(offset)
    });
    if let Some(end) = end {
        text.truncate(end);
        text.push_str("...");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunks::Texts;

    #[test]
    fn a_pair_is_never_cut() {
        for (content, kept) in [
            ("x".repeat(280), None),
            ("x".repeat(281), Some(280)),
            ("x".repeat(278) + "😀", None),
            ("x".repeat(279) + "😀", Some(279)),
            ("x".repeat(279) + " y", Some(280)),
        ] {
            let expected = kept.map_or_else(
                || content.clone(),
                |kept| content[..kept].to_owned() + "...",
            );
            assert_eq!(snippet(&content), expected);
        }
    }

    #[test]
    fn the_whole_text_has_every_part_up_to_the_limit() {
        let texts = Texts {
            title: "Title".to_owned(),
            summary: " \n".to_owned(),
            content: "ab😀 c".to_owned(),
            ..Texts::default()
        };
        let hit = texts.into();
        for (chars, expected) in [
            (100, "Title\nab😀 c"),
            (9, "Title\nab😀"),
            (8, "Title\nab"),
            (0, ""),
        ] {
            assert_eq!(whole_text(&hit, chars), expected);
        }
    }

    #[test]
    fn white_space_alone_is_no_title() {
        let texts = Texts {
            title: "\u{FEFF}\u{A0}".to_owned(),
            summary: " s \n".to_owned(),
            content: "c".to_owned(),
            ..Texts::default()
        };
        assert_eq!(rerank_text(&texts.into()), "s");
    }
}
