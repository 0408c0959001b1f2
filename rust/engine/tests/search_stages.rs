//! Searches in which a stage is empty, fails, or is replaced by another.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod searching;

use hedgerow_engine::ErrorCode;
use hedgerow_engine::chunks::Filters;
use hedgerow_engine::index::Index;
use hedgerow_engine::query::Matching;
use hedgerow_engine::retrieval::{
    Embedding, FuzzyChunks, Mode, Request, SearchResult, Setup, Stage, Strategy, search,
};
use hedgerow_engine::text::tokenizer::TokenizerKind;
use rusqlite::Connection;
use searching::{NORTH, chunk, request, setup};

const EAST: [f32; 2] = [1.0, 0.0];

fn fill(index: &Index) {
    let chunks = [
        chunk("oak", "trees/oak-tree.md", "an oak in winter", NORTH),
        chunk("elm", "trees/elm-tree.md", "an elm in summer", EAST),
        chunk("fox", "animals/fox.md", "a fox in winter", EAST),
    ];
    index.upsert(&chunks.iter().collect::<Vec<_>>()).unwrap();
}

fn filled() -> Index {
    let index = Index::in_memory(TokenizerKind::Porter).unwrap();
    fill(&index);
    index
}

fn find(index: &Index, query: &str, embedding: Embedding<'_>) -> SearchResult {
    let filters = Filters::default();
    search(
        &setup(index, &FuzzyChunks::Own),
        &request(query, embedding, &filters),
    )
    .unwrap()
}

fn ids(found: &SearchResult) -> Vec<&str> {
    found.hits.iter().map(|hit| hit.hit.id.as_str()).collect()
}

fn strategies(found: &SearchResult) -> Vec<Strategy> {
    found
        .trace
        .attempts
        .iter()
        .map(|attempt| attempt.strategy)
        .collect()
}

#[test]
fn keywords_answer_when_the_embedder_fails() {
    let found = find(&filled(), "winter", Embedding::Failed);
    assert_eq!(ids(&found), ["fox", "oak"]);
    assert_eq!(
        (found.trace.mode, found.trace.error_stage),
        (Mode::Bm25, Some(Stage::Vector))
    );
    assert!(found.trace.fell_back_to_bm25);
    assert!(!found.trace.embedder_used);
    assert!(!found.failed);
}

#[test]
fn the_embedder_must_be_that_of_the_index() {
    let (index, fuzzy, filters) = (filled(), FuzzyChunks::Own, Filters::default());
    let find = |embedder, mode, embedding| {
        let setup = Setup {
            embedder,
            ..setup(&index, &fuzzy)
        };
        let request = Request {
            mode,
            ..request("winter", embedding, &filters)
        };
        search(&setup, &request).map(|found| found.trace.vector_count)
    };
    let north = Embedding::Vector(&NORTH);
    // The embedder of the vectors is unknown.
    assert_eq!(find(Some("one"), Mode::Hybrid, north), Ok(3));
    let oak = chunk("oak", "trees/oak-tree.md", "an oak in winter", NORTH);
    index.upsert_from(&[&oak], Some("one".into())).unwrap();
    assert_eq!(find(Some("one"), Mode::Hybrid, north), Ok(3));
    assert_eq!(find(None, Mode::Hybrid, north), Ok(3));
    for mode in [Mode::Auto, Mode::Hybrid, Mode::Semantic] {
        let error = find(Some("two"), mode, north).unwrap_err();
        assert_eq!(error.code(), ErrorCode::EmbedderMismatch);
        assert_eq!(
            error.message(),
            "the index in memory has vectors of the embedder \"one\", not \"two\"; use that one"
        );
    }
    // Words are compared without a vector.
    assert_eq!(find(Some("two"), Mode::Bm25, north), Ok(0));
    assert_eq!(find(Some("two"), Mode::Hybrid, Embedding::Failed), Ok(0));
}

#[test]
fn a_query_without_a_vector_is_no_failure() {
    let found = find(&filled(), "winter", Embedding::Empty);
    assert_eq!(ids(&found), ["fox", "oak"]);
    assert_eq!(
        (found.trace.mode, found.trace.error_stage),
        (Mode::Hybrid, None)
    );
    assert!(!found.trace.fell_back_to_bm25);
}

/// An index file whose full-text index is gone.
fn without_fts() -> (tempfile::TempDir, Index) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.db");
    fill(&Index::open(&path, TokenizerKind::Porter, false).unwrap());
    Connection::open(&path)
        .unwrap()
        .execute_batch("DROP TABLE knowledge_fts")
        .unwrap();
    let index = Index::open(&path, TokenizerKind::Porter, false).unwrap();
    (folder, index)
}

#[test]
fn vectors_answer_when_keywords_fail() {
    let (_folder, index) = without_fts();
    let found = find(&index, "winter", Embedding::Vector(&NORTH));
    assert_eq!(ids(&found), ["oak", "fox", "elm"]);
    assert_eq!(found.trace.error_stage, Some(Stage::Bm25));
    assert_eq!(strategies(&found), [], "the ladder is not for failures");
    assert!(!found.failed);
    assert!(found.error.unwrap().message().contains("no such table"));
}

#[test]
fn a_vector_search_that_fails_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.db");
    fill(&Index::open(&path, TokenizerKind::Porter, false).unwrap());
    Connection::open(&path)
        .unwrap()
        .execute_batch("UPDATE embeddings SET vector = x'00'")
        .unwrap();
    let index = Index::open(&path, TokenizerKind::Porter, false).unwrap();
    let found = find(&index, "winter", Embedding::Vector(&NORTH));
    assert_eq!(ids(&found), ["fox", "oak"]);
    assert_eq!(found.trace.error_stage, Some(Stage::Vector));
    assert!(!found.failed);
    assert_eq!(found.error.unwrap().code(), ErrorCode::IndexDamaged);
}

#[test]
fn when_every_leg_fails_the_search_has_failed() {
    let (_folder, index) = without_fts();
    for embedding in [Embedding::Absent, Embedding::Failed, Embedding::Empty] {
        let found = find(&index, "winter", embedding);
        assert_eq!(ids(&found), [] as [&str; 0]);
        assert!(found.failed);
        let error = found.error.unwrap();
        assert!(error.message().contains("no such table"), "{error}");
    }
}

#[test]
fn what_the_caller_can_mend_is_an_error() {
    let (index, fuzzy, filters) = (filled(), FuzzyChunks::Own, Filters::default());
    let code = |request: Request<'_>| search(&setup(&index, &fuzzy), &request).unwrap_err().code();
    let long = "oak ".repeat(5000);
    assert_eq!(
        code(request(&long, Embedding::Absent, &filters)),
        ErrorCode::TooManyTokens
    );
    let three = Embedding::Vector(&[1.0, 2.0, 3.0]);
    assert_eq!(
        code(request("oak", three, &filters)),
        ErrorCode::DimensionMismatch
    );
    index.close().unwrap();
    assert_eq!(
        code(request("oak", Embedding::Absent, &filters)),
        ErrorCode::IndexClosed
    );
}

#[test]
fn the_fuzzy_rung_sees_what_was_written_since() {
    let (index, fuzzy, filters) = (filled(), FuzzyChunks::Own, Filters::default());
    let setup = setup(&index, &fuzzy);
    let request = request("hedgehogg", Embedding::Absent, &filters);
    assert_eq!(ids(&search(&setup, &request).unwrap()), [] as [&str; 0]);
    index
        .upsert(&[&chunk("hog", "animals/hedgehog.md", "spines", NORTH)])
        .unwrap();
    let found = search(&setup, &request).unwrap();
    assert_eq!(ids(&found), ["hog"]);
    assert_eq!(strategies(&found).last(), Some(&Strategy::TrigramFuzzy));
    index.delete(&["hog"]).unwrap();
    assert_eq!(ids(&search(&setup, &request).unwrap()), [] as [&str; 0]);
}

#[test]
fn filters_hold_on_every_rung() {
    let index = filled();
    let given = FuzzyChunks::given(vec![
        chunk("given-oak", "trees/oakk.md", "", NORTH),
        chunk("given-fox", "animals/oakk.md", "", NORTH),
    ])
    .unwrap();
    let filters = Filters {
        path_prefix: Some("animals/".to_owned()),
        ..Filters::default()
    };
    for (fuzzy, query, expected) in [
        (&FuzzyChunks::Own, "winter", vec!["fox"]),
        (&FuzzyChunks::Own, "foxx", vec!["fox"]),
        (&FuzzyChunks::Own, "oakk treee", vec![]),
        (&given, "oakk", vec!["given-fox"]),
    ] {
        let request = request(query, Embedding::Absent, &filters);
        assert_eq!(
            ids(&search(&setup(&index, fuzzy), &request).unwrap()),
            expected,
            "{query}"
        );
    }
}

#[test]
fn the_ladder_can_be_left_out() {
    let (index, fuzzy, filters) = (filled(), FuzzyChunks::Own, Filters::default());
    let request = Request {
        skip_retry_ladder: true,
        ..request("foxx", Embedding::Absent, &filters)
    };
    let found = search(&setup(&index, &fuzzy), &request).unwrap();
    assert_eq!(strategies(&found), [Strategy::Initial]);
}

#[test]
fn dates_widen_what_runs() {
    let (index, fuzzy, filters) = (filled(), FuzzyChunks::Own, Filters::default());
    let hints = ["2026/04/04".to_owned()];
    let request = Request {
        augmented: Some("oak AI 2 weeks ago 2026/04/04 2026-04-04"),
        date_hints: &hints,
        ..request("oak AI 2 weeks ago", Embedding::Absent, &filters)
    };
    for (matching, ran) in [
        (
            Matching::Spec,
            r#""oak" OR "weeks" OR "ago" OR "20260404" OR "20260404" OR "2026 04 04""#,
        ),
        (
            Matching::Extended,
            r#""oak" OR "ai" OR "2" OR "weeks" OR "ago" OR "2026 04 04""#,
        ),
    ] {
        let setup = Setup {
            matching,
            ..setup(&index, &fuzzy)
        };
        let trace = search(&setup, &request).unwrap().trace;
        assert_eq!(trace.match_query, ran);
        assert_eq!(
            trace.compiled_query,
            "oak OR weeks OR ago OR 20260404 OR 20260404"
        );
        assert_eq!(trace.original_query, "oak AI 2 weeks ago");
    }
}
