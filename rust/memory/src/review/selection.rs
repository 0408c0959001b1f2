//! The memories that a run looks at: about a topic, since a time, the newest first.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use hedgerow_engine::query::stopwords::{DUTCH, ENGLISH};

use super::documents::{Documents, StoredDocument};
use crate::facts::file::all_text;
use crate::parallel;
use crate::text::{casefold, is_word, length};

/// The fewest characters of a word of a topic, where it has one so long.
const LONG: usize = 3;
/// The most words of a topic. The time of a run grows with them.
const MOST_WORDS: usize = 32;

static STOP_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    ENGLISH
        .words()
        .iter()
        .chain(DUTCH.words())
        .copied()
        .collect()
});

/// The selection that was requested.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Only memories about this.
    pub topic: Option<String>,
    /// Only memories that were changed at this time or later, in microseconds.
    pub since: Option<i64>,
    /// The most memories, the newest first.
    pub limit: usize,
}

impl Selection {
    /// The selected documents, the newest first, then by path, up to the limit.
    pub fn of_interest(&self, documents: &Documents) -> Vec<usize> {
        let mut found = self.about(documents);
        found.truncate(self.limit);
        found
    }

    /// All selected documents, without the limit, the newest first.
    pub fn about(&self, documents: &Documents) -> Vec<usize> {
        let words = self.topic.as_deref().map(topic_words).unwrap_or_default();
        let is_about = parallel::map(&documents.files, |file| {
            self.is_recent(file) && (words.is_empty() || has_all(&searchable(file), &words))
        });
        let found = is_about
            .iter()
            .enumerate()
            .filter(|(_, is_about)| **is_about);
        newest_first(documents, found.map(|(at, _)| at).collect())
    }

    /// Whether a document is new enough. One without a time is not, if `since` is given.
    pub fn is_recent(&self, document: &StoredDocument) -> bool {
        let is_since = |since| document.changed().is_some_and(|time| time >= since);
        self.since.is_none_or(is_since)
    }
}

/// Documents by the time of their last change, those without one last, then by path.
pub fn newest_first(documents: &Documents, mut found: Vec<usize>) -> Vec<usize> {
    found.sort_by_cached_key(|at| (Reverse(documents.files[*at].changed()), *at));
    found
}

/// The words of a topic of three characters or more; all words, where none is so long. At most 32, the first.
pub fn topic_words(topic: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut known = HashSet::new();
    let folded = casefold(topic);
    for word in folded.split(|one| !is_word(one) || one == '_') {
        if !word.is_empty() && known.insert(word) {
            words.push(word.to_owned());
        }
    }
    if words.iter().any(|word| length(word) >= LONG) {
        words.retain(|word| length(word) >= LONG);
    }
    words.truncate(MOST_WORDS);
    words
}

/// The words of a question without stop words.
pub(super) fn telling_words(question: &str) -> Vec<String> {
    let mut words = topic_words(question);
    words.retain(|word| !STOP_WORDS.contains(word.as_str()));
    words
}

fn has_all(text: &str, words: &[String]) -> bool {
    words.iter().all(|word| text.contains(word.as_str()))
}

/// All that a document says, case folded.
pub(super) fn searchable(document: &StoredDocument) -> String {
    let StoredDocument {
        path, front_matter, ..
    } = document;
    casefold(&format!(
        "{path}\n{}\n{}",
        all_text(front_matter),
        document.body()
    ))
}

/// The texts that have each of some words, also inside longer words.
pub(super) struct Occurrences {
    words: Vec<String>,
    /// The numbers of the texts, ascending, by word.
    texts: Vec<Vec<u32>>,
}

impl Occurrences {
    /// Search each text once for all words.
    pub(super) fn of(texts: &[String], words: impl IntoIterator<Item = String>) -> Self {
        let mut words: Vec<String> = words.into_iter().collect();
        words.sort_unstable();
        words.dedup();
        let mut found = vec![Vec::new(); words.len()];
        // Too many words for one automaton have no answer: then none is said to occur.
        if let Ok(automaton) = AhoCorasick::new(&words) {
            let in_text = parallel::map(texts, |text| {
                let mut seen: HashSet<usize> = HashSet::new();
                let all = automaton.find_overlapping_iter(text);
                let all = all.map(|one| one.pattern().as_usize());
                all.filter(|word| seen.insert(*word))
                    .collect::<Vec<usize>>()
            });
            for (text, words) in (0..).zip(in_text) {
                for word in words {
                    found[word].push(text);
                }
            }
        }
        Self {
            words,
            texts: found,
        }
    }

    /// The texts with a word, ascending.
    pub(super) fn with(&self, word: &str) -> &[u32] {
        let at = self
            .words
            .binary_search_by(|known| known.as_str().cmp(word));
        at.map_or(&[], |at| &self.texts[at])
    }

    /// The texts with all words, ascending; none without a word.
    pub(super) fn with_all(&self, words: &[String]) -> Vec<u32> {
        let mut lists: Vec<&[u32]> = words.iter().map(|word| self.with(word)).collect();
        lists.sort_unstable_by_key(|list| list.len());
        let Some((rarest, others)) = lists.split_first() else {
            return Vec::new();
        };
        let is_in_all = |text: &&u32| others.iter().all(|list| list.binary_search(text).is_ok());
        rarest.iter().filter(is_in_all).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::vault::FolderKind;

    #[test]
    fn a_topic_has_words() {
        assert_eq!(
            topic_words("Is it a Hedge_row, or a hedge?"),
            ["hedge", "row"]
        );
        assert_eq!(topic_words("a b, a"), ["a", "b"]);
        let many: Vec<String> = (0..1000).map(|one| format!("word{one}")).collect();
        assert_eq!(topic_words(&many.join(" ")), many[..MOST_WORDS]);
        assert_eq!(telling_words("Who is the owner of it?"), ["owner"]);
    }

    #[test]
    fn words_occur_in_texts() {
        let texts = ["hedgehogs eat slugs", "slug", "the hedge"].map(str::to_owned);
        let words = ["slug", "hedge", "hedgehog", "none"].map(str::to_owned);
        let found = Occurrences::of(&texts, words.clone());
        assert_eq!(found.with("slug"), [0, 1]);
        assert_eq!(found.with("hedge"), [0, 2]);
        assert_eq!(found.with("other"), [0_u32; 0]);
        assert_eq!(found.with_all(&words[..2]), [0]);
        assert_eq!(found.with_all(&words), [0_u32; 0]);
        assert_eq!(found.with_all(&[]), [0_u32; 0]);
    }

    #[test]
    fn the_newest_come_first_and_those_without_a_time_last() {
        let file = |path: &str, text: &str| {
            StoredDocument::parse(path.to_owned(), text.to_owned(), &FolderKind::default())
        };
        let documents = Documents::of(vec![
            file("d.md", "slugs"),
            file("a.md", "slugs"),
            file("b.md", "---\ndate: 2026-01-01\n---\nslugs"),
            file(
                "c.md",
                "---\ndate: 2025-01-01\nupdated_at: 2026-02-01\n---\nSLUG",
            ),
        ]);
        let selection = |topic: &str, since, limit| Selection {
            topic: Some(topic.to_owned()),
            since,
            limit,
        };
        assert_eq!(
            selection("slug", None, 9).of_interest(&documents),
            [2, 1, 0, 3]
        );
        assert_eq!(selection("slugs", None, 2).of_interest(&documents), [1, 0]);
        let since = documents.files[2].changed();
        assert_eq!(selection("slug", since, 9).of_interest(&documents), [2]);
    }
}
