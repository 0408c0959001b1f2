//! One search, from the query to the fused hits: the stages in their order (spec/retrieval.md).

use std::time::{Duration, Instant};

use super::fuse::{DEFAULT_K, reciprocal_rank_fusion};
use super::intent::Intent;
use super::keywords::{Compiled, Keywords};
use super::ladder;
use super::request::{Embedding, Mode, Request, Reranker, Setup};
use super::reweight::{Reweighted, reweight};
use super::trace::{Attempt, SkippedReason, Stage, Strategy, Timings, Trace};
use super::unanimity::{DEFAULT_AGREE_MIN, WINDOW, unanimity};
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::index::Hit;

/// What a search found, before a reranker.
#[derive(Debug, Clone)]
pub struct Found {
    /// Every candidate, best first, with what its score was multiplied by.
    pub hits: Vec<Reweighted>,
    /// How it came about.
    pub trace: Trace,
    /// What the stage that failed reported; none for an embedder, which fails elsewhere.
    pub error: Option<Error>,
    /// Whether no leg could answer. Nothing found is no failure.
    pub failed: bool,
}

/// Run every stage of a search but the reranker.
///
/// An error is one of the caller: a text over the limits, a vector that does not fit, a closed
/// index. What fails on the way is in the trace and in [`Found::error`].
pub fn search(setup: &Setup<'_>, request: &Request<'_>) -> Result<Found> {
    let keywords = Keywords { setup, request };
    let compiled = keywords.compile()?;
    let mut timings = Timings::default();
    let bm25 = bm25_leg(&keywords, &compiled, &mut timings)?;
    let vector = timed(&mut timings.vector, || vector_leg(setup, request))?;
    let mode = resolve(request, &vector);
    let fused = timed(&mut timings.fuse, || fuse(mode, &bm25.hits, vector.hits()));
    let fused_count = fused.len();
    let hits = timed(&mut timings.reweight, || {
        reweight(Intent::detect(request.query)?, fused)
    })?;
    let (rerank_skipped_reason, agreements) =
        rerank_gate(request, fused_count, &bm25.hits, vector.hits());
    let error_stage = error_stage(&bm25, &vector);
    let trace = Trace {
        mode,
        original_query: request.query.to_owned(),
        augmented_query: request.augmented.map(str::to_owned),
        date_hints: request.date_hints.to_vec(),
        compiled_query: compiled.fts,
        match_query: compiled.matching,
        candidate_k: request.candidate_k,
        rrf_k: DEFAULT_K,
        attempts: bm25.attempts,
        bm25_count: bm25.hits.len(),
        vector_count: vector.hits().len(),
        fused_count,
        fell_back_to_bm25: mode == Mode::Bm25 && asks_for_vectors(request),
        embedder_used: matches!(vector, VectorLeg::Answered(_)),
        unanimity: agreements,
        reranked: false,
        rerank_provider: None,
        rerank_skipped_reason,
        error_stage,
        timings,
    };
    let failed = bm25.failure.is_some() && !matches!(vector, VectorLeg::Answered(_));
    Ok(Found {
        hits,
        trace,
        error: bm25.failure.or(vector.failure()),
        failed,
    })
}

/// The BM25 leg and its ladder.
struct Bm25Leg {
    hits: Vec<Hit>,
    attempts: Vec<Attempt>,
    failure: Option<Error>,
}

fn bm25_leg(
    keywords: &Keywords<'_>,
    compiled: &Compiled,
    timings: &mut Timings,
) -> Result<Bm25Leg> {
    let mut leg = Bm25Leg {
        hits: Vec::new(),
        attempts: Vec::new(),
        failure: None,
    };
    match timed(&mut timings.bm25, || keywords.run(compiled)) {
        Ok(hits) => leg.hits = hits,
        Err(error) => {
            // The ladder is for what finds nothing, not for what fails.
            leg.failure = Some(of_the_leg(error)?);
            return Ok(leg);
        }
    }
    leg.attempts.push(Attempt {
        strategy: Strategy::Initial,
        query: compiled.fts.clone(),
        hits: leg.hits.len(),
    });
    if leg.hits.is_empty() && !keywords.request.skip_retry_ladder {
        let climbed = timed(&mut timings.ladder, || {
            ladder::climb(keywords, keywords.request.query, &mut leg.attempts)
        });
        match climbed {
            Ok(hits) => leg.hits = hits,
            Err(error) => leg.failure = Some(of_the_leg(error)?),
        }
    }
    Ok(leg)
}

/// The vector leg.
enum VectorLeg {
    /// The mode or the lack of an embedder leaves it out.
    Absent,
    /// The query has no vector.
    Empty,
    /// The embedder failed, or the search, which says why.
    Failed(Option<Error>),
    Answered(Vec<Hit>),
}

impl VectorLeg {
    fn hits(&self) -> &[Hit] {
        match self {
            Self::Answered(hits) => hits,
            Self::Absent | Self::Empty | Self::Failed(_) => &[],
        }
    }

    /// What the search reported.
    fn failure(self) -> Option<Error> {
        match self {
            Self::Failed(error) => error,
            Self::Absent | Self::Empty | Self::Answered(_) => None,
        }
    }
}

fn vector_leg(setup: &Setup<'_>, request: &Request<'_>) -> Result<VectorLeg> {
    if request.mode == Mode::Bm25 {
        return Ok(VectorLeg::Absent);
    }
    let vector = match request.embedding {
        Embedding::Absent => return Ok(VectorLeg::Absent),
        Embedding::Failed => return Ok(VectorLeg::Failed(None)),
        Embedding::Empty => return Ok(VectorLeg::Empty),
        Embedding::Vector(vector) => vector,
    };
    match setup
        .index
        .search_vector(vector, request.candidate_k, request.filters)
    {
        Ok(hits) => Ok(VectorLeg::Answered(hits)),
        Err(error) => of_the_leg(error).map(|error| VectorLeg::Failed(Some(error))),
    }
}

/// An error that only this leg has; one of the caller, or of a handle that is gone, is passed on.
fn of_the_leg(error: Error) -> Result<Error> {
    let code = error.code();
    let caller = matches!(
        code.kind(),
        ErrorKind::InvalidInput | ErrorKind::QueryTooLarge
    );
    if caller || matches!(code, ErrorCode::IndexClosed | ErrorCode::IndexForked) {
        return Err(error);
    }
    Ok(error)
}

fn error_stage(bm25: &Bm25Leg, vector: &VectorLeg) -> Option<Stage> {
    if bm25.failure.is_some() {
        Some(Stage::Bm25)
    } else {
        matches!(vector, VectorLeg::Failed(_)).then_some(Stage::Vector)
    }
}

fn asks_for_vectors(request: &Request<'_>) -> bool {
    match request.mode {
        Mode::Semantic | Mode::Hybrid => true,
        Mode::Auto => request.embedding != Embedding::Absent,
        Mode::Bm25 => false,
    }
}

/// The mode that runs: keywords alone when there is no vector leg to be had.
fn resolve(request: &Request<'_>, vector: &VectorLeg) -> Mode {
    match (vector, request.mode) {
        (VectorLeg::Absent | VectorLeg::Failed(_), _) => Mode::Bm25,
        (_, Mode::Auto) => Mode::Hybrid,
        (_, mode) => mode,
    }
}

fn fuse(mode: Mode, bm25: &[Hit], vector: &[Hit]) -> Vec<Hit> {
    match mode {
        Mode::Bm25 => reciprocal_rank_fusion([bm25], DEFAULT_K),
        Mode::Semantic => reciprocal_rank_fusion([vector], DEFAULT_K),
        Mode::Auto | Mode::Hybrid => reciprocal_rank_fusion([bm25, vector], DEFAULT_K),
    }
}

/// Why the reranker is left out, the first reason that holds; and the agreement that is one.
fn rerank_gate(
    request: &Request<'_>,
    fused_count: usize,
    bm25: &[Hit],
    vector: &[Hit],
) -> (Option<SkippedReason>, Option<usize>) {
    if fused_count == 0 {
        return (Some(SkippedReason::EmptyCandidates), None);
    }
    match request.reranker {
        Reranker::Off => return (Some(SkippedReason::ModeOff), None),
        Reranker::Absent => return (Some(SkippedReason::NoReranker), None),
        Reranker::Ready => {}
    }
    let head = |hits: &[Hit]| -> Vec<String> {
        hits.iter().take(WINDOW).map(|hit| hit.id.clone()).collect()
    };
    match unanimity(&head(bm25), &head(vector), DEFAULT_AGREE_MIN) {
        Some(unanimity) => (Some(SkippedReason::Unanimity), Some(unanimity.agreements)),
        None => (None, None),
    }
}

/// Run a stage and note how long it took. The clock is monotonic and decides nothing.
fn timed<T>(duration: &mut Duration, stage: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = stage();
    *duration = start.elapsed();
    result
}
