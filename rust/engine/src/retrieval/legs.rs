//! The two legs of a search, each with its hits or its failure.

use std::time::{Duration, Instant};

use super::collection::Reader;
use super::keywords::{Compiled, Keywords};
use super::ladder;
use super::leg_error::of_the_leg;
use super::matches::{Matches, TextSource};
use super::request::{Embedding, Fusion, Mode, Request, Setup};
use super::trace::{Attempt, Strategy, Timings};
use crate::bm25::MATCHED;
use crate::chunks::RankedRow;
use crate::error::{Error, Result};
use crate::query::Matching;
use crate::vectors::CosineStats;
use crate::vectors::{NEAREST, NearestRows};

/// The BM25 leg and its ladder.
#[derive(Default)]
pub(super) struct Bm25Leg<'a> {
    pub matches: Matches<'a>,
    pub attempts: Vec<Attempt>,
    pub failure: Option<Error>,
}

impl<'a> Bm25Leg<'a> {
    pub fn run(
        keywords: &Keywords<'a>,
        compiled: &Compiled,
        timings: &mut Timings,
    ) -> Result<Self> {
        let mut leg = Self::default();
        match timed(&mut timings.bm25, || keywords.run(compiled)) {
            Ok(matches) => leg.matches = matches,
            Err(error) => {
                // The ladder is for finding nothing, not for failures.
                leg.failure = Some(of_the_leg(error)?);
                return Ok(leg);
            }
        }
        leg.attempts.push(Attempt {
            strategy: Strategy::Initial,
            query: compiled.fts.clone(),
            hits: leg.matches.found.len(),
        });
        // The rungs know no exclusions, and would find what an extended query excludes.
        let is_final = keywords.request.skip_retry_ladder
            || (keywords.setup.matching == Matching::Extended
                && !compiled.expression.none.is_empty());
        if leg.matches.found.is_empty() && !is_final {
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

    /// A leg that could not even begin.
    pub fn failed(error: Error) -> Self {
        Self {
            failure: Some(error),
            ..Self::default()
        }
    }

    /// Fail if the texts of anything found cannot be read.
    pub fn check(&mut self, reader: &dyn Reader) -> Result<()> {
        let rows = self
            .matches
            .found
            .iter()
            .filter_map(|found| match found.source {
                TextSource::Row(row) => Some(row),
                TextSource::Given(_) => None,
            });
        if let Some(error) = unreadable(reader, rows, MATCHED)? {
            *self = Self::failed(error);
        }
        Ok(())
    }
}

/// Why the texts of one of these rows cannot be read.
fn unreadable(
    reader: &dyn Reader,
    rows: impl Iterator<Item = i64>,
    what: &str,
) -> Result<Option<Error>> {
    let rows: Vec<_> = rows.map(|row| (row, what)).collect();
    reader.texts(&rows).err().map(of_the_leg).transpose()
}

/// The vector leg.
pub(super) enum VectorLeg {
    /// The mode leaves the leg out, or no embedder is set.
    Absent,
    /// The query has no vector.
    Empty,
    /// The embedder failed, or the search failed with this error.
    Failed(Option<Error>),
    Answered(NearestRows),
}

/// The data of the vector leg for fusion.
#[derive(Default)]
pub(super) struct Nearest {
    /// Best first.
    pub rows: Vec<RankedRow>,
    /// The cosine of each that keywords found, where score fusion asks for it.
    pub cosines: Vec<Option<f64>>,
    pub spread: CosineStats,
}

impl VectorLeg {
    /// Run the legs of requests with the same selection in one pass over the vectors.
    pub fn run(
        reader: &dyn Reader,
        setup: &Setup<'_>,
        requests: &[Request<'_>],
    ) -> Vec<Result<Self>> {
        let vectors: Vec<&[f32]> = requests.iter().filter_map(vector).collect();
        let found = match requests.first() {
            Some(first) if !vectors.is_empty() => {
                // In the transaction of the search: the vectors of the index may have been replaced
                // meanwhile.
                let fits = setup.embedder.map(|name| reader.check_embedder(name));
                fits.transpose()
                    .and_then(|_| reader.nearest_rows(&vectors, &first.selection(setup)))
            }
            _ => Ok(Vec::new()),
        };
        let mut found = match found {
            Ok(found) => found,
            Err(error) => vectors.iter().map(|_| Err(error.clone())).collect(),
        }
        .into_iter();
        let leg = |request: &Request<'_>| match Self::without_search(request) {
            Some(leg) => Ok(leg),
            None => match found.next() {
                Some(Ok(mut nearest)) => {
                    let group_of = |one: &RankedRow| reader.group_of(one.row);
                    request.cut(setup, &mut nearest.rows, group_of);
                    Ok(Self::Answered(nearest))
                }
                Some(Err(error)) => of_the_leg(error).map(|error| Self::Failed(Some(error))),
                None => Ok(Self::Absent),
            },
        };
        requests.iter().map(leg).collect()
    }

    /// The leg of a request that has no vectors searched.
    fn without_search(request: &Request<'_>) -> Option<Self> {
        match request.embedding {
            _ if request.mode == Mode::Bm25 => Some(Self::Absent),
            Embedding::Absent => Some(Self::Absent),
            Embedding::Failed => Some(Self::Failed(None)),
            Embedding::Empty => Some(Self::Empty),
            Embedding::Vector(_) => None,
        }
    }

    /// The leg of a request whose search could not even begin.
    pub fn failed(request: &Request<'_>, error: Error) -> Self {
        Self::without_search(request).unwrap_or(Self::Failed(Some(error)))
    }

    /// Fail if the texts of anything found cannot be read.
    pub fn check(&mut self, reader: &dyn Reader) -> Result<()> {
        let rows = self.rows().iter().map(|found| found.row);
        if let Some(error) = unreadable(reader, rows, NEAREST)? {
            *self = Self::Failed(Some(error));
        }
        Ok(())
    }

    /// Return the hits, best first.
    pub fn rows(&self) -> &[RankedRow] {
        match self {
            Self::Answered(nearest) => &nearest.rows,
            Self::Absent | Self::Empty | Self::Failed(_) => &[],
        }
    }

    pub fn answered(&self) -> bool {
        matches!(self, Self::Answered(_))
    }

    /// Return the hits; for score fusion also the cosines of the keyword hits.
    pub fn nearest(
        &self,
        reader: &dyn Reader,
        fusion: Fusion,
        matches: &Matches<'_>,
    ) -> Result<Nearest> {
        let Self::Answered(nearest) = self else {
            return Ok(Nearest::default());
        };
        let cosines = match fusion {
            Fusion::Rrf => Vec::new(),
            Fusion::Score => {
                let keys: Vec<Option<i64>> = matches.found.iter().map(|found| found.key).collect();
                reader.cosines(nearest, &keys)?
            }
        };
        Ok(Nearest {
            rows: nearest.rows.clone(),
            cosines,
            spread: nearest.spread,
        })
    }

    /// Return the cosine of each of these rows, whether or not it was near; None if it has no
    /// vector.
    pub fn cosines(&self, reader: &dyn Reader, rows: &[i64]) -> Result<Vec<Option<f64>>> {
        let Self::Answered(nearest) = self else {
            return Ok(vec![None; rows.len()]);
        };
        let rows: Vec<Option<i64>> = rows.iter().copied().map(Some).collect();
        reader.cosines(nearest, &rows)
    }

    /// Return a cosine that no chunk outside the hits exceeds. None if it is unknown.
    pub fn highest_of_others(&self) -> Option<f64> {
        match self {
            Self::Answered(nearest) if nearest.is_exact => Some(nearest.rows.last()?.score),
            Self::Answered(_) | Self::Absent | Self::Empty | Self::Failed(_) => None,
        }
    }

    /// Return the error of the leg.
    pub fn failure(self) -> Option<Error> {
        match self {
            Self::Failed(error) => error,
            Self::Absent | Self::Empty | Self::Answered(_) => None,
        }
    }
}

/// The vector whose nearest chunks a request wants.
pub(super) fn vector<'a>(request: &Request<'a>) -> Option<&'a [f32]> {
    match request.embedding {
        Embedding::Vector(vector) if request.mode != Mode::Bm25 => Some(vector),
        _ => None,
    }
}

/// Run a stage and note how long it took. The clock is monotonic and decides nothing.
pub(super) fn timed<T>(duration: &mut Duration, stage: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = stage();
    *duration = start.elapsed();
    result
}
