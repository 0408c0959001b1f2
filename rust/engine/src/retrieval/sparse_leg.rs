//! The leg of sparse vectors.

use super::collection::Reader;
use super::leg_error::of_the_leg;
use super::legs::{timed, unreadable};
use super::request::{Request, Setup, SparseQuery};
use super::trace::Timings;
use crate::chunks::RankedRow;
use crate::error::{Error, Result};
use crate::sparse::{SPARSE_MATCHED, SparseRows};

/// The sparse leg.
pub(super) enum SparseLeg {
    /// The mode or the fusion leaves the leg out, or no sparse embedder is set.
    Absent,
    /// The sparse embedder failed, or the search failed with this error.
    Failed(Option<Error>),
    Answered(SparseRows),
}

impl SparseLeg {
    /// Run the leg of a request.
    pub fn run(
        reader: &dyn Reader,
        setup: &Setup<'_>,
        request: &Request<'_>,
        timings: &mut Timings,
    ) -> Result<Self> {
        let Some(vector) = request.sparse_vector(setup) else {
            return Ok(Self::without_search(setup, request));
        };
        let selection = request.selection(setup);
        let mut time = std::time::Duration::ZERO;
        let found = timed(&mut time, || reader.sparse_rows(vector, &selection));
        timings.sparse = Some(time);
        match found {
            Ok(mut found) => {
                let group_of = |one: &RankedRow| reader.group_of(one.row);
                request.cut(setup, &mut found.rows, group_of);
                Ok(Self::Answered(found))
            }
            Err(error) => of_the_leg(error).map(|error| Self::Failed(Some(error))),
        }
    }

    /// The leg of a request that has no sparse vectors searched.
    fn without_search(setup: &Setup<'_>, request: &Request<'_>) -> Self {
        match request.sparse {
            SparseQuery::Failed if setup.counts_sparse(request.mode) => Self::Failed(None),
            _ => Self::Absent,
        }
    }

    /// The leg of a request whose search could not even begin.
    pub fn failed(setup: &Setup<'_>, request: &Request<'_>, error: Error) -> Self {
        match request.sparse_vector(setup) {
            Some(_) => Self::Failed(Some(error)),
            None => Self::without_search(setup, request),
        }
    }

    /// Fail if the texts of anything found cannot be read.
    pub fn check(&mut self, reader: &dyn Reader) -> Result<()> {
        let rows = self.rows().iter().map(|found| found.row);
        if let Some(error) = unreadable(reader, rows, SPARSE_MATCHED)? {
            *self = Self::Failed(Some(error));
        }
        Ok(())
    }

    /// The hits and scores of the leg. None if it did not answer.
    pub fn found(&self) -> Option<&SparseRows> {
        match self {
            Self::Answered(found) => Some(found),
            Self::Absent | Self::Failed(_) => None,
        }
    }

    /// Return the hits, best first.
    pub fn rows(&self) -> &[RankedRow] {
        self.found().map_or(&[], |found| &found.rows)
    }

    /// Return the score of a row, among the hits or not. None if it has no sparse vector.
    pub fn score(&self, row: i64) -> Option<f64> {
        self.found()?.score(row)
    }

    /// Return a score that no chunk outside the hits exceeds.
    pub fn highest_of_others(&self) -> f64 {
        self.rows().last().map_or(0.0, |last| last.score)
    }

    /// Return the error of the leg.
    pub fn failure(self) -> Option<Error> {
        match self {
            Self::Failed(error) => error,
            Self::Absent | Self::Answered(_) => None,
        }
    }
}
