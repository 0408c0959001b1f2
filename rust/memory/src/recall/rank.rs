//! Recall: one search of the index of a root, with filters before and scores after ranking
//! (spec/memory.md, "Recall").

use std::collections::BTreeMap;
use std::sync::Arc;

use hedgerow_engine::calendar::{NamedPeriods, periods};
use hedgerow_engine::chunks::Texts;
use hedgerow_engine::index::Index;
use hedgerow_engine::index::session::{Needs, Session};
use hedgerow_engine::retrieval::{SearchResult, Setup, has_words, matching_rows, rank_in};
use hedgerow_engine::{Result, rule};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::about::{About, abouts};
use super::columns::{ColumnCache, FileColumns, LeftOut, RecallFilter, SelectedRows};
use super::evidence::{Evidence, evidence};
use super::request::{FOUND, RecallHit, RecallRequest, damaged};
use super::score::{
    ScoreParts, ScoredQuery, provenance, recency_weight, rounded, temporal_relevance,
};
use super::snippet::{cut_snippet, recall_terms};
use crate::facts::file::FileFacts;
use crate::facts::marks::{Validity, several_successors};
use crate::facts::scope::Visibility;

/// The most memories with several successors that a recall names.
const MOST_DIVIDED: usize = 3;
/// The most files that are read at a time while the best are chosen.
const BATCH: usize = 16;

rule! {
    /// A query that names a period and has no other words, or none that a memory has, lists the memories from then, newest
    /// first.
    pub(crate) static PERIOD_LISTS = "period lists" {}
}

/// The result of a recall.
#[derive(Debug)]
pub struct Recall {
    /// The best results, by score, then by id.
    pub results: Vec<RecallHit>,
    /// The passages of the files, best first; empty unless requested.
    pub evidence: Vec<Evidence>,
    /// The number of files that match the words of the query and are left out, by reason.
    pub left_out: BTreeMap<LeftOut, usize>,
    /// What the folders of the results are about.
    pub about: Vec<About>,
    /// The sentences about memories that results supersede and other memories supersede too.
    pub divided: Vec<String>,
    /// The search, without hits.
    pub found: SearchResult,
}

/// Recall memories in one state of the index.
pub fn recall(
    index: &Index,
    cache: &ColumnCache,
    setup: &Setup<'_>,
    request: &RecallRequest<'_>,
) -> Result<Recall> {
    let needs = Needs {
        keywords: true,
        vectors: matches!(
            request.search.embedding,
            hedgerow_engine::retrieval::Embedding::Vector(_)
        ),
        group_by: request.search.group_by,
        neighbors: setup.counts_neighbors(),
        turns: request.search.needs_turns(setup),
        slugs: false,
    };
    index.session(needs, |session| {
        let columns = FileColumns::current(cache, session, request.visible)?;
        let visible = columns.session(session)?;
        let session = visible.as_ref().unwrap_or(session);
        let selected = columns.select(request.filter);
        let left_out = count_left_out(session, &columns, setup, request, &selected)?;
        let within;
        let reader = match &selected.rows {
            Some(rows) => {
                within = session.within(Arc::clone(rows));
                &within
            }
            None => session,
        };
        let ranked = rank_in(reader, setup, &request.search)?;
        let scoring = Scoring {
            session,
            columns: &columns,
            setup,
            request,
            named: periods(request.query, Some(request.asked.day())),
        };
        let listed = scoring.of_named_periods(&selected, &ranked.rows)?;
        let is_listed = !listed.is_empty();
        let results = if is_listed {
            scoring.listed(&listed)?
        } else {
            scoring.best(&ranked.rows)?
        };
        let evidence = if request.with_evidence {
            evidence(session, &columns, setup, request, &results, is_listed)?
        } else {
            Vec::new()
        };
        let files: Vec<&str> = results.iter().map(|one| one.texts.path.as_str()).collect();
        let about = abouts(session, &columns, request.filter, &files)?;
        let divided = divided(&columns, request.filter, &files);
        Ok(Recall {
            results,
            evidence,
            left_out,
            about,
            divided,
            found: ranked.found,
        })
    })
}

/// The columns of the visible files of an index.
pub fn columns(
    index: &Index,
    cache: &ColumnCache,
    visible: &Visibility,
) -> Result<Arc<FileColumns>> {
    index.session(Needs::default(), |session| {
        FileColumns::current(cache, session, visible)
    })
}

/// Return a sentence for each memory that a result and other memories supersede, as after a merge of two branches.
fn divided(columns: &FileColumns, filter: &RecallFilter, files: &[&str]) -> Vec<String> {
    let found = columns.divided(files, filter);
    let said = |(old, news): &(&str, Vec<&str>)| format!("{old} {}", several_successors(news));
    let mut sentences: Vec<String> = found.iter().take(MOST_DIVIDED).map(said).collect();
    if found.len() > MOST_DIVIDED {
        let more = found.len() - MOST_DIVIDED;
        sentences.push(format!(
            "{more} more memories have several successors; a diagnosis of the root names them"
        ));
    }
    sentences
}

/// Return the number of files left out although a passage matches the words of the query.
fn count_left_out(
    session: &Session<'_>,
    columns: &FileColumns,
    setup: &Setup<'_>,
    request: &RecallRequest<'_>,
    selected: &SelectedRows,
) -> Result<BTreeMap<LeftOut, usize>> {
    let mut counts = BTreeMap::new();
    if !selected.leaves_out {
        return Ok(counts);
    }
    let left_out = &selected.left_out;
    let rows = columns.rows_where(|number| left_out[number].is_some());
    let session = session.within(Arc::new(rows));
    let rows = matching_rows(&session, setup, &request.search)?;
    let mut files: Vec<u32> = rows
        .into_iter()
        .filter_map(|row| columns.file_of(row))
        .collect();
    files.sort_unstable();
    files.dedup();
    for why in files.iter().filter_map(|file| left_out[*file as usize]) {
        *counts.entry(why).or_default() += 1;
    }
    Ok(counts)
}

/// The scores of the candidates of one recall.
struct Scoring<'a> {
    session: &'a Session<'a>,
    columns: &'a FileColumns,
    setup: &'a Setup<'a>,
    request: &'a RecallRequest<'a>,
    /// The periods that the query names.
    named: NamedPeriods,
}

/// A candidate with the parts of its score that need no text.
struct Candidate<'a> {
    row: i64,
    file: &'a FileFacts,
    parts: ScoreParts,
    /// The total of the parts.
    total: f64,
    weight: Option<f64>,
}

impl Scoring<'_> {
    /// The best results. Texts are read of candidates that can be among them alone.
    fn best(&self, rows: &[(i64, f64)]) -> Result<Vec<RecallHit>> {
        let text = self.named.undated.as_deref().unwrap_or(self.request.query);
        let terms = recall_terms(text);
        let query = ScoredQuery::new(text, &terms);
        let mut candidates = self.candidates(rows, &query)?;
        candidates.sort_by(|left, right| right.total.total_cmp(&left.total));
        let most = rounded(query.most_exact_match());
        let limit = self.request.limit;
        let mut results: Vec<RecallHit> = Vec::new();
        let can_be_among = |results: &[RecallHit], parts: &ScoreParts, exact_match: f64| {
            let best = ScoreParts {
                exact_match,
                ..*parts
            };
            let last = results.get(limit.saturating_sub(1));
            last.is_none_or(|last| best.total() >= last.parts.total())
        };
        for batch in candidates.chunks(BATCH) {
            let possible = |one: &&Candidate<'_>| can_be_among(&results, &one.parts, most);
            let batch: Vec<&Candidate<'_>> = batch.iter().filter(possible).collect();
            if batch.is_empty() {
                break;
            }
            let rows: Vec<(i64, &str)> = batch.iter().map(|one| (one.row, FOUND)).collect();
            let texts = self.session.texts(&rows)?;
            let best: Vec<_> = (batch.into_iter().zip(texts))
                .filter(|(one, texts)| {
                    let most = rounded(query.most_exact_match_in(&texts.content));
                    can_be_among(&results, &one.parts, most)
                })
                .collect();
            for (candidate, texts) in best {
                results.push(recalled(candidate, texts, &query, &terms)?);
            }
            results.sort_by(|left, right| {
                let by_score = right.parts.total().total_cmp(&left.parts.total());
                by_score.then_with(|| left.id.cmp(&right.id))
            });
            results.truncate(limit);
        }
        self.add_validity(&mut results);
        Ok(results)
    }

    /// The first rows of the memories from the periods that the query names, newest first. Empty if it has other words
    /// and a search found some.
    fn of_named_periods(&self, selected: &SelectedRows, found: &[(i64, f64)]) -> Result<Vec<i64>> {
        let named = &self.named;
        if named.periods.is_empty() || !PERIOD_LISTS.is_on() {
            return Ok(Vec::new());
        }
        if !found.is_empty() && has_words(self.session, self.setup, &named.rest)? {
            return Ok(Vec::new());
        }
        let RecallRequest { asked, limit, .. } = *self.request;
        Ok(self.columns.newest(selected, named, asked.offset, limit))
    }

    /// The memories of some rows, in their order.
    fn listed(&self, rows: &[i64]) -> Result<Vec<RecallHit>> {
        let text = self.named.undated.as_deref().unwrap_or(self.request.query);
        let terms = recall_terms(text);
        let query = ScoredQuery::new(text, &terms);
        let rows: Vec<(i64, f64)> = rows.iter().map(|row| (*row, 0.0)).collect();
        let named: Vec<(i64, &str)> = rows.iter().map(|(row, _)| (*row, FOUND)).collect();
        let candidates = self.candidates(&rows, &query)?;
        let texts = self.session.texts(&named)?;
        let listed = candidates.iter().zip(texts);
        let mut results = listed
            .map(|(one, texts)| recalled(one, texts, &query, &terms))
            .collect::<Result<Vec<_>>>()?;
        self.add_validity(&mut results);
        Ok(results)
    }

    fn add_validity(&self, results: &mut [RecallHit]) {
        for result in results {
            let number = self.columns.number_of(&result.texts.path);
            if let Some(number) = number {
                let RecallFilter { at, was_known, .. } = *self.request.filter;
                result.validity = self.columns.validity_at(number, at, was_known);
            }
        }
    }

    fn candidates(
        &self,
        rows: &[(i64, f64)],
        query: &ScoredQuery<'_>,
    ) -> Result<Vec<Candidate<'_>>> {
        let best = rows.iter().map(|(_, score)| *score).fold(1.0, f64::max);
        let files: Vec<&FileFacts> = rows
            .iter()
            .map(|(row, _)| {
                let number = self.columns.file_of(*row);
                let file = number.and_then(|number| self.columns.file(number));
                file.ok_or_else(|| damaged(&format!("row {row}")))
            })
            .collect::<Result<_>>()?;
        let times: Vec<_> = files.iter().map(|file| file.time).collect();
        let temporal = temporal_relevance(self.request.query, &times);
        let scored = rows.iter().zip(files).zip(temporal);
        let candidates = scored.map(|(((row, score), file), temporal)| {
            let depth = self.request.depths.get(&file.kind.bucket);
            let retrieval = rounded((score / best).max(0.0));
            let at = self.request.filter.at;
            let half_life = self.request.half_life;
            let weight = half_life.map(|half_life| recency_weight(file.time, at, half_life));
            let parts = ScoreParts {
                retrieval,
                exact_match: 0.0,
                metadata: rounded(query.metadata_match(&file.words)),
                temporal: rounded(temporal),
                strength: rounded(file.strength),
                provenance: rounded(provenance(true, file.has_session)),
                depth: depth.copied().unwrap_or(self.request.other_depth),
                recency: weight.map_or(0.0, |weight| rounded((weight - 1.0) * retrieval)),
            };
            Candidate {
                row: *row,
                file,
                parts,
                total: parts.total(),
                weight,
            }
        });
        Ok(candidates.collect())
    }
}

/// A candidate as a result, whose validity is not known yet.
fn recalled(
    candidate: &Candidate<'_>,
    texts: Arc<Texts>,
    query: &ScoredQuery<'_>,
    terms: &[String],
) -> Result<RecallHit> {
    let line = |key: &str| texts.metadata.get(key).and_then(Value::as_i64);
    let front_matter = texts.metadata.get("front_matter");
    let is_whole = front_matter.is_some_and(Value::is_object);
    let (Some(start), Some(end), true) = (line("line_start"), line("line_end"), is_whole) else {
        return Err(damaged(&texts.id));
    };
    let snippet = cut_snippet(&texts.content, terms);
    let has_lines = 0 < start && start <= end;
    Ok(RecallHit {
        id: id_of(&texts, start, end),
        lines: (start, end),
        parts: ScoreParts {
            exact_match: rounded(query.exact_match(&snippet)),
            provenance: rounded(provenance(has_lines, candidate.file.has_session)),
            ..candidate.parts
        },
        weight: candidate.weight,
        snippet,
        texts,
        bucket: candidate.file.kind.bucket.clone(),
        validity: Validity::default(),
    })
}

/// The id of a passage, which does not depend on the query.
fn id_of(texts: &Texts, start: i64, end: i64) -> String {
    let mut hash = Sha256::new();
    hash.update(format!("{}\n{start}\n{end}\n", texts.path));
    hash.update(&texts.content);
    let digest = hash.finalize();
    let mut id = "chunk-".to_owned();
    for byte in digest {
        for digit in [byte >> 4, byte & 15] {
            id.extend(char::from_digit(digit.into(), 16));
        }
    }
    id
}
