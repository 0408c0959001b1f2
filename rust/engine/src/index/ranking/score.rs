//! Scoring: what an expression's phrases add up to, chunk by chunk, in one part.

use std::borrow::Cow;
use std::iter::repeat_n;

use rusqlite::Connection;

use super::allowed;
use super::best::Best;
use super::counts::{Counts, Dampings, gain};
use super::phrase::{Holders, gallop};
use super::plan::{Conjunction, Plan};
use super::snapshot::{Part, Snapshot};
use crate::index::filters::Filters;
use crate::index::phrase_counts::PhraseCounts;
use crate::index::search::Ranked;
use crate::interrupt;

/// How many chunks are added up at a time: what fits into the processor's nearest memory.
const WINDOW: u32 = 4096;

/// How many additions are made between two looks at whether somebody waits for them.
const STRIDE: usize = 1 << 20;

/// What an expression finds in a snapshot, before it is scored.
struct Found<'s> {
    plan: &'s Plan,
    counts: Counts,
    parts: Vec<Lists<'s>>,
}

impl Snapshot {
    /// The rows that match and pass the filters, best first, and how common the phrases are.
    /// `connection` sees the snapshot's generation.
    pub(in crate::index) fn rank(
        &self,
        connection: &Connection,
        plan: &Plan,
        limit: Option<usize>,
        filters: &Filters,
    ) -> rusqlite::Result<(Vec<Ranked>, PhraseCounts)> {
        let found = self.find(plan);
        let limit = limit.unwrap_or(usize::MAX);
        let ranked = if filters.is_empty() {
            found.rank(Best::new(limit))?.finish()
        } else {
            let all = found.rank(Best::new(usize::MAX))?.all();
            allowed::best(connection, filters, all, limit)?
        };
        // FTS5's scores are negative.
        let ranked = ranked.into_iter().map(|found| (found.row, -found.score));
        Ok((ranked.collect(), found.phrase_counts()))
    }

    /// Look the phrases of an expression up.
    fn find<'s>(&'s self, plan: &'s Plan) -> Found<'s> {
        let parts = self.parts().iter().map(|part| Lists::find(part, plan));
        let parts: Vec<Lists<'_>> = parts.collect();
        let holders = |phrase: usize| parts.iter().map(|lists| lists.phrases[phrase].len()).sum();
        Found {
            plan,
            counts: Counts {
                holders: (0..plan.phrases.len()).map(holders).collect(),
                ..self.counts()
            },
            parts,
        }
    }
}

impl Found<'_> {
    /// How common the phrases of the expression are, as often as each stands there.
    fn phrase_counts(&self) -> PhraseCounts {
        let in_order = self.plan.order.iter().flat_map(|(addend, times)| {
            let phrase = self.plan.addends[*addend].phrase;
            repeat_n(self.counts.holders[phrase], *times as usize)
        });
        PhraseCounts {
            rows: self.counts.rows,
            holding: in_order.collect(),
        }
    }

    /// Offer every match with its score.
    fn rank(&self, mut best: Best) -> rusqlite::Result<Best> {
        let counts = &self.counts;
        let worths = counts.holders.iter().map(|holders| counts.worth(*holders));
        let worths: Vec<f64> = worths.collect();
        let dampings = Dampings::new(counts);
        for lists in &self.parts {
            lists.score(self.plan, &worths, &dampings, &mut best)?;
        }
        Ok(best)
    }
}

/// What an expression's phrases find in a part.
struct Lists<'p> {
    part: &'p Part,
    /// For each phrase, who holds it.
    phrases: Vec<Holders<'p>>,
}

impl<'p> Lists<'p> {
    fn find(part: &'p Part, plan: &Plan) -> Self {
        let phrases = plan.phrases.iter();
        Self {
            part,
            phrases: phrases.map(|phrase| Holders::find(part, phrase)).collect(),
        }
    }

    /// Offer every match with its score.
    fn score(
        &self,
        plan: &Plan,
        worths: &[f64],
        dampings: &Dampings<'_>,
        best: &mut Best,
    ) -> rusqlite::Result<()> {
        let narrowed = self.narrowed(plan);
        let addends = plan.addends.iter().zip(&narrowed);
        let addends: Vec<(&Holders<'_>, f64)> = addends
            .map(|(addend, narrowed)| {
                let holders = narrowed.as_ref().unwrap_or(&self.phrases[addend.phrase]);
                (holders, worths[addend.phrase])
            })
            .collect();
        let excluded = self.excluded(plan);
        let mut window = Window {
            part: self.part,
            dampings,
            scores: vec![0.0; self.part.segment.len().min(WINDOW as usize)],
            first: 0,
        };
        let mut spans = vec![(0, 0); addends.len()];
        let mut additions = 0;
        while (window.first as usize) < self.part.segment.len() {
            let end = window.first.saturating_add(WINDOW);
            for ((holders, _), span) in addends.iter().zip(&mut spans) {
                *span = (span.1, gallop(&holders.chunks, span.1, end));
            }
            for (addend, times) in &plan.order {
                let (span, (holders, worth)) = (spans[*addend], addends[*addend]);
                window.add(holders, span, worth, *times);
                additions += (span.1 - span.0) * *times as usize;
                if additions > STRIDE {
                    additions = 0;
                    interrupt::check_reading()?;
                }
            }
            for ((holders, _), span) in addends.iter().zip(&spans) {
                window.offer(&holders.chunks[span.0..span.1], &excluded, best);
            }
            window.first = end;
        }
        Ok(())
    }

    /// For each addend its holders among the chunks that meet its conjunction; None where that
    /// is all of them.
    fn narrowed(&self, plan: &Plan) -> Vec<Option<Holders<'static>>> {
        let met = plan.conjunctions.iter().map(|all| self.met(all));
        let met: Vec<Option<Vec<u32>>> = met.collect();
        let addends = plan.addends.iter().map(|addend| {
            let met = met[addend.conjunction].as_ref()?;
            Some(self.phrases[addend.phrase].within(met))
        });
        addends.collect()
    }

    /// The chunks that meet a conjunction; None for a single group, which its holders meet.
    fn met(&self, conjunction: &Conjunction) -> Option<Vec<u32>> {
        if conjunction.len() < 2 {
            return None;
        }
        let mut groups: Vec<Cow<'_, [u32]>> =
            conjunction.iter().map(|group| self.any(group)).collect();
        groups.sort_by_key(|group| group.len());
        let mut groups = groups.into_iter();
        let mut met = groups.next()?.into_owned();
        for group in groups {
            let mut at = 0;
            met.retain(|chunk| {
                at = gallop(&group, at, *chunk);
                group.get(at) == Some(chunk)
            });
        }
        Some(met)
    }

    /// The chunks that hold any of these phrases.
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

    /// A bit for each chunk that holds what none may; empty when there is no such phrase.
    fn excluded(&self, plan: &Plan) -> Vec<u64> {
        if plan.none.is_empty() {
            return Vec::new();
        }
        let mut excluded = vec![0; self.part.segment.len().div_ceil(64)];
        for phrase in &plan.none {
            for chunk in self.phrases[*phrase].chunks.iter() {
                excluded[*chunk as usize / 64] |= 1_u64 << (chunk % 64);
            }
        }
        excluded
    }
}

/// The scores of some chunks that follow each other. A chunk that nothing was added to has 0.
struct Window<'p> {
    part: &'p Part,
    dampings: &'p Dampings<'p>,
    scores: Vec<f64>,
    first: u32,
}

impl Window<'_> {
    /// Add what a phrase is worth to its holders, so many times, one after the other as FTS5
    /// does it: rounding makes a difference.
    fn add(&mut self, holders: &Holders<'_>, span: (usize, usize), worth: f64, times: u32) {
        let lengths = self.part.segment.lengths();
        let chunks = &holders.chunks[span.0..span.1];
        for (chunk, place) in chunks.iter().zip(span.0..) {
            let damping = self.dampings.of(lengths[*chunk as usize]);
            let gain = gain(worth, f64::from(holders.weights.get(place)), damping);
            let score = &mut self.scores[(chunk - self.first) as usize];
            for _ in 0..times {
                *score += gain;
            }
        }
    }

    /// Offer those of the chunks that were not offered before, and take their scores back.
    fn offer(&mut self, chunks: &[u32], excluded: &[u64], best: &mut Best) {
        for chunk in chunks {
            let score = std::mem::take(&mut self.scores[(chunk - self.first) as usize]);
            if score == 0.0 || !best.may_take(score) {
                continue;
            }
            let word = excluded
                .get(*chunk as usize / 64)
                .copied()
                .unwrap_or_default();
            if word >> (chunk % 64) & 1 == 0 {
                best.offer(score, self.part.segment.row(*chunk));
            }
        }
    }
}
