//! The retry ladder: further searches after a query without hits (spec/retrieval.md).

use super::keywords::Keywords;
use super::matches::Matches;
use super::retry::{query_tokens, sanitise_query, strongest_term};
use super::trace::{Attempt, Strategy};
use crate::error::Result;
use crate::text::lower::lower;
use crate::text::whitespace::trim;

/// Walk the rungs in order until one finds something; record each that ran.
pub(super) fn climb<'a>(
    keywords: &Keywords<'a>,
    query: &str,
    attempts: &mut Vec<Attempt>,
) -> Result<Matches<'a>> {
    let sanitised = sanitise_query(query);
    let strongest = strongest_term(query).filter(|term| *term != lower(trim(query).to_owned()));
    // Rung 2 refreshes the index; SQLite's is never stale.
    let rungs = [
        (Strategy::StrongestTerm, strongest),
        (
            Strategy::RefreshedSanitised,
            Some(sanitised.clone()).filter(|text| !text.is_empty()),
        ),
        (Strategy::RefreshedStrongest, strongest_term(&sanitised)),
    ];
    for (strategy, text) in rungs {
        let Some(text) = text else { continue };
        let matches = keywords.search(&text)?;
        attempts.push(Attempt {
            strategy,
            query: text,
            hits: matches.found.len(),
        });
        if !matches.found.is_empty() {
            return Ok(matches);
        }
    }
    let tokens = query_tokens(query);
    if tokens.is_empty() {
        return Ok(Matches::default());
    }
    let matches = keywords.fuzzy(&tokens)?;
    attempts.push(Attempt {
        strategy: Strategy::TrigramFuzzy,
        query: tokens.join(" "),
        hits: matches.found.len(),
    });
    Ok(matches)
}
