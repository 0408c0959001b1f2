//! Tags: in front matter and, as `#tag`, in the text (spec/memory.md, "Tags and aliases").

use std::collections::{BTreeSet, HashSet};

use pulldown_cmark::{Event, Tag, TagEnd};
use serde_json::{Map, Value};
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use crate::format::links::link_positions;
use crate::format::markdown;
use crate::text::{self, casefold, is_space, is_word, normalized, trimmed};

/// The most tags that are read from a text.
const MOST: usize = 100;
/// The character after a symbol that asks for its colored form.
const EMOJI_STYLE: char = '\u{fe0f}';
/// Characters that combine others to one emoji.
const JOINERS: [char; 3] = ['\u{200d}', EMOJI_STYLE, '\u{20e3}'];
/// The most characters of a tag; the rest of a longer one is left out.
const LONGEST: usize = 100;

/// The tags of a memory as they are compared: those in front matter and those in the text.
pub fn compared_tags(metadata: &Map<String, Value>, in_text: &[String]) -> BTreeSet<String> {
    let mut tags: BTreeSet<String> = match metadata.get("tags") {
        Some(Value::String(text)) => text
            .split(|character| character == ',' || is_space(character))
            .map(compared)
            .collect(),
        Some(Value::Array(items)) => items
            .iter()
            .filter_map(Value::as_str)
            .map(compared)
            .collect(),
        _ => BTreeSet::new(),
    };
    tags.extend(in_text.iter().map(|tag| compared(tag)));
    tags.remove("");
    tags
}

/// A tag without `#`, in Unicode's form NFC, and without regard to case.
pub fn compared(tag: &str) -> String {
    let tag = trimmed(tag);
    let tag = tag.strip_prefix('#').unwrap_or(tag).trim_matches('/');
    let tag = casefold(&normalized(tag));
    if tag.contains(EMOJI_STYLE) {
        return tag.replace(EMOJI_STYLE, "");
    }
    tag
}

/// Whether a tag is another one or nested in it: `infra/k8s` is nested in `infra`.
pub fn is_within(tag: &str, outer: &str) -> bool {
    tag.strip_prefix(outer)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Return the tags in a Markdown text, each once; none in code or links.
///
/// Tags in brackets, as Logseq writes those with spaces (`#[[two words]]`), are first, and all are
/// in order otherwise.
pub fn inline_tags(text: &str) -> Vec<String> {
    let mut found = bracketed_tags(text);
    if tags_in(text).next().is_none() {
        return found;
    }
    let mut known: HashSet<String> = found.iter().cloned().collect();
    let mut hidden = 0_usize;
    let source = text;
    markdown::events(text, false, &mut |event, range| {
        match event {
            Event::Start(Tag::CodeBlock(_) | Tag::Link { .. } | Tag::Image { .. }) => hidden += 1,
            Event::End(TagEnd::CodeBlock | TagEnd::Link | TagEnd::Image) => {
                hidden = hidden.saturating_sub(1);
            }
            Event::Text(text) if hidden == 0 => {
                // `\#` is no tag: the text after the backslash is an event of its own.
                let is_escaped = text.starts_with('#') && source[..range.start].ends_with('\\');
                for tag in tags_in(&text[usize::from(is_escaped)..]) {
                    if known.insert(tag.to_owned()) {
                        found.push(tag.to_owned());
                    }
                }
            }
            _ => {}
        }
        found.len() <= MOST
    });
    found.truncate(MOST);
    found
}

/// The tags in brackets, in order, each once: names of links after a `#` that begins a word.
pub fn bracketed_tags(text: &str) -> Vec<String> {
    if !text.contains("#[[") {
        return Vec::new();
    }
    let mut known = HashSet::new();
    let named = link_positions(text).links.into_iter().filter(|link| {
        let before = text[..link.start].trim_end_matches(is_space);
        let word = before.strip_suffix("#[[");
        !link.is_path && word.is_some_and(|word| word.is_empty() || word.ends_with(is_space))
    });
    named
        .map(|link| text::head(trimmed(&link.target), LONGEST).to_owned())
        .filter(|tag| known.insert(tag.clone()))
        .take(MOST)
        .collect()
}

/// The tags of a text without mark-up: each begins after white space, and has a letter or `_`.
fn tags_in(text: &str) -> impl Iterator<Item = &str> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(found) = text[at..].find('#') {
            let start = at + found + 1;
            at = start;
            let before = text[..start - 1].chars().next_back();
            if before.is_some_and(|before| !is_space(before)) {
                continue;
            }
            let is_part = |one: char| is_word(one) || matches!(one, '/' | '-') || is_emoji(one);
            let rest = &text[start..];
            let end = rest.find(|one| !is_part(one)).unwrap_or(rest.len());
            // The key cap of # is no tag.
            let is_key_cap = rest.starts_with(JOINERS);
            if !is_key_cap
                && rest[..end]
                    .chars()
                    .any(|one| is_letter(one) || is_emoji(one))
            {
                let tag = text::head(&rest[..end], LONGEST);
                at = start + tag.len();
                return Some(tag);
            }
        }
        None
    })
}

/// Whether a character is an emoji, another such symbol, or a part of one.
fn is_emoji(character: char) -> bool {
    let is_symbol = || {
        let category = character.general_category();
        matches!(
            category,
            GeneralCategory::OtherSymbol | GeneralCategory::ModifierSymbol
        )
    };
    !character.is_ascii() && (JOINERS.contains(&character) || is_symbol())
}

/// Whether a character of a word is more than a digit.
fn is_letter(character: char) -> bool {
    let is_digit = character.general_category() == GeneralCategory::DecimalNumber;
    is_word(character) && !is_digit
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tags_of_front_matter_and_text() {
        for (given, expected) in [
            (json!("#Garden, y z"), &["garden", "x", "y", "z"][..]),
            (
                json!(["/Infra/K8s/", 7, " #a,b "]),
                &["a,b", "infra/k8s", "x"],
            ),
            (json!(7), &["x"]),
        ] {
            let metadata = Map::from_iter([("tags".to_owned(), given)]);
            let found = compared_tags(&metadata, &["X".to_owned(), "/".to_owned()]);
            assert_eq!(found.iter().collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn a_tag_may_be_nested() {
        assert!(is_within("infra/k8s", "infra") && is_within("infra", "infra"));
        assert!(!is_within("infrared", "infra") && !is_within("infra", "infra/k8s"));
    }

    #[test]
    fn tags_stand_alone_and_outside_of_code() {
        let text = "#one text #two/three #4 a#no #été `#code` [#link](x)\n\n    #indented\n\n# Head #tag\n\n#a-b_c, (#e) #one";
        assert_eq!(
            inline_tags(text),
            ["one", "two/three", "été", "tag", "a-b_c"]
        );
        assert_eq!(inline_tags("#a_b #1a #- #2026"), ["a_b", "1a"]);
        let emoji = "#🚀 #🚀launch #❤\u{fe0f} #👩\u{200d}💻/go #👍🏽 #→ #\u{fe0f}\u{20e3}";
        let expected = ["🚀", "🚀launch", "❤\u{fe0f}", "👩\u{200d}💻/go", "👍🏽"];
        assert_eq!(inline_tags(emoji), expected);
        assert_eq!(compared("#❤\u{fe0f}"), compared("❤"));
        let in_brackets = "#one #[[two words]] a#[[no]] `#[[no]]` [[no]] \\#[[no]] #[[two words]]";
        assert_eq!(inline_tags(in_brackets), ["two words", "one"]);
        assert_eq!(inline_tags("\\#no \\#no2 #yes a \\# #b"), ["yes", "b"]);
    }

    #[test]
    fn many_tags_and_long_ones_have_limits() {
        let many: Vec<String> = (0..200).map(|number| format!("#t{number}")).collect();
        assert_eq!(inline_tags(&many.join(" ")).len(), MOST);
        assert_eq!(
            inline_tags(&format!("#{}", "x".repeat(300)))[0].len(),
            LONGEST
        );
    }
}
