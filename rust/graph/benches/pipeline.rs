//! The pipeline language over a store in memory: `cargo bench -p hedgerow-graph`.
//!
//! `HEDGEROW_BENCH_CHUNKS` is the number of nodes, 10,000 by default.

#![allow(clippy::unwrap_used, reason = "a bench fails by panicking")]
#![allow(missing_docs, reason = "criterion's macros make functions without")]

#[path = "../../engine/benches/engine/corpus.rs"]
#[allow(dead_code, reason = "the engine's benches use the rest")]
mod corpus;

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use hedgerow_graph::graph::{EdgeInput, Node, Store};
use hedgerow_graph::pipeline::{Options, parse, run};

use corpus::{Dice, size};

const NOW: i64 = 1_800_000_000;
const DAY: f64 = 86_400.0;
const PIPELINES: [&str; 4] = [
    "all | type:episodic | not-visited:linker,7d | sort:priority | limit:20",
    "all | weight:>0.5 | age:<30d | count",
    "seed:n7 | spread | limit:20",
    "search:word30 word700,mode=bm25 | limit:10",
];

fn pipelines(criterion: &mut Criterion) {
    let store = store(size());
    let options = Options {
        now: NOW,
        ..Options::default()
    };
    let mut group = criterion.benchmark_group(format!("pipeline, {} nodes", size()));
    group.bench_function("parse", |bencher| {
        bencher.iter(|| parse(black_box(PIPELINES[0]), &[], &[]).unwrap());
    });
    for text in PIPELINES {
        let pipeline = parse(text, &[], &[]).unwrap();
        group.bench_function(text, |bencher| {
            bencher.iter(|| run(&store, black_box(&pipeline), &options).unwrap());
        });
    }
    group.finish();
}

/// Nodes of two types, each joined to one near by and to one anywhere.
#[allow(clippy::cast_possible_truncation, reason = "all are small")]
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "all are small"
)]
fn store(count: usize) -> Store {
    let mut dice = Dice::new(19);
    let store = Store::in_memory().unwrap();
    let nodes: Vec<Node> = (0..count)
        .map(|number| Node {
            key: format!("n{number}"),
            kind: if dice.roll() < 0.4 {
                "episodic"
            } else {
                "semantic"
            }
            .to_owned(),
            content: dice.words(10),
            weight: dice.roll(),
            updated_at: Some(NOW - (dice.roll() * 365.0 * DAY) as i64),
            ..Node::default()
        })
        .collect();
    store
        .upsert(&nodes.iter().collect::<Vec<_>>(), NOW)
        .unwrap();
    let edges: Vec<EdgeInput> = (0..count)
        .flat_map(|from| {
            [
                (from, (from + 1) % count),
                (from, (dice.roll() * count as f64) as usize),
            ]
        })
        .filter(|(from, to)| from != to)
        .map(|(from, to)| EdgeInput {
            source: format!("n{from}"),
            target: format!("n{to}"),
            relation: "link".to_owned(),
            strength: 0.5,
        })
        .collect();
    store.link(&edges).unwrap();
    store
}

criterion_group!(benches, pipelines);
criterion_main!(benches);
