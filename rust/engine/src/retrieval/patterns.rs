//! The patterns for the intent of a query and the kind of a note (spec/retrieval.md, "Intents").
//! They are JavaScript source, kept to the letter, and read lower-cased English.

use std::sync::LazyLock;

use crate::error::Result;
use crate::text::pattern::Pattern;

macro_rules! patterns {
    ($($name:ident = $source:literal,)*) => {
        /// All patterns, compiled.
        pub(super) struct Patterns { $(pub $name: Pattern,)* }

        impl Patterns {
            fn compile() -> Result<Self> {
                Ok(Self { $($name: Pattern::new($source)?,)* })
            }
        }

        #[cfg(test)]
        const SOURCES: &[(&str, &str)] = &[$((stringify!($name), $source),)*];
    };
}

patterns! {
    preference_query = r"\b(?:recommend|suggest|recommendation|suggestion|tips?|advice|ideas?|what should i|which should i)\b",
    enumeration_or_total_query = r"\b(?:how many|count|total|in total|sum|add up|list|what are all)\b",
    first_person_fact_lookup = r"\b(?:did i|have i|was i|were i)\b",
    fact_lookup_verb = r"\b(?:pick(?:ed)? up|bought|ordered|spent|earned|sold|drove|travelled|traveled|watched|visited|completed|finished|submitted|booked)\b",
    preference_note = r"\b(?:prefer(?:s|red)?|like(?:s|d)?|love(?:s|d)?|want(?:s|ed)?|need(?:s|ed)?|avoid(?:s|ed)?|dislike(?:s|d)?|hate(?:s|d)?|enjoy(?:s|ed)?|interested in|looking for)\b",
    generic_note = r"\b(?:tips?|advice|suggest(?:ion|ed)?s?|recommend(?:ation|ed)?s?|ideas?|options?|guide|tracking|tracker|checklist)\b",
    rollup_note = r"\b(?:roll-?up|summary|recap|overview|aggregate|combined|overall|in total|totalled?|totalling)\b",
    atomic_event_note = r"\b(?:i|we)\s+(?:picked up|bought|ordered|spent|earned|sold|drove|travelled|traveled|went|watched|visited|completed|finished|started|booked|got|took|submitted)\b",
    date_tag = r"\[(?:date|observed on):",
}

/// The patterns, compiled when they are first asked for.
pub(super) fn patterns() -> Result<&'static Patterns> {
    static PATTERNS: LazyLock<Result<Patterns>> = LazyLock::new(Patterns::compile);
    PATTERNS.as_ref().map_err(Clone::clone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_patterns_are_the_fixture() {
        let fixture = include_str!("../../../../spec/fixtures/intent-patterns.json");
        let expected: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(fixture).unwrap();
        let expected: Vec<(&str, &str)> = expected
            .iter()
            .map(|(name, source)| (name.as_str(), source.as_str().unwrap()))
            .collect();
        assert_eq!(SOURCES, expected);
        patterns().unwrap();
    }
}
