//! The parts of a phrase, for compiling a query in a script without spaces.

use super::composed::ComposedText;
use super::folding::{self, LATIN_STEM, OTHER_STEM};
use super::scan::{Item, Kind, ScannedText};
use super::units::Units;

/// A phrase and its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    /// The whole phrase with its Latin words folded.
    pub text: String,
    /// The parts in order; a single part of words without a run.
    pub parts: Vec<PhrasePart>,
}

/// A part of a phrase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PhrasePart {
    /// Words in a row.
    Words(SpacedWords),
    /// A run in a script without spaces.
    Run {
        /// The characters, syllables or clusters of the run.
        units: Vec<String>,
        /// Whether it is of Hangul, which has spaces between words.
        is_hangul: bool,
    },
}

/// Words with spaces between them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SpacedWords {
    /// The words, with the text between them.
    pub text: String,
    /// Whether a Latin word has a stem.
    pub latin_stem: bool,
    /// Whether a word in another alphabet has a stem.
    pub other_stem: bool,
}

impl Parts {
    /// The parts of a phrase.
    pub fn of(phrase: &str) -> Self {
        let composed = ComposedText::of(phrase);
        let text = &*composed.text;
        let items = ScannedText::of(&composed).items;
        let has_run = items.iter().any(|item| item.kind.is_unspaced());
        let mut parts = Vec::new();
        let is_together =
            |one: &Item, other: &Item| !one.kind.is_unspaced() && !other.kind.is_unspaced();
        for items in items.chunk_by(is_together) {
            match items {
                [run] if run.kind.is_unspaced() => parts.push(PhrasePart::Run {
                    units: Units::of(&text[run.range.clone()], run.kind, run.has_marks)
                        .map(str::to_owned)
                        .collect(),
                    is_hangul: run.kind == Kind::Hangul,
                }),
                words => parts.push(PhrasePart::Words(words_of(text, words, !has_run))),
            }
        }
        let whole = words_of(text, &items, true).text;
        if parts.is_empty() {
            parts.push(PhrasePart::Words(SpacedWords {
                text: whole.clone(),
                ..SpacedWords::default()
            }));
        }
        Self { text: whole, parts }
    }

    /// Whether the phrase ends with a run of one unit, which only a prefix finds within other runs.
    pub fn ends_with_unit(&self) -> bool {
        matches!(self.parts.last(), Some(PhrasePart::Run { units, .. }) if units.len() == 1)
    }

    /// The number of pairs of units in the runs of the phrase.
    pub fn pairs(&self) -> usize {
        let pairs = |part: &PhrasePart| match part {
            PhrasePart::Words(_) => 0,
            PhrasePart::Run { units, .. } => units.len().saturating_sub(1).max(1),
        };
        self.parts.iter().map(pairs).sum()
    }
}

/// Whether there is a letter of a script without spaces, or of Hangul.
pub fn has_run(text: &str) -> bool {
    let items = ScannedText::of(&ComposedText::of(text)).items;
    items.iter().any(|item| item.kind.is_unspaced())
}

/// The words of some items, those of Latin letters folded; with everything around them if `whole`.
fn words_of(text: &str, items: &[Item], whole: bool) -> SpacedWords {
    let mut words = SpacedWords::default();
    let start = items.first().map_or(0, |item| item.range.start);
    let mut at = if whole { 0 } else { start };
    for item in items {
        words.text.push_str(&text[at..item.range.start]);
        at = item.range.end;
        let word = &text[item.range.clone()];
        let mut folded = String::new();
        folding::fold_into(word, &mut folded);
        let has = |letters: usize| folded.chars().nth(letters - 1).is_some();
        match item.kind {
            Kind::Latin => words.latin_stem |= has(LATIN_STEM),
            Kind::Other => words.other_stem |= has(OTHER_STEM),
            Kind::Arabic => words.other_stem = true,
            Kind::Symbol | Kind::Cjk | Kind::Hangul | Kind::Thai => {}
        }
        let is_latin = item.kind == Kind::Latin;
        words.text.push_str(if is_latin { &folded } else { word });
    }
    if whole {
        words.text.push_str(&text[at..]);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(units: &str, is_hangul: bool) -> PhrasePart {
        PhrasePart::Run {
            units: units.split(' ').map(str::to_owned).collect(),
            is_hangul,
        }
    }

    fn words(text: &str, latin_stem: bool, other_stem: bool) -> PhrasePart {
        PhrasePart::Words(SpacedWords {
            text: text.to_owned(),
            latin_stem,
            other_stem,
        })
    }

    #[test]
    fn phrases_have_words_and_runs() {
        for (phrase, text, parts) in [
            (
                "gdp增长5月",
                "gdp增长5月",
                vec![
                    words("gdp", false, false),
                    run("增 长", false),
                    words("5", false, false),
                    run("月", false),
                ],
            ),
            (
                "gärtnerei!",
                "gartnerei!",
                vec![words("gartnerei!", true, false)],
            ),
            ("親구", "親구", vec![run("親", false), run("구", true)]),
            (
                "кустов كتاب",
                "кустов كتاب",
                vec![words("кустов كتاب", false, true)],
            ),
            (
                "ｃafé東",
                "cafe東",
                vec![words("cafe", false, false), run("東", false)],
            ),
            ("…", "…", vec![words("…", false, false)]),
        ] {
            let expected = Parts {
                text: text.to_owned(),
                parts,
            };
            assert_eq!(Parts::of(phrase), expected, "{phrase}");
        }
        assert!(has_run("a東") && has_run("ｶ") && !has_run("é…"));
    }
}
