//! Running `match`: nodes by the words of their keys or, where no key has them, of their contents.

use super::run::PipelineRun;
use crate::graph::ranking::{SlotScore, sort};
use hedgerow_engine::error::Result;
use hedgerow_engine::interrupt::{self, CancelTicker};
use hedgerow_engine::text::lower::lower;

/// The score of a term that is a whole key, a part of one, or in the content.
const WHOLE: f64 = 1.0;
const PART: f64 = 0.5;
const CONTENT: f64 = 0.2;
/// The most nodes that a term finds by their content.
const MOST_BY_CONTENT: usize = 50;

impl PipelineRun<'_> {
    /// The nodes that terms find, each with the sum of its scores.
    pub fn matched(&self, terms: &[String]) -> Result<Vec<SlotScore>> {
        let nodes = &self.snapshot.nodes;
        let mut sums = vec![0.0; nodes.len()];
        let mut found = Vec::new();
        let mut pace = CancelTicker::default();
        for term in terms {
            let term = lower(term.clone());
            let mut hits: Vec<SlotScore> = Vec::new();
            for some in nodes.order.chunks(interrupt::BATCH) {
                pace.step(some.len())?;
                let hit = |slot: &u32| Some((*slot, by_key(nodes.key(*slot), &term)?));
                hits.extend(some.iter().filter_map(hit));
            }
            if hits.is_empty() {
                hits = self.by_content(&term)?;
            }
            for (slot, score) in hits {
                let sum = &mut sums[slot as usize];
                if *sum == 0.0 {
                    found.push(slot);
                }
                *sum += score;
            }
        }
        let mut found: Vec<SlotScore> = found
            .into_iter()
            .map(|slot| (slot, sums[slot as usize]))
            .collect();
        sort(nodes, &mut found)?;
        Ok(found)
    }

    /// The weightiest nodes whose content has the words of a term in a row.
    fn by_content(&self, term: &str) -> Result<Vec<SlotScore>> {
        let nodes = &self.snapshot.nodes;
        let session = self.session()?;
        let phrase = session.content_phrase(term)?;
        if phrase.is_empty() {
            return Ok(Vec::new());
        }
        let candidates = session.phrase_candidates(&phrase)?;
        let mut candidates: Vec<u32> = candidates
            .iter()
            .filter_map(|key| nodes.find(key))
            .collect();
        interrupt::sort(&mut candidates, |left, right| {
            nodes.weights[*right as usize]
                .total_cmp(&nodes.weights[*left as usize])
                .then_with(|| nodes.by_key(*left, *right))
        })?;
        let mut hits = Vec::new();
        for slot in candidates {
            interrupt::check()?;
            if hits.len() == MOST_BY_CONTENT {
                break;
            }
            if session.holds_phrase(nodes.key(slot), &phrase)? {
                hits.push((slot, CONTENT));
            }
        }
        Ok(hits)
    }
}

/// The score of a term in lower case for a key.
fn by_key(key: &str, term: &str) -> Option<f64> {
    let is_term = |text: &str| {
        if text.is_ascii() {
            text.eq_ignore_ascii_case(term)
        } else {
            lower(text.to_owned()) == term
        }
    };
    if is_term(key) {
        return Some(WHOLE);
    }
    let separators = |c: char| "-_./#:".contains(c);
    key.split(separators).any(is_term).then_some(PART)
}
