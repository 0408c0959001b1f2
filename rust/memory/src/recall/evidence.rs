//! Evidence: the passages of recalled files, each a whole block (spec/memory.md, "Context").

use std::collections::BTreeSet;
use std::sync::Arc;

use hedgerow_engine::Result;
use hedgerow_engine::chunks::{RowSet, Side, Texts};
use hedgerow_engine::index::session::Session;
use hedgerow_engine::retrieval::{Request, Setup, rank_in};
use serde_json::Value;

use crate::recall::columns::FileColumns;
use crate::recall::request::{FOUND, RecallHit, RecallRequest, damaged};

/// The most passages for each file, on average.
const PASSAGES: usize = 5;
/// The most characters of a block whose parts are joined.
const LONGEST: usize = 8000;
/// Ends of sentences that no space follows.
const STOPS: [char; 3] = ['\u{3002}', '\u{ff01}', '\u{ff1f}'];

/// A passage with its score. The parts of one long block are joined, up to a limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// The file.
    pub path: String,
    /// The number of its first chunk in the file.
    pub ordinal: i64,
    /// The score of its best chunk.
    pub score: f64,
    /// The line on which it begins.
    pub line_start: i64,
    /// The text.
    pub text: String,
}

/// Return the best passages of the files of results, without duplicates, best first.
pub(crate) fn evidence(
    session: &Session<'_>,
    columns: &FileColumns,
    setup: &Setup<'_>,
    request: &RecallRequest<'_>,
    results: &[RecallHit],
    is_listed: bool,
) -> Result<Vec<Evidence>> {
    let ranked = if is_listed {
        first_rows(columns, results)
    } else {
        best_rows(session, columns, setup, &request.search, results)?
    };
    let named: Vec<(i64, &str)> = ranked.iter().map(|(row, _)| (*row, FOUND)).collect();
    let mut found: Vec<Evidence> = Vec::new();
    for ((row, score), texts) in ranked.iter().zip(session.texts(&named)?) {
        let whole = whole(session, *row, *score, &texts)?;
        let is_known = |one: &Evidence| one.path == whole.path && one.ordinal == whole.ordinal;
        if !found.iter().any(is_known) {
            found.push(whole);
        }
    }
    Ok(found)
}

/// The first rows of the files of results, in their order, without a score.
fn first_rows(columns: &FileColumns, results: &[RecallHit]) -> Vec<(i64, f64)> {
    let numbers = (results.iter()).filter_map(|one| columns.number_of(&one.texts.path));
    let rows = numbers.flat_map(|number| columns.rows_of(number).iter().take(PASSAGES));
    rows.map(|row| (*row, 0.0)).collect()
}

/// The best rows of the files of results, with their scores.
fn best_rows(
    session: &Session<'_>,
    columns: &FileColumns,
    setup: &Setup<'_>,
    request: &Request<'_>,
    results: &[RecallHit],
) -> Result<Vec<(i64, f64)>> {
    let files = results.iter().map(|one| one.texts.path.as_str());
    let numbers: BTreeSet<u32> = files.filter_map(|path| columns.number_of(path)).collect();
    let rows: BTreeSet<i64> = (numbers.into_iter())
        .flat_map(|number| columns.rows_of(number))
        .copied()
        .collect();
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let rows: RowSet = rows.into_iter().collect();
    let within = session.within(Arc::new(rows));
    let most = PASSAGES * results.len();
    let request = Request {
        candidate_k: most,
        wanted: most,
        group_by: None,
        ..*request
    };
    Ok(rank_in(&within, setup, &request)?.rows)
}

/// A passage joined with its neighbors in the same block.
fn whole(session: &Session<'_>, row: i64, score: f64, hit: &Arc<Texts>) -> Result<Evidence> {
    let mut size = hit.content.chars().count();
    let (mut before, mut after) = (vec![Arc::clone(hit)], Vec::new());
    for side in [Side::Before, Side::After] {
        let (mut at, mut last) = (row, Arc::clone(hit));
        while let Some(next) = session.adjacent_row(at, side) {
            let Some(texts) = session.texts(&[(next, FOUND)])?.pop() else {
                break;
            };
            size += texts.content.chars().count();
            let between = match side {
                Side::Before => between(&texts, &last)?,
                Side::After => between(&last, &texts)?,
            };
            if between.is_none() || size > LONGEST {
                break;
            }
            let parts = match side {
                Side::Before => &mut before,
                Side::After => &mut after,
            };
            parts.push(Arc::clone(&texts));
            (at, last) = (next, texts);
        }
    }
    let parts: Vec<Arc<Texts>> = before.into_iter().rev().chain(after).collect();
    let first = parts.first().unwrap_or(hit);
    let mut text = first.content.clone();
    for (one, next) in parts.iter().zip(parts.iter().skip(1)) {
        text.push_str(between(one, next)?.unwrap_or_default());
        text.push_str(&next.content);
    }
    Ok(Evidence {
        path: hit.path.clone(),
        ordinal: first.ordinal,
        score,
        line_start: line(first, "line_start")?,
        text,
    })
}

/// The text between two parts of a block; None if they belong to different blocks.
fn between(before: &Texts, after: &Texts) -> Result<Option<&'static str>> {
    let lines = line(after, "line_start")? - line(before, "line_end")?;
    if lines > 1 || before.title != after.title || before.ordinal + 1 != after.ordinal {
        return Ok(None);
    }
    Ok(Some(match lines {
        1 => "\n",
        _ if before.content.ends_with(STOPS) => "",
        _ => " ",
    }))
}

fn line(texts: &Texts, key: &str) -> Result<i64> {
    let stated = texts.metadata.get(key).and_then(Value::as_i64);
    stated.ok_or_else(|| damaged(&texts.id))
}
