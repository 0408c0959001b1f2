//! From text to compiled forms.

use std::hint::black_box;

use criterion::Criterion;
use hedgerow_engine::query::{
    AliasTable, Connective, MatchOptions, Matching, compile_fts, compile_match, explain, parse,
};

const QUESTION: &str = "What is the best way to deploy a Kubernetes cluster on bare metal servers?";
const OPERATORS: &str = r#""hard pruning" AND kube* NOT winter"#;

pub fn benches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("query");
    for (name, text) in [("question", QUESTION), ("operators", OPERATORS)] {
        group.bench_function(format!("parse, {name}"), |bencher| {
            bencher.iter(|| parse(black_box(text)).unwrap());
        });
        group.bench_function(format!("compile_fts, {name}"), |bencher| {
            bencher.iter(|| compile_fts(&parse(black_box(text)).unwrap(), None, Connective::Or));
        });
        group.bench_function(format!("compile_match, {name}"), |bencher| {
            let options = MatchOptions::default();
            bencher.iter(|| compile_match(&parse(black_box(text)).unwrap(), &options));
        });
    }
    let table = AliasTable::new([("kubernetes", ["k8s", "container orchestration"])]);
    let aliased = MatchOptions {
        aliases: Some(&table),
        ..MatchOptions::default()
    };
    let extended = MatchOptions {
        matching: Matching::Extended,
        ..MatchOptions::default()
    };
    for (name, options) in [("aliases", &aliased), ("extended", &extended)] {
        group.bench_function(format!("compile_match, {name}"), |bencher| {
            bencher.iter(|| compile_match(&parse(black_box(QUESTION)).unwrap(), options));
        });
    }
    group.bench_function("explain", |bencher| {
        bencher.iter(|| explain(black_box(QUESTION), &MatchOptions::default()));
    });
    group.finish();
}
