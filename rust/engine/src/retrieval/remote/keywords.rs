//! The best chunks by BM25: preselected there, scored here.

use std::collections::HashSet;

use super::names::Name;
use super::reader::{Found, RemoteReader, is_certain, more};
use crate::bm25::{MatchedRows, RemoteExpression};
use crate::chunks::{Selection, check_limit};
use crate::error::Result;
use crate::query::MatchExpression;
use crate::retrieval::order;

/// By what part a score that is added up in `float32`, in any order, can be off.
const ROUNDING: f64 = 1e-5;

impl RemoteReader<'_> {
    pub(super) fn matched(
        &self,
        expression: &MatchExpression,
        selection: &Selection<'_>,
    ) -> Result<MatchedRows> {
        check_limit(selection.limit)?;
        if expression.is_empty() {
            return Ok(MatchedRows::default());
        }
        let mut remote = RemoteExpression::of(expression, self.tokenizer)?;
        remote.learn(self.asked().counts(&remote.phrases())?);
        if remote.is_hopeless() {
            return Ok(MatchedRows::default());
        }
        let ranked = self.best(&remote, selection.limit)?;
        let phrases = (selection.statistics && !ranked.is_empty())
            .then(|| remote.phrase_counts(expression))
            .transpose()?;
        Ok(MatchedRows {
            rows: self.rows(ranked),
            phrases,
        })
    }

    /// The best chunks, or the best of each group, in order. More are preselected until no others can
    /// be among them.
    fn best(&self, remote: &RemoteExpression, limit: usize) -> Result<Vec<Found>> {
        let mut wanted = more(limit);
        loop {
            let preselected = self.asked().keyword_hits(remote, wanted)?;
            let scored = preselected.hits.into_iter().filter_map(|hit| {
                let score = remote.score(hit.length, &hit.frequencies)?;
                let name = Name {
                    path: hit.path,
                    id: hit.id,
                };
                Some(Found { name, score })
            });
            let ranked = self.ranked(scored.collect());
            let floor = preselected.floor.filter(|_| !preselected.approximate);
            let certain = |floor: f64| is_certain(&ranked, limit, floor * (1.0 + ROUNDING));
            if floor.is_none_or(certain) || wanted == usize::MAX {
                return Ok(first(ranked, limit));
            }
            wanted = wanted.saturating_mul(4);
        }
    }

    /// In order; of each group the best alone.
    pub(super) fn ranked(&self, mut found: Vec<Found>) -> Vec<Found> {
        found.sort_by(|left, right| {
            order::descending(left.score, right.score).then_with(|| left.name.compare(&right.name))
        });
        if self.groups {
            let mut seen = HashSet::new();
            found.retain(|one| seen.insert(one.name.path.clone()));
        }
        found
    }
}

/// The first of what is ranked.
pub(super) fn first(mut ranked: Vec<Found>, limit: usize) -> Vec<Found> {
    ranked.truncate(limit);
    ranked
}
