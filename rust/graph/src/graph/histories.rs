//! The state in memory equals the state of the file, after any writes in any order, and a reader of
//! an earlier state still sees that state.

use std::path::Path;
use std::thread;
use std::time::Duration;

use proptest::prelude::*;

use super::node::{Node, Outcome};
use super::snapshot::{Needs, Snapshot};
use super::store::Store;
use super::write::{EdgeInput, VisitInput};
use hedgerow_engine::error::ErrorCode;
use hedgerow_engine::interrupt::with_cancellation;

#[derive(Debug, Clone)]
enum Step {
    /// Write through the other handle from now on.
    Other,
    Upsert(Vec<(u8, u8)>),
    Delete(Vec<u8>),
    Link(Vec<(u8, u8, u8)>),
    Unlink(u8, u8),
    Visit(u8, u8, bool),
    Read,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = || 0_u8..30;
    let pair = || (key(), key()).prop_filter("two", |(one, other)| one != other);
    let link = (pair(), 1_u8..10).prop_map(|((one, other), strength)| (one, other, strength));
    let step = prop_oneof![
        Just(Step::Other),
        Just(Step::Read),
        prop::collection::vec((key(), 0_u8..9), 1..9).prop_map(Step::Upsert),
        prop::collection::vec(key(), 1..4).prop_map(Step::Delete),
        prop::collection::vec(link, 1..6).prop_map(Step::Link),
        pair().prop_map(|(one, other)| Step::Unlink(one, other)),
        (key(), 0_u8..9, any::<bool>()).prop_map(|(key, at, failed)| Step::Visit(key, at, failed)),
    ];
    prop::collection::vec(step, 1..30)
}

/// Everything that a state can be asked for.
fn shown(snapshot: &Snapshot) -> String {
    let (nodes, edges) = (&snapshot.nodes, &snapshot.edges);
    let (clustering, components) = (edges.clustering().unwrap(), edges.components().unwrap());
    let node = |slot: u32| {
        let at = slot as usize;
        let joined: Vec<(u32, f64)> = edges.joined(slot).collect();
        format!(
            "{} {} {} {} {} {} {joined:?} {:?} {:?} {:?}\n",
            nodes.ids[at],
            nodes.key(slot),
            nodes.weights[at],
            nodes.provenance(slot),
            nodes.live[at],
            nodes.ranks[at],
            clustering.get(at).unwrap_or(0.0),
            components.get(at).unwrap_or(&slot),
            snapshot.visits("a").get(at).unwrap_or(super::NEVER),
        )
    };
    let all: String = (0..nodes.len() as u32).map(node).collect();
    format!("{:?}\n{all}", nodes.order)
}

fn needs() -> Needs {
    Needs {
        edges: true,
        agents: vec!["a".to_owned()],
    }
}

fn read(store: &Store) -> Snapshot {
    store.snapshot(&needs()).unwrap()
}

fn anew(path: &Path) -> String {
    shown(&read(&Store::open(path).unwrap()))
}

fn write(store: &Store, step: &Step, known: &mut Vec<u8>) {
    let name = |key: &u8| format!("k{key}");
    match step {
        Step::Upsert(nodes) => {
            let node = |(key, weight): &(u8, u8)| Node {
                key: name(key),
                weight: f64::from(*weight) / 9.0,
                provenance: format!("from {}", weight / 3),
                ..Node::default()
            };
            let all: Vec<Node> = nodes.iter().map(node).collect();
            store.upsert(&all.iter().collect::<Vec<_>>(), 1).unwrap();
            known.extend(nodes.iter().map(|(key, _)| key));
        }
        Step::Delete(keys) => {
            let keys: Vec<String> = keys.iter().map(name).collect();
            store.delete(&keys).unwrap();
        }
        Step::Link(links) => {
            let sound = links
                .iter()
                .filter(|(one, other, _)| known.contains(one) && known.contains(other));
            let edge = |(one, other, strength): &(u8, u8, u8)| EdgeInput {
                source: name(one),
                target: name(other),
                relation: format!("r{}", strength % 2),
                strength: f64::from(*strength) / 10.0,
            };
            store.link(&sound.map(edge).collect::<Vec<_>>()).unwrap();
        }
        Step::Unlink(one, other) if known.contains(one) && known.contains(other) => {
            store.unlink(&name(one), &name(other), "r1").unwrap();
        }
        Step::Visit(key, at, failed) if known.contains(key) => {
            let outcome = if *failed {
                Outcome::Failed
            } else {
                Outcome::default()
            };
            let visit = VisitInput {
                agent: "a".to_owned(),
                key: name(key),
                at: i64::from(*at),
                outcome,
            };
            store.visit(&[visit]).unwrap();
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn what_is_kept_follows_every_history(steps in steps()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let stores = [Store::open(&path).unwrap(), Store::open(&path).unwrap()];
        // Enough edges that a few are changed in memory.
        let mut known: Vec<u8> = (0..30).collect();
        let all = known.iter().map(|key| (*key, 5)).collect();
        write(&stores[0], &Step::Upsert(all), &mut Vec::new());
        let links = (0..30).flat_map(|one| (1..8).map(move |step| (one, (one + step * 4) % 30, 7)));
        write(&stores[0], &Step::Link(links.filter(|(a, b, _)| a != b).collect()), &mut known);
        let mut writer = 0;
        let mut earlier: Vec<(Snapshot, String)> = Vec::new();
        for step in &steps {
            match step {
                Step::Other => writer = 1 - writer,
                Step::Read => {
                    let expected = anew(&path);
                    for store in &stores {
                        let snapshot = read(store);
                        prop_assert_eq!(shown(&snapshot), expected.clone());
                        earlier.push((snapshot, expected.clone()));
                    }
                }
                _ => write(&stores[writer], step, &mut known),
            }
        }
        for (snapshot, expected) in &earlier {
            prop_assert_eq!(&shown(snapshot), expected);
        }
        prop_assert_eq!(shown(&read(&stores[0])), anew(&path));
    }
}

#[test]
fn reading_goes_on_when_nobody_waits_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    write(
        &Store::open(&path).unwrap(),
        &Step::Upsert(vec![(1, 1), (2, 2)]),
        &mut Vec::new(),
    );
    let store = Store::open(&path).unwrap();
    let Err(error) = with_cancellation(|| true, || store.snapshot(&needs())) else {
        panic!("was not interrupted");
    };
    assert_eq!(error.code(), ErrorCode::Interrupted);
    while store.kept.nodes.newest().is_none() {
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(shown(&read(&store)), anew(&path));
}

#[test]
fn a_closed_store_says_so() {
    let store = Store::in_memory().unwrap();
    store.index().close().unwrap();
    let Err(error) = store.snapshot(&needs()) else {
        panic!("a closed store was read");
    };
    assert_eq!(error.code(), ErrorCode::IndexClosed);
}

#[test]
fn edges_that_another_handle_changed_are_read_without_all_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let [store, other] = [(), ()].map(|()| Store::open(&path).unwrap());
    let mut known: Vec<u8> = (0..30).collect();
    let all = known.iter().map(|key| (*key, 5)).collect();
    write(&other, &Step::Upsert(all), &mut Vec::new());
    let links = (0..30).flat_map(|one| (1..8).map(move |step| (one, (one + step * 4) % 30, 7)));
    let links = links.filter(|(one, to, _)| one != to).collect();
    write(&other, &Step::Link(links), &mut known);
    let mut before = read(&store);
    for step in [Step::Link(vec![(3, 4, 9), (5, 6, 2)]), Step::Unlink(3, 4)] {
        write(&other, &step, &mut known);
        let after = read(&store);
        assert_eq!(shown(&after), anew(&path));
        assert!(
            after.edges.shared_blocks(&before.edges) > 0,
            "all were read after {step:?}"
        );
        before = after;
    }
}
