//! Query words and the part of a passage that has most of them (spec/memory.md, "Recall").

use std::collections::{HashMap, HashSet};

use hedgerow_engine::query::stopwords::{DUTCH, ENGLISH};

use crate::text::{is_word, length, one_line, trimmed, trimmed_start};

/// The most characters of a snippet, without its ellipses.
const LIMIT: usize = 500;
/// The characters before the first matched word.
const LEAD: usize = 60;
/// The fewest characters of a matched word.
const STEM: usize = 4;
/// The most places of a word that count.
const MOST_PLACES: usize = 50;

/// The distinct lower-case tokens of a query, without stop words and single letters.
pub fn recall_terms(query: &str) -> Vec<String> {
    let query = query.to_lowercase();
    let tokens = query.split(|c: char| !(is_word(c) || "./-".contains(c)));
    let (mut terms, mut seen) = (Vec::new(), HashSet::new());
    for token in tokens {
        let token = token.trim_matches(['.', '_', '/', '-']);
        let is_stopword = ENGLISH.contains(token) || DUTCH.contains(token);
        if token.chars().nth(1).is_some() && !is_stopword && seen.insert(token) {
            terms.push(token.to_owned());
        }
    }
    terms
}

/// A passage on one line, cut to the part that has most of the tokens. A heading that is the first line below it, as a
/// memory without a title has it, is left out.
pub fn cut_snippet(content: &str, tokens: &[String]) -> String {
    let text = one_line(without_repeated_heading(content));
    let length = length(&text);
    if length <= LIMIT {
        return text;
    }
    let is_ascii = text.is_ascii();
    let at = |character: usize| {
        if is_ascii {
            return character.min(text.len());
        }
        let mut offsets = text.char_indices().map(|(at, _)| at);
        offsets.nth(character).unwrap_or(text.len())
    };
    let lower: String = if is_ascii {
        text.to_ascii_lowercase()
    } else {
        // A character for each, so that offsets are those of the text.
        text.chars()
            .filter_map(|c| c.to_lowercase().next())
            .collect()
    };
    let mut start = best_start(&lower, tokens);
    if start + LIMIT >= length {
        start = length - LIMIT + 1;
    }
    let lead = if start > 0 { "…" } else { "" };
    let end = start + LIMIT - usize::from(start > 0);
    let rest = if end < length { "…" } else { "" };
    format!("{lead}{}{rest}", trimmed(&text[at(start)..at(end)]))
}

fn without_repeated_heading(content: &str) -> &str {
    let Some((line, below)) = content
        .split_once('\n')
        .filter(|_| content.starts_with('#'))
    else {
        return content;
    };
    let title = one_line(line.trim_start_matches('#'));
    let first = one_line(trimmed_start(below).split('\n').next().unwrap_or_default());
    let is_repeated = !title.is_empty()
        && match title.strip_suffix('…') {
            Some(beginning) => first.starts_with(beginning),
            None => first == title,
        };
    if is_repeated { below } else { content }
}

/// The offset of the first window with the most different tokens, in characters.
fn best_start(text: &str, tokens: &[String]) -> usize {
    let mut found: Vec<(usize, &str)> = Vec::new();
    for token in tokens {
        let length = token.chars().count();
        let stem = STEM.max(length.saturating_sub(3));
        let end = token
            .char_indices()
            .nth(stem)
            .map_or(token.len(), |(at, _)| at);
        found.extend(
            places(text, &token[..end])
                .into_iter()
                .map(|at| (at, token.as_str())),
        );
    }
    found.sort_unstable();
    let (mut best, mut most) = (0, 0);
    let mut within: HashMap<&str, usize> = HashMap::new();
    let mut end = 0;
    for (offset, token) in &found {
        while end < found.len() && found[end].0 < offset + LIMIT - LEAD {
            *within.entry(found[end].1).or_default() += 1;
            end += 1;
        }
        if within.len() > most {
            (best, most) = (*offset, within.len());
        }
        if let Some(count) = within.get_mut(token) {
            *count -= 1;
            if *count == 0 {
                within.remove(token);
            }
        }
    }
    if best < LEAD {
        return 0;
    }
    let mut before = text.chars().skip(best - LEAD).take(LEAD);
    let space = before.position(|c| c == ' ');
    space.map_or(best, |space| best - LEAD + space + 1)
}

/// The offsets of a part of a text in characters, at most [`MOST_PLACES`].
fn places(text: &str, part: &str) -> Vec<usize> {
    let mut places = Vec::new();
    let Some(first) = part.chars().next() else {
        return places;
    };
    let (mut from, mut before) = (0, 0);
    while places.len() < MOST_PLACES
        && let Some(at) = text[from..].find(part)
    {
        before += text[from..from + at].chars().count();
        places.push(before);
        from += at + first.len_utf8();
        before += 1;
    }
    places
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(text: &str, tokens: &[&str]) -> String {
        let tokens: Vec<String> = tokens.iter().map(|token| (*token).to_owned()).collect();
        cut_snippet(text, &tokens)
    }

    #[test]
    fn terms_of_a_query() {
        for (query, terms) in [
            ("What did the Hedgehog eat?", &["hedgehog", "eat"][..]),
            (
                "docs/releases/q2.md, hedges!",
                &["docs/releases/q2.md", "hedges"],
            ),
            ("a b cc cc -Node.js-", &["cc", "node.js"]),
            ("味噌汁 は", &["味噌汁"]),
        ] {
            assert_eq!(recall_terms(query), terms);
        }
    }

    #[test]
    fn a_short_passage_is_shown_whole_on_one_line() {
        assert_eq!(cut("# A\n\n  two\tlines ", &["two"]), "# A two lines");
    }

    #[test]
    fn a_long_passage_is_cut_to_where_the_words_are() {
        for before in ["word ", "İ́ é "] {
            let text = format!(
                "{}copper heron waits {}",
                before.repeat(300),
                "tail ".repeat(300)
            );
            let snippet = cut(&text, &["copper", "heron"]);
            assert!(
                snippet.starts_with('…') && snippet.ends_with('…'),
                "{snippet}"
            );
            assert!(snippet.contains("copper heron waits"), "{snippet}");
        }
    }

    #[test]
    fn many_words_and_long_texts_are_cut() {
        let tokens: Vec<String> = (0..2000).map(|number| format!("aaaa{number:03}")).collect();
        let text = "word ".repeat(200) + &"aaaa ".repeat(300);
        assert!(cut_snippet(&text, &tokens).contains("aaaa"));
        for part in ["a", "é", "word ", "a./-", "\u{301}"] {
            let long = part.repeat(200_000);
            recall_terms(&long);
            cut(&long, &["word", "a"]);
        }
    }

    #[test]
    fn a_heading_that_the_text_repeats_is_left_out() {
        for (content, snippet) in [
            ("# Moles dig.\n\nMoles dig.", "Moles dig."),
            (
                "# Moles dig…\n\nMoles  dig\nby night.",
                "Moles dig by night.",
            ),
            (
                "## Moles dig.\nMoles dig.\nBy night.",
                "Moles dig. By night.",
            ),
            ("# Moles\n\nMoles dig.", "# Moles Moles dig."),
            ("# Moles\n\nThey dig.", "# Moles They dig."),
            ("# Moles dig.", "# Moles dig."),
            ("#\n\nMoles", "# Moles"),
            ("Moles\nMoles", "Moles Moles"),
        ] {
            assert_eq!(cut_snippet(content, &[]), snippet, "{content}");
        }
    }

    proptest! {
        #[test]
        fn a_snippet_is_a_part_of_the_text(
            text in "[ab zİé\n]{0,1500}",
            tokens in prop::collection::vec(prop::sample::select(vec!["a", "ab", "abc", "zz"]), 0..3),
        ) {
            let snippet = cut(&text, &tokens);
            prop_assert!(snippet.chars().count() <= LIMIT + 1);
            let part = snippet.trim_matches('…');
            prop_assert!(one_line(&text).contains(part.trim()));
        }
    }
}
