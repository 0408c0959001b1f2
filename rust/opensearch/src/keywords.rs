//! The best chunks by BM25: preselected by the server, scored here.

use hedgerow_engine::Result;
use hedgerow_engine::bm25::MatchedRows;
use hedgerow_engine::chunks::{Selection, check_limit};
use hedgerow_engine::query::MatchExpression;

use crate::keyword_query::KeywordQuery;
use crate::reader::{RemoteReader, ScoredChunk, first, is_certain, with_margin};
use crate::row_numbers::ChunkName;

/// The relative error of a score that the server adds up in `float32`, in any order.
const ROUNDING: f64 = 1e-5;

impl RemoteReader<'_> {
    /// The best rows of a selection by BM25, best first.
    pub(crate) fn ranked_matches(
        &self,
        expression: &MatchExpression,
        selection: &Selection<'_>,
    ) -> Result<MatchedRows> {
        check_limit(selection.limit)?;
        if expression.is_empty() {
            return Ok(MatchedRows::default());
        }
        let mut query = KeywordQuery::of(expression, self.tokenizer, selection.matching)?;
        query.set_counts(self.point_in_time().counts(&query.phrases())?);
        if query.matches_nothing() {
            return Ok(MatchedRows::default());
        }
        let ranked = self.best(&query, selection.limit)?;
        let phrases = (selection.statistics && !ranked.is_empty())
            .then(|| query.phrase_counts(expression))
            .transpose()?;
        Ok(MatchedRows {
            rows: self.rows(ranked),
            phrases,
        })
    }

    /// The best chunks, or the best of each group, in order. The server preselects more until no other
    /// chunk can be among the best.
    fn best(&self, query: &KeywordQuery, limit: usize) -> Result<Vec<ScoredChunk>> {
        let mut wanted = with_margin(limit);
        loop {
            let preselected = self.point_in_time().keyword_hits(query, wanted)?;
            let scored = preselected.hits.into_iter().filter_map(|hit| {
                let score = query.score(hit.length, &hit.frequencies)?;
                let name = ChunkName {
                    path: hit.path,
                    id: hit.id,
                };
                Some(ScoredChunk { name, score })
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
}
