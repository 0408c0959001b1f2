//! Finding the phrases of a query in a text, to highlight them.

use std::collections::HashMap;
use std::ops::Range;

use super::category::is_letter_or_digit;
use super::marks_by_token::TokenMarker;
use super::tokenizer::TokenizerKind;
use crate::error::Result;

/// The most words of a phrase that are matched: of a longer one only the beginning is marked.
const MOST_WORDS: usize = 64;

/// A phrase to highlight: some words in a row.
#[derive(Debug, Clone)]
pub struct MarkedPhrase {
    /// The words, in their order.
    pub words: Vec<String>,
    /// Whether the last of them is only the beginning of one.
    pub prefix: bool,
}

/// Finds phrases in texts.
///
/// Words are equal if their tokens are, so stems and accents count as they do in the index. With
/// the tokenizers `words` and `trigram` parts of runs without spaces are found too.
pub struct Highlighter {
    /// Finds phrases by the tokens of `words`, where that is the tokenizer.
    by_token: Option<TokenMarker>,
    known: StemCache,
    sought: Vec<PhraseTerms>,
    beginnings: PrefixSet,
    substrings: Vec<String>,
}

impl Highlighter {
    /// Return a highlighter of these phrases.
    pub fn new(wanted: &[MarkedPhrase], tokenizer: TokenizerKind) -> Result<Self> {
        let mut known = StemCache::new(tokenizer);
        let mut sought = Vec::new();
        let mut substrings = Vec::new();
        let wanted = || wanted.iter().filter(|one| !one.words.is_empty());
        let is_words = tokenizer == TokenizerKind::Words;
        for one in wanted().filter(|_| !is_words) {
            if tokenizer == TokenizerKind::Trigram {
                let text = one.words.join(" ");
                substrings.extend(Some(lower(&text)).filter(|text| !text.is_empty()));
            } else {
                sought.push(PhraseTerms::of(one, &mut known)?);
            }
        }
        let tokens = sought.iter().flat_map(|one| one.words.iter().flatten());
        Ok(Self {
            by_token: is_words
                .then(|| TokenMarker::new(wanted().map(|one| (one.words.join(" "), one.prefix))))
                .transpose()?,
            beginnings: PrefixSet::of(tokens),
            known,
            sought,
            substrings,
        })
    }

    /// The places in a text, in characters, in order and without overlaps.
    pub fn marks(&mut self, text: &str) -> Result<Vec<Range<usize>>> {
        if let Some(marker) = &self.by_token {
            return Ok(in_characters(text, marker.places(text)?));
        }
        let mut found = self.phrases(text)?;
        if !self.substrings.is_empty() {
            let text = lower(text);
            let sought = self.substrings.iter();
            found.extend(sought.flat_map(|sought| occurrences(&text, sought)));
        }
        found.sort_by_key(|place| (place.start, place.end));
        Ok(joined(found))
    }

    fn phrases(&mut self, text: &str) -> Result<Vec<Range<usize>>> {
        let mut found = Vec::new();
        if self.sought.is_empty() {
            return Ok(found);
        }
        let words = words_of(text, &mut self.known, &self.beginnings)?;
        for one in &self.sought {
            for here in words.windows(one.words.len()) {
                if one.is_at(here, &self.known) {
                    found.push(here[0].place.start..here[here.len() - 1].place.end);
                }
            }
        }
        Ok(found)
    }
}

/// Ranges of bytes as ranges of characters in order, those that touch joined.
fn in_characters(text: &str, mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| (range.start, range.end));
    let mut joined: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    let (mut bytes, mut characters) = (0, 0);
    let mut character = |offset: usize| {
        characters += text[bytes..offset].chars().count();
        bytes = offset;
        characters
    };
    for range in &mut joined {
        *range = character(range.start)..character(range.end);
    }
    joined
}

/// Return the text in lower case, with as many characters: a character with a longer lower case is unchanged.
fn lower(text: &str) -> String {
    let lower = |c: char| {
        let mut lower = c.to_lowercase();
        match (lower.next(), lower.next()) {
            (Some(one), None) => one,
            _ => c,
        }
    };
    text.chars().map(lower).collect()
}

/// Where `sought` occurs, in characters and without overlaps, in time linear in both texts.
fn occurrences<'t>(text: &'t str, sought: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
    let length = sought.chars().count();
    let (mut offset, mut start) = (0, 0);
    text.match_indices(sought).map(move |(at, _)| {
        start += text[offset..at].chars().count();
        offset = at;
        start..start + length
    })
}

/// The ASCII characters that tokens begin with.
///
/// A stem begins with the first letter of its words, whatever the case, so a word in ASCII with another
/// first letter need not be tokenized, which is most of the work.
struct PrefixSet(u128);

impl PrefixSet {
    fn of<'a>(tokens: impl Iterator<Item = &'a String>) -> Self {
        let firsts = tokens.filter_map(|token| token.bytes().next());
        let bits = firsts.filter(u8::is_ascii).map(|first| 1 << first);
        Self(bits.fold(0, |all, bit: u128| all | bit))
    }

    fn may_match(&self, word: &str) -> bool {
        let first = word.as_bytes()[0].to_ascii_lowercase();
        !word.is_ascii() || self.0 & (1 << first) != 0
    }
}

/// A word of a text: its position, and its number; None if no phrase has it.
struct MarkedWord {
    id: Option<usize>,
    place: Range<usize>,
}

fn words_of(text: &str, known: &mut StemCache, sought: &PrefixSet) -> Result<Vec<MarkedWord>> {
    let mut id_of = |word: &str| {
        let may_match = sought.may_match(word);
        may_match.then(|| known.id_of(word)).transpose()
    };
    let mut words = Vec::new();
    let mut start = None;
    let mut count = 0;
    for (number, (at, c)) in text.char_indices().enumerate() {
        count = number + 1;
        match (is_letter_or_digit(c), start) {
            (true, None) => start = Some((at, number)),
            (false, Some((from, first))) => {
                let id = id_of(&text[from..at])?;
                words.push(MarkedWord {
                    id,
                    place: first..number,
                });
                start = None;
            }
            _ => {}
        }
    }
    if let Some((from, first)) = start {
        let id = id_of(&text[from..])?;
        words.push(MarkedWord {
            id,
            place: first..count,
        });
    }
    Ok(words)
}

/// The words that were seen, each with its tokens.
struct StemCache {
    tokenizer: TokenizerKind,
    ids: HashMap<String, usize>,
    tokens: Vec<Vec<String>>,
}

impl StemCache {
    fn new(tokenizer: TokenizerKind) -> Self {
        Self {
            tokenizer,
            ids: HashMap::new(),
            tokens: Vec::new(),
        }
    }

    fn id_of(&mut self, word: &str) -> Result<usize> {
        if let Some(&id) = self.ids.get(word) {
            return Ok(id);
        }
        let id = self.tokens.len();
        self.tokens.push(self.tokenizer.tokens(word)?);
        self.ids.insert(word.to_owned(), id);
        Ok(id)
    }
}

/// The tokens of each word of a phrase.
struct PhraseTerms {
    words: Vec<Vec<String>>,
    prefix: bool,
}

impl PhraseTerms {
    fn of(wanted: &MarkedPhrase, known: &mut StemCache) -> Result<Self> {
        let words = wanted.words.iter().take(MOST_WORDS);
        let ids = words.map(|word| known.id_of(word));
        let ids = ids.collect::<Result<Vec<_>>>()?;
        Ok(Self {
            words: ids.into_iter().map(|id| known.tokens[id].clone()).collect(),
            prefix: wanted.prefix && wanted.words.len() <= MOST_WORDS,
        })
    }

    fn is_at(&self, words: &[MarkedWord], known: &StemCache) -> bool {
        let last = self.words.len() - 1;
        let pairs = self.words.iter().zip(words).enumerate();
        pairs.into_iter().all(|(i, (sought, word))| {
            let begun = self.prefix && i == last;
            word.id
                .is_some_and(|id| holds(&known.tokens[id], sought, begun))
        })
    }
}

/// Whether `tokens` contains the phrase's tokens in a row; of the last token a prefix may suffice.
fn holds(tokens: &[String], sought: &[String], begun: bool) -> bool {
    let Some((last, whole)) = sought.split_last() else {
        return false;
    };
    tokens.windows(sought.len()).any(|window| {
        let (end, before) = (&window[whole.len()], &window[..whole.len()]);
        let ends_so = if begun {
            end.starts_with(last.as_str())
        } else {
            end == last
        };
        ends_so && before == whole
    })
}

fn joined(places: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut joined: Vec<Range<usize>> = Vec::with_capacity(places.len());
    for place in places {
        match joined.last_mut() {
            Some(last) if place.start < last.end => last.end = last.end.max(place.end),
            _ => joined.push(place),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn wanted(text: &str, prefix: bool) -> MarkedPhrase {
        let words = text.split(' ').map(str::to_owned).collect();
        MarkedPhrase { words, prefix }
    }

    fn marked(text: &str, sought: &[MarkedPhrase]) -> Vec<String> {
        marked_by(TokenizerKind::Porter, text, sought)
    }

    fn marked_by(tokenizer: TokenizerKind, text: &str, sought: &[MarkedPhrase]) -> Vec<String> {
        let places = Highlighter::new(sought, tokenizer)
            .unwrap()
            .marks(text)
            .unwrap();
        let chars: Vec<char> = text.chars().collect();
        let texts = places
            .into_iter()
            .map(|place| chars[place].iter().collect());
        texts.collect()
    }

    #[test]
    fn substrings_are_found_with_trigrams() {
        let found = marked_by(
            TokenizerKind::Trigram,
            "Ärger äRGE rg",
            &[wanted("ärg", false)],
        );
        assert_eq!(found, ["Ärg", "äRG"]);
        let found = marked_by(
            TokenizerKind::Trigram,
            "樹籬在冬天修剪",
            &[wanted("在冬天", true)],
        );
        assert_eq!(found, ["在冬天"]);
        let found = marked_by(TokenizerKind::Trigram, "aaaé aaé", &[wanted("aaé", false)]);
        assert_eq!(found, ["aaé", "aaé"]);
        let nothing = [wanted("", false)];
        assert!(marked_by(TokenizerKind::Trigram, "text", &nothing).is_empty());
    }

    #[test]
    fn a_long_substring_that_nearly_matches_everywhere_does_not_take_forever() {
        let sought = "a".repeat(100_000) + "b";
        let text = "a".repeat(1_000_000);
        let found = marked_by(TokenizerKind::Trigram, &text, &[wanted(&sought, false)]);
        assert!(found.is_empty());
    }

    #[test]
    fn stems_accents_phrases_and_beginnings_are_found() {
        let text = "Hedges: the Café hédging, hedgehogs and a hedge of oak.";
        let hedge = wanted("hedges", false);
        assert_eq!(marked(text, &[hedge]), ["Hedges", "hédging", "hedge"]);
        assert_eq!(marked(text, &[wanted("hedgeh", true)]), ["hedgehogs"]);
        assert_eq!(marked(text, &[wanted("hedge of", false)]), ["hedge of"]);
        let overlapping = [wanted("a hedge", false), wanted("hedge of oa", true)];
        assert_eq!(marked(text, &overlapping), ["a hedge of oak"]);
        assert!(marked(text, &[wanted("", false), wanted("-", true)]).is_empty());
        assert!(marked("", &[wanted("x", false)]).is_empty());
    }

    #[test]
    fn parts_of_runs_and_stems_are_found_by_words() {
        for (text, sought, expected) in [
            ("東京都庁に行く、東へ", wanted("東京", false), vec!["東京"]),
            ("東京都庁に行く、東へ", wanted("東", true), vec!["東", "東"]),
            ("東京都庁に行く", wanted("京都庁", false), vec!["京都庁"]),
            ("我的貓喜歡", wanted("猫", true), vec!["貓"]),
            ("東京都庁に行く", wanted("く", true), vec!["く"]),
            (
                "под программными кустами",
                wanted("программа", false),
                vec!["программными"],
            ),
            (
                "под программными",
                wanted("прог", true),
                vec!["программными"],
            ),
            ("the ﬁeld of hedges", wanted("field", false), vec!["ﬁeld"]),
            (
                "a hedge of oak",
                wanted("hedge of oa", true),
                vec!["hedge of oak"],
            ),
            ("قُنْفُذ صغير", wanted("القنفذ", false), vec!["قُنْفُذ"]),
            ("x", wanted("…", false), vec![]),
        ] {
            let found = marked_by(TokenizerKind::Words, text, &[sought]);
            assert_eq!(found, expected, "{text}");
        }
        let pairs = [
            wanted("東京", false),
            wanted("京都", false),
            wanted("庁に", false),
        ];
        let found = marked_by(TokenizerKind::Words, "東京都庁に", &pairs);
        assert_eq!(found, ["東京都庁に"]);
    }

    #[test]
    fn a_long_phrase_is_marked_by_its_beginning() {
        let text = vec!["oak"; 100].join(" ");
        assert_eq!(marked(&text, &[wanted(&text, false)]), [text]);
    }

    proptest! {
        #[test]
        fn places_are_in_order_within_the_text(
            text in "[a-c éΣ树,_]{0,60}", words in "[a-cé树]{1,3}( [a-cé树]{1,2}){0,2}", prefix: bool,
            tokenizer in prop::sample::select(TokenizerKind::ALL),
        ) {
            let mut marker = Highlighter::new(&[wanted(&words, prefix)], tokenizer).unwrap();
            let found = marker.marks(&text).unwrap();
            let mut end = 0;
            for place in &found {
                prop_assert!(end <= place.start && place.start < place.end);
                end = place.end;
            }
            prop_assert!(end <= text.chars().count());
        }
    }
}
