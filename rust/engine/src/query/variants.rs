//! Other spellings of the words of a query, of those that the index has (spec/compile.md, "Other spellings").

use unicode_script::{Script, UnicodeScript};

use super::expression::Phrase;
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

/// Endings that English stemming takes off or shortens, of which a misspelled one hides the stem of its word.
const ENDINGS: [&str; 22] = [
    "ing", "ed", "ings", "ingly", "edly", "ness", "ment", "ments", "ation", "ations", "tion",
    "tions", "able", "ible", "ful", "fully", "less", "ities", "ies", "ied", "ance", "ence",
];
/// A word keeps this many letters before a misspelled ending.
const LEAST_BEFORE_ENDING: usize = 3;
/// The most spellings of a word by its ending, or by its vowel marks.
const MOST_SPELLINGS: usize = 3;
/// The most phrases that are looked up for the vowel marks of a word, so that it takes bounded time.
const MOST_LOOKUPS: usize = 128;

/// Endings of inflected words in languages without stems in the index, of which the texts may have the word alone.
const INFLECTIONS: [&str; 9] = ["en", "ern", "er", "es", "em", "lar", "ler", "e", "n"];
/// A word keeps this many letters before such an ending.
const LEAST_BEFORE_INFLECTION: usize = 6;
/// The same in an index with stems of Latin words. With fewer letters English words would lose parts of their stems.
const LEAST_IN_INFLECTED_TEXTS: usize = 4;

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

/// Letters after an apostrophe: *Ann's how-to* has the words *s how*.
const CONTRACTED: [&str; 4] = ["d", "m", "s", "t"];

/// The phrases that a word is also searched by. A word that no text has: as two words, with another ending, or else as
/// its nearest words. Any word: with a hyphen after its first letter, and with other letters for some of its own.
pub(super) fn of_word(word: &str, options: &MatchOptions<'_>) -> Result<Vec<Phrase>> {
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
    if letters > MOST_LETTERS || !word.chars().all(is_letter) {
        return Ok(Vec::new());
    }
    if words::has_run(word) {
        return of_run(vocabulary, word);
    }
    if letters < LEAST_FOR_LETTERS {
        return Ok(Vec::new());
    }
    let is_known = vocabulary.knows(&Phrase::of_text(word))?;
    let mut found = of_letters(vocabulary, word, is_known)?;
    if letters < LEAST_LETTERS {
        return Ok(found);
    }
    let cuts = || word.char_indices().skip(1).map(|(at, _)| word.split_at(at));
    if is_known {
        let is_noise = |part: &str| CONTRACTED.contains(&part) || options.stopwords.contains(part);
        let cut = cuts().next();
        let hyphened = cut.filter(|(letter, rest)| !is_noise(letter) && !is_noise(rest));
        found.append(&mut two_words(vocabulary, word, hyphened.into_iter())?);
    }
    if is_known || !found.is_empty() {
        return Ok(found);
    }
    let is_long = |part: &str| part.chars().nth(1).is_some() && !options.stopwords.contains(part);
    let cuts = cuts().filter(|(left, right)| {
        let is_letter = left.chars().nth(1).is_none() && !options.stopwords.contains(left);
        (is_letter || is_long(left)) && is_long(right)
    });
    let parts = two_words(vocabulary, word, cuts)?;
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
/// it, if a text has them.
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
    let longer = Phrase {
        prefix: true,
        ..Phrase::variant(word.to_owned(), word)
    };
    Ok((latin_stems && vocabulary.has(&longer)?).then_some(longer))
}

/// Other spellings of a word in a script without spaces: with or without the mark of repetition of Thai and Lao, and
/// a Japanese word that no text has without its ending.
fn of_run(vocabulary: &dyn Vocabulary, word: &str) -> Result<Vec<Phrase>> {
    let mut found = Vec::new();
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
        let phrase = Phrase {
            prefix: true,
            ..Phrase::variant(head, word)
        };
        if vocabulary.has(&phrase)? {
            found.push(phrase);
        }
    }
    Ok(found)
}

/// The phrase of a word with hyphens as one word, if the index has it: *email* for *e-mail*.
pub(super) fn of_hyphened(source: &str, options: &MatchOptions<'_>) -> Result<Option<Phrase>> {
    let Some(vocabulary) = vocabulary(options) else {
        return Ok(None);
    };
    let is_hyphen = |c: char| matches!(c, '-' | '\u{2010}' | '\u{2011}');
    let word = source.trim_matches(|c: char| !c.is_alphanumeric());
    let parts = word.split(is_hyphen);
    let is_whole = |part: &str| !part.is_empty() && part.chars().all(char::is_alphanumeric);
    let has_letters = word.chars().any(char::is_alphabetic);
    if !has_letters || !parts.clone().all(is_whole) || parts.clone().nth(1).is_none() {
        return Ok(None);
    }
    let joined: String = parts.collect();
    let phrase = Phrase::variant(crate::text::lower::lower(joined), word);
    let letters = phrase.text.chars().count();
    let is_compared = (LEAST_LETTERS..=MOST_LETTERS).contains(&letters);
    Ok((is_compared && vocabulary.has(&phrase)?).then_some(phrase))
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
    let mut found: Vec<Phrase> = Vec::new();
    for spelling in spellings {
        let phrase = Phrase::variant(spelling, word);
        if phrase.text != lower && !found.contains(&phrase) && vocabulary.has(&phrase)? {
            found.push(phrase);
        }
    }
    Ok(found)
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
    let mut found = Vec::new();
    for (left, right) in cuts {
        let phrase = Phrase::variant(format!("{left} {right}"), word);
        if vocabulary.has(&phrase)? {
            found.push(phrase);
        }
    }
    Ok(found)
}

/// Return the options for a query of this number of words.
pub(super) fn limited<'a>(options: &MatchOptions<'a>, words: usize) -> MatchOptions<'a> {
    MatchOptions {
        vocabulary: options.vocabulary.filter(|_| words <= MOST_WORDS),
        ..*options
    }
}

/// The vocabulary, if its words can be compared with those of a query.
fn vocabulary<'a>(options: &MatchOptions<'a>) -> Option<&'a dyn Vocabulary> {
    let has_words = options.tokenizer != TokenizerKind::Trigram;
    options.vocabulary.filter(|_| has_words)
}
