//! Other spellings of the words of a query, of those that the index has (spec/compile.md, "Other spellings").

use unicode_script::{Script, UnicodeScript};

use super::expression::Phrase;
use super::options::MatchOptions;
use super::vocabulary::Vocabulary;
use crate::error::Result;
use crate::rule;
use crate::text::edits::{LETTERS_FOR_TWO_EDITS, edits};
use crate::text::lower::lower;
use crate::text::tokenizer::TokenizerKind;
use crate::text::words;

/// Words with fewer letters have no other spellings.
const LEAST_LETTERS: usize = 4;
/// Longer words have none either, and so are looked up in bounded time.
const MOST_LETTERS: usize = 40;
/// Queries of more words have no other spellings, each of which takes a look at many words of the index.
const MOST_WORDS: usize = 100;

rule! {
    /// A word that no text has is also searched as the words of the texts with the fewest edits to it.
    pub(crate) static EDITS = "edits" { LEAST_WITH_LONG_ENDING, LONGEST_ENDING }
}
/// Words with fewer letters are no misspellings of much longer words with a similar stem.
const LEAST_WITH_LONG_ENDING: usize = 6;
/// The most letters that such a word lacks.
const LONGEST_ENDING: usize = 2;

rule! {
    /// A word is also searched as two words in a row, unless texts have the whole word many times as often.
    pub(crate) static SPLITS = "splits" { LEAST_OF_SECOND, MOST_TIMES }
}
/// The fewest letters of the second word.
const LEAST_OF_SECOND: usize = 3;
/// The most times as many texts that may have the whole word. From 5 to 20 the results of judged questions are the same; without a limit
/// they are worse.
const MOST_TIMES: usize = 10;
/// The texts with the two words are counted no further.
const MOST_COUNTED: usize = 1_000;

rule! {
    /// A word with hyphens, dots or apostrophes in it is also searched as one word.
    pub(crate) static JOINS = "joins" { LEAST_LETTERS, MOST_LETTERS }
}

rule! {
    /// A word that no text has is also searched as the beginning of longer words, in an index of texts with inflected words.
    pub(crate) static BEGINNINGS = "beginnings" { LEAST_OF_BEGINNING, FEW_WORDS }
}
/// The fewest letters of a word that is searched as the beginning of others.
const LEAST_OF_BEGINNING: usize = 3;
/// A query of more words has short ones that are no inflected nouns, such as *wer* and *dla*.
const FEW_WORDS: usize = 2;

rule! {
    /// A word in Arabic or Hebrew letters is also searched as the parts that a tokenizer of SQLite makes of it at vowel marks.
    pub(crate) static VOWEL_MARKS = "vowel marks" { MOST_CUT, MOST_LOOKUPS }
}
/// The most such spellings of a word.
const MOST_CUT: usize = 3;
/// The most phrases that are looked up for the vowel marks of a word, so that it takes bounded time.
const MOST_LOOKUPS: usize = 128;

/// The phrases that a word is also searched by: any word as two words, and one that no text has also as the beginning of
/// longer words, or as its nearest words.
pub(super) fn of_word(word: &str, options: &MatchOptions<'_>) -> Result<Vec<Phrase>> {
    let Some(vocabulary) = vocabulary(options) else {
        return Ok(Vec::new());
    };
    if is_cut_at_marks(word, options.tokenizer) {
        return of_marks(vocabulary, word);
    }
    let letters = word.chars().count();
    let is_compared = (LEAST_OF_BEGINNING..=MOST_LETTERS).contains(&letters)
        && word.chars().all(|c| c.is_alphabetic() || words::is_mark(c))
        && !words::has_run(word);
    if !is_compared {
        return Ok(Vec::new());
    }
    let is_known = vocabulary.count(&Phrase::of_text(word), 1)? > 0;
    let mut found = Vec::new();
    if letters >= LEAST_LETTERS {
        found = as_two_words(vocabulary, word, options)?;
    }
    if is_known || !found.is_empty() {
        return Ok(found);
    }
    if letters >= LEAST_LETTERS || options.is_short {
        found.extend(as_beginning(vocabulary, word, options)?);
    }
    if !found.is_empty() || letters < LEAST_LETTERS || !EDITS.is_on() {
        return Ok(found);
    }
    let nearest = vocabulary.nearest(word)?;
    let meant = nearest
        .into_iter()
        .filter(|near| !options.stopwords.contains(near) && may_be_meant(word, near));
    Ok(meant.map(|near| Phrase::variant(near, word)).collect())
}

/// Return a word as each two words in a row that a text has. Neither is a stop word.
fn as_two_words(
    vocabulary: &dyn Vocabulary,
    word: &str,
    options: &MatchOptions<'_>,
) -> Result<Vec<Phrase>> {
    if !SPLITS.is_on() {
        return Ok(Vec::new());
    }
    let is_word = |part: &str| !options.stopwords.contains(part);
    let cuts = word.char_indices().skip(1).map(|(at, _)| word.split_at(at));
    let parts = cuts.filter(|(left, right)| {
        right.chars().count() >= LEAST_OF_SECOND && is_word(left) && is_word(right)
    });
    let phrases = parts.map(|(left, right)| Phrase::variant(format!("{left} {right}"), word));
    let mut found = Vec::new();
    for phrase in vocabulary.held(phrases.collect())? {
        // The few texts with a rare spelling, such as a word cut at the end of a line, would count more than all others.
        let most = MOST_TIMES * vocabulary.count(&phrase, MOST_COUNTED)?;
        if vocabulary.count(&Phrase::of_text(word), most + 1)? <= most {
            found.push(phrase);
        }
    }
    Ok(found)
}

/// Return a word as the beginning of longer words, if a text has any.
fn as_beginning(
    vocabulary: &dyn Vocabulary,
    word: &str,
    options: &MatchOptions<'_>,
) -> Result<Option<Phrase>> {
    let is_inflected = options.latin_stems || !word.is_ascii();
    if !is_inflected || !BEGINNINGS.is_on() {
        return Ok(None);
    }
    let phrase = Phrase {
        prefix: true,
        ..Phrase::variant(word.to_owned(), word)
    };
    Ok(vocabulary.held(vec![phrase])?.pop())
}

/// The phrase of a word with hyphens, dots or apostrophes between its parts as one word, if a text has it: *email* for
/// *e-mail*, *nodejs* for *node.js*.
pub(super) fn of_hyphened(source: &str, options: &MatchOptions<'_>) -> Result<Option<Phrase>> {
    let Some(vocabulary) = vocabulary(options).filter(|_| JOINS.is_on()) else {
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
    let is_part = |c: char| c.is_alphabetic() || (has_hyphens && c.is_numeric());
    let is_whole = |part: &str| !part.is_empty() && part.chars().all(is_part);
    let parts: Vec<&str> = word.split(is_between).collect();
    let has_letters = word.chars().any(char::is_alphabetic);
    if parts.len() < 2 || !has_letters || !parts.iter().all(|part| is_whole(part)) {
        return Ok(None);
    }
    let phrase = Phrase::variant(lower(parts.concat()), word);
    let is_compared = (LEAST_LETTERS..=MOST_LETTERS).contains(&phrase.text.chars().count());
    if !is_compared {
        return Ok(None);
    }
    Ok(vocabulary.held(vec![phrase])?.pop())
}

/// Whether a word may be a misspelling of another one whose stem is near: *cafe* is neither *careful*, nor is *café*
/// *care*, since a letter with an accent was typed on purpose.
fn may_be_meant(word: &str, near: &str) -> bool {
    let letters = |word: &str| lower(word.to_owned()).chars().collect();
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
    let letters = word.chars().count();
    matches!(tokenizer, TokenizerKind::Porter | TokenizerKind::Unicode61)
        && (2..=MOST_LETTERS).contains(&letters)
        && word.chars().all(|c| c.is_alphabetic() && is_pointed(c))
}

/// Return a word that no text has as the parts between vowel marks, in which the tokenizer stored it.
fn of_marks(vocabulary: &dyn Vocabulary, word: &str) -> Result<Vec<Phrase>> {
    let mut found = Vec::new();
    if !VOWEL_MARKS.is_on() || vocabulary.count(&Phrase::of_text(word), 1)? > 0 {
        return Ok(found);
    }
    let mut lookups = MOST_LOOKUPS;
    // Phrases of the first letters that a text has, and the rest of the word.
    let mut begun = vec![(String::new(), word)];
    while let Some((before, rest)) = begun.pop() {
        for (at, c) in rest.char_indices() {
            let (part, behind) = rest.split_at(at + c.len_utf8());
            let is_whole = before.is_empty() && behind.is_empty();
            if is_whole || lookups == 0 || found.len() == MOST_CUT {
                break;
            }
            lookups -= 1;
            let phrase = Phrase::variant(format!("{before} {part}").trim_start().to_owned(), word);
            for phrase in vocabulary.held(vec![phrase])? {
                if behind.is_empty() {
                    found.push(phrase);
                } else {
                    begun.push((phrase.text, behind));
                }
            }
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
