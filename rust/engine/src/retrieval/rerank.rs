//! The rerank step: a reranker's order for the head, the tail as it was (spec/retrieval.md).

use std::time::Duration;

use super::explanation::ExplainedHit;
use super::rerank_text::rerank_text;
use super::search::Found;
use super::trace::Stage;

/// What a reranker gave one document of the head.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RerankScore {
    /// Its index in the head; others are ignored.
    pub index: usize,
    /// More is better, on the reranker's own scale.
    pub score: f64,
}

impl Found {
    /// The id and the text of each of the first `head` hits: what a reranker is given.
    pub fn rerank_documents(&self, head: usize) -> Vec<(&str, String)> {
        let document = |found: &ExplainedHit| rerank_text(&found.hit);
        self.hits
            .iter()
            .take(head)
            .map(|found| (found.hit.id.as_str(), document(found)))
            .collect()
    }

    /// Put the first `head` hits in the order of `scores`, which come best first.
    ///
    /// A hit without a score is dropped: a reranker may filter. Of several scores for one hit the
    /// first counts. The hits after the head follow as they were.
    pub fn rerank(&mut self, head: usize, scores: &[RerankScore], provider: &str, time: Duration) {
        let tail = self.hits.split_off(head.min(self.hits.len()));
        let mut waiting: Vec<Option<ExplainedHit>> = self.hits.drain(..).map(Some).collect();
        for RerankScore { index, score } in scores {
            if let Some(mut found) = waiting.get_mut(*index).and_then(Option::take) {
                found.hit.rerank_score = Some(*score);
                found.explanation.rerank_score = Some(*score);
                self.hits.push(found);
            }
        }
        self.hits.extend(tail);
        self.trace.reranked = true;
        self.trace.rerank_provider = Some(provider.to_owned());
        self.trace.timings.rerank = time;
    }

    /// Note that the reranker failed: the hits stay as they were.
    pub fn rerank_failed(&mut self, time: Duration) {
        self.trace.error_stage.get_or_insert(Stage::Rerank);
        self.trace.timings.rerank = time;
    }
}
