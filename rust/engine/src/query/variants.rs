//! Other spellings of the words of a query, of those that the index has (spec/compile.md, "Other spellings").

use unicode_script::{Script, UnicodeScript};

use super::expression::Phrase;
use super::han;
use super::options::MatchOptions;
use super::vocabulary::Vocabulary;
use crate::error::Result;
use crate::text::edits::{LETTERS_FOR_TWO_EDITS, edits};
use crate::text::tokenizer::TokenizerKind;
use crate::text::words;

/// Words with fewer letters have no other spellings.
const LEAST_LETTERS: usize = 4;
/// Longer words have none either, and so are looked up in bounded time.
const MOST_LETTERS: usize = 40;
/// Queries of more words have no other spellings, each of which takes a look at many words of the index.
const MOST_WORDS: usize = 100;

/// A query of more words has short ones that are no inflected nouns, such as *wer* and *dla*.
const FEW_WORDS: usize = 2;

/// Endings that English stemming takes off or shortens, of which a misspelled one hides the stem of its word.
const ENDINGS: [&str; 22] = [
    "ing", "ed", "ings", "ingly", "edly", "ness", "ment", "ments", "ation", "ations", "tion",
    "tions", "able", "ible", "ful", "fully", "less", "ities", "ies", "ied", "ance", "ence",
];
/// A word keeps this many letters before a misspelled ending.
const LEAST_BEFORE_ENDING: usize = 3;
/// The most spellings of a word by its ending, or by its vowel marks.
const MOST_SPELLINGS: usize = 3;
/// The most phrases that are looked up for the vowel marks or the Han characters of a word, so that it takes bounded time.
const MOST_LOOKUPS: usize = 128;

/// Endings of inflected words in languages without stems in the index, of which the texts may have the word alone.
const INFLECTIONS: [&str; 9] = ["en", "ern", "er", "es", "em", "lar", "ler", "e", "n"];
/// A word keeps this many letters before such an ending.
const LEAST_BEFORE_INFLECTION: usize = 6;
/// The fewest such letters in an index with stems of Latin words. With fewer letters English words would lose parts of their stems.
const LEAST_IN_INFLECTED_TEXTS: usize = 4;
/// A word that is searched as the beginning of longer words has this many letters.
const LEAST_BEFORE_LONGER_ENDING: usize = 3;
/// Last letters that other endings replace: *domy* and *domach*, *kissa* and *kissoja*.
const VOWELS: [char; 8] = ['a', 'e', 'i', 'o', 'u', 'y', 'ä', 'ö'];

/// Words with fewer letters have no spellings by [`LETTERS`].
const LEAST_FOR_LETTERS: usize = 3;
/// Letters that are written one for the other: ligatures, the dots and nasals of Devanagari.
const LETTERS: [(&str, &str); 13] = [
    ("ß", "ss"),
    ("œ", "oe"),
    ("æ", "ae"),
    ("क\u{93C}", "क"),
    ("ख\u{93C}", "ख"),
    ("ग\u{93C}", "ग"),
    ("ज\u{93C}", "ज"),
    ("ड\u{93C}", "ड"),
    ("ढ\u{93C}", "ढ"),
    ("फ\u{93C}", "फ"),
    ("ँ", "ं"),
    ("न्", "ं"),
    ("म्", "ं"),
];
/// Letters without an accent that folding takes off, and how keyboards without them write them.
const BARE: [(&str, &str); 4] = [("ø", "o"), ("ł", "l"), ("đ", "d"), ("ı", "i")];
/// Umlauts, and how German is written without them.
const UMLAUTS: [(&str, &str); 3] = [("ä", "ae"), ("ö", "oe"), ("ü", "ue")];

/// Words with fewer letters are no misspellings of much longer words with a similar stem.
const LEAST_WITH_LONG_ENDING: usize = 6;
/// The most letters that such a word lacks.
const LONGEST_ENDING: usize = 2;

/// The most letters of a Japanese word that is also searched without its ending in Hiragana.
const MOST_WITH_HIRAGANA: usize = 5;

/// Prefixes of Hebrew words: articles, conjunctions and prepositions.
const HEBREW_PREFIXES: [&str; 13] = [
    "ה", "ו", "ב", "ל", "מ", "ש", "כ", "וה", "וב", "ול", "מה", "שה", "כש",
];
/// A Hebrew word keeps this many letters without a prefix.
const LEAST_OF_HEBREW: usize = 3;

/// Longer words are no abbreviations.
const LONGEST_ABBREVIATION: usize = 5;
/// Prefixes of words that are written with a hyphen or without it: *multi-line*.
const PREFIXES: [&str; 24] = [
    "anti", "auto", "co", "counter", "cross", "ex", "extra", "hyper", "inter", "intra", "macro",
    "meta", "micro", "mid", "mini", "multi", "non", "post", "pre", "pseudo", "semi", "sub",
    "super", "ultra",
];

/// The digits from 0 to 9 as different scripts have them.
const DIGITS: [&str; 6] = [
    "0123456789",
    "٠١٢٣٤٥٦٧٨٩",
    "۰۱۲۳۴۵۶۷۸۹",
    "०१२३४५६७८९",
    "০১২৩৪৫৬৭৮৯",
    "๐๑๒๓๔๕๖๗๘๙",
];
/// Longer numbers have no signs between their thousands.
const MOST_DIGITS: usize = 15;
/// Lowered and raised digits. In words with letters they mean the same as others.
const SMALL_DIGITS: [&str; 2] = ["₀₁₂₃₄₅₆₇₈₉", "⁰¹²³⁴⁵⁶⁷⁸⁹"];

/// Letters after an apostrophe: *Ann's how-to* has the words *s how*.
const CONTRACTED: [&str; 4] = ["d", "m", "s", "t"];

/// The phrases that a word is also searched by; `source` is the word as it was typed. A word that no text has: as two
/// words, with another ending, or else as its nearest words. Any word: with a hyphen after its first letter or a
/// prefix, with other letters or digits, and an abbreviation with dots.
pub(super) fn of_word(word: &str, source: &str, options: &MatchOptions<'_>) -> Result<Vec<Phrase>> {
    let Some(vocabulary) = vocabulary(options) else {
        return Ok(Vec::new());
    };
    let letters = word.chars().count();
    if is_cut_at_marks(word, options.tokenizer) && letters <= MOST_LETTERS {
        let mut search = MarkSearch {
            vocabulary,
            word,
            found: Vec::new(),
            lookups: MOST_LOOKUPS,
        };
        if !vocabulary.knows(&Phrase::of_text(word))? {
            search.cut("", word)?;
        }
        return Ok(search.found);
    }
    let is_letter = |c: char| c.is_alphabetic() || words::is_mark(c);
    if letters > MOST_LETTERS {
        return Ok(Vec::new());
    }
    if !word.chars().all(is_letter) {
        return of_digits(vocabulary, word);
    }
    if words::has_run(word) {
        return of_run(vocabulary, word);
    }
    let is_known = vocabulary.knows(&Phrase::of_text(word))?;
    let mut found = of_any_word(vocabulary, word, source, is_known, options)?;
    if letters >= LEAST_LETTERS && is_known {
        found.append(&mut hyphened(vocabulary, word, options)?);
    }
    if is_known || !found.is_empty() {
        return Ok(found);
    }
    if letters < LEAST_LETTERS {
        let is_whole = letters >= LEAST_BEFORE_LONGER_ENDING && source.chars().count() == letters;
        let is_inflected = options.latin_stems && options.is_short && is_whole;
        let longer = is_inflected.then(|| beginning(word, word));
        return only_known(vocabulary, longer.into_iter());
    }
    of_unknown(vocabulary, word, options)
}

/// Return an abbreviation with its dots, a word with other letters for some of it, and a Hebrew word with other prefixes.
fn of_any_word(
    vocabulary: &dyn Vocabulary,
    word: &str,
    source: &str,
    is_known: bool,
    options: &MatchOptions<'_>,
) -> Result<Vec<Phrase>> {
    let letters = word.chars().count();
    let capitals = source.chars().filter(|c| c.is_uppercase()).count();
    let mut found = Vec::new();
    if letters <= LONGEST_ABBREVIATION && (capitals > 1 || !is_known) {
        found = of_abbreviation(vocabulary, word, options)?;
    }
    if letters >= LEAST_FOR_LETTERS {
        found.append(&mut of_letters(vocabulary, word, is_known)?);
    }
    found.append(&mut of_hebrew(vocabulary, word)?);
    Ok(found)
}

/// The two parts of a word, cut after each of its letters but the last.
fn cuts(word: &str) -> impl Iterator<Item = (&str, &str)> {
    word.char_indices().skip(1).map(|(at, _)| word.split_at(at))
}

/// Return a word with a hyphen after its first letter, or after one of [`PREFIXES`].
fn hyphened(
    vocabulary: &dyn Vocabulary,
    word: &str,
    options: &MatchOptions<'_>,
) -> Result<Vec<Phrase>> {
    let is_noise = |part: &str| CONTRACTED.contains(&part) || options.stopwords.contains(part);
    let is_long = |rest: &str| rest.chars().nth(LEAST_FOR_LETTERS - 1).is_some();
    let first = cuts(word).take(1);
    let prefixed = cuts(word).filter(|(prefix, rest)| PREFIXES.contains(prefix) && is_long(rest));
    let parts = first.chain(prefixed);
    two_words(
        vocabulary,
        word,
        parts.filter(|(start, rest)| !is_noise(start) && !is_noise(rest)),
    )
}

/// Return a word that no text has as two words, without its ending, with another ending, or else as its nearest words.
fn of_unknown(
    vocabulary: &dyn Vocabulary,
    word: &str,
    options: &MatchOptions<'_>,
) -> Result<Vec<Phrase>> {
    let is_long = |part: &str| part.chars().nth(1).is_some() && !options.stopwords.contains(part);
    let parts = cuts(word).filter(|(left, right)| {
        let is_letter = left.chars().nth(1).is_none() && !options.stopwords.contains(left);
        (is_letter || is_long(left)) && is_long(right)
    });
    let parts = two_words(vocabulary, word, parts)?;
    if !parts.is_empty() {
        return Ok(parts);
    }
    if let Some(inflected) = of_inflection(vocabulary, word, options.latin_stems)? {
        return Ok(vec![inflected]);
    }
    let by_ending = of_ending(vocabulary, word, options.tokenizer)?;
    if !by_ending.is_empty() {
        return Ok(by_ending);
    }
    let nearest = vocabulary.nearest(word)?;
    let nearest = nearest
        .into_iter()
        .filter(|near| !options.stopwords.contains(near) && may_be_meant(word, near));
    Ok(nearest.map(|near| Phrase::variant(near, word)).collect())
}

/// Return a word without one of [`INFLECTIONS`], or, in an index with stems of Latin words, the words that begin with
/// it, or with it but its last vowel, if a text has them.
fn of_inflection(
    vocabulary: &dyn Vocabulary,
    word: &str,
    latin_stems: bool,
) -> Result<Option<Phrase>> {
    let least = if latin_stems {
        LEAST_IN_INFLECTED_TEXTS
    } else {
        LEAST_BEFORE_INFLECTION
    };
    for stem in INFLECTIONS.map(|ending| word.strip_suffix(ending)) {
        let Some(stem) = stem.filter(|stem| stem.chars().nth(least - 1).is_some()) else {
            continue;
        };
        let phrase = Phrase::variant(stem.to_owned(), word);
        if vocabulary.has(&phrase)? {
            return Ok(Some(phrase));
        }
    }
    if !latin_stems {
        return Ok(None);
    }
    let without_vowel = word.strip_suffix(VOWELS);
    let is_long = |start: &&str| start.chars().nth(LEAST_BEFORE_LONGER_ENDING - 1).is_some();
    let starts = [Some(word), without_vowel.filter(is_long)];
    let longer = starts.into_iter().flatten();
    let mut known = only_known(vocabulary, longer.map(|start| beginning(start, word)))?;
    known.truncate(1);
    Ok(known.pop())
}

/// The words that begin with a text, as another spelling of a word.
fn beginning(start: &str, word: &str) -> Phrase {
    Phrase {
        prefix: true,
        ..Phrase::variant(start.to_owned(), word)
    }
}

/// Other spellings of a word in a script without spaces: with other forms of its Han characters, with or without the
/// mark of repetition of Thai and Lao, and a Japanese word that no text has without its ending.
fn of_run(vocabulary: &dyn Vocabulary, word: &str) -> Result<Vec<Phrase>> {
    let mut found = of_han(vocabulary, word)?;
    let mark = match word.chars().next().map(|c| c.script()) {
        Some(Script::Thai) => Some('\u{E46}'),
        Some(Script::Lao) => Some('\u{EC6}'),
        _ => None,
    };
    if let Some(mark) = mark {
        let other = match word.strip_suffix(mark) {
            Some(once) => once.to_owned(),
            None => format!("{word}{mark}"),
        };
        let phrase = Phrase::variant(other, word);
        if !phrase.text.is_empty() && vocabulary.has(&phrase)? {
            found.push(phrase);
        }
    }
    let mut letters = word.chars();
    let head: String = letters.next().into_iter().collect();
    let ending = letters.clone().count();
    let is_inflected = head.chars().all(|c| c.script() == Script::Han)
        && (1..MOST_WITH_HIRAGANA).contains(&ending)
        && letters.all(|c| c.script() == Script::Hiragana);
    if is_inflected && !vocabulary.knows(&Phrase::of_text(word))? {
        // A single character is searched as a prefix.
        let phrase = beginning(&head, word);
        if vocabulary.has(&phrase)? {
            found.push(phrase);
        }
    }
    Ok(found)
}

/// Return a run with other forms of its Han characters, pair by pair the first that a text has: *猫叫什么* as
/// *貓叫什麼*. A single character is searched as a prefix.
fn of_han(vocabulary: &dyn Vocabulary, word: &str) -> Result<Vec<Phrase>> {
    let letters: Vec<char> = word.chars().collect();
    if let [letter] = letters.as_slice() {
        let others = han::forms(*letter).skip(1);
        let others = others.map(|other| beginning(&other.to_string(), word));
        return only_known(vocabulary, others);
    }
    let mut written = letters.clone();
    let mut lookups = MOST_LOOKUPS;
    for at in 1..letters.len() {
        let (before, after) = (written[at - 1], letters[at]);
        // A form that the pair before this one has stays.
        let is_chosen = before != letters[at - 1];
        let firsts = han::forms(before).take(if is_chosen { 1 } else { usize::MAX });
        let pairs = firsts.flat_map(|first| han::forms(after).map(move |second| [first, second]));
        for pair in pairs.filter(|pair| *pair != [letters[at - 1], after]) {
            if lookups == 0 {
                break;
            }
            lookups -= 1;
            if vocabulary.has(&Phrase::of_text(&String::from_iter(pair)))? {
                written[at - 1..=at].copy_from_slice(&pair);
                break;
            }
        }
    }
    let is_other = written != letters;
    let spelling = is_other.then(|| Phrase::variant(written.into_iter().collect(), word));
    Ok(spelling.into_iter().collect())
}

/// The phrases that a text has.
fn only_known(
    vocabulary: &dyn Vocabulary,
    phrases: impl Iterator<Item = Phrase>,
) -> Result<Vec<Phrase>> {
    let mut known = Vec::new();
    for phrase in phrases {
        if vocabulary.has(&phrase)? {
            known.push(phrase);
        }
    }
    Ok(known)
}

/// The phrase of a word with hyphens, of letters with dots or apostrophes, or of a number with signs between its
/// thousands, as one word, if the index has it: *email* for *e-mail*, *usa* for *U.S.A.*, *1000* for *1,000*.
pub(super) fn of_hyphened(source: &str, options: &MatchOptions<'_>) -> Result<Option<Phrase>> {
    let Some(vocabulary) = vocabulary(options) else {
        return Ok(None);
    };
    let is_hyphen = |c: char| matches!(c, '-' | '\u{2010}' | '\u{2011}');
    let word = source.trim_matches(|c: char| !c.is_alphanumeric());
    let has_hyphens = word.contains(is_hyphen);
    let is_between = |c: char| {
        if has_hyphens {
            is_hyphen(c)
        } else {
            matches!(c, '.' | '\'' | '’')
        }
    };
    if let Some(number) = without_signs(word) {
        let phrase = Phrase::variant(number, word);
        return Ok(vocabulary.has(&phrase)?.then_some(phrase));
    }
    let parts = word.split(is_between);
    let is_part = |c: char| c.is_alphabetic() || (has_hyphens && c.is_numeric());
    let is_whole = |part: &str| !part.is_empty() && part.chars().all(is_part);
    let has_letters = word.chars().any(char::is_alphabetic);
    if !has_letters || !parts.clone().all(is_whole) || parts.clone().nth(1).is_none() {
        return Ok(None);
    }
    let joined: String = parts.collect();
    let phrase = Phrase::variant(crate::text::lower::lower(joined), word);
    let letters = phrase.text.chars().count();
    let least = if has_hyphens { LEAST_LETTERS } else { 2 };
    let is_compared = (least..=MOST_LETTERS).contains(&letters);
    Ok((is_compared && vocabulary.has(&phrase)?).then_some(phrase))
}

/// Return a Hebrew word without its prefix, and with each of [`HEBREW_PREFIXES`]. Only words of a text.
fn of_hebrew(vocabulary: &dyn Vocabulary, word: &str) -> Result<Vec<Phrase>> {
    let is_long = |word: &&str| word.chars().nth(LEAST_OF_HEBREW - 1).is_some();
    if !is_long(&word) || !word.chars().all(|c| c.script() == Script::Hebrew) {
        return Ok(Vec::new());
    }
    let rests = HEBREW_PREFIXES
        .iter()
        .filter_map(|prefix| word.strip_prefix(prefix));
    let stems = [word].into_iter().chain(rests.filter(is_long));
    let forms = stems.flat_map(|stem| {
        let prefixed = HEBREW_PREFIXES.map(|prefix| format!("{prefix}{stem}"));
        [stem.to_owned()].into_iter().chain(prefixed)
    });
    of_texts(vocabulary, word, forms)
}

/// Return an abbreviation as dots cut it: into its letters, or before its last letter (*u s a*, *ph d*). Only
/// phrases of a text.
fn of_abbreviation(
    vocabulary: &dyn Vocabulary,
    word: &str,
    options: &MatchOptions<'_>,
) -> Result<Vec<Phrase>> {
    if !word.chars().all(char::is_lowercase) {
        return Ok(Vec::new());
    }
    let letters: Vec<String> = word.chars().map(String::from).collect();
    let mut spellings = vec![letters.join(" ")];
    if let Some((last, before)) = letters.split_last() {
        let before = before.concat();
        if before.chars().nth(1).is_some() && !options.stopwords.contains(&before) {
            spellings.push(format!("{before} {last}"));
        }
    }
    of_texts(vocabulary, word, spellings)
}

/// A number with signs between its thousands without them; None for other words.
fn without_signs(word: &str) -> Option<String> {
    let is_sign = |c: char| matches!(c, ',' | '.' | '\'' | '’');
    let groups: Vec<&str> = word.split(is_sign).collect();
    let number = groups.concat();
    (groups.len() > 1 && in_thousands(&number)? == groups).then_some(number)
}

/// The thousands of a number of four digits or more: 1, 000; None for other words.
fn in_thousands(word: &str) -> Option<Vec<&str>> {
    let is_number = (4..=MOST_DIGITS).contains(&word.len());
    if !is_number || !word.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (first, rest) = word.split_at((word.len() - 1) % 3 + 1);
    let groups = (0..rest.len()).step_by(3).map(|at| &rest[at..at + 3]);
    Some([first].into_iter().chain(groups).collect())
}

/// Return a word with digits with those of other scripts, one that has letters too with lowered and raised ones
/// (*CO2* as *co₂*), and a number with signs between its thousands (*1000* as *1,000*). Only spellings that a text has.
fn of_digits(vocabulary: &dyn Vocabulary, word: &str) -> Result<Vec<Phrase>> {
    let has_letters = word.chars().any(char::is_alphabetic);
    let small = SMALL_DIGITS.iter().filter(|_| has_letters);
    let written = DIGITS.iter().chain(small);
    let written = written.map(|digits| word.chars().map(|c| in_digits(c, digits)).collect());
    let grouped = in_thousands(word).map(|groups| groups.join(" "));
    of_texts(vocabulary, word, written.chain(grouped))
}

/// A digit as one of others; any other character as it is.
fn in_digits(c: char, digits: &str) -> char {
    let all = DIGITS.iter().chain(&SMALL_DIGITS);
    let value = all
        .into_iter()
        .find_map(|digits| digits.chars().position(|digit| digit == c));
    value
        .and_then(|value| digits.chars().nth(value))
        .unwrap_or(c)
}

/// Return the word with [`LETTERS`] written one for the other and without those of [`BARE`]; and a word that no text
/// has also with [`BARE`] and [`UMLAUTS`] written one for the other. Only spellings that a text has.
fn of_letters(vocabulary: &dyn Vocabulary, word: &str, is_known: bool) -> Result<Vec<Phrase>> {
    let lower = crate::text::lower::lower(word.to_owned());
    let swapped = |text: &str, (one, other): (&str, &str)| {
        if text.contains(one) {
            text.replace(one, other)
        } else {
            text.replace(other, one)
        }
    };
    let umlauts = |text: &str| {
        UMLAUTS
            .into_iter()
            .fold(text.to_owned(), |text, pair| swapped(&text, pair))
    };
    let plain = LETTERS
        .into_iter()
        .chain(BARE)
        .fold(lower.clone(), |text, (one, other)| text.replace(one, other));
    let mut spellings = vec![plain];
    spellings.extend(LETTERS.map(|pair| swapped(&lower, pair)));
    if !is_known {
        spellings.extend(BARE.map(|pair| swapped(&lower, pair)));
        spellings.extend([umlauts(&lower), umlauts(&swapped(&lower, LETTERS[0]))]);
    }
    spellings.retain(|spelling| *spelling != lower);
    of_texts(vocabulary, word, spellings)
}

/// Return the word with each of [`ENDINGS`] that is one edit from its own ending, if a text has the stem. Terms are
/// stored as stems, and a word with a misspelled ending has many edits to its stem.
fn of_ending(
    vocabulary: &dyn Vocabulary,
    word: &str,
    tokenizer: TokenizerKind,
) -> Result<Vec<Phrase>> {
    let mut found: Vec<Phrase> = Vec::new();
    if tokenizer == TokenizerKind::Unicode61 || !word.is_ascii() {
        return Ok(found);
    }
    for ending in ENDINGS {
        let letters: Vec<char> = ending.chars().collect();
        for length in (letters.len() - 1).max(2)..=letters.len() + 1 {
            let Some(before) = word.len().checked_sub(length) else {
                continue;
            };
            let (start, end) = word.split_at(before);
            let end: Vec<char> = end.chars().collect();
            if before < LEAST_BEFORE_ENDING || edits(&end, &letters, 1) != Some(1) {
                continue;
            }
            let phrase = Phrase::variant(format!("{start}{ending}"), word);
            if found.len() < MOST_SPELLINGS
                && !found.contains(&phrase)
                && vocabulary.has(&phrase)?
            {
                // The texts may have the stem with another ending.
                let text = vocabulary.word_of(&phrase)?.unwrap_or(phrase.text);
                found.push(Phrase::variant(text, word));
            }
        }
    }
    found.dedup();
    Ok(found)
}

/// Whether a word may be a misspelling of another one whose stem is near: *cafe* is neither *careful*, nor is *café*
/// *care*, since a letter with an accent was typed on purpose.
fn may_be_meant(word: &str, near: &str) -> bool {
    let letters = |word: &str| crate::text::lower::lower(word.to_owned()).chars().collect();
    let (word, near): (Vec<char>, Vec<char>) = (letters(word), letters(near));
    if word.len() < LEAST_WITH_LONG_ENDING && near.len() > word.len() + LONGEST_ENDING {
        return false;
    }
    let most = if word.len() < LETTERS_FOR_TWO_EDITS {
        1
    } else {
        2
    };
    let is_near = |end: usize| edits(&word, &near[..end.min(near.len())], most).is_some();
    word.iter().all(char::is_ascii) || (word.len()..=word.len() + LONGEST_ENDING).any(is_near)
}

/// Whether the tokenizer cuts words of this one's script at their vowel marks.
fn is_cut_at_marks(word: &str, tokenizer: TokenizerKind) -> bool {
    let is_pointed = |c: char| matches!(c.script(), Script::Arabic | Script::Hebrew);
    matches!(tokenizer, TokenizerKind::Porter | TokenizerKind::Unicode61)
        && word.chars().nth(1).is_some()
        && word.chars().all(|c| c.is_alphabetic() && is_pointed(c))
}

/// Looks for a word as the parts between vowel marks, in which the tokenizer stored it.
struct MarkSearch<'a> {
    vocabulary: &'a dyn Vocabulary,
    word: &'a str,
    found: Vec<Phrase>,
    lookups: usize,
}

impl MarkSearch<'_> {
    /// Cut `rest` at each letter, after the parts `before`, as far as the texts have such a phrase.
    fn cut(&mut self, before: &str, rest: &str) -> Result<()> {
        for (at, c) in rest.char_indices() {
            let (part, behind) = rest.split_at(at + c.len_utf8());
            let is_whole = before.is_empty() && behind.is_empty();
            if is_whole || self.lookups == 0 || self.found.len() == MOST_SPELLINGS {
                return Ok(());
            }
            self.lookups -= 1;
            let phrase = format!("{before} {part}");
            let phrase = Phrase::variant(phrase.trim_start().to_owned(), self.word);
            if !self.vocabulary.has(&phrase)? {
                continue;
            }
            if behind.is_empty() {
                self.found.push(phrase);
            } else {
                self.cut(&phrase.text, behind)?;
            }
        }
        Ok(())
    }
}

fn two_words<'w>(
    vocabulary: &dyn Vocabulary,
    word: &str,
    cuts: impl Iterator<Item = (&'w str, &'w str)>,
) -> Result<Vec<Phrase>> {
    of_texts(
        vocabulary,
        word,
        cuts.map(|(left, right)| format!("{left} {right}")),
    )
}

/// The spellings of a word that a text has, each once, without the word itself.
fn of_texts(
    vocabulary: &dyn Vocabulary,
    word: &str,
    spellings: impl IntoIterator<Item = String>,
) -> Result<Vec<Phrase>> {
    let mut found: Vec<Phrase> = Vec::new();
    for spelling in spellings {
        let phrase = Phrase::variant(spelling, word);
        if phrase.text != word && !found.contains(&phrase) && vocabulary.has(&phrase)? {
            found.push(phrase);
        }
    }
    Ok(found)
}

/// Return the options for a query of this number of words.
pub(super) fn limited<'a>(options: &MatchOptions<'a>, words: usize) -> MatchOptions<'a> {
    MatchOptions {
        vocabulary: options.vocabulary.filter(|_| words <= MOST_WORDS),
        is_short: words <= FEW_WORDS,
        ..*options
    }
}

/// The vocabulary, if its words can be compared with those of a query.
fn vocabulary<'a>(options: &MatchOptions<'a>) -> Option<&'a dyn Vocabulary> {
    let has_words = options.tokenizer != TokenizerKind::Trigram;
    options.vocabulary.filter(|_| has_words)
}
