//! Both legs over an index in memory; the names say how the words are joined.

use std::hint::black_box;

use criterion::Criterion;
use hedgerow_engine::chunks::Filters;
use hedgerow_engine::query::{MatchOptions, parse};

use super::corpus::{Dice, INDEX, size};

const TOP: usize = 60;
const QUERIES: [(&str, &str); 5] = [
    ("or", "word30 word700 word9000"),
    ("prefix", "word30 word70*"),
    ("phrase", r#""word1 word2""#),
    ("and", "word3 AND word30"),
    ("not", "word30 NOT word1"),
];

pub fn benches(criterion: &mut Criterion) {
    let filters = Filters::default();
    let mut group = criterion.benchmark_group(format!("{} chunks", size()));
    for (name, text) in QUERIES {
        let query = parse(text).unwrap();
        let options = MatchOptions::default();
        group.bench_function(format!("bm25, {name}"), |bencher| {
            bencher.iter(|| INDEX.search_bm25(black_box(&query), TOP, &filters, &options));
        });
    }
    let vector = Dice::new(11).vector();
    group.bench_function("vectors", |bencher| {
        bencher.iter(|| INDEX.search_vector(black_box(&vector), TOP, &filters));
    });
    group.finish();
}
