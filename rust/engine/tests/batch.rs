//! Searches that share a pass, and hits whose texts are read late: both change nothing.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod searching;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hedgerow_engine::chunks::{Chunk, Filters, GroupBy};
use hedgerow_engine::index::Index;
use hedgerow_engine::retrieval::{
    Embedding, Fusion, FuzzyChunks, Mode, Request, Reranker, SearchResult, Setup, search,
    search_many,
};
use hedgerow_engine::text::tokenizer::TokenizerKind;
use proptest::prelude::*;
use proptest::sample::select;
use searching::{request, setup};

const WORDS: [&str; 6] = ["oak", "elm", "fox", "hedge", "recommend", "how many"];
const DIMENSIONS: usize = 3;

/// Few different numbers, so that many chunks are equally near.
fn vectors() -> impl Strategy<Value = Vec<f32>> {
    prop::collection::vec(select(vec![-1.0_f32, 0.0, 0.5, 1.0]), DIMENSIONS)
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(select(&WORDS), 0..5).prop_map(|words| words.join(" "))
}

fn chunks() -> impl Strategy<Value = Vec<Chunk>> {
    let chunk = (text(), text(), 0_usize..6, prop::option::of(vectors()));
    prop::collection::vec(chunk, 0..40).prop_map(|chunks| {
        let chunks = chunks.into_iter().enumerate();
        let chunk = |(number, (title, content, path, embedding))| Chunk {
            id: format!("c{number}"),
            path: format!("memory/global/{path}.md"),
            title,
            content,
            embedding,
            ..Chunk::default()
        };
        chunks.map(chunk).collect()
    })
}

/// A query, its vector if it has one, and how it is searched.
type Asked = (String, Option<Vec<f32>>, Mode, usize, bool, bool);

fn asked() -> impl Strategy<Value = Asked> {
    let mode = select(vec![Mode::Auto, Mode::Bm25, Mode::Semantic, Mode::Hybrid]);
    let vector = prop::option::weighted(0.8, vectors());
    (
        text(),
        vector,
        mode,
        select(vec![1, 3, 60]),
        any::<bool>(),
        any::<bool>(),
    )
}

fn requests<'a>(asked: &'a [Asked], filters: &'a [Filters; 2], wanted: usize) -> Vec<Request<'a>> {
    let request = |(query, vector, mode, candidate_k, grouped, filtered): &'a Asked| {
        let vector = vector.as_deref();
        let embedding = vector.map_or(Embedding::Absent, Embedding::Vector);
        Request {
            mode: *mode,
            candidate_k: *candidate_k,
            wanted,
            reranker: Reranker::Ready,
            group_by: grouped.then_some(GroupBy::Path),
            ..request(query, embedding, &filters[usize::from(*filtered)])
        }
    };
    asked.iter().map(request).collect()
}

fn same(left: &SearchResult, right: &SearchResult) -> bool {
    // Numbers are printed so that they are read back to the bit.
    format!("{:?}", left.hits) == format!("{:?}", right.hits) && left.trace == right.trace
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_batch_finds_what_single_searches_find(
        chunks in chunks(),
        asked in prop::collection::vec(asked(), 1..24),
        sorted in any::<bool>(),
        threads in 1_usize..4,
        fusion in select(vec![Fusion::Rrf, Fusion::Score]),
        wanted in 0_usize..12,
    ) {
        let index = Index::in_memory(TokenizerKind::Porter).unwrap();
        index.expect_dimensions(DIMENSIONS).unwrap();
        index.upsert(&chunks.iter().collect::<Vec<_>>()).unwrap();
        let setup = Setup { fusion, ..setup(&index, &FuzzyChunks::Own) };
        let mut asked = asked;
        if sorted {
            // Equal options side by side share a pass.
            asked.sort_by_key(|(_, _, _, limit, grouped, filtered)| (*limit, *grouped, *filtered));
        }
        let half = Filters {
            paths: (0..3).map(|path| format!("memory/global/{path}.md")).collect(),
            ..Filters::default()
        };
        let filters = [Filters::default(), half];
        let all = requests(&asked, &filters, usize::MAX);
        let single: Vec<SearchResult> = all.iter().map(|one| search(&setup, one).unwrap()).collect();
        let threads = NonZeroUsize::new(threads).unwrap();
        let batch = search_many(&setup, &all, threads, &Arc::new(AtomicBool::new(false)));
        prop_assert_eq!(batch.len(), single.len());
        for (batch, single) in batch.into_iter().zip(&single) {
            let batch = batch.unwrap().unwrap();
            prop_assert!(same(&batch, single), "{batch:?}\n{single:?}");
        }
        for (request, single) in requests(&asked, &filters, wanted).iter().zip(single) {
            let mut cut = single.clone();
            cut.hits.truncate(wanted);
            let few = search(&setup, request).unwrap();
            prop_assert!(same(&few, &cut), "{few:?}\n{cut:?}");
        }
    }
}

#[test]
fn one_wrong_vector_spoils_no_other_search() {
    let index = Index::in_memory(TokenizerKind::Porter).unwrap();
    let chunk = Chunk {
        id: "a".to_owned(),
        content: "an oak".to_owned(),
        embedding: Some(vec![1.0, 0.0, 0.0]),
        ..Chunk::default()
    };
    index.upsert(&[&chunk]).unwrap();
    let setup = setup(&index, &FuzzyChunks::Own);
    let asked: Vec<Asked> = [
        vec![1.0, 1.0, 0.0],
        vec![1.0],
        vec![0.0; 3],
        vec![f32::NAN; 3],
    ]
    .map(|vector| ("oak".to_owned(), Some(vector), Mode::Auto, 60, false, false))
    .into();
    let filters = [Filters::default(), Filters::default()];
    let requests = requests(&asked, &filters, 10);
    let one = NonZeroUsize::new(1).unwrap();
    let found = search_many(&setup, &requests, one, &Arc::new(AtomicBool::new(false)));
    let found = found.into_iter().map(|found| {
        found
            .unwrap()
            .map(|found| found.trace.vector_count)
            .map_err(|error| error.to_string())
    });
    let dimensions = "the vector has 1 dimensions and the index has 3; use the embedder that the \
                      index was made with";
    let finite = "the vector is not finite at position 0; embed the text again";
    let expected = [
        Ok(1),
        Err(dimensions.to_owned()),
        Ok(0),
        Err(finite.to_owned()),
    ];
    assert_eq!(found.collect::<Vec<_>>(), expected);
}
