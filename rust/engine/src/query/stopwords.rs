//! The stop words, sorted: spec/fixtures/stopwords holds the same lists for every language.

/// What the parser drops from bare queries: `en.json`.
pub static ENGLISH: WordList = WordList::new(&[
    "a",
    "about",
    "above",
    "across",
    "actually",
    "after",
    "again",
    "against",
    "all",
    "along",
    "am",
    "among",
    "an",
    "and",
    "any",
    "are",
    "around",
    "at",
    "be",
    "because",
    "becoming",
    "been",
    "before",
    "behind",
    "being",
    "below",
    "beside",
    "between",
    "beyond",
    "bit",
    "but",
    "by",
    "can",
    "combined",
    "could",
    "detail",
    "details",
    "did",
    "do",
    "does",
    "doing",
    "down",
    "during",
    "each",
    "every",
    "find",
    "for",
    "from",
    "get",
    "give",
    "had",
    "has",
    "have",
    "having",
    "he",
    "her",
    "hers",
    "him",
    "his",
    "how",
    "i",
    "idea",
    "ideas",
    "if",
    "im",
    "in",
    "information",
    "inside",
    "into",
    "is",
    "it",
    "items",
    "its",
    "ive",
    "keep",
    "keeping",
    "kind",
    "kinds",
    "lately",
    "like",
    "list",
    "look",
    "looking",
    "make",
    "making",
    "many",
    "may",
    "me",
    "might",
    "mine",
    "must",
    "my",
    "near",
    "need",
    "needs",
    "no",
    "none",
    "nor",
    "of",
    "off",
    "on",
    "onto",
    "or",
    "our",
    "ours",
    "out",
    "over",
    "past",
    "planning",
    "please",
    "really",
    "recent",
    "recently",
    "recommend",
    "recommendation",
    "recommendations",
    "record",
    "records",
    "regarding",
    "relationship",
    "relationships",
    "seen",
    "shall",
    "she",
    "should",
    "show",
    "so",
    "some",
    "suggest",
    "suggestion",
    "suggestions",
    "sure",
    "tell",
    "than",
    "thanks",
    "that",
    "the",
    "their",
    "theirs",
    "them",
    "these",
    "they",
    "thinking",
    "this",
    "those",
    "through",
    "tip",
    "tips",
    "to",
    "tonight",
    "toward",
    "towards",
    "trouble",
    "type",
    "types",
    "under",
    "until",
    "up",
    "upcoming",
    "upon",
    "us",
    "useful",
    "was",
    "watch",
    "we",
    "were",
    "what",
    "when",
    "where",
    "which",
    "who",
    "whom",
    "whose",
    "why",
    "will",
    "with",
    "within",
    "without",
    "would",
    "yet",
    "you",
    "your",
    "yours",
]);

/// What the parser drops from bare queries: `nl.json`.
pub static DUTCH: WordList = WordList::new(&[
    "aan", "alleen", "als", "ben", "bent", "bij", "binnen", "boven", "buiten", "dan", "dat", "de",
    "deze", "die", "dit", "doen", "doet", "door", "een", "elk", "elke", "en", "geen", "haar",
    "hadden", "hebben", "heeft", "hem", "hen", "het", "hij", "hoe", "hun", "iedere", "ik", "ja",
    "je", "jij", "jouw", "jullie", "kan", "kunnen", "maar", "met", "mij", "mijn", "moet", "moeten",
    "na", "naar", "nee", "niet", "omdat", "onder", "ons", "onze", "ook", "op", "tegen", "toch",
    "tussen", "uit", "van", "veel", "voor", "waar", "waarom", "wanneer", "want", "waren", "wat",
    "weinig", "welk", "welke", "wie", "wij", "word", "worden", "wordt", "zal", "zich", "zij",
    "zijn", "zou",
]);

/// What the retry ladder skips, a different set: `retry.json`.
pub static RETRY: WordList = WordList::new(&[
    "a",
    "about",
    "advice",
    "again",
    "an",
    "and",
    "any",
    "are",
    "becoming",
    "been",
    "bit",
    "but",
    "can",
    "choose",
    "combined",
    "current",
    "de",
    "decide",
    "deciding",
    "een",
    "en",
    "feeling",
    "find",
    "for",
    "from",
    "getting",
    "had",
    "has",
    "have",
    "having",
    "help",
    "helpful",
    "het",
    "how",
    "idea",
    "ideas",
    "interesting",
    "is",
    "items",
    "ive",
    "keep",
    "keeping",
    "kind",
    "kinds",
    "lately",
    "look",
    "looking",
    "make",
    "making",
    "many",
    "might",
    "need",
    "needs",
    "noticed",
    "of",
    "or",
    "planning",
    "recent",
    "recently",
    "recommend",
    "recommendation",
    "recommendations",
    "seen",
    "should",
    "show",
    "some",
    "soon",
    "suggest",
    "suggestion",
    "suggestions",
    "sure",
    "the",
    "thinking",
    "tips",
    "together",
    "tonight",
    "trouble",
    "trying",
    "type",
    "types",
    "upcoming",
    "useful",
    "want",
    "was",
    "watch",
    "weekend",
    "what",
    "when",
    "where",
    "who",
    "why",
    "with",
    "would",
    "you",
]);

/// Whether `token` (lower-case) is in one of the lists.
pub fn is_stopword(token: &str) -> bool {
    ENGLISH.contains(token) || DUTCH.contains(token)
}

/// A sorted list of words that is asked of every word of every query.
pub struct WordList {
    words: &'static [&'static str],
    /// Where the words that begin with each byte start, and where the last ones end.
    starts: [usize; 257],
    /// How long the words that begin with each byte are: a bit for each length.
    lengths: [u64; 256],
}

impl WordList {
    const fn new(words: &'static [&'static str]) -> Self {
        let mut starts = [0; 257];
        let mut lengths = [0; 256];
        let mut place = 0;
        let mut byte = 0;
        while byte < 256 {
            starts[byte] = place;
            while place < words.len() && words[place].as_bytes()[0] as usize == byte {
                lengths[byte] |= 1 << words[place].len();
                place += 1;
            }
            byte += 1;
        }
        starts[256] = place;
        Self {
            words,
            starts,
            lengths,
        }
    }

    /// Whether the list holds `word`.
    pub fn contains(&self, word: &str) -> bool {
        let Some(&first) = word.as_bytes().first() else {
            return false;
        };
        let first = usize::from(first);
        // Most words end here.
        if word.len() >= 64 || self.lengths[first] & (1 << word.len()) == 0 {
            return false;
        }
        self.words[self.starts[first]..self.starts[first + 1]].contains(&word)
    }

    /// The words, sorted.
    pub fn words(&self) -> &'static [&'static str] {
        self.words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_the_fixtures() {
        for (list, fixture) in [
            (
                &ENGLISH,
                include_str!("../../../../spec/fixtures/stopwords/en.json"),
            ),
            (
                &DUTCH,
                include_str!("../../../../spec/fixtures/stopwords/nl.json"),
            ),
            (
                &RETRY,
                include_str!("../../../../spec/fixtures/stopwords/retry.json"),
            ),
        ] {
            let expected: Vec<&str> = serde_json::from_str(fixture).unwrap();
            assert_eq!(list.words(), expected);
            assert!(expected.iter().all(|word| list.contains(word)));
            assert!(
                !["", "hedgehog", "zz", "東"]
                    .into_iter()
                    .any(|word| list.contains(word))
            );
        }
    }
}
