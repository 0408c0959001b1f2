//! One search, from the query to the fused hits: the stages in their order (spec/retrieval.md).

use super::candidates::{Candidates, name};
use super::explanation::ExplainedHit;
use super::fuse::DEFAULT_K;
use super::intent::Intent;
use super::keywords::{Keywords, Matches};
use super::legs::{Bm25Leg, VectorLeg, error_stage, timed};
use super::request::{Embedding, Mode, Request, Reranker, Setup};
use super::reweight::reweight_explained;
use super::trace::{SkippedReason, Timings, Trace};
use super::unanimity::{DEFAULT_AGREE_MIN, WINDOW, unanimity};
use crate::error::{Error, Result};
use crate::index::{Hit, NearestChunks};

/// What a search found, before a reranker.
#[derive(Debug, Clone)]
pub struct Found {
    /// Every candidate, best first, with where its score comes from.
    pub hits: Vec<ExplainedHit>,
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
    let bm25 = Bm25Leg::run(&keywords, &compiled, &mut timings)?;
    let vector = timed(&mut timings.vector, || {
        VectorLeg::run(setup, request, &bm25.matches)
    })?;
    let mode = resolve(request, &vector);
    let legs = legs_that_took_part(mode, &bm25, &vector);
    let agreements = agreements(request, &bm25, &vector);
    let error_stage = error_stage(&bm25, &vector);
    let embedder_used = vector.answered();
    let failed = bm25.failure.is_some() && !embedder_used;
    let (nearest, vector_failure) = vector.into_parts();
    let (bm25_count, vector_count) = (bm25.matches.hits.len(), nearest.hits.len());
    let fused = timed(&mut timings.fuse, || {
        candidates(mode, bm25.matches, nearest, request).fuse(setup.fusion, legs)
    });
    let fused_count = fused.len();
    let hits = timed(&mut timings.reweight, || {
        reweight_explained(Intent::detect(request.query)?, fused)
    })?;
    let trace = Trace {
        mode,
        fusion: setup.fusion,
        group_by: request.group_by,
        original_query: request.query.to_owned(),
        augmented_query: request.augmented.map(str::to_owned),
        date_hints: request.date_hints.to_vec(),
        compiled_query: compiled.fts,
        match_query: compiled.matching,
        candidate_k: request.candidate_k,
        rrf_k: DEFAULT_K,
        attempts: bm25.attempts,
        bm25_count,
        vector_count,
        fused_count,
        fell_back_to_bm25: mode == Mode::Bm25 && asks_for_vectors(request),
        embedder_used,
        unanimity: agreements,
        reranked: false,
        rerank_provider: None,
        rerank_skipped_reason: rerank_skipped_reason(request, fused_count, agreements),
        error_stage,
        timings,
    };
    Ok(Found {
        hits,
        trace,
        error: bm25.failure.or(vector_failure),
        failed,
    })
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

/// How many legs the mode fuses that had a ranking to give, be it an empty one.
fn legs_that_took_part(mode: Mode, bm25: &Bm25Leg, vector: &VectorLeg) -> usize {
    let keywords = mode != Mode::Semantic && bm25.failure.is_none();
    let meaning = mode != Mode::Bm25 && vector.answered();
    usize::from(keywords) + usize::from(meaning)
}

/// What the legs that the mode fuses have found.
fn candidates(
    mode: Mode,
    matches: Matches,
    nearest: NearestChunks,
    request: &Request<'_>,
) -> Candidates {
    let (matches, nearest) = match mode {
        Mode::Bm25 => (matches, NearestChunks::default()),
        Mode::Semantic => (Matches::default(), nearest),
        Mode::Auto | Mode::Hybrid => (matches, nearest),
    };
    Candidates::join(matches, nearest, request.group_by)
}

/// At how many places of the head both legs agree, if that is to stop a reranker.
fn agreements(request: &Request<'_>, bm25: &Bm25Leg, vector: &VectorLeg) -> Option<usize> {
    if request.reranker != Reranker::Ready {
        return None;
    }
    let head = |hits: &[Hit]| -> Vec<String> {
        (hits.iter().take(WINDOW))
            .map(|hit| name(hit, request.group_by).to_owned())
            .collect()
    };
    let (bm25, vector) = (head(&bm25.matches.hits), head(vector.hits()));
    unanimity(&bm25, &vector, DEFAULT_AGREE_MIN).map(|unanimity| unanimity.agreements)
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
