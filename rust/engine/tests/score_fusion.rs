//! Score fusion and grouping over whole indexes, against the plainest way to compute them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod searching;

use std::collections::{BTreeMap, BTreeSet};

use hedgerow_engine::chunks::{Chunk, Filters, GroupBy};
use hedgerow_engine::index::{Hit, Index};
use hedgerow_engine::query::{MatchOptions, parse};
use hedgerow_engine::retrieval::{ExplainedHit, Fusion, Mode, SearchResult};
use hedgerow_engine::text::utf16;
use proptest::prelude::*;
use searching::{ALL, Ask, ask, find};
use serde_json::{Map, Value, json};

const WORDS: [&str; 5] = ["oak", "elm", "fox", "owl", "winter"];

/// Words, path and vector of a chunk.
type AnyChunk = (Vec<&'static str>, String, Option<(i8, i8)>);

/// Chunks of few words, paths and vectors, so that much is equal; some have no vector.
fn any_chunks() -> impl Strategy<Value = Vec<Chunk>> {
    let chunk = (
        prop::collection::vec(prop::sample::select(&WORDS[..]), 1..6),
        "[pqr😀～]",
        prop::option::weighted(0.8, (-3..4_i8, -3..4_i8)),
    );
    prop::collection::vec(chunk, 1..24).prop_map(|chunks| {
        let chunk = |(number, (words, path, vector)): (usize, AnyChunk)| Chunk {
            id: format!("id{number}"),
            path,
            content: words.join(" "),
            metadata: Map::from_iter((number % 9 > 0).then(|| ("kind".to_owned(), kind(number)))),
            embedding: vector.map(|(x, y)| vec![f32::from(x), f32::from(y)]),
            ..Chunk::default()
        };
        chunks.into_iter().enumerate().map(chunk).collect()
    })
}

fn any_query() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&WORDS[..]), 1..4).prop_map(|words| words.join(" "))
}

fn bm25(index: &Index, query: &str, filters: &Filters) -> Vec<Hit> {
    let (query, options) = (parse(query).unwrap(), MatchOptions::default());
    index.search_bm25(&query, ALL, filters, &options).unwrap()
}

/// The first hit of each group.
fn firsts(hits: Vec<Hit>, group_by: Option<GroupBy<'_>>) -> Vec<Hit> {
    let mut seen = BTreeSet::new();
    let first = |hit: &Hit| seen.insert(name(hit, group_by));
    hits.into_iter().filter(first).collect()
}

/// The name of a document: that of its group or, without one, its id.
fn name(hit: &Hit, group_by: Option<GroupBy<'_>>) -> String {
    match group_by {
        None => hit.id.clone(),
        Some(GroupBy::Path) => hit.path.clone(),
        Some(GroupBy::Key(key)) => match hit.metadata.get(key) {
            Some(Value::Array(items)) if items.len() == 1 => items[0].to_string(),
            Some(Value::Number(number)) => number.as_f64().unwrap().to_string(),
            Some(Value::String(text)) => json!(text).to_string(),
            _ => format!("\0{}", hit.id),
        },
    }
}

/// An index in which the key `kind` is declared.
fn index(chunks: &[Chunk]) -> Index {
    let index = searching::index(chunks);
    index.index_metadata(&["kind"]).unwrap();
    index
}

/// The kind of a chunk: a value of each sort, and two values that are one group.
fn kind(number: usize) -> Value {
    let kinds = [
        json!("a"),
        json!(["a"]),
        json!(1),
        json!(1.0),
        json!(null),
        json!(["a", "b"]),
        json!({"a": 1}),
    ];
    kinds[number % kinds.len()].clone()
}

#[allow(clippy::cast_precision_loss, reason = "few")]
fn count(number: usize) -> f64 {
    number as f64
}

/// The totals as the formula has them, by name.
fn expected(
    index: &Index,
    chunks: &[Chunk],
    query: &str,
    vector: &[f32],
    ask: &Ask<'_>,
) -> BTreeMap<String, f64> {
    let mut keywords = bm25(index, query, ask.filters);
    let mut nearest = index.search_vector(vector, ALL, ask.filters).unwrap();
    if ask.group_by.is_some() {
        (keywords, nearest) = (
            firsts(keywords, ask.group_by),
            firsts(nearest, ask.group_by),
        );
    }
    let cosines: BTreeMap<String, f64> = (nearest.iter())
        .map(|hit| (name(hit, ask.group_by), hit.score))
        .collect();
    let mean = cosines.values().sum::<f64>() / count(cosines.len()).max(1.0);
    let square = |cosine: &f64| (cosine - mean).powi(2);
    let variance = cosines.values().map(square).sum::<f64>() / count(cosines.len()).max(1.0);
    let scores: BTreeMap<String, f64> = (keywords.iter().take(ask.candidate_k))
        .map(|hit| (name(hit, ask.group_by), hit.score))
        .collect();
    let best = keywords.first().map_or(1.0, |hit| hit.score);
    let idf = |word: &str| {
        let holding = chunks
            .iter()
            .filter(|c| c.content.split(' ').any(|w| w == word));
        let holding = count(holding.count());
        f64::max(
            1e-6,
            ((count(chunks.len()) - holding + 0.5) / (holding + 0.5)).ln(),
        )
    };
    let greatest = 2.2 * query.split(' ').map(idf).sum::<f64>();
    let weight = (best / greatest / 0.2).min(1.0);
    let heads = nearest.iter().take(ask.candidate_k);
    let names = scores
        .keys()
        .cloned()
        .chain(heads.map(|hit| name(hit, ask.group_by)));
    let total = |name: &str| {
        let by_keywords = scores.get(name).map_or(0.0, |score| weight * score / best);
        let deviation = variance.sqrt();
        let z = (cosines.get(name)).map_or(0.0, |cosine| (cosine - mean) / deviation);
        by_keywords + if deviation < 1e-6 { 0.0 } else { 0.2 * z }
    };
    names
        .map(|name| {
            let total = total(&name);
            (name, total)
        })
        .collect()
}

fn totals(found: &SearchResult, group_by: Option<GroupBy<'_>>) -> BTreeMap<String, f64> {
    (found.hits.iter())
        .map(|one| (name(&one.hit, group_by), one.hit.score))
        .collect()
}

/// Whether the hits are in the order of score fusion, without ties.
fn in_strict_order(hits: &[ExplainedHit]) -> bool {
    hits.windows(2).all(|pair| {
        let (left, right) = (&pair[0].hit, &pair[1].hit);
        let cosine = |hit: &Hit| hit.vector_similarity.unwrap_or(f64::NEG_INFINITY);
        (right.score.total_cmp(&left.score))
            .then(cosine(right).total_cmp(&cosine(left)))
            .then_with(|| utf16::compare(&left.path, &right.path))
            .then_with(|| utf16::compare(&left.id, &right.id))
            .is_lt()
    })
}

fn groupings() -> impl Strategy<Value = Option<GroupBy<'static>>> {
    prop::sample::select(vec![None, Some(GroupBy::Path), Some(GroupBy::Key("kind"))])
}

fn some_filters() -> impl Strategy<Value = Filters> {
    prop::sample::select(vec![vec![], vec!["p", "q"]]).prop_map(|paths| Filters {
        paths: paths.into_iter().map(str::to_owned).collect(),
        ..Filters::default()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn totals_are_those_of_the_formula(
        chunks in any_chunks(),
        query in any_query(),
        candidate_k in 1_usize..9,
        group_by in groupings(),
        filters in some_filters(),
    ) {
        let (index, vector) = (index(&chunks), [1.0, 0.5]);
        let ask = Ask { candidate_k, group_by, ..ask(Some(&vector), &filters) };
        // Results of the ladder have another expression.
        prop_assume!(!bm25(&index, &query, &filters).is_empty());
        let found = find(&index, &query, &ask);
        let (totals, expected) =
            (totals(&found, group_by), expected(&index, &chunks, &query, &vector, &ask));
        prop_assert_eq!(totals.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
        for (total, expected) in totals.values().zip(expected.values()) {
            prop_assert!((total - expected).abs() < 1e-6, "{:?} {:?}", &totals, expected);
        }
        prop_assert!(in_strict_order(&found.hits));
    }

    #[test]
    fn the_order_of_writing_changes_no_bit(
        (chunks, shuffled) in any_chunks().prop_flat_map(|chunks| {
            (Just(chunks.clone()), Just(chunks).prop_shuffle())
        }),
        query in any_query(),
    ) {
        let (filters, vector) = (Filters::default(), [1.0, 0.5]);
        let ask = ask(Some(&vector), &filters);
        let [one, other] = [chunks, shuffled].map(|chunks| find(&index(&chunks), &query, &ask));
        let bits = |found: &SearchResult| -> Vec<(String, u64)> {
            (found.hits.iter())
                .map(|one| (one.hit.id.clone(), one.hit.score.to_bits()))
                .collect()
        };
        prop_assert_eq!(bits(&one), bits(&other));
    }

    #[test]
    fn a_grouped_search_has_every_group_once(
        chunks in any_chunks(),
        query in any_query(),
        candidate_k in 1_usize..6,
        mode in prop::sample::select(vec![Mode::Auto, Mode::Bm25, Mode::Semantic, Mode::Hybrid]),
        fusion in prop::sample::select(vec![Fusion::Rrf, Fusion::Score]),
        filters in some_filters(),
        group_by in groupings().prop_filter("grouped", Option::is_some),
    ) {
        let (index, vector) = (index(&chunks), [1.0, 0.5]);
        let grouped = Ask {
            mode,
            fusion,
            candidate_k,
            group_by,
            ..ask(Some(&vector), &filters)
        };
        let found = find(&index, &query, &grouped);
        let names = found.hits.iter().map(|one| name(&one.hit, group_by));
        prop_assert_eq!(names.collect::<BTreeSet<_>>().len(), found.hits.len());
        prop_assert!(found.trace.bm25_count <= candidate_k);
        prop_assert!(found.trace.vector_count <= candidate_k);
        // Legs are those of paths before they are cut: with more room they only grow.
        let roomy = find(&index, &query, &Ask { candidate_k: ALL, ..grouped });
        prop_assert_eq!(found.trace.bm25_count, roomy.trace.bm25_count.min(candidate_k));
        prop_assert_eq!(found.trace.vector_count, roomy.trace.vector_count.min(candidate_k));
        // The best of a path is its best chunk by keywords, with the rank among paths.
        let firsts = firsts(bm25(&index, &query, &filters), group_by);
        for ExplainedHit { hit, .. } in found.hits.iter().filter(|_| !firsts.is_empty()) {
            if let Some(rank) = hit.bm25_rank {
                prop_assert_eq!(&firsts[rank].id, &hit.id);
            }
        }
    }

    #[test]
    fn without_vectors_the_order_is_that_of_bm25(
        chunks in any_chunks(),
        query in any_query(),
        candidate_k in 1_usize..9,
    ) {
        let chunks: Vec<Chunk> = chunks
            .into_iter()
            .map(|chunk| Chunk { embedding: None, ..chunk })
            .collect();
        let (index, filters, vector) = (index(&chunks), Filters::default(), [1.0, 0.5]);
        let leg = bm25(&index, &query, &filters);
        prop_assume!(!leg.is_empty());
        for vector in [None, Some(&vector[..])] {
            let found = find(&index, &query, &Ask { candidate_k, ..ask(vector, &filters) });
            prop_assert_eq!(found.hits.len(), leg.len().min(candidate_k));
            for (one, expected) in found.hits.iter().zip(&leg) {
                // Equal scores may be in another order: BM25's order is by row.
                let explanation = &one.explanation;
                let share = expected.score / leg[0].score;
                prop_assert!((explanation.keywords.unwrap().share.unwrap() - share).abs() < 1e-12);
                prop_assert_eq!(explanation.meaning, None);
                prop_assert!((one.hit.score - explanation.weight.unwrap() * share).abs() < 1e-12);
            }
        }
    }
}
