//! Other spellings of the words of a query, of those that the index has (spec/compile.md, "Other spellings").

use super::expression::Phrase;
use super::options::MatchOptions;
use super::vocabulary::Vocabulary;
use crate::error::Result;
use crate::text::tokenizer::TokenizerKind;
use crate::text::words;

/// Words with fewer letters have no other spellings.
const LEAST_LETTERS: usize = 4;
/// Longer words have none either, and so are looked up in bounded time.
const MOST_LETTERS: usize = 40;
/// Queries of more words have no other spellings, each of which takes a look at many words of the index.
const MOST_WORDS: usize = 100;

/// Letters after an apostrophe: *Ann's how-to* has the words *s how*.
const CONTRACTED: [&str; 4] = ["d", "m", "s", "t"];

/// The phrases that a word is also searched by. A word that no text has: as two words, or else as its nearest
/// words. Any word: with a hyphen after its first letter.
pub(super) fn of_word(word: &str, options: &MatchOptions<'_>) -> Result<Vec<Phrase>> {
    let Some(vocabulary) = vocabulary(options) else {
        return Ok(Vec::new());
    };
    let letters = word.chars().count();
    let is_short_or_long = !(LEAST_LETTERS..=MOST_LETTERS).contains(&letters);
    if is_short_or_long || !word.chars().all(char::is_alphabetic) || words::has_run(word) {
        return Ok(Vec::new());
    }
    let cuts = || word.char_indices().skip(1).map(|(at, _)| word.split_at(at));
    if vocabulary.knows(&Phrase::of_text(word))? {
        let is_noise = |part: &str| CONTRACTED.contains(&part) || options.stopwords.contains(part);
        let cut = cuts().next();
        let hyphened = cut.filter(|(letter, rest)| !is_noise(letter) && !is_noise(rest));
        return two_words(vocabulary, word, hyphened.into_iter());
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
    let nearest = vocabulary.nearest(word)?;
    let nearest = nearest
        .into_iter()
        .filter(|near| !options.stopwords.contains(near));
    Ok(nearest.map(|near| Phrase::variant(near, word)).collect())
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
