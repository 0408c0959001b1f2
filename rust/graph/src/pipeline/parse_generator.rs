//! Reading generators.

use super::ast::{Generator, Search};
use super::parse_value::{number, params};
use super::piece::{Piece, is_space};
use super::problem::{Problem, ProblemKind};
use hedgerow_engine::retrieval::Mode;

const MODES: [(&str, Mode); 4] = [
    ("auto", Mode::Auto),
    ("hybrid", Mode::Hybrid),
    ("bm25", Mode::Bm25),
    ("semantic", Mode::Semantic),
];

/// Defaults that are not printed.
pub(super) const SEARCH_LIMIT: usize = 50;
pub(super) const MIN_SIMILARITY: f64 = 0.5;
pub(super) const MAX_PAIRS: usize = 20;

/// `all` and `interference-pairs`.
pub(super) fn bare(name: &str, items: &[Piece<'_>]) -> Result<Generator, Problem> {
    if name == "all" {
        params(items, &[], |_, _| Ok(()))?;
        return Ok(Generator::All);
    }
    let (mut min_similarity, mut max_pairs) = (MIN_SIMILARITY, MAX_PAIRS);
    params(items, &["min_sim", "max_pairs"], |name, value| {
        match name {
            "min_sim" => min_similarity = value.real(-1.0..=1.0)?,
            _ => max_pairs = value.integer(1..=usize::MAX)?,
        }
        Ok(())
    })?;
    Ok(Generator::Interference {
        min_similarity,
        max_pairs,
    })
}

/// The generators with a value.
pub(super) fn generator(name: &str, value: Piece<'_>) -> Result<Generator, Problem> {
    match name {
        "match" => terms(value).map(Generator::Match),
        "search" => search(value).map(Generator::Search),
        "seed" => {
            let items = value.split(false, |c| c == ',');
            items
                .into_iter()
                .map(seed)
                .collect::<Result<_, _>>()
                .map(Generator::Seed)
        }
        _ => {
            let items = value.split(false, |c| c == ',');
            let (key, rest) = first(value, &items)?;
            let mut min_strength = 0.0;
            params(rest, &["min_strength"], |_, value| {
                min_strength = value.real(0.0..=1.0)?;
                Ok(())
            })?;
            Ok(Generator::Neighbors(key, min_strength))
        }
    }
}

/// A query and its parameters, of `search` and `rank`.
pub(super) fn search(value: Piece<'_>) -> Result<Search, Problem> {
    let items = value.split(false, |c| c == ',');
    let (query, rest) = first(value, &items)?;
    let mut search = Search {
        query,
        limit: SEARCH_LIMIT,
        mode: Mode::Auto,
    };
    params(rest, &["k", "mode"], |name, value| {
        match name {
            "k" => search.limit = value.integer(1..=usize::MAX)?,
            _ => search.mode = value.choice(&MODES)?,
        }
        Ok(())
    })?;
    Ok(search)
}

/// The first item of a value as text, and the items after it.
fn first<'p, 't>(
    value: Piece<'t>,
    items: &'p [Piece<'t>],
) -> Result<(String, &'p [Piece<'t>]), Problem> {
    match items {
        [first, rest @ ..] => Ok((first.string()?, rest)),
        [] => Ok((value.string()?, &[])),
    }
}

/// Terms, between commas and white space.
fn terms(value: Piece<'_>) -> Result<Vec<String>, Problem> {
    let mut terms = Vec::new();
    for item in value.split(false, |c| c == ',') {
        if item.is_empty() {
            item.string()?;
        }
        for term in item.split(false, is_space) {
            if !term.is_empty() {
                terms.push(term.string()?);
            }
        }
    }
    Ok(terms)
}

/// A key and, after `^`, its score.
fn seed(item: Piece<'_>) -> Result<(String, f64), Problem> {
    // Within quotes a caret belongs to the key.
    let caret = if item.str().starts_with('"') {
        item.find(|c| c == '^')
    } else {
        item.str().rfind('^')
    };
    let Some(caret) = caret else {
        return Ok((item.string()?, 1.0));
    };
    let (key, score) = item.split_at(caret);
    let (key, score) = (key.trimmed(), score.split_at(1).1.trimmed());
    let score = number(score.str()).filter(|score| *score >= 0.0);
    let Some(score) = score else {
        let sentence = "a seed's score is a number from 0, after the caret";
        return Err(item.problem(ProblemKind::BadValue, sentence));
    };
    if key.is_empty() {
        return Err(item.problem(ProblemKind::MissingValue, "there is no key here"));
    }
    Ok((key.string()?, score))
}
