//! Explanations in words, one of each kind.

use super::*;
use crate::calendar::Unit;
use crate::chunks::Texts;
use crate::index::Hit;
use crate::retrieval::explanation::RerankBlend;
use crate::retrieval::explanation::{
    ByDate, ByKeywords, ByMeaning, ByQuestion, ByRecency, BySpeaker,
};
use crate::retrieval::intent::Intent;
use crate::retrieval::multiplier::Multiplier;

fn rrf() -> Explanation {
    Explanation {
        fusion: Fusion::Rrf,
        keywords: Some(ByKeywords {
            rank: 0,
            score: 12.412,
            fuzzy: false,
            share: None,
            contribution: 1.0 / 61.0,
        }),
        meaning: Some(ByMeaning {
            rank: Some(2),
            cosine: 0.53214,
            deviations: None,
            contribution: 1.0 / 63.0,
        }),
        fused: 1.0 / 61.0 + 1.0 / 63.0,
        neighbors: Vec::new(),
        speaker: None,
        answers: None,
        date: None,
        recency: None,
        best_possible: Some(2.0 / 61.0),
        coverage: None,
        weight: None,
        multiplier: Multiplier::default(),
        score: 1.0 / 61.0 + 1.0 / 63.0,
        rerank_score: None,
        rerank_blend: None,
    }
}

fn score() -> Explanation {
    Explanation {
        fusion: Fusion::Score,
        keywords: Some(ByKeywords {
            rank: 1,
            score: 6.0,
            fuzzy: false,
            share: Some(6.0 / 9.0),
            contribution: 6.0 / 9.0,
        }),
        meaning: Some(ByMeaning {
            rank: None,
            cosine: 0.5,
            deviations: Some(4.0),
            contribution: 0.8,
        }),
        fused: 6.0 / 9.0 + 0.8,
        neighbors: Vec::new(),
        speaker: None,
        answers: None,
        date: None,
        recency: None,
        best_possible: None,
        coverage: Some(0.5),
        weight: Some(1.0),
        multiplier: Multiplier::default(),
        score: 6.0 / 9.0 + 0.8,
        rerank_score: None,
        rerank_blend: None,
    }
}

fn multiplier(path: &str) -> Multiplier {
    let intent = Intent {
        preference: true,
        concrete_fact: true,
    };
    let texts = Texts {
        path: path.to_owned(),
        ..Texts::default()
    };
    Multiplier::of(intent, &Hit::from(texts)).unwrap()
}

#[test]
fn places_and_what_they_give() {
    assert_eq!(
        rrf().to_string(),
        "number 1 by keywords (BM25 12.41): 1/61 = 0.0164; number 3 by meaning (cosine \
         0.5321): 1/63 = 0.0159; together 0.0323, 98 % of the best possible 0.0328"
    );
    let one_leg = Explanation {
        meaning: None,
        fused: 1.0 / 61.0,
        rerank_score: Some(0.9314),
        rerank_blend: None,
        ..rrf()
    };
    assert_eq!(
        one_leg.to_string(),
        "number 1 by keywords (BM25 12.41): 1/61 = 0.0164, 50 % of the best possible 0.0328; \
         reranker's score 0.9314"
    );
    let common = Explanation {
        keywords: rrf().keywords.map(|by| ByKeywords { score: 2e-6, ..by }),
        ..one_leg.clone()
    };
    assert!(common.to_string().contains("(BM25 2.0e-6)"), "{common}");
    let fuzzy = Explanation {
        keywords: rrf().keywords.map(|by| ByKeywords {
            score: 0.5,
            fuzzy: true,
            ..by
        }),
        ..one_leg
    };
    let by_spelling = "number 1 by spelling (similarity 0.50): 1/61";
    assert!(fuzzy.to_string().starts_with(by_spelling), "{fuzzy}");
}

#[test]
fn every_multiplier_is_named() {
    let multiplier = multiplier("memory/global/user-preference-milestone-tea.md");
    let factor = multiplier.factor();
    let mut explanation = Explanation {
        multiplier,
        score: rrf().fused * factor,
        ..rrf()
    };
    assert!(
        explanation.to_string().ends_with(
            "0.0328; multiplied by 2.35 (the question asks for a preference and this is a user \
             preference) and 2.2 (the question asks for a fact and this is one) = 0.1668"
        ),
        "{explanation}"
    );
    explanation = Explanation {
        fused: -0.5,
        score: -0.5 / factor,
        multiplier,
        ..score()
    };
    let text = explanation.to_string();
    assert!(
        text.contains(" = -0.50; divided by 2.35 (the question asks for a pref"),
        "{text}"
    );
    assert!(text.ends_with(" = -0.10"), "{text}");
}

#[test]
fn shares_and_deviations() {
    assert_eq!(
        score().to_string(),
        "keywords 0.67 (67 % of the best keyword match) + meaning 0.80 (4.0 standard \
         deviations closer than the average document) = 1.47"
    );
    let lowered = Explanation {
        coverage: Some(0.1),
        weight: Some(0.5),
        meaning: None,
        ..score()
    };
    assert_eq!(
        lowered.to_string(),
        "keywords 0.67 (67 % of the best keyword match); the best keyword match covers 10 % \
         of the question, so keywords count half"
    );
    let little = Explanation {
        coverage: Some(0.001),
        weight: Some(0.005),
        ..lowered
    };
    let end = "covers under 1 % of the question, so keywords count under 1 %";
    assert!(little.to_string().ends_with(end), "{little}");
}

#[test]
fn neighbors_are_named() {
    let neighbor = |id: &str, distance, total, contribution| ByNeighbor {
        id: id.to_owned(),
        distance,
        total,
        contribution,
    };
    let raised = Explanation {
        neighbors: vec![
            neighbor("talk#4", 1, 2.5 / 3.0, 0.2),
            neighbor("talk#1", 2, 0.5, 0.2 * (0.5 - 1.0 / 3.0)),
        ],
        meaning: None,
        fused: 6.0 / 9.0,
        score: 0.9,
        ..score()
    };
    assert_eq!(
        raised.to_string(),
        "keywords 0.67 (67 % of the best keyword match); \"talk#4\", next to it, gives 0.20 \
         (40 % of 0.50, its 0.83 less half of 0.67) and \"talk#1\", two away, gives 0.03 \
         (20 % of 0.17, its 0.50 less half of 0.67); with its neighbors 0.90"
    );
    let alone = Explanation {
        keywords: None,
        neighbors: vec![neighbor("talk#4", 1, 0.5, 0.2)],
        fused: 0.0,
        score: 0.2,
        ..raised
    };
    assert_eq!(
        alone.to_string(),
        "\"talk#4\", next to it, gives 0.20 (40 % of 0.50); with its neighbors 0.20"
    );
}

#[test]
fn nearer_and_further() {
    for (deviations, expected) in [
        (
            -1.54,
            "meaning -0.31 (1.5 standard deviations further than the average document)",
        ),
        (0.0, "meaning 0.00 (as close as the average document)"),
        (-0.01, "meaning 0.00 (as close as the average document)"),
        (
            2.0,
            "meaning 0.40 (2.0 standard deviations closer than the average document)",
        ),
    ] {
        let meaning = ByMeaning {
            rank: Some(0),
            cosine: 0.1,
            deviations: Some(deviations),
            contribution: 0.2 * deviations,
        };
        let explanation = Explanation {
            keywords: None,
            meaning: Some(meaning),
            coverage: Some(0.1),
            weight: Some(0.5),
            ..score()
        };
        assert_eq!(explanation.to_string(), expected);
    }
}

#[test]
fn json_of_what_cannot_be_is_refused() {
    let neighbor = ByNeighbor {
        id: "talk#4".to_owned(),
        distance: 2,
        total: 0.5,
        contribution: 0.1,
    };
    let explanation = Explanation {
        neighbors: vec![neighbor],
        ..rrf()
    };
    let text = serde_json::to_string(&explanation).unwrap();
    assert_eq!(
        serde_json::from_str::<Explanation>(&text).unwrap(),
        explanation
    );
    for distance in ["0", "3", "255"] {
        let other = text.replace("\"distance\":2", &format!("\"distance\":{distance}"));
        let error = serde_json::from_str::<Explanation>(&other).unwrap_err();
        let expected = format!("a neighbor is at distance 1 or 2, not {distance}");
        assert_eq!(error.to_string(), expected);
    }
    let largest = format!("\"rank\":{}", usize::MAX);
    let far = serde_json::from_str::<Explanation>(&text.replace("\"rank\":0", &largest));
    let far = far.unwrap().to_string();
    let number = format!("number {} by", usize::MAX as u128 + 1);
    assert!(far.starts_with(&number), "{far}");
}

#[test]
fn json_is_read_again() {
    let multiplied = Explanation {
        multiplier: multiplier("memory/global/user-preference-milestone-tea.md"),
        ..rrf()
    };
    for explanation in [rrf(), score(), multiplied] {
        let text = serde_json::to_string(&explanation).unwrap();
        assert_eq!(
            serde_json::from_str::<Explanation>(&text).unwrap(),
            explanation
        );
        let fusion = format!("\"{}\"", explanation.fusion.as_str());
        let other = text.replacen(&fusion, "\"none\"", 1);
        let error = serde_json::from_str::<Explanation>(&other).unwrap_err();
        assert_eq!(error.to_string(), "there is no fusion \"none\"");
    }
}

#[test]
fn a_blend_shows_both_parts() {
    let explanation = Explanation {
        rerank_score: Some(0.9314),
        rerank_blend: Some(RerankBlend {
            weight: 0.3,
            fused_deviations: -0.5,
            rerank_deviations: 1.25,
            total: 0.025,
        }),
        ..score()
    };
    let text = explanation.to_string();
    let blend = "; reranker's score 0.9314, 1.25 standard deviations above the average of the reranked \
                 hits, counts 30 %, and the score of the search, 0.50 below, 70 % = 0.03";
    assert!(text.ends_with(blend), "{text}");
}

#[test]
fn a_speaker_is_named_with_the_reason() {
    let mut explained = score();
    for (name, because, expected) in [
        (
            "Caroline",
            Because::Named,
            "said by Caroline, whom the question names: +0.60 = 2.07",
        ),
        (
            "user",
            Because::FirstPerson,
            "said by the user, and the question says I: +0.60 = 2.07",
        ),
        (
            "Zoë",
            Because::FirstPerson,
            "said by Zoë, and the question says I: +0.60 = 2.07",
        ),
    ] {
        explained.speaker = Some(BySpeaker {
            name: name.to_owned(),
            because,
            contribution: 0.6,
        });
        let text = explained.to_string();
        assert!(text.ends_with(&format!("; {expected}")), "{text}");
    }
}

#[test]
fn a_question_and_a_day_are_named_with_what_they_give() {
    let mut explained = score();
    explained.answers = Some(ByQuestion {
        id: "q".to_owned(),
        total: 0.5,
        contribution: 0.15,
    });
    for (because, contribution, expected) in [
        (
            Unit::Day,
            0.4,
            "a day that the question names, or up to 3 days later: +0.40 = 2.02",
        ),
        (
            Unit::Month,
            0.2,
            "a month that the question names: +0.20 = 1.82",
        ),
    ] {
        explained.date = Some(ByDate {
            day: "2023-05-08".to_owned(),
            because,
            contribution,
        });
        let text = explained.to_string();
        let answers = "; answers \"q\" (30 % of 0.50): +0.15";
        assert!(
            text.ends_with(&format!("{answers}; from 2023-05-08, {expected}")),
            "{text}"
        );
    }
}

#[test]
fn an_age_is_named_with_its_weight() {
    for (fusion, day, age, weight, contribution, expected) in [
        (
            Fusion::Score,
            Some("2026-01-01"),
            Some(30),
            0.5,
            -0.736,
            "; from 2026-01-01, 30 days old, so that it counts 0.50: -0.74 = 0.73",
        ),
        (
            Fusion::Rrf,
            Some("2026-01-30"),
            Some(1),
            0.977,
            -0.001,
            "; from 2026-01-30, 1 day old, so that it counts 0.98: -0.0010 = ",
        ),
        (
            Fusion::Score,
            None,
            None,
            0.5,
            -0.5,
            "; without a date, so that it counts 0.50: -0.50 = ",
        ),
    ] {
        let mut explained = score();
        explained.fusion = fusion;
        explained.recency = Some(ByRecency {
            day: day.map(str::to_owned),
            age,
            weight,
            contribution,
        });
        let text = explained.to_string();
        assert!(text.contains(expected), "{text}");
        let json = serde_json::to_string(&explained).unwrap();
        let read: Explanation = serde_json::from_str(&json).unwrap();
        assert_eq!(read, explained);
    }
}
