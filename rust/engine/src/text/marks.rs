//! Where in a text stands what a query searches for, to be marked there.

use std::collections::HashMap;
use std::ops::Range;

use super::category::is_letter_or_digit;
use super::tokenizer::TokenizerKind;
use crate::error::Result;

/// The most words of a phrase that are looked for: a longer one is marked by its beginning.
const MOST_WORDS: usize = 64;

/// One thing that is searched for: a run of words.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The words, in their order.
    pub words: Vec<String>,
    /// Whether the last of them is only the beginning of one.
    pub prefix: bool,
}

/// The places in each text, in characters, in order and without overlaps.
///
/// Words are equal if their tokens are, so stems and accents count as they do in the index.
pub fn marks(
    texts: &[impl AsRef<str>],
    wanted: &[Wanted],
    tokenizer: TokenizerKind,
) -> Result<Vec<Vec<Range<usize>>>> {
    let mut known = Known::new(tokenizer);
    let sought = wanted
        .iter()
        .map(|one| Sought::of(one, &mut known))
        .collect::<Result<Vec<_>>>()?;
    texts
        .iter()
        .map(|text| marks_in(text.as_ref(), &sought, &mut known))
        .collect()
}

fn marks_in(text: &str, sought: &[Sought], known: &mut Known) -> Result<Vec<Range<usize>>> {
    let words = words_of(text, known)?;
    let mut found = Vec::new();
    for one in sought {
        let length = one.words.len();
        if length == 0 || length > words.len() {
            continue;
        }
        for start in 0..=words.len() - length {
            let here = &words[start..start + length];
            if one.is_at(here, known) {
                found.push(here[0].place.start..here[length - 1].place.end);
            }
        }
    }
    found.sort_by_key(|place| (place.start, place.end));
    Ok(joined(found))
}

/// A word of a text: which one it is, and where it stands.
struct Word {
    id: usize,
    place: Range<usize>,
}

fn words_of(text: &str, known: &mut Known) -> Result<Vec<Word>> {
    let mut words = Vec::new();
    let mut start = None;
    let mut count = 0;
    for (number, (at, c)) in text.char_indices().enumerate() {
        count = number + 1;
        match (is_letter_or_digit(c), start) {
            (true, None) => start = Some((at, number)),
            (false, Some((from, first))) => {
                let id = known.id_of(&text[from..at])?;
                words.push(Word {
                    id,
                    place: first..number,
                });
                start = None;
            }
            _ => {}
        }
    }
    if let Some((from, first)) = start {
        let id = known.id_of(&text[from..])?;
        words.push(Word {
            id,
            place: first..count,
        });
    }
    Ok(words)
}

/// The words that were seen, each with its tokens.
struct Known {
    tokenizer: TokenizerKind,
    ids: HashMap<String, usize>,
    tokens: Vec<Vec<String>>,
}

impl Known {
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

/// The tokens of each word of something that is searched for.
struct Sought {
    words: Vec<Vec<String>>,
    prefix: bool,
}

impl Sought {
    fn of(wanted: &Wanted, known: &mut Known) -> Result<Self> {
        let words = wanted.words.iter().take(MOST_WORDS);
        let ids = words.map(|word| known.id_of(word));
        let ids = ids.collect::<Result<Vec<_>>>()?;
        Ok(Self {
            words: ids.into_iter().map(|id| known.tokens[id].clone()).collect(),
            prefix: wanted.prefix && wanted.words.len() <= MOST_WORDS,
        })
    }

    fn is_at(&self, words: &[Word], known: &Known) -> bool {
        let last = self.words.len() - 1;
        let pairs = self.words.iter().zip(words).enumerate();
        pairs.into_iter().all(|(i, (sought, word))| {
            holds(&known.tokens[word.id], sought, self.prefix && i == last)
        })
    }
}

/// Whether the tokens that are sought stand there in a row, the last perhaps only begun.
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

    fn wanted(text: &str, prefix: bool) -> Wanted {
        let words = text.split(' ').map(str::to_owned).collect();
        Wanted { words, prefix }
    }

    fn marked(text: &str, sought: &[Wanted]) -> Vec<String> {
        let found = marks(&[text], sought, TokenizerKind::Porter).unwrap();
        let chars: Vec<char> = text.chars().collect();
        let places = found.into_iter().flatten();
        places.map(|place| chars[place].iter().collect()).collect()
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
    fn a_long_phrase_is_marked_by_its_beginning() {
        let text = vec!["oak"; 100].join(" ");
        assert_eq!(marked(&text, &[wanted(&text, false)]), [text]);
    }

    proptest! {
        #[test]
        fn places_are_in_order_within_the_text(
            text in "[a-c éΣ树,_]{0,60}", words in "[a-cé树]{1,3}( [a-cé树]{1,2}){0,2}", prefix: bool
        ) {
            let found = marks(&[&text], &[wanted(&words, prefix)], TokenizerKind::Porter).unwrap();
            let mut end = 0;
            for place in &found[0] {
                prop_assert!(end <= place.start && place.start < place.end);
                end = place.end;
            }
            prop_assert!(end <= text.chars().count());
        }
    }
}
