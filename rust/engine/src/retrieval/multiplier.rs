//! Factors on a score for the intent of the query (spec/retrieval.md, "Multipliers").

use super::intent::Intent;
use super::patterns::{Patterns, patterns};
use crate::error::Result;
use crate::index::Hit;
use crate::named_enum;
use crate::text::lower::lower_ascii;

named_enum! {
    /// A row of the tables of multipliers: the reason for a factor.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Condition {
        /// The query asks for a preference, and this is a user preference of the global memory.
        UserPreference = "the question asks for a preference and this is a user preference",
        /// The query asks for a preference, and this note of the global memory mentions one.
        PreferenceNote = "the question asks for a preference and this note speaks of one",
        /// The query asks for a preference, and this is general advice from outside the global
        /// memory.
        GeneralAdvice = "the question asks for a preference and this is general advice",
        /// The query asks for a preference, and this is a summary of others.
        RollUp = "the question asks for a preference and this is a summary",
        /// The query asks for a fact, and this is one: by its path, its date or its words.
        ConcreteFact = "the question asks for a fact and this is one",
        /// The query asks for a fact, and this is a summary of others.
        RollUpOfFacts = "the question asks for a fact and this is a summary",
        /// The query asks for a fact, and this is general advice from outside the global memory.
        AdviceForFact = "the question asks for a fact and this is general advice",
    }
}

impl Condition {
    /// Return the factor on the score.
    pub fn factor(self) -> f64 {
        match self {
            Self::UserPreference => 2.35,
            Self::PreferenceNote => 2.1,
            Self::GeneralAdvice => 0.82,
            Self::RollUp => 0.9,
            Self::ConcreteFact => 2.2,
            Self::RollUpOfFacts => 0.45,
            Self::AdviceForFact => 0.75,
        }
    }
}

/// The factor on a score, and its reasons: at most two conditions of each intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Multiplier {
    preference: [Option<Condition>; 2],
    concrete_fact: [Option<Condition>; 2],
}

impl Multiplier {
    /// The multiplier of a note whose texts are `hit`'s.
    pub fn of(intent: Intent, hit: &Hit) -> Result<Self> {
        let mut multiplier = Self::default();
        if intent.any() {
            let note = Note::new(hit, patterns()?);
            if intent.preference {
                multiplier.preference = note.for_preference()?;
            }
            if intent.concrete_fact {
                multiplier.concrete_fact = note.for_concrete_fact()?;
            }
        }
        Ok(multiplier)
    }

    /// The multiplier that has these conditions.
    pub(super) fn of_conditions(conditions: impl IntoIterator<Item = Condition>) -> Self {
        let mut multiplier = Self::default();
        for condition in conditions {
            let place = match condition {
                Condition::UserPreference
                | Condition::PreferenceNote
                | Condition::GeneralAdvice => &mut multiplier.preference[0],
                Condition::RollUp => &mut multiplier.preference[1],
                Condition::ConcreteFact | Condition::AdviceForFact => {
                    &mut multiplier.concrete_fact[0]
                }
                Condition::RollUpOfFacts => &mut multiplier.concrete_fact[1],
            };
            *place = Some(condition);
        }
        multiplier
    }

    /// The product; 1 when no condition holds. Each intent's own factors are multiplied first.
    pub fn factor(self) -> f64 {
        let product = |conditions: [Option<Condition>; 2]| -> f64 {
            conditions
                .into_iter()
                .flatten()
                .map(Condition::factor)
                .product()
        };
        product(self.preference) * product(self.concrete_fact)
    }

    /// The conditions that hold, in the order of the tables.
    pub fn conditions(self) -> impl Iterator<Item = Condition> {
        self.preference
            .into_iter()
            .chain(self.concrete_fact)
            .flatten()
    }
}

/// A hit as the patterns read it.
struct Note<'a> {
    path: String,
    /// Path, title, summary and content, a line each.
    text: String,
    patterns: &'a Patterns,
}

impl<'a> Note<'a> {
    fn new(hit: &Hit, patterns: &'a Patterns) -> Self {
        let text = [
            hit.path.as_str(),
            hit.title.as_str(),
            hit.summary.as_str(),
            hit.content.as_str(),
        ]
        .join("\n");
        Self {
            path: lower_ascii(hit.path.clone()),
            text: lower_ascii(text),
            patterns,
        }
    }

    fn for_preference(&self) -> Result<[Option<Condition>; 2]> {
        let global = self.is_global();
        if global && self.path.contains("user-preference-") {
            return Ok([Some(Condition::UserPreference), None]);
        }
        if global && self.patterns.preference_note.is_match(&self.text)? {
            return Ok([Some(Condition::PreferenceNote), None]);
        }
        let advice = !global && self.is_advice()?;
        Ok([
            advice.then_some(Condition::GeneralAdvice),
            self.is_roll_up()?.then_some(Condition::RollUp),
        ])
    }

    fn for_concrete_fact(&self) -> Result<[Option<Condition>; 2]> {
        let roll_up = self.is_roll_up()?;
        let fact = self.path.contains("user-fact-")
            || self.path.contains("milestone-")
            || (!roll_up && self.tells_an_event()?);
        let first = if fact {
            Some(Condition::ConcreteFact)
        } else if !self.is_global() && self.is_advice()? {
            Some(Condition::AdviceForFact)
        } else {
            None
        };
        Ok([first, roll_up.then_some(Condition::RollUpOfFacts)])
    }

    fn is_global(&self) -> bool {
        self.path.contains("memory/global/")
    }

    fn is_advice(&self) -> Result<bool> {
        self.patterns.generic_note.is_match(&self.text)
    }

    fn is_roll_up(&self) -> Result<bool> {
        self.patterns.rollup_note.is_match(&self.text)
    }

    fn tells_an_event(&self) -> Result<bool> {
        Ok(self.patterns.date_tag.is_match(&self.text)?
            || (may_tell_of_us(&self.text)
                && self.patterns.atomic_event_note.is_match(&self.text)?))
    }
}

/// Whether an `i` or a `we` comes before a character that may be white space. Otherwise
/// `atomic_event_note` cannot match, and takes many times as long.
fn may_tell_of_us(text: &str) -> bool {
    let bytes = text.as_bytes();
    let ends_word = |byte: u8| !byte.is_ascii_graphic();
    let is_us = |(one, (two, after)): (&u8, (&u8, &u8))| {
        let says_so = *two == b'i' || (*one == b'w' && *two == b'e');
        says_so && ends_word(*after)
    };
    if matches!(bytes, [b'i', after, ..] if ends_word(*after)) {
        return true;
    }
    let twos = bytes.iter().skip(1).zip(bytes.iter().skip(2));
    let threes = bytes.iter().zip(twos);
    // Without an early end the loop works on many bytes in parallel.
    threes.fold(false, |any, three| any | is_us(three))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_tells_of_us_may_do_so(
            words in prop::collection::vec(prop::sample::select(vec![
                "i", "we", "got", "picked up", "oak", " ", " ", "\n", "\u{FEFF}", "_", "é",
            ]), 0..12)
        ) {
            let text = words.concat();
            let tells = patterns().unwrap().atomic_event_note.is_match(&text).unwrap();
            prop_assert!(!tells || may_tell_of_us(&text), "{text:?}");
        }
    }

    #[test]
    fn few_other_texts_may_tell_of_us() {
        for (text, expected) in [
            ("i got it", true),
            ("when we\u{A0}went", true),
            ("word7 weir the", false),
            ("i", false),
            ("", false),
        ] {
            assert_eq!(may_tell_of_us(text), expected, "{text:?}");
        }
    }
}
