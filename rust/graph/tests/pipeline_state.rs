//! All stages of a pipeline read one state of the store, whatever is written meanwhile.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;

use hedgerow_engine::interrupt::with_cancellation;
use hedgerow_graph::graph::{Node, Store};
use hedgerow_graph::pipeline::{Options, Outcome, parse, run};

/// The weights of nodes in two states: the keys found and the weights shown must be of the same
/// state.
const BEFORE: f64 = 0.25;
const AFTER: f64 = 0.75;

/// Before, `a` has the word and is similar to `c`; after, `b` does and is.
fn write(store: &Store, weight: f64) {
    let node = |key: &str, has: bool| Node {
        key: key.to_owned(),
        content: if has { "the oak" } else { "an elm" }.to_owned(),
        weight,
        embedding: Some(if has { vec![1.0, 0.0] } else { vec![0.0, 1.0] }),
        ..Node::default()
    };
    let before = weight < 0.5;
    let mut nodes = vec![node("a", before), node("b", !before)];
    nodes.push(Node {
        embedding: Some(vec![1.0, 0.0]),
        ..node("c", false)
    });
    store.upsert(&nodes.iter().collect::<Vec<_>>(), 1).unwrap();
}

/// Run a pipeline while another handle writes, when the pipeline asks for the `nth` time whether to
/// go on; returns whether it asked that often too.
fn run_while_writing(path: &Path, pipeline: &str, nth: usize) -> (Outcome, bool) {
    let (store, other) = (Store::open(path).unwrap(), Store::open(path).unwrap());
    write(&other, BEFORE);
    let pipeline = parse(pipeline, &[], &[]).unwrap();
    // This run fills the caches, so that the next run only looks values up.
    run(&store, &pipeline, &Options::default()).unwrap();
    let (asked, written) = (Cell::new(0), Rc::new(Cell::new(false)));
    let done = Rc::clone(&written);
    let write_once = move || {
        if asked.replace(asked.get() + 1) == nth {
            with_cancellation(|| false, || write(&other, AFTER));
            done.set(true);
        }
        false
    };
    let outcome = with_cancellation(write_once, || run(&store, &pipeline, &Options::default()));
    (outcome.unwrap(), written.get())
}

#[test]
fn stages_that_read_the_index_read_the_state_of_the_nodes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.db");
    for pipeline in [
        "search:oak,mode=bm25 | select:weight",
        "all | rank:oak,mode=bm25 | select:weight",
        "match:oak | select:weight",
        "interference-pairs,min_sim=0.9 | sort:key | limit:1 | select:weight",
    ] {
        for nth in 0.. {
            let (outcome, written) = run_while_writing(&path, pipeline, nth);
            let found = format!("{:?} {:?}", outcome.keys, outcome.rows.unwrap());
            let of =
                |key: &str, weight: f64| found.contains(key) && found.contains(&weight.to_string());
            assert!(
                of("\"a\"", BEFORE) || of("\"b\"", AFTER),
                "{pipeline}: found {found} when somebody wrote at ask {nth}"
            );
            if !written {
                assert!(nth > 1, "{pipeline}: asked {nth} times");
                break;
            }
        }
    }
}

#[test]
fn a_search_that_comes_to_the_fuzzy_rung_begins_anew_with_slugs() {
    let store = Store::in_memory().unwrap();
    let node = Node {
        key: "notes/postgres-backup".to_owned(),
        content: "nothing of the kind".to_owned(),
        ..Node::default()
    };
    store.upsert(&[&node], 1).unwrap();
    let pipeline = parse(
        "search:postgress,mode=bm25 | rank:postgress,mode=bm25",
        &[],
        &[],
    )
    .unwrap();
    let outcome = run(&store, &pipeline, &Options::default()).unwrap();
    assert_eq!(outcome.keys, ["notes/postgres-backup"]);
}
