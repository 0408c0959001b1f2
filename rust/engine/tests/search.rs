//! Whole searches over three small corpora: spec/fixtures/search.jsonl, up to the reranker.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod cases;
mod searching;

use std::collections::HashMap;

use cases::jsonl;
use hedgerow_engine::chunks::{Chunk, Filters};
use hedgerow_engine::index::{Hit, Index};
use hedgerow_engine::query::AliasTable;
use hedgerow_engine::retrieval::{
    Embedding, FuzzyChunks, Mode, Request, Reranker, SearchResult, Setup, rerank_text, search,
};
use hedgerow_engine::text::tokenizer::TokenizerKind;
use serde_json::{Value, json};

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(text).collect()
}

/// The test embedder `fnv64`: one hashed dimension a token. None: no vector.
fn fnv64(text: &str) -> Option<Vec<f32>> {
    let mut sums = [0.0_f64; 64];
    let lowered = text.to_ascii_lowercase();
    for token in lowered
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|t| !t.is_empty())
    {
        let hash = token.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        });
        sums[hash as usize % 64] += if hash >> 31 == 1 { -1.0 } else { 1.0 };
    }
    let norm = sums.iter().map(|x| x * x).sum::<f64>().sqrt();
    #[allow(clippy::cast_possible_truncation, reason = "vectors are f32")]
    let vector = sums.map(|x| (x / norm) as f32).to_vec();
    (norm > 0.0).then_some(vector)
}

fn corpus(name: &str) -> Index {
    let index = Index::in_memory(TokenizerKind::Porter).unwrap();
    let chunks: Vec<Chunk> = jsonl(&format!("corpora/{name}.jsonl"))
        .map(|line| {
            let [title, summary, content] =
                ["title", "summary", "content"].map(|key| text(&line[key]));
            Chunk {
                id: text(&line["id"]),
                path: text(&line["path"]),
                tags: texts(&line["tags"]),
                embedding: fnv64(&format!("{title}\n{summary}\n{content}")),
                title,
                summary,
                content,
                ..Chunk::default()
            }
        })
        .collect();
    index.upsert(&chunks.iter().collect::<Vec<_>>()).unwrap();
    index
}

fn fuzzy_chunks(kind: &Value) -> FuzzyChunks {
    let chunk = |id: &str, path: &str, title: &str| Chunk {
        id: id.to_owned(),
        path: path.to_owned(),
        title: title.to_owned(),
        summary: if id == "tri-1" {
            "s".to_owned()
        } else {
            String::new()
        },
        content: if id == "tri-1" {
            "c".to_owned()
        } else {
            String::new()
        },
        ..Chunk::default()
    };
    match kind.as_str() {
        None => FuzzyChunks::Own,
        Some("empty") => FuzzyChunks::given(Vec::new()).unwrap(),
        Some(_) => FuzzyChunks::given(vec![
            chunk("tri-1", "custom/espresso-machine.md", "Espresso"),
            chunk("tri-2", "custom/kubernetes-upgrade.md", ""),
            chunk("tri-3", "custom/fietsenmaker.md", "Fietsenmaker"),
        ])
        .unwrap(),
    }
}

fn run(index: &Index, case: &Value) -> SearchResult {
    let (options, request) = (&case["options"], &case["request"]);
    let aliases = options["aliases"].as_object().map(|table| {
        AliasTable::new(
            table
                .iter()
                .map(|(key, surfaces)| (key.clone(), texts(surfaces))),
        )
    });
    let fuzzy = fuzzy_chunks(&options["trigramChunks"]);
    let setup = Setup {
        aliases: aliases.as_ref(),
        ..searching::setup(index, &fuzzy)
    };
    let query = text(&request["query"]);
    let has_embedder = !options["embedder"].is_null();
    let mode = Mode::from_option("mode", request["mode"].as_str().unwrap_or("auto")).unwrap();
    let vector = fnv64(&query);
    let embedding = match &vector {
        _ if !has_embedder => Embedding::Absent,
        None => Embedding::Empty,
        Some(vector) => Embedding::Vector(vector),
    };
    let candidate_k = request["candidateK"].as_u64().unwrap_or(60);
    let filters = Filters::default();
    let reranker = if request["rerank"] == json!(false) {
        Reranker::Off
    } else if options["reranker"].is_null() {
        Reranker::Absent
    } else {
        Reranker::Ready
    };
    let request = Request {
        mode,
        candidate_k: usize::try_from(candidate_k).unwrap(),
        reranker,
        skip_retry_ladder: request["skipRetryLadder"].as_bool().unwrap_or(false),
        ..searching::request(&query, embedding, &filters)
    };
    search(&setup, &request).unwrap()
}

/// Return the expected trace; the keys of a reranker that ran are not the engine's.
fn trace(found: &SearchResult) -> Value {
    let trace = &found.trace;
    let attempts: Vec<Value> = trace
        .attempts
        .iter()
        .map(|attempt| {
            json!({
                "strategy": attempt.strategy.as_str(),
                "query": attempt.query,
                "hits": attempt.hits,
            })
        })
        .collect();
    let mut value = json!({
        "mode": trace.mode.as_str(),
        "originalQuery": trace.original_query,
        "compiledQuery": trace.compiled_query,
        "candidateK": trace.candidate_k,
        "rrfK": 60,
        "bm25Count": trace.bm25_count,
        "vectorCount": trace.vector_count,
        "fusedCount": trace.fused_count,
        "fellBackToBM25": trace.fell_back_to_bm25,
        "embedderUsed": trace.embedder_used,
        "attempts": attempts,
    });
    if let Some(reason) = trace.rerank_skipped_reason {
        value["rerankSkippedReason"] = json!(reason.as_str());
    }
    if let Some(agreements) = trace.unanimity {
        value["unanimity"] = json!({ "agreements": agreements });
    }
    value
}

fn close(actual: f64, expected: &Value, within: f64) -> bool {
    expected
        .as_f64()
        .is_some_and(|expected| (actual - expected).abs() <= within)
}

fn same_hit(hit: &Hit, expected: &Value) -> bool {
    let similarity = match hit.vector_similarity {
        Some(similarity) => close(similarity, &expected["vectorSimilarity"], 1e-5),
        None => expected["vectorSimilarity"].is_null(),
    };
    json!(hit.id) == expected["id"]
        && json!(hit.path) == expected["path"]
        && json!(hit.bm25_rank) == expected["bm25Rank"]
        && close(hit.score, &expected["score"], 1e-9)
        && similarity
}

/// Return the difference from the case, if any.
fn difference(found: &SearchResult, case: &Value) -> Option<String> {
    let (expected, top_k) = (
        &case["expected"],
        case["request"]["topK"].as_u64().unwrap_or(10),
    );
    let mut expected_trace = expected["trace"].clone();
    let keys = expected_trace.as_object_mut()?;
    keys.remove("reranked");
    keys.remove("rerankProvider");
    if keys.get("errorStage") == Some(&json!("rerank")) {
        keys.remove("errorStage");
    }
    let trace = trace(found);
    if trace != expected_trace {
        return Some(format!("trace {trace}\n  expected {expected_trace}"));
    }
    let results = expected["results"].as_array()?;
    let reranked = texts(&expected["rerankedIds"]);
    if reranked.is_empty() {
        let hits = found
            .hits
            .iter()
            .take(usize::try_from(top_k).unwrap_or(usize::MAX));
        let same = results.len() == hits.len()
            && hits
                .zip(results)
                .all(|(hit, expected)| same_hit(&hit.hit, expected));
        return (!same).then(|| format!("hits {:?}", ids(found)));
    }
    // A reranker gets the head of the fused hits and returns any order.
    let by_id: HashMap<&str, &Hit> = found
        .hits
        .iter()
        .map(|hit| (hit.hit.id.as_str(), &hit.hit))
        .collect();
    let same = ids(found).starts_with(&reranked)
        && results.iter().all(|expected| {
            expected["id"]
                .as_str()
                .and_then(|id| by_id.get(id))
                .is_some_and(|hit| same_hit(hit, expected) && !rerank_text(hit).is_empty())
        });
    (!same).then(|| format!("head {:?}, expected {reranked:?}", ids(found)))
}

fn ids(found: &SearchResult) -> Vec<String> {
    found.hits.iter().map(|hit| hit.hit.id.clone()).collect()
}

#[test]
fn search_cases() {
    let corpora: HashMap<&str, Index> = ["a", "b", "c"]
        .into_iter()
        .map(|name| (name, corpus(name)))
        .collect();
    let cases: Vec<Value> = jsonl("search.jsonl").collect();
    assert!(
        cases.len() > 400,
        "only {} cases: is the fixture whole?",
        cases.len()
    );
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|case| {
            let found = run(&corpora[case["corpus"].as_str()?], case);
            let difference = difference(&found, case)?;
            Some(format!("{} {}: {difference}", case["id"], case["request"]))
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "{} of {} differ:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
}
