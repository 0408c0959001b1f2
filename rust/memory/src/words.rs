//! The words of a text, for the comparison of memories (spec/memory.md, "What is the same").

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use regex::Regex;
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

use crate::opposites::says_otherwise;
use crate::sections::first_heading;
use crate::text::{casefold, is_space, is_word, trimmed_start};

/// From this share of common words on, two texts say nearly the same.
pub const LIKE: f64 = 0.8;

/// The most characters of a word that is normalized. Normalizing takes the square of a run of accents.
const LONGEST_NORMALIZED: usize = 512;

/// The most characters between two brackets that belong together.
const LONGEST_IN_BRACKETS: usize = 200;

/// The marks of Markdown that look like symbols: quotations, bullets, rules, tags, addresses, tables.
static MARKUP: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern = r#"(?mx)
        ^[\ ]{0,3}(?:>[\ ]?)+ | ^[\ \t]*[-*+][\ \t] | ^[\ \t=*_|:-]+$
        | </?[A-Za-z][\w-]*(?:\s+[\w-]+\s*=\s*(?:"[^"<>]*"|'[^'<>]*'))*\s*/?>
        | <(?P<address>[A-Za-z]+:[^<>\s]*)>"#;
    Regex::new(pattern).ok()
});

/// Words that turn a statement into its opposite.
const NEGATIONS: &str = "not no never none nothing nobody nowhere nor neither cannot without unless \
    except only hardly rarely seldom cant wont dont doesnt didnt isnt arent wasnt werent nicht nichts nie niemals kein keine keinen keinem keiner keines weder ohne \
    nur ne pas jamais sans aucun aucune ni rien nunca jamás sin ninguno ninguna tampoco nada non mai senza \
    nessuno nessuna não nunca sem nenhum nenhuma niet geen nooit zonder niets inte ingen inget aldrig utan ikke \
    ingen aldri uden uten ekki nie nigdy bez nikdy není не нет нельзя ни никогда без нема немає няма ni niciodată \
    nu fără ei emme ette eivät ilman nem nincs soha değil yok olmadan δεν μην μη όχι ποτέ χωρίς لا ليس ليست لم لن \
    غير بدون دون نه نیست بدون نہیں לא אין בלי אף नहीं नही न मत बिना না নেই নয় tidak bukan jangan tanpa không chưa \
    chẳng đừng";

/// What negates within a word of a language without spaces, and within Korean words.
const NEGATING: [&str; 12] = [
    "不",
    "没",
    "沒",
    "無",
    "无",
    "未",
    "非",
    "ない",
    "ません",
    "ไม่",
    "않",
    "없",
];

static NEGATION: LazyLock<HashSet<String>> =
    LazyLock::new(|| casefold(NEGATIONS).split(' ').map(str::to_owned).collect());

/// Return the words and the symbols of a text: without its title, markup and case.
///
/// A sign before a number or a word, a comma or a full stop within a number, an operator, a unit such as %, a question
/// mark, and the ++ of C++ are symbols; other commas, full stops and quotes are not. A text without any word has none. Takes linear time.
pub fn words_of(body: &str) -> Vec<String> {
    let text = trimmed_start(body);
    let (line, below) = text.split_once('\n').unwrap_or((text, ""));
    let has_title = line.starts_with("# ") || line.starts_with("#\t");
    if has_title && !first_heading(line).is_empty() {
        let words = words(below);
        if !words.is_empty() {
            return words;
        }
    }
    words(body)
}

fn words(text: &str) -> Vec<String> {
    let composed = composed(text);
    let plain = match &*MARKUP {
        Some(markup) => markup.replace_all(&composed, " $address "),
        None => composed.as_str().into(),
    };
    let folded = casefold(&plain);
    let characters: Vec<char> = folded.chars().collect();
    let mut words: Vec<String> = Vec::new();
    let mut at = 0;
    while at < characters.len() {
        let length = token(&characters, at);
        if length > 0 {
            words.push(characters[at..at + length].iter().collect());
        }
        at += length.max(1);
    }
    if words.iter().any(|word| starts_a_word(word)) {
        words
    } else {
        Vec::new()
    }
}

/// A text with compatibility forms replaced, word by word, and without characters that do not count.
fn composed(text: &str) -> String {
    if text.is_ascii() {
        return text.to_owned();
    }
    let mut composed = String::with_capacity(text.len());
    for part in text.split_inclusive([' ', '\n']) {
        if part.chars().count() > LONGEST_NORMALIZED {
            composed.push_str(part);
        } else {
            // 10² is 10^2, not 102.
            let raised = |one: char| matches!(one, '²' | '³' | '¹' | '⁰' | '⁴'..='⁹');
            let marked = part
                .chars()
                .flat_map(|one| raised(one).then_some('^').into_iter().chain([one]));
            composed.extend(marked.nfkc());
        }
    }
    composed
        .chars()
        .filter(|one| !is_uncounted(*one))
        .map(|one| match one {
            // The minus sign, the en dash and the apostrophe that editors write.
            '\u{2212}' | '\u{2013}' => '-',
            '\u{2019}' => '\'',
            one => one,
        })
        .collect()
}

/// Whether a word is the same without a character: the points of Hebrew and Arabic, and invisible ones.
fn is_uncounted(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{feff}' | '\u{591}'..='\u{5bd}' | '\u{5bf}'
        | '\u{5c1}' | '\u{5c2}' | '\u{5c4}' | '\u{5c5}' | '\u{5c7}' | '\u{640}' | '\u{64b}'..='\u{652}'
        | '\u{670}')
}

/// The length of the word or the symbol at a position; 0 if none begins there.
fn token(text: &[char], at: usize) -> usize {
    let first = text[at];
    let get = |offset: usize| text.get(at + offset).copied();
    if is_word(first) {
        return word(text, at);
    }
    let before = at.checked_sub(1).map(|at| text[at]);
    let follows_word = before.is_some_and(|one| is_word(one) || is_mark(one));
    let begins = before.is_none_or(|one| is_space(one) || matches!(one, '(' | '"' | '`'));
    let is_digit = |one: Option<char>| one.is_some_and(char::is_numeric);
    let is_ascii_word = |one: Option<char>| one.is_some_and(|one| one.is_ascii_alphanumeric());
    let run = || text[at..].iter().take_while(|one| **one == first).count();
    match (first, get(1)) {
        // C++ and C#.
        ('+', Some('+')) if follows_word && !is_digit(before) => 2,
        ('#', _) if follows_word && !is_digit(before) => 1,
        // 1,000 is not 1.000.
        ('.' | ',', next) if is_digit(before) && is_digit(next) => 1,
        // ../a
        ('.', Some('.')) if get(2) == Some('/') => 2,
        ('<' | '>' | '=' | '!' | '~', Some('=')) => {
            1 + text[at + 1..].iter().take_while(|one| **one == '=').count()
        }
        ('-' | '=', Some('>')) | ('<', Some('-')) => 2,
        // -18, -rf
        ('-', next) => {
            let follows_number = follows_word || matches!(before, Some(')' | ']'));
            let is_spaced = begins && next == Some(' ') && is_digit(get(2));
            let is_sign =
                !follows_number && (is_digit(next) || next == Some('.') && is_digit(get(2)));
            let is_flag = begins && next.is_some_and(|one| one == '-' || is_word(one));
            usize::from(is_sign || is_spaced || is_flag || is_operator(text, at))
        }
        // x*y, but not the mark of *emphasis*.
        ('*', _) if is_ascii_word(before) && is_ascii_word(get(run())) => run(),
        ('*' | '^' | ':', _) if is_operator(text, at) => 1,
        // ~~crossed out~~, but not ~~~ around code.
        ('~', Some('~')) if before != Some('~') && get(2) != Some('~') => 2,
        ('~', next) if before != Some('~') && next != Some('~') => 1,
        ('!', Some(next)) if begins && is_word(next) => 1,
        // A task that is done.
        ('[', Some('x')) if get(2) == Some(']') && matches!(get(3), Some(' ')) => 3,
        // [0, 1] is not (0, 1), and x[0] is not x(0).
        ('[' | ']', _) => usize::from(is_bracket_of_values(text, at)),
        // One | is of a table.
        ('|' | '&', next) if next == Some(first) => 2,
        ('<' | '>' | '=' | '%' | '?' | '$' | '+' | '/' | '&' | '{' | '}', _) => 1,
        _ => usize::from(
            !first.is_ascii()
                && !is_space(first)
                && first.general_category_group() == GeneralCategoryGroup::Symbol,
        ),
    }
}

/// Whether a sign is between two numbers, as in `3 - 18`.
fn is_operator(text: &[char], at: usize) -> bool {
    let before = text[..at].iter().rev().find(|one| **one != ' ');
    let mut after = text[at + 1..]
        .iter()
        .skip_while(|one| **one == ' ')
        .peekable();
    after.next_if(|one| matches!(one, '-' | '+' | '.'));
    before.is_some_and(|one| one.is_numeric()) && after.next().is_some_and(|one| one.is_numeric())
}

/// Whether a square bracket begins or ends a list or an interval with a comma, or an index after a word. Those of links,
/// notes and tasks do not count.
fn is_bracket_of_values(text: &[char], at: usize) -> bool {
    let is_bracket = |one: &char| matches!(one, '[' | ']' | '(' | ')');
    let is_opening = |one: char| matches!(one, '[' | '(');
    let limit = |length: usize| length.min(LONGEST_IN_BRACKETS);
    let (start, end) = if text[at] == '[' {
        let rest = &text[at + 1..];
        let rest = &rest[..limit(rest.len())];
        match rest.iter().position(is_bracket) {
            Some(length) if !is_opening(rest[length]) => (at, at + 1 + length),
            _ => return false,
        }
    } else {
        let rest = &text[at - limit(at)..at];
        match rest.iter().rev().position(is_bracket) {
            Some(length) if is_opening(text[at - 1 - length]) => (at - 1 - length, at),
            _ => return false,
        }
    };
    let around = [start.checked_sub(1), Some(end + 1)].map(|at| at.and_then(|at| text.get(at)));
    let is_link = matches!(around[1], Some('(' | '[' | ']' | ':')) || around[0] == Some(&'[');
    let has_comma = text[start..end].iter().any(|one| matches!(one, ',' | ';'));
    let is_index = around[0].is_some_and(|one| is_word(*one)) && text[start + 1] != '^';
    !is_link && (has_comma || is_index)
}

/// The length of a word, with the marks of its letters, and the `n't` of `don't`.
fn word(text: &[char], at: usize) -> usize {
    let rest = &text[at..];
    let is_part = |one: &&char| is_word(**one) || is_mark(**one);
    let length = rest.iter().take_while(is_part).count();
    let ends_in_not = rest[length - 1] == 'n' && rest[length..].starts_with(&['\'', 't']);
    let is_whole = rest.get(length + 2).is_none_or(|next| !is_word(*next));
    if ends_in_not && is_whole && length > 1 {
        length + 2
    } else {
        length
    }
}

/// Whether a character belongs to the letter before it, such as a vowel sign of Thai or Hindi.
fn is_mark(character: char) -> bool {
    !character.is_ascii() && character.general_category_group() == GeneralCategoryGroup::Mark
}

fn starts_a_word(token: &str) -> bool {
    token.chars().next().is_some_and(is_word)
}

/// The number of occurrences of each word of a text.
pub fn counted(words: &[String]) -> HashMap<&str, usize> {
    let mut counts = HashMap::new();
    for word in words {
        *counts.entry(word.as_str()).or_default() += 1;
    }
    counts
}

/// Return what two texts must have in common to say the same, even nearly.
///
/// These are the symbols and negations in any order, each as often as it occurs, and the numbers in their order, each
/// with the word after it, which may be its unit.
pub fn decisive(words: &[String]) -> Vec<&str> {
    let (mut signs, mut numbers) = (Vec::new(), Vec::new());
    for (at, word) in words.iter().enumerate() {
        let is_sign =
            NEGATION.contains(word.as_str()) || !starts_a_word(word) || word.ends_with("n't");
        if is_sign {
            signs.push(word.as_str());
        } else if word.starts_with(char::is_numeric) {
            let unit = words[at + 1..].iter().find(|next| starts_a_word(next));
            numbers.push(word.as_str());
            numbers.extend(unit.map(String::as_str));
        } else if !word.is_ascii() {
            signs.extend(NEGATING.iter().flat_map(|one| word.matches(one)));
        }
    }
    signs.sort_unstable();
    signs.append(&mut numbers);
    signs
}

/// Return the share of words that two texts have in common, each as often as it occurs.
///
/// 0 if the texts differ in a symbol, a negation or a number, have opposite words, or have their common words in
/// another order, however many words they share.
pub fn likeness(one: &[String], other: &[String]) -> f64 {
    let is_comparable = !one.is_empty() && !other.is_empty();
    if !is_comparable || decisive(one) != decisive(other) || says_otherwise(one, other) {
        return 0.0;
    }
    let (counts, others) = (counted(one), counted(other));
    #[allow(clippy::iter_over_hash_type, reason = "a sum has no order")]
    let common: usize = counts
        .iter()
        .map(|(word, count)| others.get(word).map_or(0, |other| *count.min(other)))
        .sum();
    share(common, one.len() + other.len() - common)
}

/// A part of a whole that is not 0.
#[allow(
    clippy::cast_precision_loss,
    reason = "texts have fewer than 2^53 words"
)]
pub(crate) fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_has_words_and_symbols() {
        for (text, expected) in [
            ("# Title\n\nText *here*.", &["text", "here"][..]),
            ("# Only a title", &["only", "a", "title"]),
            (
                "Keep it at \u{2212}18 degrees.",
                &["keep", "it", "at", "-", "18", "degrees"],
            ),
            (
                "C++ and C#, 3 - 18",
                &["c", "++", "and", "c", "#", "3", "-", "18"],
            ),
            (
                "a>=b -> c <- d != e",
                &["a", ">=", "b", "->", "c", "<-", "d", "!=", "e"],
            ),
            (
                "don\u{2019}t shouldn't n't",
                &["don't", "shouldn't", "n", "t"],
            ),
            ("| cut | the |\n|-----|:---|", &["cut", "the"]),
            (
                "see <https://example.org/a>",
                &["see", "https", "/", "/", "example", "org", "/", "a"],
            ),
            ("- **cut** <b>it</b>?", &["cut", "it", "?"]),
            ("क्या किताब ปีนี้", &["क्या", "किताब", "ปีนี้"]),
            ("5 \u{20ac} \u{2705}", &["5", "\u{20ac}", "\u{2705}"]),
            (
                "10² ~~cut~~ && a",
                &["10", "^", "2", "~~", "cut", "~~", "&&", "a"],
            ),
            ("~~~\ncut\n~~~", &["cut"]),
            (
                "+ a well-known *word*, and/or \u{2014} **x** y!",
                &["a", "well", "known", "word", "and", "/", "or", "x", "y"],
            ),
            ("1,500.25, 2. a", &["1", ",", "500", ".", "25", "2", "a"]),
            ("- [x] cut\n- [ ] sow", &["[x]", "cut", "sow"]),
            (
                "[0,\n1) x[i] (a, b)",
                &["[", "0", "1", "x", "[", "i", "]", "a", "b"],
            ),
            (
                "see [[a, b]] [a, b](c) [c, d][e] n[^1] [2]",
                &["see", "a", "b", "a", "b", "c", "c", "d", "e", "n", "1", "2"],
            ),
            ("\u{2705} ?", &[]),
            ("…", &[]),
        ] {
            assert_eq!(words_of(text), expected, "{text}");
        }
    }

    #[test]
    fn a_number_or_a_negation_makes_texts_say_something_else() {
        let frame = "and the gardener writes it down in the book of the shed for the others";
        for (one, other) in [
            ("a ratio of 1:2", "a ratio of 2:1"),
            ("a budget of 1,000", "a budget of 1.000"),
            ("at most 10 mg of it", "at most 10 g of it"),
            ("it is 20 °C there", "it is 20 °F there"),
            ("invoice 1234 is paid", "invoice 1235 is paid"),
            ("- [x] water the plants", "- [ ] water the plants"),
            ("القطط تدخل الحديقة", "القطط لا تدخل الحديقة"),
            ("बिल्लियाँ आती हैं", "बिल्लियाँ नहीं आती हैं"),
            ("猫可以进入花园", "猫不可以进入花园"),
            ("stoi na stole χωρίς", "stoi na stole"),
            ("only Ana may deploy", "Ana may deploy"),
            ("you cant deploy", "you can deploy"),
            ("a + b", "a - b"),
            ("a+b", "a-b"),
            ("grade B+", "grade B-"),
            ("grade A+", "grade A"),
            ("the flag -x", "the flag x"),
            ("rm -rf", "rm rf"),
            ("x*y", "x/y"),
            ("if !ready", "if ready"),
            ("a || b", "a | b"),
            ("a & b", "a b"),
            ("{a}", "[a]"),
            ("../x", "/x"),
            ("at - 18 deg", "at 18 deg"),
            ("~5 cups", "5 cups"),
            ("x in [0, 1]", "x in (0, 1)"),
            ("x in [0, 1)", "x in [0, 1]"),
            ("x in (0; 1]", "x in [0; 1]"),
            ("take [a, b]", "take (a, b)"),
            ("take x[0]", "take x(0)"),
            ("deploys are allowed", "deploys are disallowed"),
            ("Ana reports to Bob", "Bob reports to Ana"),
        ] {
            let words = |text: &str| words_of(&format!("{text} {frame}"));
            let found = likeness(&words(one), &words(other));
            assert!(found == 0.0, "{one}: {found}");
        }
    }

    fn words_of_a_few() -> impl Strategy<Value = Vec<String>> {
        prop::collection::vec("[a-e]|not|\\?".prop_map(String::from), 0..12)
    }

    proptest! {
        #[test]
        fn any_text_has_words(text: String) {
            let words = words_of(&text);
            prop_assert!(words.iter().all(|word| !word.is_empty()));
        }

        #[test]
        fn likeness_is_symmetric_and_1_for_the_same_words_in_order_alone(
            one in words_of_a_few(), other in words_of_a_few()
        ) {
            let found = likeness(&one, &other);
            prop_assert_eq!(found.to_bits(), likeness(&other, &one).to_bits());
            prop_assert!((0.0..=1.0).contains(&found));
            prop_assert_eq!(found >= 1.0, one == other && !one.is_empty());
        }
    }
}
