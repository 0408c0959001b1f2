//! The two legs of a search, each with what it found or why it could not.

use std::time::{Duration, Instant};

use super::candidates::name;
use super::keywords::{Compiled, Keywords, Matches};
use super::ladder;
use super::request::{Embedding, Fusion, Mode, Request, Setup};
use super::trace::{Attempt, Stage, Strategy, Timings};
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::index::{Hit, NearestChunks, Selection};

/// The BM25 leg and its ladder.
#[derive(Default)]
pub(super) struct Bm25Leg {
    pub matches: Matches,
    pub attempts: Vec<Attempt>,
    pub failure: Option<Error>,
}

impl Bm25Leg {
    pub fn run(
        keywords: &Keywords<'_>,
        compiled: &Compiled,
        timings: &mut Timings,
    ) -> Result<Self> {
        let mut leg = Self::default();
        match timed(&mut timings.bm25, || keywords.run(compiled)) {
            Ok(matches) => leg.matches = matches,
            Err(error) => {
                // The ladder is for what finds nothing, not for what fails.
                leg.failure = Some(of_the_leg(error)?);
                return Ok(leg);
            }
        }
        leg.attempts.push(Attempt {
            strategy: Strategy::Initial,
            query: compiled.fts.clone(),
            hits: leg.matches.hits.len(),
        });
        if leg.matches.hits.is_empty() && !keywords.request.skip_retry_ladder {
            let climbed = timed(&mut timings.ladder, || {
                ladder::climb(keywords, keywords.request.query, &mut leg.attempts)
            });
            match climbed {
                Ok(matches) => leg.matches = matches,
                Err(error) => leg.failure = Some(of_the_leg(error)?),
            }
        }
        Ok(leg)
    }
}

/// The vector leg.
pub(super) enum VectorLeg {
    /// The mode or the lack of an embedder leaves it out.
    Absent,
    /// The query has no vector.
    Empty,
    /// The embedder failed, or the search, which says why.
    Failed(Option<Error>),
    Answered(NearestChunks),
}

impl VectorLeg {
    /// Run the leg; score fusion asks also for the cosines of what keywords found.
    pub fn run(setup: &Setup<'_>, request: &Request<'_>, matches: &Matches) -> Result<Self> {
        if request.mode == Mode::Bm25 {
            return Ok(Self::Absent);
        }
        let vector = match request.embedding {
            Embedding::Absent => return Ok(Self::Absent),
            Embedding::Failed => return Ok(Self::Failed(None)),
            Embedding::Empty => return Ok(Self::Empty),
            Embedding::Vector(vector) => vector,
        };
        let names: Vec<&str> = match (setup.fusion, request.mode) {
            (Fusion::Rrf, _) | (_, Mode::Semantic) => Vec::new(),
            (Fusion::Score, _) => (matches.hits.iter())
                .map(|hit| name(hit, request.group_by))
                .collect(),
        };
        let selection = selection(setup, request);
        match setup.index.nearest_chunks(vector, &selection, &names) {
            Ok(nearest) => Ok(Self::Answered(nearest)),
            Err(error) => of_the_leg(error).map(|error| Self::Failed(Some(error))),
        }
    }

    pub fn hits(&self) -> &[Hit] {
        match self {
            Self::Answered(nearest) => &nearest.hits,
            Self::Absent | Self::Empty | Self::Failed(_) => &[],
        }
    }

    pub fn answered(&self) -> bool {
        matches!(self, Self::Answered(_))
    }

    /// What was found, and what the search reported.
    pub fn into_parts(self) -> (NearestChunks, Option<Error>) {
        match self {
            Self::Answered(nearest) => (nearest, None),
            Self::Failed(error) => (NearestChunks::default(), error),
            Self::Absent | Self::Empty => (NearestChunks::default(), None),
        }
    }
}

/// What either leg may hold.
pub(super) fn selection<'a>(setup: &Setup<'_>, request: &Request<'a>) -> Selection<'a> {
    Selection {
        limit: request.candidate_k,
        filters: request.filters,
        group_by: request.group_by,
        statistics: setup.fusion == Fusion::Score,
    }
}

/// An error that only this leg has; one of the caller, who may be gone, or of a handle that is,
/// is passed on.
fn of_the_leg(error: Error) -> Result<Error> {
    let code = error.code();
    let caller = matches!(
        code.kind(),
        ErrorKind::InvalidInput | ErrorKind::QueryTooLarge
    );
    let gone = matches!(
        code,
        ErrorCode::IndexClosed | ErrorCode::IndexForked | ErrorCode::Interrupted
    );
    if caller || gone {
        return Err(error);
    }
    Ok(error)
}

pub(super) fn error_stage(bm25: &Bm25Leg, vector: &VectorLeg) -> Option<Stage> {
    if bm25.failure.is_some() {
        Some(Stage::Bm25)
    } else {
        matches!(vector, VectorLeg::Failed(_)).then_some(Stage::Vector)
    }
}

/// Run a stage and note how long it took. The clock is monotonic and decides nothing.
pub(super) fn timed<T>(duration: &mut Duration, stage: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = stage();
    *duration = start.elapsed();
    result
}
