//! The tokenizer `words`, version 3: words of every script, without a setting and without a dictionary.
//!
//! ASCII is tokenized as `porter unicode61` of SQLite does, and so are Latin words in other texts. Runs in
//! scripts without spaces become overlapping pairs of their units. Words of other scripts are folded, and
//! their stem is a second token at the same position, marked by U+0001. So are words with signs, such as
//! `C++` and `U.S.A.`. The tokens of a text never change, since files keep them: other rules are another version.
//!
//! A file of an earlier version gets the tokens of this one when it is opened for writing.

mod arabic;
mod classes;
mod composed;
mod folding;
pub(crate) mod foldings;
mod pages;
mod parts;
mod scan;
mod signs;
mod token;
mod units;

use std::ops::Range;

pub use parts::{Parts, PhrasePart, has_run};
pub use signs::{joined, may_have as may_have_signs, words_with_symbols};
pub use token::{COLOCATED, Token};

use composed::ComposedText;
use folding::{LATIN_STEM, OTHER_STEM};
use scan::{Item, Kind, ScannedText};
use units::{Units, push_unit};

use crate::error::Result;
use crate::rule;

rule! {
    /// Words of texts with rich endings are also found by their first letters, and Arabic words by a light stem.
    pub(crate) static STEMS = "stems" { LATIN_STEM, OTHER_STEM }
}

/// The version of the rules.
pub const VERSION: &str = "3";
/// The versions that a file may name until it is opened for writing.
pub const READABLE: [&str; 3] = ["1", "2", VERSION];

/// The kind of text, as FTS5 reports it to its tokenizers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A text that is stored.
    Document,
    /// A phrase of a query.
    Query,
    /// A phrase of which the last word is a prefix.
    Prefix,
}

/// The stems that a phrase of a query also matches. Each variant but the first is a character before the text
/// of the phrase, which no text of a user has there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Stems {
    /// The stems that the tokenizer makes.
    #[default]
    Usual,
    /// None: the words as they are written.
    None,
    /// The stems of short Latin words too, which may be written without their accents.
    Unaccented,
    /// The word with its symbols alone: `C++`.
    Symbols,
}

impl Stems {
    const MARKED: [Self; 3] = [Self::None, Self::Unaccented, Self::Symbols];

    /// The character before a phrase.
    pub fn mark(self) -> Option<char> {
        match self {
            Self::Usual => None,
            Self::None => Some('\u{2}'),
            Self::Unaccented => Some('\u{3}'),
            Self::Symbols => Some('\u{4}'),
        }
    }

    /// Return the variant of the mark before a phrase, and the length of the mark.
    fn split(phrase: &str) -> (Self, usize) {
        let marked = |stems: &Self| stems.mark().is_some_and(|mark| phrase.starts_with(mark));
        match Self::MARKED.into_iter().find(marked) {
            Some(stems) => (stems, 1),
            None => (Self::Usual, 0),
        }
    }
}

/// Gets tokens in order; returns false to end the tokenizing.
pub type Visitor<'v> = &'v mut dyn FnMut(Token<'_>) -> bool;

/// `porter unicode61` of SQLite.
pub trait Porter {
    /// Call `visit` with each token of `text` in order until it returns false.
    fn tokenize(&mut self, text: &str, visit: Visitor<'_>) -> Result<()>;
}

/// Call `visit` with each token of `text` in order until it returns false. Fails if `porter` does.
pub fn tokenize(text: &str, mode: Mode, porter: &mut dyn Porter, visit: Visitor<'_>) -> Result<()> {
    let (stems, start) = match mode {
        Mode::Document => (Stems::Usual, 0),
        Mode::Query => Stems::split(text),
        Mode::Prefix => (Stems::None, Stems::split(text).1),
    };
    let stems = match stems {
        Stems::Usual | Stems::Unaccented if !STEMS.is_on() => Stems::None,
        stems => stems,
    };
    if stems == Stems::Symbols {
        visit_word_with_symbols(text, start, visit);
        return Ok(());
    }
    let has_no_stems = mode != Mode::Query || stems == Stems::None;
    if text.is_ascii() && has_no_stems {
        if mode == Mode::Document && signs::may_have(text.as_bytes()) {
            let mut token = String::new();
            return porter.tokenize(text, &mut |found| {
                let word = found.range.clone();
                visit(found) && signs::emit(text, word, &mut token, |range| range, visit)
            });
        }
        // A mark separates, as every control character does.
        return porter.tokenize(text, visit);
    }
    let composed = ComposedText::of(&text[start..]);
    let scan = ScannedText::of(&composed);
    let latin = match (mode, stems) {
        (Mode::Document, _) if scan.is_inflected_latin() => Latin::Inflected,
        (Mode::Query, Stems::Usual) => Latin::Stemmed,
        (Mode::Query, Stems::Unaccented) => Latin::Unaccented,
        _ => Latin::Plain,
    };
    let mut tokens = Tokens {
        composed: &composed,
        start,
        is_stored: mode == Mode::Document,
        has_joined: mode == Mode::Query && stems != Stems::None,
        has_stems: mode == Mode::Document || stems != Stems::None,
        latin,
        porter,
        visit,
        is_done: false,
        token: String::new(),
        folded: String::new(),
    };
    tokens.run(&scan.items)
}

/// Give the visitor the one token of a phrase that is a word with symbols.
fn visit_word_with_symbols(text: &str, start: usize, visit: Visitor<'_>) {
    if start == text.len() {
        return;
    }
    let mut token = String::from(COLOCATED);
    token.push_str(&text[start..]);
    token.make_ascii_lowercase();
    visit(Token {
        text: token.as_bytes(),
        range: start..text.len(),
        colocated: false,
    });
}

/// The folded words of a text, and the units of its runs, in order.
pub fn plain_words(text: &str) -> Vec<String> {
    let composed = ComposedText::of(text);
    let mut words = Vec::new();
    for item in ScannedText::of(&composed).items {
        let mut buffer = String::new();
        let text = with_forms(&composed.text, &item, &mut buffer);
        if item.kind.is_unspaced() {
            words.extend(Units::of(text, item.kind, item.has_marks).map(|unit| {
                let mut word = String::new();
                push_unit(&mut word, unit);
                word
            }));
        } else {
            let mut word = String::new();
            folding::fold_into(text, &mut word);
            words.push(word);
        }
    }
    words
}

/// The text of an item with the forms of Han characters that are searched, which have the same length.
fn with_forms<'t>(text: &'t str, item: &Item, buffer: &'t mut String) -> &'t str {
    let text = &text[item.range.clone()];
    if !item.has_forms || !foldings::FOLDINGS.is_on() {
        return text;
    }
    buffer.clear();
    buffer.extend(text.chars().map(foldings::han_form));
    buffer
}

/// Whether a character is part of the word before it, or left out of it.
pub fn is_mark(c: char) -> bool {
    matches!(
        classes::CLASSES.of(c),
        classes::Class::Mark | classes::Class::Dropped
    )
}

/// Whether a character is a letter of a script that is searched by pairs of its units: Han, kana, Hangul, and
/// Thai and its relatives.
pub fn is_unspaced(c: char) -> bool {
    let class = classes::CLASSES.of(c);
    Kind::of(class).is_some_and(|kind| kind.is_unspaced() && kind != Kind::Symbol)
}

/// Whether a character is an emoji or a currency sign. Each is a separate word.
pub fn is_symbol(c: char) -> bool {
    !c.is_ascii() && classes::CLASSES.of(c) == classes::Class::Symbol
}

/// Whether the Latin words of a stored text have stems: enough of them have accents.
pub fn is_inflected_latin(text: &str) -> bool {
    !text.is_ascii() && ScannedText::of(&ComposedText::of(text)).is_inflected_latin()
}

/// Whether a Latin word of a text has a letter that is not ASCII.
pub fn has_accented_latin(text: &str) -> bool {
    !text.is_ascii() && ScannedText::of(&ComposedText::of(text)).has_accented_latin()
}

/// How Latin words are tokenized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Latin {
    /// Without stems.
    Plain,
    /// Of a text in a language with rich endings.
    Inflected,
    /// A phrase of a query.
    Stemmed,
    /// A phrase of a query, with the stems of short words in ASCII.
    Unaccented,
}

/// Makes the tokens of one text.
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a property of the text"
)]
struct Tokens<'a> {
    composed: &'a ComposedText<'a>,
    /// Where the composed text begins in the source.
    start: usize,
    /// Whether the text is stored rather than searched for.
    is_stored: bool,
    /// Whether words may be written with signs within them in the texts.
    has_joined: bool,
    /// Whether words that are not Latin have stems.
    has_stems: bool,
    latin: Latin,
    porter: &'a mut dyn Porter,
    visit: Visitor<'a>,
    /// Whether the visitor wants no more.
    is_done: bool,
    token: String,
    folded: String,
}

impl Tokens<'_> {
    fn run(&mut self, items: &[Item]) -> Result<()> {
        let mut rest = items;
        while let Some((item, behind)) = rest.split_first() {
            rest = behind;
            match item.kind {
                Kind::Latin if item.has_marks => self.marked_latin(item.range.clone())?,
                Kind::Latin => {
                    let simple = |item: &&Item| item.kind == Kind::Latin && !item.has_marks;
                    let more = behind.iter().take_while(simple).count();
                    let end = more
                        .checked_sub(1)
                        .map_or(item, |last| &behind[last])
                        .range
                        .end;
                    self.latin(item.range.start..end)?;
                    rest = &behind[more..];
                }
                Kind::Other | Kind::Arabic => self.word(item),
                Kind::Symbol | Kind::Cjk | Kind::Hangul | Kind::Thai => {
                    self.pairs(item, behind.is_empty());
                }
            }
            if self.is_done {
                break;
            }
        }
        Ok(())
    }

    /// Give the visitor a token, or the one that was made.
    fn emit(&mut self, text: Option<&str>, range: Range<usize>, colocated: bool) {
        if self.is_done {
            return;
        }
        let source = self.composed.source_range(range);
        let token = Token {
            text: text.unwrap_or(&self.token).as_bytes(),
            range: source.start + self.start..source.end + self.start,
            colocated,
        };
        self.is_done = !(self.visit)(token);
    }

    /// The pairs of units of a run, and its last unit; of a single unit itself.
    fn pairs(&mut self, item: &Item, is_last: bool) {
        let mut buffer = std::mem::take(&mut self.folded);
        let run = with_forms(&self.composed.text, item, &mut buffer);
        self.pairs_of(run, item, is_last);
        self.folded = buffer;
    }

    fn pairs_of(&mut self, run: &str, item: &Item, is_last: bool) {
        let mut units = Units::of(run, item.kind, item.has_marks);
        let Some(mut before) = units.next() else {
            return;
        };
        let mut at = item.range.start;
        let mut is_single = true;
        for unit in units {
            is_single = false;
            let range = at..at + before.len() + unit.len();
            self.pair(item, run, [before, unit], range);
            at += before.len();
            before = unit;
            if self.is_done {
                return;
            }
        }
        self.token.clear();
        push_unit(&mut self.token, before);
        if is_single {
            self.emit(None, item.range.clone(), false);
        }
        // In a phrase that continues after a single unit, the unit may be the last of a longer run.
        let is_last_unit = if self.is_stored {
            !is_single
        } else {
            is_single && !is_last
        };
        if is_last_unit {
            self.token.push(COLOCATED);
            self.emit(None, at..item.range.end, true);
        }
    }

    fn pair(&mut self, item: &Item, run: &str, units: [&str; 2], range: Range<usize>) {
        if !item.has_marks && range.len() <= units::LONGEST_UNIT {
            let start = range.start - item.range.start;
            self.emit(Some(&run[start..start + range.len()]), range, false);
            return;
        }
        self.token.clear();
        for unit in units {
            push_unit(&mut self.token, unit);
        }
        self.emit(None, range, false);
    }

    /// A word of another alphabet, its stem, and its token if signs are within it.
    fn word(&mut self, item: &Item) {
        let composed = self.composed;
        self.token.clear();
        folding::fold_into(&composed.text[item.range.clone()], &mut self.token);
        if self.token.is_empty() {
            return;
        }
        self.emit(None, item.range.clone(), false);
        let folded = std::mem::take(&mut self.token);
        self.with_signs(&folded, item.range.clone());
        if !self.has_stems {
            return;
        }
        self.token.clear();
        self.token.push(COLOCATED);
        if item.kind == Kind::Arabic {
            arabic::stem_into(&folded, &mut self.token);
        } else if !push_stem(&folded, OTHER_STEM, &mut self.token) {
            return;
        }
        self.emit(None, item.range.clone(), true);
    }

    /// The token of a word that is not Latin for signs within it.
    fn with_signs(&mut self, folded: &str, range: Range<usize>) {
        let composed = self.composed;
        let start = self.start;
        let source_of = |range: Range<usize>| {
            let source = composed.source_range(range);
            source.start + start..source.end + start
        };
        if self.is_done {
            return;
        }
        if self.is_stored {
            self.is_done = !signs::emit(
                &composed.text,
                range,
                &mut self.token,
                source_of,
                self.visit,
            );
        } else if self.has_joined {
            self.is_done = !joined_word(folded, source_of(range), &mut self.token, self.visit);
        }
    }

    /// Latin words in a row without marks, which are tokenized together.
    fn latin(&mut self, range: Range<usize>) -> Result<()> {
        let composed = self.composed;
        let text = &composed.text[range.clone()];
        let shifted = |inner: Range<usize>| inner.start + range.start..inner.end + range.start;
        let (start, latin) = (self.start, self.latin);
        let (is_stored, has_joined) = (self.is_stored, self.has_joined);
        let Self {
            porter,
            visit,
            is_done,
            token,
            folded,
            ..
        } = self;
        let source_of = |range: Range<usize>| {
            let source = composed.source_range(range);
            source.start + start..source.end + start
        };
        porter.tokenize(text, &mut |found| {
            let place = shifted(found.range.clone());
            let source = source_of(place.clone());
            *is_done = !visit(Token {
                range: source.clone(),
                ..found
            });
            let word = &text[found.range];
            if latin != Latin::Plain && !*is_done {
                *is_done = !latin_stems(word, latin, source.clone(), token, folded, visit);
            }
            if has_joined && !*is_done {
                *is_done = !joined_word(word, source, token, visit);
            }
            if is_stored && !*is_done {
                *is_done = !signs::emit(&composed.text, place, token, source_of, visit);
            }
            !*is_done
        })
    }

    /// A Latin word with marks, of which the dropped ones are left out first.
    fn marked_latin(&mut self, range: Range<usize>) -> Result<()> {
        let composed = self.composed;
        let mut word = String::new();
        push_kept(&composed.text[range.clone()], &mut word);
        let source = composed.source_range(range);
        let source = source.start + self.start..source.end + self.start;
        let latin = self.latin;
        let Self {
            porter,
            visit,
            is_done,
            token,
            folded,
            ..
        } = self;
        porter.tokenize(&word, &mut |found| {
            *is_done = !visit(Token {
                range: source.clone(),
                ..found
            });
            if latin != Latin::Plain && !*is_done {
                let word = &word[found.range];
                *is_done = !latin_stems(word, latin, source.clone(), token, folded, visit);
            }
            !*is_done
        })
    }
}

/// Append the text without dropped characters.
fn push_kept(text: &str, out: &mut String) {
    let classes = &*classes::CLASSES;
    let kept = |c: &char| c.is_ascii() || classes.of(*c) != classes::Class::Dropped;
    out.extend(text.chars().filter(kept));
}

/// Append the first letters of a folded word, if it has as many.
fn push_stem(folded: &str, letters: usize, out: &mut String) -> bool {
    let Some((last, c)) = folded.char_indices().nth(letters - 1) else {
        return false;
    };
    out.push_str(&folded[..last + c.len_utf8()]);
    true
}

/// Give the visitor the token that a word of a query has if a text writes it with signs; whether it wants more.
fn joined_word(
    word: &str,
    range: Range<usize>,
    token: &mut String,
    visit: &mut dyn FnMut(Token<'_>) -> bool,
) -> bool {
    token.clear();
    folding::fold_into(word, token);
    if !signs::may_be_joined(token) {
        return true;
    }
    token.push(COLOCATED);
    visit(Token {
        text: token.as_bytes(),
        range,
        colocated: true,
    })
}

/// Give the visitor the stems of a Latin word; whether it wants more.
fn latin_stems(
    word: &str,
    latin: Latin,
    range: Range<usize>,
    token: &mut String,
    folded: &mut String,
    visit: &mut dyn FnMut(Token<'_>) -> bool,
) -> bool {
    folded.clear();
    folding::fold_into(word, folded);
    token.clear();
    token.push(COLOCATED);
    let mut emit = |stem: &str| {
        visit(Token {
            text: stem.as_bytes(),
            range: range.clone(),
            colocated: true,
        })
    };
    let is_long = push_stem(folded, LATIN_STEM, token);
    if is_long && !emit(token) {
        return false;
    }
    match latin {
        // A word with two accents on a letter keeps them, and is found without them by this.
        Latin::Inflected if !folded.is_ascii() => {
            let mut bare = String::from(COLOCATED);
            folding::bare_into(folded, &mut bare);
            let letters = bare.char_indices().nth(LATIN_STEM + 1);
            bare.truncate(letters.map_or(bare.len(), |(at, _)| at));
            bare[1..] == folded[..] || (is_long && bare == *token) || emit(&bare)
        }
        Latin::Unaccented if !is_long && word.is_ascii() => {
            token.push_str(folded);
            emit(token)
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests;
