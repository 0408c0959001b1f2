//! Where the score of a hit comes from (spec/retrieval.md, "Explanations").

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::multiplier::{Condition, Multiplier};
use super::request::Fusion;
use crate::calendar::Unit;
use crate::index::Hit;
use crate::named_enum;

/// A hit and where its score comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct ExplainedHit {
    /// The hit; its score is multiplied already.
    pub hit: Hit,
    /// Where the score comes from.
    pub explanation: Explanation,
}

/// Where a score comes from: numbers, and in words when it is displayed.
///
/// serde writes it as [`Explanation::to_json`] does, and reads that.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Keys")]
pub struct Explanation {
    /// How the legs became one ranking.
    pub fusion: Fusion,
    /// The keyword part; None if keywords did not find the hit, or did not take part.
    pub keywords: Option<ByKeywords>,
    /// The vector part; None if the hit has no vector, or vectors did not take part.
    pub meaning: Option<ByMeaning>,
    /// The sum of both.
    pub fused: f64,
    /// The parts of the best neighbors, the nearer first.
    pub neighbors: Vec<ByNeighbor>,
    /// The part of the speaker, if the question asks about this speaker.
    pub speaker: Option<BySpeaker>,
    /// The part of the question before the hit, if the hit answers it.
    pub answers: Option<ByQuestion>,
    /// The part of the day of the hit, if the question names it, or a period that it is in.
    pub date: Option<ByDate>,
    /// The effect of the age of the hit, if the search counts ages.
    pub recency: Option<ByRecency>,
    /// The score of a hit that is first in every leg that took part. None for score fusion, which has
    /// no bound.
    pub best_possible: Option<f64>,
    /// The score of the best match as a part of what BM25 could give for the query. For score fusion
    /// alone, and not where slugs were compared.
    pub coverage: Option<f64>,
    /// The value of the best keyword match in score fusion, at most 1.
    pub weight: Option<f64>,
    /// The factor on the fused score, and its reason.
    pub multiplier: Multiplier,
    /// The score of the hit.
    pub score: f64,
    /// The score of a reranker; None before a reranker ran. It takes no part in the score.
    pub rerank_score: Option<f64>,
    /// How the reranker's score and the score of the hit were blended; None if they were not.
    pub rerank_blend: Option<RerankBlend>,
}

/// How the place of a hit in the head was blended from two scores.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RerankBlend {
    /// The share of the reranker.
    pub weight: f64,
    /// The deviation of the fused score from the mean of the head, in standard deviations.
    pub fused_deviations: f64,
    /// The deviation of the reranker's score from its mean, in standard deviations.
    pub rerank_deviations: f64,
    /// Both, weighted: the value that orders the head.
    pub total: f64,
}

/// The keyword part of a score.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ByKeywords {
    /// The rank in the leg, from 0.
    pub rank: usize,
    /// BM25, higher is better; of a fuzzy hit the similarity.
    pub score: f64,
    /// Whether the fuzzy rung found it, by a slug that looks like a word of the query.
    pub fuzzy: bool,
    /// The score as a part of the best one of the leg; of score fusion alone.
    pub share: Option<f64>,
    /// The contribution to the fused score.
    pub contribution: f64,
}

/// The vector part of a score.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ByMeaning {
    /// The rank in the leg, from 0; None when it is too far down for the leg.
    pub rank: Option<usize>,
    /// The cosine with the query's vector.
    pub cosine: f64,
    /// The deviation of the cosine from the mean, in standard deviations; of score fusion alone.
    pub deviations: Option<f64>,
    /// The contribution to the fused score.
    pub contribution: f64,
}

/// The part of a neighbor of the hit in its path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ByNeighbor {
    /// The id of the chunk.
    pub id: String,
    /// How far away it is: 1 for the chunk next to the hit, 2 for the one after that.
    pub distance: u8,
    /// The total of the chunk from both legs.
    pub total: f64,
    /// The contribution to the score of the hit.
    pub contribution: f64,
}

named_enum! {
    /// Why a speaker counts.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Because {
        /// The question names the speaker.
        Named = "named",
        /// The question is in the first person, and the speaker is the user.
        FirstPerson = "first_person",
    }
}

/// The part of the speaker of the hit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BySpeaker {
    /// The name of the speaker; of the user without a name, "user".
    pub name: String,
    /// Why the speaker counts.
    pub because: Because,
    /// The contribution to the score of the hit.
    pub contribution: f64,
}

/// The part of the question that the hit answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ByQuestion {
    /// The id of the chunk that asks.
    pub id: String,
    /// The total of the question from both legs.
    pub total: f64,
    /// The contribution to the score of the hit.
    pub contribution: f64,
}

/// The part of the day of the hit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ByDate {
    /// The day, in ISO 8601.
    pub day: String,
    /// The unit of the period that the question names.
    pub because: Unit,
    /// The contribution to the score of the hit.
    pub contribution: f64,
}

/// The effect of the age of the hit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ByRecency {
    /// The day of the hit, in ISO 8601. None for a hit without one.
    pub day: Option<String>,
    /// The age in days, at least 0. None for a hit without a day.
    pub age: Option<u32>,
    /// The weight of that age, above 0 and at most 1.
    pub weight: f64,
    /// The contribution to the score of the hit, at most 0.
    pub contribution: f64,
}

impl Explanation {
    /// The fused score with what neighbors added.
    pub(super) fn with_neighbors(&self) -> f64 {
        let given = self.neighbors.iter().map(|by| by.contribution);
        given.fold(self.fused, |total, given| total + given)
    }

    /// The score before it is multiplied.
    pub(super) fn raised(&self) -> f64 {
        let given = [
            self.speaker.as_ref().map(|by| by.contribution),
            self.answers.as_ref().map(|by| by.contribution),
            self.date.as_ref().map(|by| by.contribution),
            self.recency.as_ref().map(|by| by.contribution),
        ];
        let given = given.into_iter().flatten();
        given.fold(self.with_neighbors(), |total, given| total + given)
    }

    /// The numbers by name; null where one has no meaning.
    pub fn to_json(&self) -> Map<String, Value> {
        let factors = self.multiplier.conditions().map(
            |condition| json!({ "factor": condition.factor(), "condition": condition.as_str() }),
        );
        let mut keys = Map::new();
        let mut put = |key: &str, value: Value| keys.insert(key.to_owned(), value);
        put("fusion", json!(self.fusion.as_str()));
        put("keywords", json!(self.keywords));
        put("meaning", json!(self.meaning));
        put("coverage", json!(self.coverage));
        put("weight", json!(self.weight));
        put("fused", json!(self.fused));
        put("neighbors", json!(self.neighbors));
        put("speaker", json!(self.speaker));
        put("answers", json!(self.answers));
        put("date", json!(self.date));
        if let Some(recency) = &self.recency {
            put("recency", json!(recency));
        }
        put("best_possible", json!(self.best_possible));
        let fraction = self.best_possible.map(|best| self.fused / best);
        put("fraction", json!(fraction));
        put("multipliers", factors.collect());
        put("score", json!(self.score));
        put("rerank_score", json!(self.rerank_score));
        if let Some(blend) = self.rerank_blend {
            put("rerank_blend", json!(blend));
        }
        keys
    }
}

impl Serialize for Explanation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

/// The keys of an explanation in JSON, except those that follow from others.
#[derive(Deserialize)]
struct Keys {
    fusion: String,
    keywords: Option<ByKeywords>,
    meaning: Option<ByMeaning>,
    coverage: Option<f64>,
    weight: Option<f64>,
    fused: f64,
    neighbors: Vec<ByNeighbor>,
    #[serde(default)]
    speaker: Option<BySpeaker>,
    #[serde(default)]
    answers: Option<ByQuestion>,
    #[serde(default)]
    date: Option<ByDate>,
    #[serde(default)]
    recency: Option<ByRecency>,
    best_possible: Option<f64>,
    multipliers: Vec<Factor>,
    score: f64,
    rerank_score: Option<f64>,
    #[serde(default)]
    rerank_blend: Option<RerankBlend>,
}

#[derive(Deserialize)]
struct Factor {
    condition: String,
}

impl TryFrom<Keys> for Explanation {
    type Error = String;

    fn try_from(keys: Keys) -> Result<Self, String> {
        let unknown = |what: &str, name: &str| format!("there is no {what} {name:?}");
        let conditions: Result<Vec<_>, _> = keys
            .multipliers
            .iter()
            .map(|Factor { condition }| {
                Condition::from_name(condition).ok_or_else(|| unknown("condition", condition))
            })
            .collect();
        let far = keys
            .neighbors
            .iter()
            .find(|by| !matches!(by.distance, 1 | 2));
        if let Some(ByNeighbor { distance, .. }) = far {
            return Err(format!("a neighbor is at distance 1 or 2, not {distance}"));
        }
        Ok(Self {
            fusion: Fusion::from_name(&keys.fusion)
                .ok_or_else(|| unknown("fusion", &keys.fusion))?,
            keywords: keys.keywords,
            meaning: keys.meaning,
            fused: keys.fused,
            neighbors: keys.neighbors,
            speaker: keys.speaker,
            answers: keys.answers,
            date: keys.date,
            recency: keys.recency,
            best_possible: keys.best_possible,
            coverage: keys.coverage,
            weight: keys.weight,
            multiplier: Multiplier::of_conditions(conditions?),
            score: keys.score,
            rerank_score: keys.rerank_score,
            rerank_blend: keys.rerank_blend,
        })
    }
}
