//! The intent of a query (spec/retrieval.md, "Intents").

use super::patterns::patterns;
use crate::error::Result;
use crate::text::lower::lower_ascii;

/// The intents of a query: neither, either or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Intent {
    /// Something to choose: advice, ideas, a recommendation.
    pub preference: bool,
    /// A fact to look up: a number, a list, an action of the asker.
    pub concrete_fact: bool,
}

impl Intent {
    /// The intent of a query in English; one in another language has none.
    pub fn detect(query: &str) -> Result<Self> {
        let query = lower_ascii(query.to_owned());
        let patterns = patterns()?;
        Ok(Self {
            preference: patterns.preference_query.is_match(&query)?,
            concrete_fact: patterns.enumeration_or_total_query.is_match(&query)?
                || (patterns.first_person_fact_lookup.is_match(&query)?
                    && patterns.fact_lookup_verb.is_match(&query)?),
        })
    }

    /// Whether there is an intent at all.
    pub fn any(self) -> bool {
        self.preference || self.concrete_fact
    }
}
