//! The parts of the score of a recalled memory (spec/memory.md, "Score", "Time").

use std::sync::OnceLock;

use regex::Regex;

use crate::times::{StatedTime, stated_time};

/// The decimal places that each part of a score is rounded to, as a factor.
const PLACES: f64 = 1e4;
/// How near to the middle of two decimals a number is rounded by its exact value.
const NEAR_TIE: f64 = 1e-6;
/// The most that the whole query and its longer words count.
const EXACT_MATCH: f64 = 0.35;
const WHOLE_QUERY: f64 = 0.25;
const WORD: f64 = 0.03;
const MOST_OF_METADATA: f64 = 0.15;
/// The least characters of a longer word.
const LONG: usize = 5;
const MICROS: f64 = 1e6;

const RECENT: [&str; 6] = ["recent", "latest", "newest", "newer", "later", "last"];
const EARLY: [&str; 7] = [
    "oldest", "first", "earliest", "older", "earlier", "initial", "original",
];

/// The parts of one score, each rounded to four places.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ScoreParts {
    /// The score of the search as a part of the best.
    pub retrieval: f64,
    /// For the query or its longer words in the snippet.
    pub exact_match: f64,
    /// For words of the query in the front matter.
    pub metadata: f64,
    /// For being as early or late as the query asks.
    pub temporal: f64,
    /// The memory strength.
    pub strength: f64,
    /// For known lines and a known session.
    pub provenance: f64,
    /// From the depth policy.
    pub depth: f64,
    /// What age takes from the score of the search: 0 or less.
    pub recency: f64,
}

impl ScoreParts {
    /// The score.
    pub fn total(&self) -> f64 {
        let parts = [
            self.retrieval,
            self.exact_match,
            self.metadata,
            self.temporal,
            self.strength,
            self.provenance,
            self.depth,
            self.recency,
        ];
        rounded(parts.iter().sum())
    }
}

/// A number rounded to four decimal places, half to even by its exact value; never a negative zero.
pub fn rounded(number: f64) -> f64 {
    let scaled = number * PLACES;
    let is_near_tie = (scaled - scaled.floor() - 0.5).abs() < NEAR_TIE;
    if is_near_tie || !scaled.is_finite() || scaled.abs() > 1e12 {
        return format!("{number:.4}").parse().unwrap_or(number) + 0.0;
    }
    scaled.round() / PLACES + 0.0
}

/// A query, as the score of each candidate compares it.
#[derive(Debug)]
pub struct ScoredQuery<'t> {
    whole: String,
    terms: &'t [String],
    long: Vec<&'t str>,
}

impl<'t> ScoredQuery<'t> {
    /// The query with its terms.
    pub fn new(query: &str, terms: &'t [String]) -> Self {
        let long = terms.iter().map(String::as_str);
        Self {
            whole: crate::text::one_line(&query.to_lowercase()),
            terms,
            long: long.filter(|term| term.chars().count() >= LONG).collect(),
        }
    }

    /// The most that [`Self::exact_match`] can be.
    pub fn most_exact_match(&self) -> f64 {
        let whole = if self.whole.is_empty() {
            0.0
        } else {
            WHOLE_QUERY
        };
        (whole + WORD * count(self.long.len())).min(EXACT_MATCH)
    }

    /// The most that [`Self::exact_match`] of a part of a text can be, at less cost than cutting the part.
    pub fn most_exact_match_in(&self, text: &str) -> f64 {
        // The case of other letters depends on the letters next to them, which a part may lack.
        if self.long.is_empty() || !text.is_ascii() {
            return self.most_exact_match();
        }
        let text = text.to_ascii_lowercase();
        let words = self
            .long
            .iter()
            .filter(|term| text.contains(**term))
            .count();
        // The query has all its words.
        let has_whole = words == self.long.len();
        let whole = if has_whole { WHOLE_QUERY } else { 0.0 };
        (whole + WORD * count(words)).min(EXACT_MATCH)
    }

    /// Return the value of the query or its longer words in a snippet.
    pub fn exact_match(&self, snippet: &str) -> f64 {
        let text = snippet.to_lowercase();
        let has_whole = !self.whole.is_empty() && text.contains(&self.whole);
        let whole = if has_whole { WHOLE_QUERY } else { 0.0 };
        let words = self
            .long
            .iter()
            .filter(|term| text.contains(**term))
            .count();
        (whole + WORD * count(words)).min(EXACT_MATCH)
    }

    /// Return the value of words of the query in the front matter.
    pub fn metadata_match(&self, words: &str) -> f64 {
        let found = self.terms.iter().filter(|term| words.contains(&***term));
        (WORD * count(found.count())).min(MOST_OF_METADATA)
    }
}

fn count(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::MAX, f64::from)
}

/// Return the value of known lines and a known session.
pub fn provenance(has_lines: bool, has_session: bool) -> f64 {
    let of_lines = if has_lines { 0.02 } else { 0.0 };
    let of_session = if has_session { 0.03 } else { 0.0 };
    0.02 + of_lines + of_session
}

/// The weight of a memory by its age at a time: 1 for a new one, halved with each half-life. Times are
/// microseconds. A memory without a time weighs as much as one that is as old as the half-life.
pub fn recency_weight(time: Option<StatedTime>, at: i64, half_life: i64) -> f64 {
    let Some(stated) = time else {
        return 0.5;
    };
    let age = seconds(at) - seconds(stated.time.micros);
    rounded((-age.max(0.0) / seconds(half_life)).exp2())
}

/// A preference of a query for early or late memories.
#[derive(Debug, Clone, Copy, PartialEq)]
enum TimeWish {
    Nothing,
    Recent,
    Early,
    After(i64),
    Before(i64),
}

impl TimeWish {
    fn of(query: &str) -> Self {
        if let Some(side) = side(query) {
            return side;
        }
        let lower = query.to_lowercase();
        let words = lower.split(|c: char| !c.is_ascii_lowercase());
        let (mut recent, mut early) = (false, false);
        for word in words {
            recent |= RECENT.contains(&word);
            early |= EARLY.contains(&word);
        }
        match (recent, early) {
            (true, false) => Self::Recent,
            (false, true) => Self::Early,
            _ => Self::Nothing,
        }
    }
}

/// `after` or `before` and a time that exists.
fn side(query: &str) -> Option<TimeWish> {
    static SIDE: OnceLock<Option<Regex>> = OnceLock::new();
    let side = SIDE.get_or_init(|| {
        Regex::new(
            r"(?i)\b(after|before)\s+([0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?[ ]?(?:Z|[-+][0-9]{2}:?[0-9]{2})?)?)",
        )
        .ok()
    });
    let found = side.as_ref()?.captures(query)?;
    let border = stated_time(&found[2])?.time.micros;
    Some(if found[1].eq_ignore_ascii_case("after") {
        TimeWish::After(border)
    } else {
        TimeWish::Before(border)
    })
}

/// Return the value of each candidate for being as early or as late as a query prefers, among all
/// of them.
pub fn temporal_relevance(query: &str, times: &[Option<StatedTime>]) -> Vec<f64> {
    let wish = TimeWish::of(query);
    let known = times.iter().flatten().map(|stated| stated.time.micros);
    let (Some(earliest), Some(latest)) = (known.clone().min(), known.max()) else {
        return vec![0.0; times.len()];
    };
    let relevance = |stated: &StatedTime| {
        let micros = stated.time.micros;
        let span = seconds(latest) - seconds(earliest);
        let recency = if span == 0.0 {
            0.5
        } else {
            (seconds(micros) - seconds(earliest)) / span
        };
        match wish {
            TimeWish::Recent | TimeWish::Early if latest == earliest => 0.05,
            TimeWish::Recent => 0.12 * recency,
            TimeWish::Early => 0.12 * (1.0 - recency),
            TimeWish::After(border) if micros > border => 0.06 + 0.06 * recency,
            TimeWish::Before(border) if micros < border => 0.06 + 0.06 * (1.0 - recency),
            TimeWish::Nothing | TimeWish::After(_) | TimeWish::Before(_) => 0.0,
        }
    };
    let each = times
        .iter()
        .map(|time| time.as_ref().map_or(0.0, relevance));
    each.collect()
}

#[allow(
    clippy::cast_precision_loss,
    reason = "to a microsecond, as all that follows is rounded"
)]
fn seconds(micros: i64) -> f64 {
    micros as f64 / MICROS
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "scores are equal to the bit")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_are_rounded_half_to_even_by_their_exact_value() {
        for (number, expected) in [
            (0.00005, 0.0001),
            (0.00015, 0.0001),
            (0.03125, 0.0312),
            (0.09375, 0.0938),
            (-0.00001, 0.0),
            (1.0, 1.0),
        ] {
            assert_eq!(
                rounded(number).to_bits(),
                f64::to_bits(expected),
                "{number}"
            );
        }
    }

    #[test]
    fn the_weight_halves_with_each_half_life() {
        let stated = |date: &str| stated_time(date);
        let (at, day) = (
            stated_time("2026-03-02").unwrap().time.micros,
            86_400_000_000,
        );
        for (date, expected) in [
            ("2026-03-02", 1.0),
            ("2026-03-01", 0.5),
            ("2026-02-28", 0.25),
            ("2026-03-01T06:00:00Z", 0.5946),
            ("2999-01-01", 1.0),
            ("0001-01-01", 0.0),
        ] {
            assert_eq!(recency_weight(stated(date), at, day), expected, "{date}");
        }
        assert_eq!(recency_weight(None, at, day), 0.5);
    }

    #[test]
    fn a_wish_is_read_from_the_words() {
        assert_eq!(TimeWish::of("the latest plan"), TimeWish::Recent);
        assert_eq!(TimeWish::of("first and last"), TimeWish::Nothing);
        assert_eq!(
            TimeWish::of("AFTER 1970-01-02"),
            TimeWish::After(86_400_000_000)
        );
        assert_eq!(TimeWish::of("first, before 1970-02-30"), TimeWish::Early);
    }

    #[test]
    fn times_count_among_all_candidates() {
        let day = |day: u32| stated_time(&format!("2026-06-{day:02}"));
        let times = [day(1), day(5), day(11)];
        for (query, expected) in [
            ("ravens", [0.0, 0.0, 0.0]),
            ("latest ravens", [0.0, 0.048, 0.12]),
            ("Earliest ravens", [0.12, 0.072, 0.0]),
            ("first and last", [0.0, 0.0, 0.0]),
            ("ravens after 2026-06-02", [0.0, 0.084, 0.12]),
            ("ravens before 2026-06-05", [0.12, 0.0, 0.0]),
            ("after 2026-06-05 00:00", [0.0, 0.0, 0.12]),
            ("latest before 2026-06-05T12:00Z", [0.12, 0.096, 0.0]),
            ("after 2026-13-99 latest", [0.0, 0.048, 0.12]),
        ] {
            let given = temporal_relevance(query, &times);
            assert_eq!(
                given.iter().map(|one| rounded(*one)).collect::<Vec<_>>(),
                expected,
                "{query}"
            );
        }
        let equal = temporal_relevance("latest", &[day(1), None, day(1)]);
        assert_eq!(equal, [0.05, 0.0, 0.05]);
        assert_eq!(
            rounded(temporal_relevance("after 2026-01-01", &[day(1)])[0]),
            0.09
        );
        assert_eq!(temporal_relevance("latest", &[None]), [0.0]);
    }

    #[test]
    fn boosts_have_a_ceiling() {
        let long = "albatross bittern cormorant dunlin egret fulmar gannet";
        let terms = crate::recall::snippet::recall_terms(long);
        let query = ScoredQuery::new(long, &terms);
        assert_eq!(query.exact_match(long), EXACT_MATCH);
        assert_eq!(query.most_exact_match(), EXACT_MATCH);
        assert_eq!(query.metadata_match(long), MOST_OF_METADATA);
    }

    #[test]
    fn no_part_of_a_text_has_a_higher_value_than_the_bound_of_the_text() {
        for query in ["ravens roost", "Ravens", "\u{c9}t\u{e9}s ravens", "in it"] {
            let terms = crate::recall::snippet::recall_terms(query);
            let query = ScoredQuery::new(query, &terms);
            for text in [
                "",
                "crows",
                "the ravens\nroost",
                "Ravens Roost here",
                "roost, ravens in it",
                "\u{c9}t\u{e9}s ravens",
                "\u{c9}T\u{c9}S RAVENS ROOST",
            ] {
                let bound = query.most_exact_match_in(text);
                assert!(bound <= query.most_exact_match(), "{query:?} {text}");
                let ends: Vec<usize> = (0..=text.len())
                    .filter(|at| text.is_char_boundary(*at))
                    .collect();
                for (nth, start) in ends.iter().enumerate() {
                    for end in &ends[nth..] {
                        let part = crate::text::one_line(&text[*start..*end]);
                        assert!(query.exact_match(&part) <= bound, "{query:?} {text} {part}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_bound_of_an_ascii_text_counts_its_words() {
        let terms = crate::recall::snippet::recall_terms("ravens roost");
        let query = ScoredQuery::new("ravens roost", &terms);
        let bounds =
            ["crows", "RAVENS", "roost of ravens"].map(|text| query.most_exact_match_in(text));
        assert_eq!(bounds, [0.0, WORD, WHOLE_QUERY + 2.0 * WORD]);
    }

    proptest! {
        #[test]
        fn rounding_is_that_of_the_decimal_text(number in -2.0..2.0_f64) {
            let expected: f64 = format!("{number:.4}").parse().unwrap();
            prop_assert_eq!(rounded(number).to_bits(), (expected + 0.0).to_bits());
        }
    }
}
