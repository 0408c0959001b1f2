//! Scoring: what an expression's phrases add up to, chunk by chunk, in one part.

use std::borrow::Cow;
use std::iter::repeat_n;

use rusqlite::Connection;

use super::allowed;
use super::counts::{Counts, LengthNorms};
use super::max_score::{MaxScore, WindowList};
use super::phrase::{PhrasePostings, gallop};
use super::phrase_counts::PhraseCounts;
use super::plan::{Conjunction, Plan, ScoredPhrase};
use super::ranking::FtsRanked;
use super::scored_row::{MATCHED, ScoredRow};
use super::segment_view::{SegmentView, WINDOW};
use super::snapshot::Snapshot;
use crate::chunks::{Filters, PathCursor, Paths, RowSet};
use crate::interrupt::CancelTicker;
use crate::query::Matching;
use crate::top_k::{Scored, TopGroups, TopK};

/// The rows that may be found.
#[derive(Clone, Copy)]
pub(crate) enum Filter<'a> {
    /// All.
    None,
    /// Only these rows.
    Rows(&'a RowSet),
    /// The rows that pass in the file; the connection sees the snapshot's generation.
    File(&'a Connection, &'a Filters),
}

/// The best of the rows that are offered.
enum Best<'a> {
    Rows(TopK<ScoredRow>),
    /// Only the best row of each path. The cursor is for ascending rows, the order within a part.
    OfPaths(TopGroups<ScoredRow>, PathCursor<'a>),
}

impl<'a> Best<'a> {
    fn new(limit: usize, paths: Option<&'a Paths>) -> Self {
        match paths {
            None => Self::Rows(TopK::new(limit)),
            Some(paths) => Self::OfPaths(TopGroups::new(limit), paths.cursor()),
        }
    }

    /// The score below which no row is kept.
    fn threshold(&self) -> f64 {
        match self {
            Self::Rows(best) => best.threshold(),
            Self::OfPaths(best, _) => best.threshold(),
        }
    }

    /// Raise the threshold if enough rows were kept since it was raised.
    fn raise_threshold(&mut self) {
        match self {
            Self::Rows(best) => best.cut_if_due(),
            Self::OfPaths(best, _) => best.cut_if_due(),
        }
    }

    /// Keep a row if it is among the best. Fails for a row without a chunk, which has no path.
    fn offer(&mut self, found: ScoredRow) -> rusqlite::Result<()> {
        match self {
            Self::Rows(best) => best.offer(found),
            Self::OfPaths(best, paths) => best.offer(paths.number(found.row, MATCHED)?, found),
        }
        Ok(())
    }

    /// The best, in no order.
    fn finish(self) -> Vec<ScoredRow> {
        match self {
            Self::Rows(best) => best.finish(),
            Self::OfPaths(best, _) => best.finish(),
        }
    }
}

/// The matches of an expression in a snapshot, before scoring.
struct UnscoredMatches<'s> {
    plan: &'s Plan,
    counts: Counts,
    parts: Vec<Lists<'s>>,
}

impl Snapshot {
    /// The `limit` best rows that match and pass the filter, best first, and how common the phrases are.
    /// With `paths`, the best row of each of the best paths.
    pub(crate) fn rank(
        &self,
        plan: &Plan,
        limit: usize,
        filter: Filter<'_>,
        paths: Option<&Paths>,
        matching: Matching,
    ) -> rusqlite::Result<(Vec<FtsRanked>, PhraseCounts)> {
        let found = self.find(plan)?;
        let sorted = |mut best: Vec<ScoredRow>| {
            best.sort_unstable_by(Scored::order);
            best
        };
        let ranked = match filter {
            Filter::None => sorted(found.rank(limit, None, paths, matching)?),
            Filter::Rows(rows) => sorted(found.rank(limit, Some(rows), paths, matching)?),
            Filter::File(connection, filters) => {
                let all = found.rank(usize::MAX, None, None, matching)?;
                allowed::best(connection, filters, all, limit, paths)?
            }
        };
        // FTS5's scores are negative.
        let ranked = ranked.into_iter().map(|found| (found.row, -found.score));
        Ok((ranked.collect(), found.phrase_counts()))
    }

    /// Look up the phrases of an expression.
    fn find<'s>(&'s self, plan: &'s Plan) -> rusqlite::Result<UnscoredMatches<'s>> {
        let parts = self.parts().iter().map(|part| Lists::find(part, plan));
        let parts: Vec<Lists<'_>> = parts.collect::<rusqlite::Result<_>>()?;
        let frequency = |phrase: usize| {
            let of_parts = parts.iter().map(|lists| lists.document_frequency(phrase));
            of_parts.sum()
        };
        Ok(UnscoredMatches {
            plan,
            counts: Counts {
                document_frequencies: (0..plan.phrases.len()).map(frequency).collect(),
                ..self.counts()
            },
            parts,
        })
    }
}

impl UnscoredMatches<'_> {
    /// How common the phrases of the expression are, as often as each stands there.
    fn phrase_counts(&self) -> PhraseCounts {
        let in_order = self.plan.scoring_order().flat_map(|(scored, repeats)| {
            let frequency = self.counts.document_frequencies[scored.phrase];
            repeat_n(frequency, repeats as usize)
        });
        PhraseCounts {
            rows: self.counts.rows,
            document_frequencies: in_order.collect(),
        }
    }

    /// The best matches, in no order.
    fn rank(
        &self,
        limit: usize,
        passing: Option<&RowSet>,
        paths: Option<&Paths>,
        matching: Matching,
    ) -> rusqlite::Result<Vec<ScoredRow>> {
        let mut best = Best::new(limit, paths);
        let counts = &self.counts;
        let frequencies = counts.document_frequencies.iter().zip(&self.plan.phrases);
        let idfs = frequencies.map(|(frequency, phrase)| counts.idf(*frequency) * phrase.weight());
        let idfs: Vec<f64> = idfs.collect();
        let norms = LengthNorms::new(counts, matching);
        for lists in &self.parts {
            lists.score(self.plan, &idfs, &norms, passing, &mut best)?;
        }
        Ok(best.finish())
    }
}

/// The postings of an expression's phrases in a part.
struct Lists<'p> {
    part: &'p SegmentView,
    /// For each phrase, which chunks have it.
    phrases: Vec<PhrasePostings<'p>>,
}

impl<'p> Lists<'p> {
    fn find(part: &'p SegmentView, plan: &Plan) -> rusqlite::Result<Self> {
        let mut pace = CancelTicker::default();
        let find = |phrase| PhrasePostings::find(&part.segment, phrase, &mut pace);
        Ok(Self {
            part,
            phrases: plan
                .phrases
                .iter()
                .map(find)
                .collect::<rusqlite::Result<_>>()?,
        })
    }

    /// Return the number of live chunks with a phrase.
    fn document_frequency(&self, phrase: usize) -> u64 {
        let chunks = &self.phrases[phrase].chunks;
        (chunks.len() - self.part.deleted.count_in(chunks)) as u64
    }

    /// Offer every match with its score.
    fn score(
        &self,
        plan: &Plan,
        idfs: &[f64],
        norms: &LengthNorms<'_>,
        passing: Option<&RowSet>,
        best: &mut Best<'_>,
    ) -> rusqlite::Result<()> {
        if self.phrases.iter().all(|phrase| phrase.chunks.is_empty()) {
            return Ok(());
        }
        let mut pace = CancelTicker::default();
        let narrowed = self.narrowed(plan, &mut pace)?;
        let lists = plan.scored_phrases.iter().zip(&narrowed);
        let mut lists: Vec<WindowList<'_, '_>> = lists
            .map(|(scored, narrowed)| WindowList {
                postings: narrowed.as_ref().unwrap_or(&self.phrases[scored.phrase]),
                idf: idfs[scored.phrase],
                span: (0, 0),
            })
            .collect();
        let excluded = self.excluded(plan);
        let mut max_score = MaxScore::new(plan);
        let mut window = Window {
            part: self.part,
            norms,
            passing,
            scores: vec![0.0; self.part.segment.len().min(WINDOW as usize)],
            first: 0,
        };
        while (window.first as usize) < self.part.segment.len() {
            let end = window.first.saturating_add(WINDOW);
            for list in &mut lists {
                list.advance(end);
            }
            best.raise_threshold();
            let threshold = best.threshold();
            if max_score.choose(&lists, window.least_norm(), threshold) {
                for (nth, repeats) in max_score.essential() {
                    window.add(&lists[nth], repeats);
                    pace.read(lists[nth].chunks().len())?;
                }
                window.leave_possible(&mut max_score, &lists, threshold);
                pace.read(max_score.possible.len() * plan.order.len())?;
                for (chunk, score) in max_score.exact(plan, &lists, |chunk| window.norm(chunk)) {
                    window.offer(*chunk, *score, &excluded, best)?;
                }
            } else {
                for (scored, repeats) in &plan.order {
                    window.add(&lists[*scored], *repeats);
                    pace.read(lists[*scored].chunks().len() * *repeats as usize)?;
                }
                for list in &lists {
                    for chunk in list.chunks() {
                        let score = window.take(*chunk);
                        window.offer(*chunk, score, &excluded, best)?;
                    }
                }
            }
            window.first = end;
        }
        Ok(())
    }

    /// The postings of each scored phrase among the chunks that meet its conjunction. None if those are
    /// all of its postings.
    fn narrowed(
        &self,
        plan: &Plan,
        pace: &mut CancelTicker,
    ) -> rusqlite::Result<Vec<Option<PhrasePostings<'static>>>> {
        let mut intersections = Vec::with_capacity(plan.conjunctions.len());
        for all in &plan.conjunctions {
            let steps = all
                .iter()
                .flatten()
                .map(|phrase| self.phrases[*phrase].chunks.len());
            pace.read(steps.sum())?;
            intersections.push(self.intersection(all));
        }
        let narrowed = |scored: &ScoredPhrase| -> rusqlite::Result<_> {
            let Some(chunks) = &intersections[scored.conjunction] else {
                return Ok(None);
            };
            pace.read(chunks.len())?;
            Ok(Some(self.phrases[scored.phrase].within(chunks)))
        };
        plan.scored_phrases.iter().map(narrowed).collect()
    }

    /// The chunks that meet a conjunction; None for a single group, which its postings meet.
    fn intersection(&self, conjunction: &Conjunction) -> Option<Vec<u32>> {
        if conjunction.len() < 2 {
            return None;
        }
        let mut groups: Vec<Cow<'_, [u32]>> =
            conjunction.iter().map(|group| self.any(group)).collect();
        groups.sort_by_key(|group| group.len());
        let mut groups = groups.into_iter();
        let mut intersection = groups.next()?.into_owned();
        for group in groups {
            let mut at = 0;
            intersection.retain(|chunk| {
                at = gallop(&group, at, *chunk);
                group.get(at) == Some(chunk)
            });
        }
        Some(intersection)
    }

    /// The chunks that have any of these phrases.
    fn any(&self, phrases: &[usize]) -> Cow<'_, [u32]> {
        if let [phrase] = phrases {
            return Cow::Borrowed(&self.phrases[*phrase].chunks);
        }
        let chunks = phrases.iter().map(|phrase| &*self.phrases[*phrase].chunks);
        let mut chunks = chunks.collect::<Vec<_>>().concat();
        chunks.sort_unstable();
        chunks.dedup();
        Cow::Owned(chunks)
    }

    /// Return a bit for each chunk with an excluded phrase; empty without such phrases.
    fn excluded(&self, plan: &Plan) -> Vec<u64> {
        if plan.excluded.is_empty() {
            return Vec::new();
        }
        let mut excluded = vec![0; self.part.segment.len().div_ceil(64)];
        for phrase in &plan.excluded {
            for chunk in self.phrases[*phrase].chunks.iter() {
                excluded[*chunk as usize / 64] |= 1_u64 << (chunk % 64);
            }
        }
        excluded
    }
}

/// The scores of consecutive chunks; 0 where nothing was added.
struct Window<'p> {
    part: &'p SegmentView,
    norms: &'p LengthNorms<'p>,
    passing: Option<&'p RowSet>,
    scores: Vec<f64>,
    first: u32,
}

impl Window<'_> {
    fn norm(&self, chunk: u32) -> f64 {
        self.norms.of(self.part.segment.lengths()[chunk as usize])
    }

    /// The length norm of the shortest chunk.
    fn least_norm(&self) -> f64 {
        let shortest = self.part.shortest.get((self.first / WINDOW) as usize);
        self.norms.of(shortest.copied().unwrap_or_default())
    }

    /// Add the term scores of a list to the scores of its chunks, `repeats` times. Every repeat is a separate
    /// addition, as in FTS5, because a product would be rounded differently.
    fn add(&mut self, list: &WindowList<'_, '_>, repeats: u32) {
        let lengths = self.part.segment.lengths();
        for (chunk, slot) in list.chunks().iter().zip(list.span.0..) {
            let norm = self.norms.of(lengths[*chunk as usize]);
            let term_score = list.term_score(slot, norm);
            let score = &mut self.scores[(chunk - self.first) as usize];
            for _ in 0..repeats {
                *score += term_score;
            }
        }
    }

    /// Return the score of a chunk, and reset it.
    fn take(&mut self, chunk: u32) -> f64 {
        std::mem::take(&mut self.scores[(chunk - self.first) as usize])
    }

    /// Leave the chunks that may reach `threshold` by all lists, after those that are not skipped were added.
    fn leave_possible(
        &mut self,
        max_score: &mut MaxScore,
        lists: &[WindowList<'_, '_>],
        threshold: f64,
    ) {
        if !max_score.collect(lists, |chunk| self.take(chunk), threshold) {
            return max_score.look_up(lists, |chunk| self.norm(chunk), threshold);
        }
        for (chunk, score) in &max_score.possible {
            self.scores[(chunk - self.first) as usize] = *score;
        }
        for (nth, repeats) in max_score.skipped() {
            self.add(&lists[nth], repeats);
        }
        max_score.cut(
            |chunk| self.scores[(chunk - self.first) as usize],
            threshold,
        );
        self.scores.fill(0.0);
    }

    /// Offer a chunk, unless it has no score.
    fn offer(
        &self,
        chunk: u32,
        score: f64,
        excluded: &[u64],
        best: &mut Best<'_>,
    ) -> rusqlite::Result<()> {
        if score == 0.0 || score < best.threshold() {
            return Ok(());
        }
        let word = excluded.get(chunk as usize / 64);
        let is_excluded = word.is_some_and(|word| word >> (chunk % 64) & 1 == 1);
        if !is_excluded && !self.part.deleted.contains(chunk) {
            let row = self.part.segment.row(chunk);
            if self.passing.is_none_or(|rows| rows.contains(row)) {
                best.offer(ScoredRow { score, row })?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::bm25::Ranking;
    use crate::bm25::load_error::is_interrupt;
    use crate::bm25::tests::differential::many;
    use crate::chunks::Chunk;
    use crate::index::Index;
    use crate::interrupt::with_cancellation;
    use crate::query::{MatchExpression, Phrase};
    use crate::storage::generations::generation;
    use crate::text::tokenizer::TokenizerKind;

    const TOKENIZER: TokenizerKind = TokenizerKind::Porter;

    /// An index with these chunks, and its lists in memory.
    fn loaded(chunks: &[Chunk]) -> (Index, Arc<Snapshot>) {
        let index = Index::in_memory_with(TOKENIZER, Ranking::Memory).unwrap();
        index.upsert(&chunks.iter().collect::<Vec<_>>()).unwrap();
        index.ranker.load().unwrap();
        let snapshot = index
            .database()
            .read(|connection| index.ranker.current(connection, generation(connection)?));
        (index, snapshot.unwrap().unwrap())
    }

    fn phrase(text: &str, prefix: bool) -> Phrase {
        Phrase {
            text: text.to_owned(),
            prefix,
            ..Phrase::default()
        }
    }

    #[test]
    fn one_alternative_of_each_group_is_enough() {
        let texts = ["oak", "ash oak", "birch", "birch ash", "birch oak elm"];
        let chunks = texts.iter().enumerate().map(|(id, text)| Chunk {
            id: id.to_string(),
            content: (*text).to_owned(),
            ..Chunk::default()
        });
        let (_index, snapshot) = loaded(&chunks.collect::<Vec<_>>());
        for (groups, rows) in [
            (&[&["oak", "ash"][..], &["birch", "elm"]][..], &[4, 5][..]),
            (&[&["birch"], &["ash", "oak"]], &[4, 5]),
            (&[&["oak"], &["birch", "ash"], &["elm", "ash"]], &[2, 5]),
            (&[&["elm", "ash"], &["nothing"]], &[]),
        ] {
            let group = |texts: &&[&str]| texts.iter().map(|text| phrase(text, false)).collect();
            let expression = MatchExpression {
                any: vec![groups.iter().map(group).collect()],
                none: vec![],
            };
            let plan = Plan::of(&expression, TOKENIZER).unwrap();
            let ranked = snapshot.rank(&plan, usize::MAX, Filter::None, None, Matching::Spec);
            let mut found: Vec<i64> = ranked.unwrap().0.iter().map(|hit| hit.0).collect();
            found.sort_unstable();
            assert_eq!(found, rows, "{expression}");
        }
    }

    #[test]
    fn every_kind_of_expression_stops_when_nobody_waits() {
        let (_index, snapshot) = loaded(&many(0..2_000, 1));
        let (the, oak) = (phrase("the", false), phrase("oak", false));
        // With the last three nothing is added up, but it takes time to look phrases up.
        let nothing = || vec![vec![vec![phrase("nothing", false)]]];
        for (any, none) in [
            (vec![vec![vec![the.clone()]]], vec![]),
            (vec![vec![vec![the], vec![oak]]], vec![]),
            (nothing(), vec![phrase("e", true)]),
            (nothing(), vec![phrase("the oak", false)]),
            (nothing(), vec![phrase("the e", true)]),
        ] {
            let expression = MatchExpression { any, none };
            let plan = Plan::of(&expression, TOKENIZER).unwrap();
            let rank = || snapshot.rank(&plan, usize::MAX, Filter::None, None, Matching::Spec);
            rank().unwrap();
            let stopped = with_cancellation(|| true, rank).unwrap_err();
            assert!(is_interrupt(&stopped), "{expression}: {stopped}");
        }
    }
}
