//! Whatever takes longer with more data asks now and then whether to go on, and gives the same
//! result when it is called again after an interruption.

use std::cell::Cell;
use std::fmt::Debug;
use std::rc::Rc;

use super::{Options, parse, run};
use crate::graph::cluster::{Clustering, components};
use crate::graph::community::Communities;
use crate::graph::spectrum::Coordinates;
use crate::graph::{EdgeInput, Needs, Node, Outcome, Store, VisitInput};
use hedgerow_engine::chunks::Texts;
use hedgerow_engine::error::{ErrorCode, Result};
use hedgerow_engine::index::Hit;
use hedgerow_engine::interrupt::with_cancellation;
use hedgerow_engine::retrieval::{Intent, TrigramIndex, reciprocal_rank_fusion, reweight};

/// The number of nodes: many times the steps between two checks for cancellation.
const COUNT: usize = 3000;
/// How often whatever visits all of them asks at least.
const LEAST: usize = 10;

fn key(number: usize) -> String {
    format!("folder/n{}", number * 7919 % COUNT)
}

/// A number of two digits as hundredths.
fn small(number: usize) -> f32 {
    f32::from(u8::try_from(number).unwrap()) / 100.0
}

fn filled() -> Store {
    let store = Store::in_memory().unwrap();
    let node = |number: usize| Node {
        key: key(number),
        content: "oak".to_owned(),
        weight: small(number % 97).into(),
        embedding: Some((0..4).map(|n| small(number * (n + 3) % 11)).collect()),
        ..Node::default()
    };
    let nodes: Vec<Node> = (0..COUNT).map(node).collect();
    store.upsert(&nodes.iter().collect::<Vec<_>>(), 1).unwrap();
    let edge = |number: usize, step: usize| EdgeInput {
        source: key(number),
        target: key((number + step) % COUNT),
        relation: "link".to_owned(),
        strength: 0.5,
    };
    let edges: Vec<EdgeInput> = (0..COUNT)
        .flat_map(|number| [edge(number, 1), edge(number, 2)])
        .collect();
    store.link(&edges).unwrap();
    let visit = |number: usize| VisitInput {
        agent: "a".to_owned(),
        key: key(number),
        at: 1,
        outcome: Outcome::default(),
    };
    let visits: Vec<VisitInput> = (0..COUNT).map(visit).collect();
    store.visit(&visits).unwrap();
    store
}

/// Interrupt `work` after some numbers of questions, from none to nearly all.
fn ends_on_the_way<T: Debug>(name: &str, work: impl Fn() -> Result<T>) {
    let shown = || format!("{:?}", work().unwrap());
    let expected = shown();
    let asks = Rc::new(Cell::new(0));
    let counted = Rc::clone(&asks);
    let count = move || {
        counted.set(counted.get() + 1);
        false
    };
    with_cancellation(count, &work).unwrap();
    let asks = asks.get();
    assert!(asks >= LEAST, "{name}: asked {asks} times");
    for after in (0..asks).step_by(asks.div_ceil(9)) {
        let asked = Cell::new(0);
        let after_some = move || asked.replace(asked.get() + 1) >= after;
        let Err(error) = with_cancellation(after_some, &work) else {
            panic!("{name}: was not interrupted after {after} of {asks}");
        };
        assert_eq!(error.code(), ErrorCode::Interrupted, "{name}: {error}");
    }
    assert_eq!(shown(), expected, "{name}");
}

#[test]
fn every_stage_of_a_pipeline() {
    let store = filled();
    for pipeline in [
        "all | weight:>=0 | count",
        "all | key:*n1* | count",
        "all | !degree:>99 | count",
        "all | visited:a | count",
        "all | community:1 | count",
        "all | limit:2999 | weight:>=0 | count",
        "all | sort:weight | count",
        "all | sort:key | count",
        "all | sort:weight*1+degree*2 | count",
        "all | sort:priority(spectral) | count",
        "all | select:key,weight,community",
        "all",
        "match:n1* | count",
        "all | spread,max_hops=2 | count",
        "all | spread,max_hops=2,mix=0.5 | count",
        "all | limit:400 | confluence | count",
        "all | limit:300 | spectral | count",
        "all | limit:300 | geodesic | count",
        "all | limit:300 | manifold | count",
        "interference-pairs,min_sim=0.2,max_pairs=5000 | count",
    ] {
        let parsed = parse(pipeline, &[], &[]).unwrap();
        ends_on_the_way(pipeline, || run(&store, &parsed, &Options::default()));
    }
}

#[test]
fn what_is_read_or_worked_out_once() {
    let store = filled();
    let needs = Needs {
        edges: true,
        ..Needs::default()
    };
    let snapshot = store.snapshot(&needs).unwrap();
    ends_on_the_way("communities", || Communities::of(&snapshot.edges));
    ends_on_the_way("coordinates", || {
        Coordinates::of(&snapshot.edges, 5).map(|all| all.len())
    });
    let edges = &snapshot.edges;
    ends_on_the_way("clustering", || {
        Clustering::of(edges).map(|all| all.coefficients)
    });
    ends_on_the_way("components", || components(edges));
    ends_on_the_way("neighbors", || {
        store.neighbors(&(0..COUNT).map(key).collect::<Vec<_>>())
    });
}

#[test]
fn rankings_and_trigrams() {
    let hit = |number: usize| -> Hit {
        let texts = Texts {
            id: number.to_string(),
            path: key(number),
            content: "prefer".to_owned(),
            ..Texts::default()
        };
        texts.into()
    };
    let hits: Vec<Hit> = (0..COUNT).map(hit).collect();
    ends_on_the_way("fusion", || reciprocal_rank_fusion([&hits, &hits], 60.0));
    let intent = Intent {
        preference: true,
        ..Intent::default()
    };
    ends_on_the_way("reweighting", || reweight(intent, hits.clone()));
    let paths = || (0..COUNT).map(|number| (number.to_string(), key(number)));
    ends_on_the_way("making trigrams", || {
        TrigramIndex::new(paths()).map(|index| index.entries().len())
    });
    let index = TrigramIndex::new(paths()).unwrap();
    let tokens: Vec<String> = (0..40).map(|number| format!("n{number}77")).collect();
    ends_on_the_way("searching trigrams", || index.search(&tokens, 9));
}
