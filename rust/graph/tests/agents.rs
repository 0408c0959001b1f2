//! Properties of every run of an agent, for any actions.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use hedgerow_graph::agents::{Action, Record, RunOutcome, RunRequest, RunStatus};
use hedgerow_graph::graph::{Node, Store};
use hedgerow_graph::pipeline::{Options, parse, run};
use proptest::prelude::*;
use proptest::sample::select;

const NOW: i64 = 1_800_000_000;
const EXPIRES: i64 = NOW + 180;

fn store() -> Store {
    let store = Store::in_memory().unwrap();
    let nodes = ["a", "b", "c"].map(|key| Node {
        key: key.to_owned(),
        content: format!("about {key}"),
        ..Node::default()
    });
    store.upsert(&nodes.each_ref(), NOW).unwrap();
    store
}

fn keys(list: &[&str]) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}

fn begin(store: &Store, agent: &str, nodes: &[&str], last: Option<i64>) -> Option<i64> {
    let begun = store.begin_run(&RunRequest {
        agent,
        definition: "sha",
        keys: &keys(nodes),
        least: 1,
        last,
        now: NOW,
        expires: EXPIRES,
    });
    begun.unwrap().map(|begun| begun.run)
}

fn apply(store: &Store, run: i64, actions: &[Action]) -> Option<Vec<Option<String>>> {
    let record = Record {
        line: 1,
        action: "{}".to_owned(),
        reason: None,
    };
    let actions: Vec<(Action, Record)> = actions
        .iter()
        .map(|action| (action.clone(), record.clone()))
        .collect();
    let applied = RunOutcome {
        run,
        now: NOW,
        actions: &actions,
        rejected: &[],
        visited: &keys(&["a", "b", "c"]),
        shown: &[],
        tokens_in: 0,
        tokens_out: 0,
    };
    store.apply(&applied).unwrap()
}

/// The nodes that a pipeline finds without those that are claimed.
fn unclaimed(store: &Store, text: &str, now: i64) -> Vec<String> {
    let pipeline = parse(text, &[], &[]).unwrap();
    let options = Options {
        now,
        without: store.claimed(now).unwrap(),
        ..Options::default()
    };
    run(store, &pipeline, &options).unwrap().keys
}

#[test]
fn claimed_nodes_are_left_out_before_any_limit_until_their_time_is_up() {
    let store = store();
    begin(&store, "one", &["a", "b"], None).unwrap();
    assert_eq!(unclaimed(&store, "all | sort:key | limit:1", NOW), ["c"]);
    assert_eq!(
        unclaimed(&store, "all | sort:key | limit:1", EXPIRES),
        ["a"]
    );
    assert_eq!(begin(&store, "two", &["a", "b"], None), None);
}

#[test]
fn a_run_that_is_over_is_not_applied() {
    let store = store();
    let run = begin(&store, "one", &["a"], None).unwrap();
    let ended = store.end_run(run, NOW, RunStatus::Stopped, None, false);
    assert!(ended.unwrap());
    let delete = Action::Delete {
        key: "a".to_owned(),
    };
    assert_eq!(apply(&store, run, &[delete]), None);
    assert!(store.get("a").unwrap().is_some());
}

#[test]
fn a_node_that_is_rewritten_is_derived_from_what_its_new_text_covers() {
    let store = store();
    let write = |covers: &[&str]| Action::WriteNode {
        key: "sum".to_owned(),
        content: covers.join(" and "),
        kind: "semantic".to_owned(),
        confidence: None,
        covers: keys(covers),
    };
    let mut last = None;
    for covers in [&["a", "b"][..], &["b", "c"], &[]] {
        last = begin(&store, "one", &["a"], last);
        let link = Action::LinkAdd {
            a: "a".to_owned(),
            b: "b".to_owned(),
            strength: 0.5,
        };
        let reasons = apply(&store, last.unwrap(), &[write(covers), link]);
        assert_eq!(reasons.unwrap()[0], None);
        let mut derived = unclaimed(&store, "neighbors:sum", NOW);
        derived.sort();
        assert_eq!(derived, covers);
    }
    let linked = unclaimed(&store, "neighbors:a", NOW);
    assert_eq!(linked, ["b"], "other relations stay");
}

/// Keys of nodes, keys of no node, and keys that no node may have.
fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        select(vec!["a", "b", "c", "x", ""]).prop_map(str::to_owned),
        ".{0,3}"
    ]
}

fn action() -> impl Strategy<Value = Action> {
    let number = prop_oneof![
        -1.0..2.0_f64,
        select(vec![f64::NAN, f64::INFINITY, 0.0, 1.0])
    ];
    let name = select(vec!["task", "daily", "high", "nonsense"]).prop_map(str::to_owned);
    let covers = prop::collection::vec(key(), 0..3);
    prop_oneof![
        (key(), key(), number.clone()).prop_map(|(a, b, strength)| Action::LinkAdd {
            a,
            b,
            strength
        }),
        (key(), number).prop_map(|(key, value)| Action::Weight { key, value }),
        (key(), name.clone()).prop_map(|(key, category)| Action::Categorize { key, category }),
        (
            key(),
            ".{0,9}",
            name.clone(),
            prop::option::of(name),
            covers
        )
            .prop_map(
                |(key, content, kind, confidence, covers)| Action::WriteNode {
                    key,
                    content,
                    kind,
                    confidence,
                    covers
                }
            ),
        (key(), ".{0,9}").prop_map(|(key, content)| Action::Refine { key, content }),
        key().prop_map(|key| Action::Delete { key }),
        (key(), key()).prop_map(|(key, new_key)| Action::Rename { key, new_key }),
        Just(Action::Note),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_the_actions_the_file_is_whole_and_nothing_stays_claimed(
        actions in prop::collection::vec(action(), 0..12)
    ) {
        let store = store();
        let said = store.rehearse("one", None, &actions, &[], NOW).unwrap();
        prop_assert_eq!(unclaimed(&store, "all", NOW), ["a", "b", "c"]);
        let run = begin(&store, "one", &["a"], None).unwrap();
        let reasons = apply(&store, run, &actions).unwrap();
        prop_assert_eq!(&reasons, &said, "a rehearsal says the same");
        prop_assert_eq!(store.index().check().unwrap(), [] as [&str; 0]);
        prop_assert_eq!(store.claimed(NOW).unwrap(), [] as [i64; 0]);
        let done = store.runs("one", NOW, 1).unwrap().remove(0);
        let rejected = reasons.iter().flatten().count();
        prop_assert_eq!((done.status, done.rejected), (RunStatus::Ok, rejected));
        prop_assert_eq!(done.applied + done.rejected, actions.len());
        prop_assert_eq!(store.records(run).unwrap().len(), actions.len());
        for key in unclaimed(&store, "all", NOW) {
            prop_assert!(store.get(&key).unwrap().unwrap().check().is_ok());
        }
    }
}
