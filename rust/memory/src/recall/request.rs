//! The request and the results of a recall (spec/memory.md, "Recall").

use std::collections::HashMap;
use std::sync::Arc;

use hedgerow_engine::calendar::Time;
use hedgerow_engine::chunks::Texts;
use hedgerow_engine::retrieval::Request;
use hedgerow_engine::{Error, ErrorCode};
use serde_json::{Map, Value};

use super::columns::RecallFilter;
use super::score::ScoreParts;
use crate::facts::marks::Validity;
use crate::facts::scope::Visibility;

/// The name of the rows of a recall in messages.
pub(crate) const FOUND: &str = "a recall";
/// A question to a root.
pub struct RecallRequest<'a> {
    /// The search: the request without filters, grouped by path.
    pub search: Request<'a>,
    /// The query that the scores are about.
    pub query: &'a str,
    /// The most results.
    pub limit: usize,
    /// The memories that the caller may see.
    pub visible: &'a Visibility,
    /// The filter of the memories.
    pub filter: &'a RecallFilter,
    /// The value of each bucket at the given depth.
    pub depths: &'a HashMap<String, f64>,
    /// The value of any other bucket.
    pub other_depth: f64,
    /// The microseconds in which the weight of a memory halves; None if age does not count.
    pub half_life: Option<i64>,
    /// Whether to return the passages of the files.
    pub with_evidence: bool,
    /// When the question was asked, in the zone of the asker.
    pub asked: Time,
}

/// A memory in the results, at its best passage.
#[derive(Debug, Clone)]
pub struct RecallHit {
    /// The id of the passage, the same for every query.
    pub id: String,
    /// The passage and the front matter of its file.
    pub texts: Arc<Texts>,
    /// The first and the last line of the passage.
    pub lines: (i64, i64),
    /// The passage on one line, cut to the part with most words of the query.
    pub snippet: String,
    /// The parts of the score.
    pub parts: ScoreParts,
    /// The weight of the score of the search by age, if age counts.
    pub weight: Option<f64>,
    /// The bucket of the memory.
    pub bucket: String,
    /// Whether the memory holds.
    pub validity: Validity,
}

impl RecallHit {
    /// The front matter of the file.
    pub fn front_matter(&self) -> Option<&Map<String, Value>> {
        self.texts.metadata.get("front_matter")?.as_object()
    }
}

/// The error of an index that lacks what every chunk of a root has.
pub(crate) fn damaged(what: &str) -> Error {
    let message = format!(
        "the index is damaged (it does not say where {what} comes from); delete it, or recall with a \
         sync, which makes it anew"
    );
    Error::new(ErrorCode::IndexDamaged, message)
}
