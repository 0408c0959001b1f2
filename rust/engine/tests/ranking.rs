//! The ranking's cases of spec/fixtures, and properties for any input.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod cases;

use std::collections::{BTreeMap, BTreeSet};

use cases::{check, jsonl, text};
use hedgerow_engine::chunks::Texts;
use hedgerow_engine::index::Hit;
use hedgerow_engine::retrieval::{
    Condition, Intent, Multiplier, TrigramIndex, fuse, reciprocal_rank_fusion, rerank_text,
    reweight, trigram_index, unanimity,
};
use hedgerow_engine::text::slug::slug_text;
use hedgerow_engine::text::trigram::grams;
use hedgerow_engine::text::utf16;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn array<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().unwrap()
}

fn texts(values: &[Value]) -> Vec<&str> {
    values.iter().map(|value| value.as_str().unwrap()).collect()
}

/// A candidate of a case; keys that are not there are blank.
fn hit(value: &Value) -> Hit {
    let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let texts = Texts {
        id: text("id"),
        path: text("path"),
        title: text("title"),
        summary: text("summary"),
        content: text("content"),
        ..Texts::default()
    };
    Hit {
        score: value["score"].as_f64().unwrap_or_default(),
        bm25_rank: value["bm25Rank"]
            .as_u64()
            .map(|rank| usize::try_from(rank).unwrap()),
        vector_similarity: value["vectorSimilarity"].as_f64(),
        ..texts.into()
    }
}

fn hits(values: &[Value]) -> Vec<Hit> {
    values.iter().map(hit).collect()
}

/// Return the value with every number a float: JSON equates 1 and 1.0, `Value` does not.
fn floats(value: Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(values) => values.into_iter().map(floats).collect(),
        Value::Object(map) => Value::Object(
            map.into_iter()
                .map(|(key, value)| (key, floats(value)))
                .collect::<Map<_, _>>(),
        ),
        other => other,
    }
}

fn cases(name: &str) -> impl Iterator<Item = Value> {
    jsonl(name).map(floats_of_expected)
}

fn floats_of_expected(mut case: Value) -> Value {
    case["expected"] = floats(case["expected"].take());
    case
}

#[test]
fn rrf_cases() {
    check(cases("rrf.jsonl"), |case| {
        let lists: Vec<Vec<Hit>> = array(case, "lists")
            .iter()
            .map(|list| hits(list.as_array().unwrap()))
            .collect();
        let k = case["k"].as_f64().unwrap_or(fuse::DEFAULT_K);
        let fused = reciprocal_rank_fusion(&lists, k)
            .unwrap()
            .into_iter()
            .map(|hit| {
                let mut value = json!({
                    "id": hit.id,
                    "path": hit.path,
                    "title": hit.title,
                    "summary": hit.summary,
                    "content": hit.content,
                    "score": hit.score,
                });
                if let Some(rank) = hit.bm25_rank {
                    value["bm25Rank"] = json!(rank);
                }
                if let Some(similarity) = hit.vector_similarity {
                    value["vectorSimilarity"] = json!(similarity);
                }
                value
            });
        floats(fused.collect())
    });
}

#[test]
fn unanimity_cases() {
    check(cases("unanimity.jsonl"), |case| {
        let agree_min = case["agreeMin"]
            .as_f64()
            .unwrap_or(unanimity::DEFAULT_AGREE_MIN);
        let (bm25, vector) = (texts(array(case, "bm25")), texts(array(case, "vector")));
        let found = unanimity(&bm25, &vector, agree_min);
        floats(found.map_or(
            Value::Null,
            |found| json!({"ids": found.ids, "agreements": found.agreements}),
        ))
    });
}

fn intent_value(intent: Intent) -> Value {
    json!({
        "preferenceQuery": intent.preference,
        "concreteFactQuery": intent.concrete_fact,
    })
}

#[test]
fn intent_cases() {
    check(cases("intent.jsonl"), |case| {
        intent_value(Intent::detect(text(case, "query")).unwrap())
    });
}

#[test]
fn reweight_cases() {
    check(cases("reweight.jsonl"), |case| {
        let intent = Intent::detect(text(case, "query")).unwrap();
        let hits = hits(array(case, "results"));
        let multipliers: Vec<f64> = hits
            .iter()
            .map(|hit| Multiplier::of(intent, hit).unwrap().factor())
            .collect();
        let rerank_texts: Vec<String> = hits.iter().map(rerank_text).collect();
        let ranked: Vec<Value> = reweight(intent, hits)
            .unwrap()
            .into_iter()
            .map(|ranked| json!({"id": ranked.hit.id, "score": ranked.hit.score}))
            .collect();
        json!({
            "intent": intent_value(intent),
            "multipliers": multipliers,
            "ranked": ranked,
            "rerankTexts": rerank_texts,
        })
    });
}

#[test]
fn trigram_cases() {
    check(cases("trigram.jsonl"), |case| {
        let chunks = array(case, "chunks")
            .iter()
            .map(|chunk| (text(chunk, "id").to_owned(), text(chunk, "path").to_owned()));
        let index = TrigramIndex::new(chunks).unwrap();
        let search = |query: &Value| -> Value {
            let limit = usize::try_from(query["limit"].as_u64().unwrap()).unwrap();
            index
                .search(&texts(array(query, "tokens")), limit)
                .unwrap()
                .into_iter()
                .map(|hit| json!({"id": hit.id, "path": hit.path, "similarity": hit.similarity}))
                .collect()
        };
        array(case, "queries").iter().map(search).collect()
    });
}

/// Lists of hits of few ids, so that lists overlap and repeat themselves.
fn any_lists() -> impl Strategy<Value = Vec<Vec<Hit>>> {
    let hit = ("[a-f😀～]", "[a-c😀～]", "[AB]?").prop_map(|(id, path, title)| {
        Hit::from(Texts {
            id,
            path,
            title,
            ..Texts::default()
        })
    });
    prop::collection::vec(prop::collection::vec(hit, 0..9), 0..5)
}

fn scores(hits: &[Hit]) -> BTreeMap<&str, u64> {
    hits.iter()
        .map(|hit| (hit.id.as_str(), hit.score.to_bits()))
        .collect()
}

proptest! {
    #[test]
    fn lists_commute_to_the_bit(
        (lists, shuffled) in any_lists().prop_flat_map(|lists| {
            (Just(lists.clone()), Just(lists).prop_shuffle())
        }),
        k in -2.0..200.0,
    ) {
        let (one, other) = (
            reciprocal_rank_fusion(&lists, k).unwrap(),
            reciprocal_rank_fusion(&shuffled, k).unwrap(),
        );
        prop_assert_eq!(scores(&one), scores(&other));
    }

    #[test]
    fn a_fused_list_is_the_union_in_order(lists in any_lists(), k in -2.0..200.0) {
        let fused = reciprocal_rank_fusion(&lists, k).unwrap();
        let union: BTreeSet<&str> = lists.iter().flatten().map(|hit| hit.id.as_str()).collect();
        prop_assert_eq!(scores(&fused).into_keys().collect::<BTreeSet<_>>(), union);
        prop_assert_eq!(scores(&fused).len(), fused.len());
        prop_assert!(fused.iter().all(|hit| hit.score > 0.0));
        for pair in fused.windows(2) {
            let (left, right) = (&pair[0], &pair[1]);
            let tie = utf16::compare(&left.path, &right.path)
                .then_with(|| utf16::compare(&left.id, &right.id));
            prop_assert!(right.score.total_cmp(&left.score).then(tie).is_lt());
        }
    }

    #[test]
    fn without_an_intent_nothing_changes(
        lists in any_lists(),
        scores in prop::collection::vec(any::<f64>(), 9),
    ) {
        for list in lists {
            let hits: Vec<Hit> = list
                .into_iter()
                .zip(&scores)
                .map(|(hit, &score)| Hit { score, ..hit })
                .collect();
            let reweighted = reweight(Intent::default(), hits.clone()).unwrap();
            prop_assert_eq!(reweighted.len(), hits.len());
            for (after, before) in reweighted.iter().zip(&hits) {
                prop_assert_eq!(&after.hit.id, &before.id);
                prop_assert_eq!(after.hit.score.to_bits(), before.score.to_bits());
                prop_assert_eq!(after.multiplier, Multiplier::default());
            }
        }
    }

    #[test]
    fn reweighting_keeps_every_hit_and_sorts(
        texts in prop::collection::vec("(memory/global/)?(user-preference-|milestone-)?(tips|recap|I got|likes|x)", 0..9),
        preference: bool,
    ) {
        let intent = Intent { preference, concrete_fact: !preference };
        let hits: Vec<Hit> = texts
            .iter()
            .enumerate()
            .map(|(index, path)| Texts {
                id: index.to_string(),
                path: path.clone(),
                ..Texts::default()
            })
            .map(|texts| Hit { score: 1.0, ..texts.into() })
            .collect();
        let reweighted = reweight(intent, hits).unwrap();
        let ids: BTreeSet<&str> = reweighted.iter().map(|one| one.hit.id.as_str()).collect();
        prop_assert_eq!(ids.len(), texts.len());
        for one in &reweighted {
            let factors: f64 = one.multiplier.conditions().map(Condition::factor).product();
            prop_assert!((one.hit.score - factors).abs() < 1e-12);
        }
        for pair in reweighted.windows(2) {
            let (left, right) = (&pair[0].hit, &pair[1].hit);
            prop_assert!(right.score.total_cmp(&left.score).then(left.id.cmp(&right.id)).is_lt());
        }
    }

    #[test]
    fn fuzzy_search_is_set_arithmetic(
        paths in prop::collection::vec("[A-Cab]{0,2}/[abcß😀𝐀 -]{0,7}(\\.md)?", 0..12),
        tokens in prop::collection::vec("[abcABß😀𝐀]{0,7}", 0..4),
        limit in 1_usize..6,
    ) {
        let chunks: Vec<(String, String)> = paths
            .iter()
            .enumerate()
            .map(|(index, path)| (format!("{}", index % 9), path.clone()))
            .collect();
        let index = TrigramIndex::new(chunks.clone()).unwrap();
        let found = index.search(&tokens, limit).unwrap();
        let mut expected: Vec<(f64, &str, &str)> = Vec::new();
        for (id, path) in chunks.iter().take(9) {
            let slug = grams(&slug_text(path));
            let best = tokens
                .iter()
                .map(|token| jaccard(&grams(token), &slug))
                .fold(0.0, f64::max);
            if best >= trigram_index::THRESHOLD {
                expected.push((best, path, id));
            }
        }
        expected.sort_by(|left, right| {
            right.0.total_cmp(&left.0)
                .then_with(|| utf16::compare(left.1, right.1))
                .then_with(|| utf16::compare(left.2, right.2))
        });
        expected.truncate(limit);
        let found_now: Vec<(f64, &str, &str)> = found
            .iter()
            .map(|hit| (hit.similarity, hit.path.as_str(), hit.id.as_str()))
            .collect();
        prop_assert_eq!(&found_now, &expected);
        let more = index.search(&tokens, limit + 1).unwrap();
        prop_assert_eq!(&more[..found.len()], &found[..]);
    }
}

fn jaccard<T: Ord>(left: &BTreeSet<T>, right: &BTreeSet<T>) -> f64 {
    let common = u32::try_from(left.intersection(right).count()).unwrap();
    let all = u32::try_from(left.union(right).count()).unwrap();
    if all == 0 {
        0.0
    } else {
        f64::from(common) / f64::from(all)
    }
}

#[test]
fn a_limit_of_zero_is_refused() {
    let error = TrigramIndex::default().search(&["oak"], 0).unwrap_err();
    assert_eq!(error.message(), "limit must be at least 1, not 0");
}
