//! Searching the full-text index, in memory or by FTS5.

use std::collections::HashSet;

use rusqlite::{Connection, ToSql, params_from_iter};

use super::phrase_counts::PhraseCounts;
use super::plan::Plan;
use super::ranking::FtsRanked;
use super::score::Filter;
use super::scored_row::MATCHED;
use super::snapshot::Snapshot;
use crate::chunks::{
    Filters, Paths, RankedRow, RowSet, Selection, check_limit, group_key, without_chunk,
};
use crate::query::{MatchExpression, Matching};
use crate::storage::WorkError;
use crate::text::tokenizer::TokenizerKind;

/// Rows that match an expression.
#[derive(Debug, Default)]
pub struct MatchedRows {
    /// The best of them, best first; equal scores in row order.
    pub rows: Vec<RankedRow>,
    /// The document counts of the phrases, if the selection requests statistics and has rows.
    pub phrases: Option<PhraseCounts>,
}

/// A state of the full-text index to search.
#[derive(Clone, Copy)]
pub(crate) struct Bm25<'a> {
    pub connection: &'a Connection,
    pub tokenizer: TokenizerKind,
    /// The ranking in memory; None if FTS5 ranks.
    pub snapshot: Option<&'a Snapshot>,
    /// The chunks of each path, if hits are grouped by path.
    pub paths: Option<&'a Paths>,
    /// The rows that pass the filters, where that is known.
    pub passing: Option<&'a RowSet>,
}

impl Bm25<'_> {
    /// The best rows of a selection by BM25, best first; equal scores in row order.
    ///
    /// The expression is one for the tokenizer of the index.
    pub fn search(
        &self,
        expression: &MatchExpression,
        selection: &Selection<'_>,
    ) -> std::result::Result<MatchedRows, WorkError> {
        check_limit(selection.limit)?;
        if expression.is_empty() {
            return Ok(MatchedRows::default());
        }
        let plan = Plan::of(expression, self.tokenizer)?;
        let (ranked, counts) = self.rank(&plan, expression, selection)?;
        let phrases = (selection.statistics && !ranked.is_empty())
            .then(|| match counts {
                Some(counts) => Ok(counts),
                None => PhraseCounts::read(self.connection, expression),
            })
            .transpose()?;
        let of_row = |(row, score): FtsRanked| {
            let key = group_key(self.paths, row).ok_or(rusqlite::Error::QueryReturnedNoRows);
            Ok(RankedRow {
                row,
                key: key.map_err(|error| without_chunk(MATCHED, error))?,
                // FTS5 ranks by the lowest score; callers rank by the highest.
                score: -score,
            })
        };
        let rows = ranked
            .into_iter()
            .map(of_row)
            .collect::<rusqlite::Result<_>>()?;
        Ok(MatchedRows { rows, phrases })
    }

    /// Return the best matching rows, or the best row of each of the best paths, in order. Ranking in
    /// memory also returns the counts of the phrases, which it has computed anyway.
    fn rank(
        &self,
        plan: &Plan,
        expression: &MatchExpression,
        selection: &Selection<'_>,
    ) -> rusqlite::Result<(Vec<FtsRanked>, Option<PhraseCounts>)> {
        let Selection {
            limit,
            filters,
            matching,
            ..
        } = *selection;
        if let Some(snapshot) = self.snapshot.filter(|_| !plan.only_fts5) {
            let filter = match self.passing {
                Some(rows) => Filter::Rows(rows),
                None if filters.is_empty() => Filter::None,
                None => Filter::File(self.connection, filters),
            };
            let (ranked, counts) = snapshot.rank(plan, limit, filter, self.paths, matching)?;
            return Ok((ranked, Some(counts)));
        }
        // Grouping and filtering come after ranking here, so they need every match.
        let most = (self.paths.is_none() && self.passing.is_none()).then_some(limit);
        let mut ranked = rank_by_fts5(self.connection, plan, expression, most, filters, matching)?;
        if let Some(passing) = self.passing {
            ranked.retain(|(row, _)| passing.contains(*row));
        }
        Ok((
            match self.paths {
                None => {
                    ranked.truncate(limit);
                    ranked
                }
                Some(paths) => first_of_paths(paths, ranked, limit)?,
            },
            None,
        ))
    }
}

/// The first row of each path, up to `limit`.
pub(super) fn first_of_paths(
    paths: &Paths,
    ranked: Vec<FtsRanked>,
    limit: usize,
) -> rusqlite::Result<Vec<FtsRanked>> {
    let (mut cursor, mut seen) = (paths.cursor(), HashSet::new());
    let mut first = Vec::new();
    for found in ranked {
        if first.len() < limit && seen.insert(cursor.number(found.0, MATCHED)?) {
            first.push(found);
        }
    }
    Ok(first)
}

/// The rows that match by FTS5, best first.
pub(crate) fn rank_by_fts5(
    connection: &Connection,
    plan: &Plan,
    expression: &MatchExpression,
    limit: Option<usize>,
    filters: &Filters,
    matching: Matching,
) -> rusqlite::Result<Vec<FtsRanked>> {
    let (expression, order) = plan.for_fts5(expression);
    let expression = expression.to_string();
    let order: Vec<u8> = order.into_iter().flat_map(u32::to_le_bytes).collect();
    let conditions = filters.conditions()?;
    // CROSS JOIN keeps FTS5 in the outer loop. In the inner loop it would search once for each row.
    // NOT INDEXED looks rows up by number. By path it would be slow for filters with many paths.
    let join = if filters.is_empty() {
        ""
    } else {
        "CROSS JOIN knowledge_chunks AS chunk NOT INDEXED ON chunk.row = knowledge_fts.rowid"
    };
    // A function is faster than the column `rank`, and another column would make FTS5 read the texts.
    let sql = format!(
        "SELECT knowledge_fts.rowid, hedgerow_bm25(knowledge_fts, ?, ?) AS score
           FROM knowledge_fts {join}
          WHERE knowledge_fts MATCH ?{conditions}
          ORDER BY score, knowledge_fts.rowid LIMIT ?",
        conditions = conditions.sql()
    );
    let limit = limit.map_or(i64::MAX, |limit| i64::try_from(limit).unwrap_or(i64::MAX));
    let is_extended = matching == Matching::Extended;
    let values: Vec<&dyn ToSql> = [&order as &dyn ToSql, &is_extended, &expression]
        .into_iter()
        .chain(conditions.values.iter().map(AsRef::as_ref))
        .chain([&limit as &dyn ToSql])
        .collect();
    connection
        .prepare_cached(&sql)?
        .query_map(params_from_iter(values), |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?
        .collect()
}
