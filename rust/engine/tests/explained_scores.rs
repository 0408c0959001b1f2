//! Where scores come from, on the way from a rung to a reranker.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod searching;

use std::collections::BTreeMap;
use std::time::Duration;

use hedgerow_engine::ErrorCode;
use hedgerow_engine::chunks::{Filters, GroupBy};
use hedgerow_engine::retrieval::{Fusion, Mode, RerankScore, Reranking, SearchResult};
use searching::{Ask, NORTH, ask, chunk, find, index};

#[test]
fn the_fuzzy_rung_is_measured_by_its_similarities() {
    let index = index(&[
        chunk("a", "x/hedgehog.md", "text", [1.0, 0.0]),
        chunk("b", "x/hedgehog.md", "text", NORTH),
        chunk("c", "x/hedgehogs-in-winter.md", "text", NORTH),
    ]);
    let filters = Filters::default();
    let ids = |found: &SearchResult| -> Vec<String> {
        found.hits.iter().map(|one| one.hit.id.clone()).collect()
    };
    let found = find(&index, "hedgehogg", &ask(None, &filters));
    assert_eq!(ids(&found), ["a", "b", "c"]);
    let best = &found.hits[0].explanation;
    let by_keywords = best.keywords.unwrap();
    assert!(by_keywords.fuzzy && by_keywords.score < 1.0);
    assert_eq!((best.weight, best.coverage), (Some(1.0), None));
    assert_eq!(
        (best.score.to_bits(), best.meaning),
        (1.0_f64.to_bits(), None)
    );
    assert_eq!(
        best.to_string(),
        "keywords 1.00 (100 % of the best match by spelling)"
    );
    let found = find(&index, "hedgehogg", &ask(Some(&NORTH), &filters));
    assert_eq!(ids(&found), ["b", "a", "c"]);
    let grouped = Ask {
        candidate_k: 2,
        group_by: Some(GroupBy::Path),
        ..ask(Some(&NORTH), &filters)
    };
    let found = find(&index, "hedgehogg", &grouped);
    // Both paths are as near, by their best chunks; the hit is the first of the rung.
    assert_eq!(ids(&found), ["a", "c"]);
    assert_eq!(found.hits[0].hit.vector_similarity, Some(1.0));
    assert_eq!(found.trace.group_by.as_deref(), Some("path"));
}

#[test]
fn multipliers_lift_and_lower_below_zero_too() {
    let index = index(&[
        chunk("near", "x/near.md", "text", NORTH),
        chunk(
            "tea",
            "memory/global/user-preference-tea.md",
            "text",
            [1.0, 0.5],
        ),
        chunk("far", "x/far.md", "text", [1.0, 0.4]),
        chunk("tips", "x/tips.md", "text", [1.0, 0.6]),
    ]);
    let filters = Filters::default();
    let semantic = Ask {
        mode: Mode::Semantic,
        ..ask(Some(&NORTH), &filters)
    };
    let found = find(&index, "recommend something", &semantic);
    let factors: BTreeMap<&str, f64> = (found.hits.iter())
        .map(|one| (one.hit.id.as_str(), one.explanation.multiplier.factor()))
        .collect();
    assert_eq!(
        factors,
        BTreeMap::from([("far", 1.0), ("near", 1.0), ("tea", 2.35), ("tips", 0.82)])
    );
    for one in &found.hits {
        let explanation = &one.explanation;
        let (fused, factor) = (explanation.fused, factors[one.hit.id.as_str()]);
        let score = if fused < 0.0 {
            fused / factor
        } else {
            fused * factor
        };
        assert_eq!(one.hit.score.to_bits(), score.to_bits());
        assert_eq!(explanation.score.to_bits(), score.to_bits());
        assert_eq!(one.hit.id != "near", fused < 0.0, "{explanation}");
    }
    let ids: Vec<&str> = found.hits.iter().map(|one| one.hit.id.as_str()).collect();
    assert_eq!(ids, ["near", "tea", "tips", "far"]);
    let text = found.hits[1].explanation.to_string();
    assert!(
        text.contains("; divided by 2.35 (the question asks for a preference"),
        "{text}"
    );
}

#[test]
fn unanimity_of_groups_is_that_of_paths() {
    // Of each path one chunk has the words, the other the meaning.
    let index = index(&[
        chunk("p-words", "p", "oak oak oak oak elm", [1.0, 0.0]),
        chunk("p-meaning", "p", "fox", NORTH),
        chunk("q-words", "q", "oak oak elm elm elm", [1.0, 0.0]),
        chunk("q-meaning", "q", "fox", [0.1, 1.0]),
        chunk("r-words", "r", "oak elm elm elm elm", [1.0, 0.0]),
        chunk("r-meaning", "r", "fox", [0.2, 1.0]),
    ]);
    let filters = Filters::default();
    for fusion in [Fusion::Rrf, Fusion::Score] {
        for (group_by, agreements, best) in [
            (None, None, None),
            (Some(GroupBy::Path), Some(3), Some("p-words")),
        ] {
            let ask = Ask {
                fusion,
                group_by,
                ..ask(Some(&NORTH), &filters)
            };
            let found = find(&index, "oak", &ask);
            assert_eq!(found.trace.unanimity, agreements);
            if let Some(best) = best {
                assert_eq!(found.hits[0].hit.id, best);
                assert_eq!(found.hits.len(), 3);
            }
        }
    }
}

#[test]
fn options_that_are_used_are_in_the_trace() {
    let (index, filters) = (
        index(&[chunk("a", "p", "an oak", NORTH)]),
        Filters::default(),
    );
    let options = |fusion, group_by| {
        let ask = Ask {
            fusion,
            group_by,
            ..ask(None, &filters)
        };
        let trace = find(&index, "oak", &ask).trace;
        (trace.fusion, trace.group_by)
    };
    assert_eq!(options(Fusion::Rrf, None), (Fusion::Rrf, None));
    let grouped = (Fusion::Score, Some("path".to_owned()));
    assert_eq!(options(Fusion::Score, Some(GroupBy::Path)), grouped);
}

#[test]
fn a_reranked_hit_explains_it() {
    let (index, filters) = (
        index(&[chunk("a", "p", "an oak", NORTH)]),
        Filters::default(),
    );
    let mut found = find(&index, "oak", &ask(None, &filters));
    let best = RerankScore {
        index: 0,
        score: 0.25,
    };
    let alone = Reranking {
        head: 1,
        weight: 1.0,
        keeps_unscored: false,
        provider: "test",
        time: Duration::ZERO,
    };
    found.rerank(&[best], &alone);
    let explanation = &found.hits[0].explanation;
    assert_eq!(explanation.rerank_score, Some(0.25));
    assert!(
        explanation
            .to_string()
            .ends_with("; reranker's score 0.2500")
    );
}

#[test]
fn options_have_closed_sets_of_names() {
    for fusion in [Fusion::Rrf, Fusion::Score] {
        assert_eq!(Fusion::from_option("fusion", fusion.as_str()), Ok(fusion));
    }
    assert_eq!(GroupBy::from_option("group_by", "path"), Ok(GroupBy::Path));
    assert_eq!(Mode::from_option("mode", "semantic"), Ok(Mode::Semantic));
    for (error, message) in [
        (
            Fusion::from_option("fusion", "RRF").unwrap_err(),
            "fusion must be \"rrf\" or \"score\", not \"RRF\"",
        ),
        (
            GroupBy::from_option("group_by", "$and").unwrap_err(),
            "group_by must be \"path\" or a declared key such as \"year\", not \"$and\"",
        ),
        (
            Mode::from_option("mode", "").unwrap_err(),
            "mode must be \"auto\", \"bm25\", \"semantic\" or \"hybrid\", not \"\"",
        ),
    ] {
        assert_eq!(
            (error.code(), error.message()),
            (ErrorCode::InvalidOption, message)
        );
    }
}
