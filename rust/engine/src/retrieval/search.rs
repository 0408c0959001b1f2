//! A search, from the query to the fused hits: the stages in their order (spec/retrieval.md).

use std::collections::HashSet;
use std::slice;
use std::time::Instant;

use super::candidates::{Candidates, ScoredCandidates};
use super::collection::Reader;
use super::dates;
use super::explanation::ExplainedHit;
use super::fuse::DEFAULT_K;
use super::fused::{Document, Fused, best_of_groups};
use super::intent::Intent;
use super::keywords::{Compiled, Keywords};
use super::leg_error::of_the_leg;
use super::legs::{Bm25Leg, Nearest, VectorLeg, timed, vector};
use super::matches::Matches;
use super::neighbors::{NeighborCandidates, NeighborGains, NeighborScores};
use super::recency;
use super::request::{Embedding, Fusion, Mode, Request, Reranker, Setup};
use super::reweight::reweight_explained;
use super::speakers;
use super::trace::{SkippedReason, Stage, Timings, Trace};
use super::unanimity::{self, DEFAULT_AGREE_MIN};
use crate::chunks::{Selection, Turn};
use crate::error::{Error, ErrorCode, Result};
use crate::index::session::Needs;
use crate::interrupt;
use crate::query::Matching;
use crate::top_k;

/// The notice for a collection without a text that has a word of the query.
const NO_SPELLINGS: &str = "No text matches these words, and a collection on a server is not searched for other spellings: \
     check the spelling.";
/// The notice for filters that no chunk passes.
const NONE_PASSES: &str =
    "No chunk passes the filters: check their names and values, or leave one out.";

/// The result of a search, before a reranker.
#[derive(Debug, Clone)]
pub struct SearchResult {
    /// As many hits as were wanted, best first, with where their scores come from.
    pub hits: Vec<ExplainedHit>,
    /// How it came about.
    pub trace: Trace,
    /// The error of the failed stage; None for an embedder, which fails elsewhere.
    pub error: Option<Error>,
    /// Whether every leg failed. A search without hits has not failed.
    pub failed: bool,
}

/// Run every stage of a search except the reranker.
///
/// It fails only for errors that the caller can fix: a text over the limits, a vector of another dimension, a
/// closed index. Other failures are in the trace and in [`Found::error`].
pub fn search(setup: &Setup<'_>, request: &Request<'_>) -> Result<SearchResult> {
    let mut found = search_together(setup, slice::from_ref(request));
    found.pop().flatten().unwrap_or_else(|| {
        let message = "a search had no answer; please report this";
        Err(Error::new(ErrorCode::EngineFault, message))
    })
}

/// Like [`search()`], for requests that share passes, in one state of the index. A request cancelled before
/// its turn has no answer.
pub(super) fn search_together(
    setup: &Setup<'_>,
    requests: &[Request<'_>],
) -> Vec<Option<Result<SearchResult>>> {
    let vectors = requests.iter().any(|request| vector(request).is_some());
    let group_by = requests.first().and_then(|request| request.group_by);
    let mut needs = Needs {
        keywords: true,
        vectors,
        group_by,
        neighbors: setup.counts_neighbors(),
        turns: requests.iter().any(|request| request.needs_turns(setup)),
        slugs: false,
    };
    let mut found = in_one_state(setup, requests, needs);
    if matches!(found, Ok(None)) {
        // Hardly any search reaches the fuzzy rung, so slugs are read only when one does.
        needs.slugs = true;
        found = in_one_state(setup, requests, needs);
    }
    let failed = |error: Error| {
        let failed = |request| Some(without_index(setup, request, &error));
        requests.iter().map(failed).collect()
    };
    match found {
        Ok(found) => found.unwrap_or_default(),
        Err(error) => failed(error),
    }
}

/// [`search_together`]; None if slugs turned out to be needed.
fn in_one_state(
    setup: &Setup<'_>,
    requests: &[Request<'_>],
    needs: Needs<'_>,
) -> Result<Option<Vec<Option<Result<SearchResult>>>>> {
    let mut answered = None;
    setup.collection.read(needs, &mut |reader| {
        let found = run_all(reader, setup, requests);
        answered = (!reader.lacks_slugs()).then_some(found);
    })?;
    Ok(answered)
}

/// [`search`] in an open state; None if it needs slugs, which are not at hand.
pub fn search_in(
    reader: &dyn Reader,
    setup: &Setup<'_>,
    request: &Request<'_>,
) -> Result<Option<SearchResult>> {
    let mut found = run_all(reader, setup, slice::from_ref(request));
    if reader.lacks_slugs() {
        return Ok(None);
    }
    found.pop().flatten().transpose()
}

/// The ranking of a search, without the texts of hits.
#[derive(Debug, Clone)]
pub struct RankedRows {
    /// The best rows in no order, each with its score: as many as were wanted, and all that score as high
    /// as the last of these.
    pub rows: Vec<(i64, f64)>,
    /// The search without its hits.
    pub found: SearchResult,
}

/// Search in an open state and read no texts. The retry ladder, intents and rerankers are left out.
pub fn rank_in(
    reader: &dyn Reader,
    setup: &Setup<'_>,
    request: &Request<'_>,
) -> Result<RankedRows> {
    let start = Instant::now();
    let compiled = Compiled::new(Some(reader), setup, request);
    let vector = VectorLeg::run(reader, setup, slice::from_ref(request)).pop();
    let timings = Timings {
        vector: start.elapsed(),
        ..Timings::default()
    };
    let search = Search {
        reader,
        setup,
        request,
    };
    let vector = vector.unwrap_or(Ok(VectorLeg::Absent));
    let rank = |legs: &Legs<'_>, timings: &mut Timings| {
        timed(&mut timings.fuse, || {
            let fused = legs.fuse(reader, setup, request, request.wanted)?;
            Ok((fused.count, fused.rows(request.wanted)))
        })
    };
    let (found, rows) = search.run(compiled, vector, timings, rank)?;
    Ok(RankedRows { rows, found })
}

/// All rows that match the keywords of a request, in no order.
pub fn matching_rows(
    reader: &dyn Reader,
    setup: &Setup<'_>,
    request: &Request<'_>,
) -> Result<Vec<i64>> {
    let compiled = Compiled::new(Some(reader), setup, request)?;
    let selection = Selection {
        limit: usize::MAX,
        filters: request.filters,
        group_by: None,
        statistics: false,
        matching: setup.matching,
    };
    let matched = reader.match_rows(&compiled.expression, &selection)?;
    Ok(matched.rows.iter().map(|found| found.row).collect())
}

fn run_all(
    reader: &dyn Reader,
    setup: &Setup<'_>,
    requests: &[Request<'_>],
) -> Vec<Option<Result<SearchResult>>> {
    let compiled: Vec<Result<Compiled>> = requests
        .iter()
        .map(|request| Compiled::new(Some(reader), setup, request))
        .collect();
    if let [Ok(only)] = compiled.as_slice() {
        reader.expect(&only.expression);
    }
    let start = Instant::now();
    let legs = VectorLeg::run(reader, setup, requests);
    // Each counts an equal part of the pass that they share.
    let time = start.elapsed() / u32::try_from(requests.len()).unwrap_or(u32::MAX).max(1);
    let one = |((request, compiled), leg)| {
        let search = Search {
            reader,
            setup,
            request,
        };
        let timings = Timings {
            vector: time,
            ..Timings::default()
        };
        (requests.len() == 1 || !interrupt::is_due()).then(|| search.answer(compiled, leg, timings))
    };
    requests.iter().zip(compiled).zip(legs).map(one).collect()
}

/// The answer to a search for which the index could not be read.
fn without_index(setup: &Setup<'_>, request: &Request<'_>, error: &Error) -> Result<SearchResult> {
    let compiled = Compiled::new(None, setup, request)?;
    let error = of_the_leg(error.clone())?;
    let legs = Legs {
        bm25: Bm25Leg::failed(error.clone()),
        vector: VectorLeg::failed(request, error),
    };
    Ok(legs.report(setup, request, compiled, 0, Timings::default()))
}

/// A search under way.
pub(super) struct Search<'a> {
    pub reader: &'a dyn Reader,
    pub setup: &'a Setup<'a>,
    pub request: &'a Request<'a>,
}

impl Search<'_> {
    fn answer(
        &self,
        compiled: Result<Compiled>,
        vector: Result<VectorLeg>,
        timings: Timings,
    ) -> Result<SearchResult> {
        let hits = |legs: &Legs<'_>, timings: &mut Timings| {
            let found = self.hits(legs, timings)?;
            Ok((found.fused_count, found.hits))
        };
        let (found, hits) = self.run(compiled, vector, timings, hits)?;
        Ok(SearchResult { hits, ..found })
    }

    /// Run the legs and have `finish` fuse them; it returns the number of documents and the result.
    fn run<T>(
        &self,
        compiled: Result<Compiled>,
        vector: Result<VectorLeg>,
        mut timings: Timings,
        finish: impl Fn(&Legs<'_>, &mut Timings) -> Result<(usize, T)>,
    ) -> Result<(SearchResult, T)> {
        let Self {
            reader,
            setup,
            request,
        } = *self;
        let keywords = Keywords {
            reader,
            setup,
            request,
        };
        let mut compiled = compiled?;
        // A bad vector is the caller's error, and stops the search.
        let vector = vector?;
        let mut legs = Legs {
            bm25: Bm25Leg::run(&keywords, &compiled, &mut timings)?,
            vector,
        };
        let found_none = legs
            .bm25
            .attempts
            .first()
            .is_some_and(|initial| initial.hits == 0);
        if found_none && compiled.has_no_spellings {
            compiled.notices.push(NO_SPELLINGS.to_owned());
        }
        let (count, result) = match finish(&legs, &mut timings) {
            Ok(finished) => finished,
            Err(error) => {
                // An unreadable hit of a leg means that the leg has failed.
                of_the_leg(error)?;
                legs.bm25.check(reader)?;
                legs.vector.check(reader)?;
                finish(&legs, &mut timings)?
            }
        };
        let is_said = setup.matching == Matching::Extended && legs.error_stage().is_none();
        if is_said && count == 0 && reader.passes_none(request.filters)? {
            compiled.notices.push(NONE_PASSES.to_owned());
        }
        Ok((
            legs.report(setup, request, compiled, count, timings),
            result,
        ))
    }

    /// Fuse the hits of the legs, and read the texts of the requested hits, or of all candidates if an intent
    /// depends on their words.
    pub fn hits(&self, legs: &Legs<'_>, timings: &mut Timings) -> Result<Hits> {
        let wanted = self.request.wanted;
        let intent = if self.setup.reweight {
            timed(&mut timings.reweight, || Intent::detect(self.request.query))?
        } else {
            Intent::default()
        };
        let readable = if intent.any() { usize::MAX } else { wanted };
        let (fused_count, hits) = timed(&mut timings.fuse, || {
            let fused = legs.fuse(self.reader, self.setup, self.request, readable)?;
            let read = |rows: &[_]| self.reader.texts(rows);
            let id = |row| self.reader.id(row);
            Ok((fused.count, fused.hits(readable, read, id)?))
        })?;
        let start = Instant::now();
        let mut hits = reweight_explained(intent, hits)?;
        hits.truncate(wanted);
        timings.reweight += start.elapsed();
        Ok(Hits { fused_count, hits })
    }
}

/// The result of fusion: the number of documents, and the first of them.
pub(super) struct Hits {
    fused_count: usize,
    pub hits: Vec<ExplainedHit>,
}

/// Both legs of a search.
pub(super) struct Legs<'a> {
    pub bm25: Bm25Leg<'a>,
    pub vector: VectorLeg,
}

impl<'a> Legs<'a> {
    /// Return the mode that runs: keywords alone without a vector leg.
    fn mode(&self, request: &Request<'_>) -> Mode {
        match (&self.vector, request.mode) {
            (VectorLeg::Absent | VectorLeg::Failed(_), _) => Mode::Bm25,
            (_, Mode::Auto) => Mode::Hybrid,
            (_, mode) => mode,
        }
    }

    /// Return the number of legs of the mode with a ranking, even an empty one.
    fn that_took_part(&self, mode: Mode) -> usize {
        let keywords = mode != Mode::Semantic && self.bm25.failure.is_none();
        let meaning = mode != Mode::Bm25 && self.vector.answered();
        usize::from(keywords) + usize::from(meaning)
    }

    /// Fuse the hits of the legs of the mode: all documents, or only those that can be among the first `wanted`
    /// where no later step adds to their scores.
    pub fn fuse(
        &self,
        reader: &dyn Reader,
        setup: &Setup<'_>,
        request: &Request<'_>,
        wanted: usize,
    ) -> Result<Fused<'a>> {
        let mode = self.mode(request);
        let fusion = setup.fusion;
        let matches = &self.bm25.matches;
        let candidates = match mode {
            Mode::Bm25 => Candidates::join(matches, &Nearest::default()),
            Mode::Semantic => {
                let none = Matches::default();
                Candidates::join(&none, &self.vector.nearest(reader, fusion, &none)?)
            }
            Mode::Auto | Mode::Hybrid => {
                Candidates::join(matches, &self.vector.nearest(reader, fusion, matches)?)
            }
        };
        let mut scored = candidates.score(fusion, self.that_took_part(mode));
        let totals = scored.totals();
        let neighbors = if setup.counts_neighbors() {
            Some(NeighborCandidates::of(reader, request.filters, &totals)?)
        } else {
            None
        };
        let rows = neighbors.as_ref().map_or_else(
            || totals.iter().filter_map(|(key, _)| *key).collect(),
            NeighborCandidates::rows,
        );
        let turns = TurnsByRow::of(reader, setup, request, rows)?;
        let speakers = setup.counts_speakers() && speakers::may_raise(setup, request, &turns.turns);
        let dates = dates::named(setup, request, &turns.turns);
        let are_final = !speakers && dates.is_none() && request.recency.is_none();
        let count = count_documents(reader, setup, request, &totals, turns.rows.len());
        let mut raised = if let Some(neighbors) = neighbors {
            let wanted = if are_final { wanted } else { usize::MAX };
            self.with_neighbors(reader, setup, request, &mut scored, neighbors, wanted)?
        } else {
            let totals = totals.iter().enumerate();
            let raised = totals.map(|(at, (_, total))| NeighborGains::new(at, *total));
            raised.collect()
        };
        let turns: Vec<Turn> = if are_final {
            Vec::new()
        } else {
            let keys = raised.iter().map(|one| scored.key(one.at));
            keys.map(|key| turns.get(key)).collect()
        };
        if are_final && !request.groups_late(setup) {
            top_k::select(&mut raised, wanted, |left, right| {
                scored.order((left.at, left.score), (right.at, right.score))
            });
        }
        let document = |raised: NeighborGains| {
            let mut document = scored.document(raised.at);
            document.explanation.score = raised.score;
            document.neighbors = raised.neighbors.into_iter().flatten().collect();
            document.before = raised.before;
            document
        };
        let mut documents: Vec<Document<'a>> = raised.into_iter().map(document).collect();
        if speakers {
            speakers::raise(reader, setup, request, &turns, &mut documents)?;
        }
        if let Some(named) = dates {
            dates::raise(&named, &turns, &mut documents);
        }
        if let Some(recency) = request.recency {
            recency::lower(recency, &turns, &mut documents);
        }
        if request.groups_late(setup) {
            documents = best_of_groups(documents, |row| reader.group_of(row));
        }
        Ok(Fused { documents, count })
    }

    /// Add the neighbors' shares to the scores of the candidates that can be among the first `wanted`.
    fn with_neighbors(
        &self,
        reader: &dyn Reader,
        setup: &Setup<'_>,
        request: &Request<'_>,
        scored: &mut ScoredCandidates<'a>,
        neighbors: NeighborCandidates<'_>,
        wanted: usize,
    ) -> Result<Vec<NeighborGains>> {
        let by_meaning = self.mode(request) != Mode::Bm25 && setup.fusion == Fusion::Score;
        let others = if by_meaning {
            let highest = self.vector.highest_of_others();
            highest.map(|cosine| scored.total_of_others(cosine))
        } else {
            Some(0.0)
        };
        let cosines = |rows: &[i64]| {
            if by_meaning {
                self.vector.cosines(reader, rows)
            } else {
                Ok(vec![None; rows.len()])
            }
        };
        let group_of = |row| reader.group_of(row);
        let mut candidates = NeighborScores {
            neighbors,
            scored,
            cosines,
            by_path: request.group_by.is_some(),
        };
        candidates.of_best(wanted, others, group_of)
    }

    /// Return the number of positions of the head where both legs agree, if that stops a reranker.
    fn agreements(&self, request: &Request<'_>) -> Option<usize> {
        if request.reranker != Reranker::Ready {
            return None;
        }
        let (bm25, vector) = (&self.bm25.matches.found, self.vector.rows());
        unanimity::agreements(bm25, vector, DEFAULT_AGREE_MIN, |left, right| {
            left.key == Some(right.key)
        })
    }

    /// The first leg that failed.
    fn error_stage(&self) -> Option<Stage> {
        if self.bm25.failure.is_some() {
            return Some(Stage::Bm25);
        }
        matches!(self.vector, VectorLeg::Failed(_)).then_some(Stage::Vector)
    }

    /// The search as a whole, without its hits.
    fn report(
        self,
        setup: &Setup<'_>,
        request: &Request<'_>,
        compiled: Compiled,
        fused_count: usize,
        timings: Timings,
    ) -> SearchResult {
        let mode = self.mode(request);
        let agreements = self.agreements(request);
        let embedder_used = self.vector.answered();
        let trace = Trace {
            mode,
            matching: setup.matching,
            fusion: setup.fusion,
            neighbors: setup.counts_neighbors(),
            speakers: setup.counts_speakers(),
            dates: setup.counts_dates(),
            recency: request.recency.map(|recency| recency.half_life),
            reweight: setup.reweight,
            group_by: request.group_by.map(|by| by.as_str().to_owned()),
            original_query: request.query.to_owned(),
            augmented_query: request.augmented.map(str::to_owned),
            date_hints: request.date_hints.to_vec(),
            compiled_query: compiled.fts,
            match_query: compiled.expression.shown().to_string(),
            not_searched_for: compiled.not_searched_for,
            notices: compiled.notices,
            candidate_k: request.candidate_k,
            rrf_k: DEFAULT_K,
            bm25_count: self.bm25.matches.found.len(),
            vector_count: self.vector.rows().len(),
            fused_count,
            fell_back_to_bm25: mode == Mode::Bm25 && asks_for_vectors(request),
            embedder_used,
            unanimity: agreements,
            reranked: false,
            rerank_provider: None,
            rerank_weight: None,
            rerank_skipped_reason: rerank_skipped_reason(request, fused_count, agreements),
            error_stage: self.error_stage(),
            timings,
            attempts: self.bm25.attempts,
        };
        SearchResult {
            hits: Vec::new(),
            trace,
            failed: self.bm25.failure.is_some() && !embedder_used,
            error: self.bm25.failure.or(self.vector.failure()),
        }
    }
}

/// The speaker and date of rows.
struct TurnsByRow {
    /// Ascending.
    rows: Vec<i64>,
    /// The turn of each row; empty if turns do not count.
    turns: Vec<Turn>,
}

impl TurnsByRow {
    fn of(
        reader: &dyn Reader,
        setup: &Setup<'_>,
        request: &Request<'_>,
        mut rows: Vec<i64>,
    ) -> Result<Self> {
        rows.sort_unstable();
        rows.dedup();
        let turns = if request.needs_turns(setup) && reader.has_turns() {
            reader.turns(&rows)?
        } else {
            Vec::new()
        };
        Ok(Self { rows, turns })
    }

    fn get(&self, row: Option<i64>) -> Turn {
        let found = row.and_then(|row| self.rows.binary_search(&row).ok());
        let turn = found.and_then(|at| self.turns.get(at));
        turn.cloned().unwrap_or_default()
    }
}

/// Return the number of documents among candidates, of which `found` are the documents that the legs found, or
/// the number of their groups. The neighbors of a document are in its group.
fn count_documents(
    reader: &dyn Reader,
    setup: &Setup<'_>,
    request: &Request<'_>,
    found: &[(Option<i64>, f64)],
    rows: usize,
) -> usize {
    let keys = found.iter().map(|(key, _)| *key);
    if !request.groups_late(setup) {
        return rows + keys.filter(Option::is_none).count();
    }
    let mut groups = HashSet::new();
    let of_group = |key: &Option<i64>| {
        let group = key.and_then(|row| reader.group_of(row));
        group.is_none_or(|group| groups.insert(group))
    };
    keys.filter(of_group).count()
}

fn asks_for_vectors(request: &Request<'_>) -> bool {
    match request.mode {
        Mode::Semantic | Mode::Hybrid => true,
        Mode::Auto => request.embedding != Embedding::Absent,
        Mode::Bm25 => false,
    }
}

/// Why the reranker is left out: the first reason that holds.
fn rerank_skipped_reason(
    request: &Request<'_>,
    fused_count: usize,
    agreements: Option<usize>,
) -> Option<SkippedReason> {
    if fused_count == 0 {
        return Some(SkippedReason::EmptyCandidates);
    }
    match request.reranker {
        Reranker::Off => Some(SkippedReason::ModeOff),
        Reranker::Absent => Some(SkippedReason::NoReranker),
        Reranker::Ready => agreements.map(|_| SkippedReason::Unanimity),
    }
}
