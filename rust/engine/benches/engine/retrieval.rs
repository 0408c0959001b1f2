//! The stages after the legs, and a whole search.

use std::hint::black_box;

use criterion::{BatchSize, Criterion};
use hedgerow_engine::chunks::{Filters, Texts};
use hedgerow_engine::index::Hit;
use hedgerow_engine::query::{Connective, Matching};
use hedgerow_engine::retrieval::{
    Embedding, Fusion, FuzzyChunks, Intent, Mode, Request, Reranker, Setup, TrigramIndex, fuse,
    reciprocal_rank_fusion, reweight, search,
};

use super::corpus::{Dice, INDEX, size};

const TOP: usize = 60;
const PREFERENCE: &str = "Which of them do I prefer and like best?";

pub fn benches(criterion: &mut Criterion) {
    pieces(criterion);
    whole(criterion);
}

/// Hits whose names count from `first`, so that two lists may share some.
fn hits(first: usize) -> Vec<Hit> {
    let mut dice = Dice::new(13);
    (first..first + TOP)
        .map(|number| Texts {
            id: format!("c{number}"),
            path: format!("notes/{number}.md"),
            content: dice.words(80),
            ..Texts::default()
        })
        .map(|texts| Hit {
            score: 1.0,
            ..texts.into()
        })
        .collect()
}

fn pieces(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("ranking");
    let lists = [hits(0), hits(TOP / 2)];
    group.bench_function("fuse 60 and 60", |bencher| {
        bencher.iter(|| reciprocal_rank_fusion(black_box(&lists), fuse::DEFAULT_K));
    });
    let fused = reciprocal_rank_fusion(&lists, fuse::DEFAULT_K).unwrap();
    let intent = Intent::detect(PREFERENCE).unwrap();
    group.bench_function("reweight 90", |bencher| {
        bencher.iter_batched(
            || fused.clone(),
            |hits| reweight(intent, hits),
            BatchSize::SmallInput,
        );
    });
    let mut dice = Dice::new(17);
    let slugs = (0..size()).map(|number| (number.to_string(), dice.words(2).replace(' ', "-")));
    let trigrams = TrigramIndex::new(slugs).unwrap();
    group.bench_function(format!("trigrams of {} slugs", size()), |bencher| {
        bencher.iter(|| trigrams.search(black_box(&["word1234", "wrd77"]), 10));
    });
    group.finish();
}

/// Every stage, over an index in memory.
fn whole(criterion: &mut Criterion) {
    let vector = Dice::new(11).vector();
    let filters = Filters::default();
    let mut group = criterion.benchmark_group(format!("search, {} chunks", size()));
    for fusion in [Fusion::Rrf, Fusion::Score] {
        let setup = Setup {
            collection: &*INDEX,
            aliases: None,
            default_operator: Connective::Or,
            matching: Matching::Spec,
            fusion,
            neighbors: false,
            speakers: false,
            dates: false,
            reweight: true,
            fuzzy: &FuzzyChunks::Own,
            embedder: None,
        };
        let request = Request {
            query: "word30 word700 word9000",
            augmented: None,
            date_hints: &[],
            asker: None,
            today: None,
            recency: None,
            mode: Mode::Hybrid,
            embedding: Embedding::Vector(&vector),
            candidate_k: TOP,
            wanted: 10,
            reranker: Reranker::Absent,
            skip_retry_ladder: false,
            filters: &filters,
            group_by: None,
        };
        group.bench_function(format!("hybrid, {}", fusion.as_str()), |bencher| {
            bencher.iter(|| search(&setup, black_box(&request)).unwrap());
        });
    }
    group.finish();
}
