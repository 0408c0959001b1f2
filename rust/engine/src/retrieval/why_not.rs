//! Why a chunk is not among the results (spec/retrieval.md, "Why not").

use super::collection::Reader;
use super::explanation::Explanation;
use super::fused::explained_before;
use super::intent::Intent;
use super::keywords::{Compiled, Keywords};
use super::legs::{Bm25Leg, VectorLeg};
use super::request::{Request, Setup};
use super::search::{Legs, Search};
use super::trace::Timings;
use crate::error::Result;
use crate::index::session::Needs;
use crate::query::Phrase;

/// The fate of one chunk with unlimited legs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WhyNot {
    /// Whether the index has it.
    pub exists: bool,
    /// Whether it passes the filters.
    pub passes: bool,
    /// Each searched phrase, and whether the chunk contains it.
    pub phrases: Vec<(String, bool)>,
    /// The phrases after NOT that it holds.
    pub excluded_by: Vec<String>,
    /// The rank by keywords, from 0, and the score there.
    pub keywords: Option<(usize, f64)>,
    /// The rank by vectors, from 0, and the cosine.
    pub vectors: Option<(usize, f64)>,
    /// The rank after fusing both legs, from 0, before a reranker and without groups.
    pub rank: Option<usize>,
    /// Where its score would come from.
    pub explanation: Option<Explanation>,
}

/// Run the search of a request with legs that hold everything, and see what becomes of a chunk.
pub fn why_not(setup: &Setup<'_>, request: &Request<'_>, id: &str) -> Result<WhyNot> {
    let endless = Request {
        candidate_k: usize::MAX,
        wanted: usize::MAX,
        group_by: None,
        ..*request
    };
    let mut needs = Needs {
        keywords: true,
        vectors: super::legs::vector(request).is_some(),
        neighbors: setup.counts_neighbors(),
        turns: request.needs_turns(setup),
        ..Needs::default()
    };
    let look = |needs| {
        let mut seen = Ok(None);
        setup.collection.read(needs, &mut |reader| {
            let found = look_at(reader, setup, &endless, id);
            seen = found.map(|found| (!reader.lacks_slugs()).then_some(found));
        })?;
        seen
    };
    if let Some(found) = look(needs)? {
        return Ok(found);
    }
    needs.slugs = true;
    Ok(look(needs)?.unwrap_or_default())
}

fn look_at(
    reader: &dyn Reader,
    setup: &Setup<'_>,
    request: &Request<'_>,
    id: &str,
) -> Result<WhyNot> {
    let Some(row) = reader.row(id)? else {
        return Ok(WhyNot::default());
    };
    let compiled = Compiled::new(Some(reader), setup, request)?;
    let phrases = distinct(compiled.expression.phrases());
    let mut found = WhyNot {
        exists: true,
        passes: reader.passes(row, request.filters)?,
        phrases: phrases
            .filter_map(|phrase| Some((phrase.shown()?, phrase)))
            .map(|(shown, phrase)| Ok((shown.to_string(), reader.holds(row, phrase)?)))
            .collect::<Result<_>>()?,
        ..WhyNot::default()
    };
    for phrase in distinct(compiled.expression.none.iter()) {
        if reader.holds(row, phrase)? {
            found
                .excluded_by
                .extend(phrase.shown().map(|shown| shown.to_string()));
        }
    }
    let keywords = Keywords {
        reader,
        setup,
        request,
    };
    let mut timings = Timings::default();
    let vector = VectorLeg::run(reader, setup, &[*request]).pop();
    let legs = Legs {
        bm25: Bm25Leg::run(&keywords, &compiled, &mut timings)?,
        vector: vector.unwrap_or(Ok(VectorLeg::Absent))?,
    };
    // Half an answer would give wrong reasons.
    if let Some(error) = legs.bm25.failure {
        return Err(error);
    }
    if let VectorLeg::Failed(Some(error)) = legs.vector {
        return Err(error);
    }
    let matched = legs.bm25.matches.found.iter();
    found.keywords = (matched.enumerate())
        .find(|(_, one)| one.key == Some(row))
        .map(|(rank, one)| (rank, one.score));
    found.vectors = (legs.vector.rows().iter().enumerate())
        .find(|(_, one)| one.row == row)
        .map(|(rank, one)| (rank, one.score));
    let search = Search {
        reader,
        setup,
        request,
    };
    (found.rank, found.explanation) = ranked(&search, &legs, row, id)?.unzip();
    Ok(found)
}

/// The rank of a row in all that both legs found, and where its score comes from.
fn ranked(
    search: &Search<'_>,
    legs: &Legs<'_>,
    row: i64,
    id: &str,
) -> Result<Option<(usize, Explanation)>> {
    let multiplied = search.setup.reweight && Intent::detect(search.request.query)?.any();
    if multiplied {
        // Multipliers depend on texts, so that all of them are read.
        let hits = search.hits(legs, &mut Timings::default())?.hits;
        let mut ranked = hits.into_iter().enumerate();
        let found = ranked.find(|(_, one)| one.hit.id == id);
        return Ok(found.map(|(rank, one)| (rank, one.explanation)));
    }
    let mut fused = legs
        .fuse(search.reader, search.setup, search.request, usize::MAX)?
        .documents;
    let Some(at) = fused.iter().position(|one| one.key == Some(row)) else {
        return Ok(None);
    };
    let better = fused
        .iter()
        .filter(|other| explained_before(&other.explanation, &fused[at].explanation).is_lt());
    let rank = better.count();
    let document = &mut fused[at];
    let given = document.take_given();
    given.explain(&mut document.explanation, |row| search.reader.id(row))?;
    Ok(Some((rank, document.explanation.clone())))
}

/// Each phrase once, in order.
fn distinct<'p>(phrases: impl Iterator<Item = &'p Phrase>) -> impl Iterator<Item = &'p Phrase> {
    let mut seen = std::collections::HashSet::new();
    phrases.filter(move |phrase| seen.insert(*phrase))
}
