//! The n-th call of each kind fails, for n = 1, 2, 3 and so on until a run has fewer calls.

use std::path::Path;

use hedgerow_engine::index::{Index, Methods, SUBJECTS};
use hedgerow_engine::storage::{Durability, Location};
use hedgerow_engine::text::tokenizer::TokenizerKind;
use hedgerow_engine::{ErrorCode, Result};

use super::vfs::{self, Call, Fault};
use super::{State, chunk, contents, long};

/// The words of an error after which a write may be there or not.
const UNKNOWN: &str = "it is not known whether this write was kept";

/// The states that may be in the file: one, or more after writes of which it is not known whether they were kept.
struct Expected(Vec<State>);

impl Expected {
    /// Note the result of a write that changes a state with `change`. An error that does not call the outcome unknown
    /// promises that nothing was kept.
    fn wrote(&mut self, result: Result<()>, index: &Index, change: impl Fn(&mut State)) {
        let mut changed = self.0.clone();
        changed.iter_mut().for_each(change);
        match result {
            // No later write follows one that was not kept: what can be read now stays.
            Ok(()) => {
                self.0 = changed;
                if let Ok(found) = contents(index) {
                    self.check(&found, "after a write");
                    self.0 = vec![found];
                }
            }
            Err(error) if error.message().contains(UNKNOWN) => self.0.extend(changed),
            Err(_) => {}
        }
    }

    fn check(&self, found: &State, at: &str) {
        let states = &self.0;
        assert!(states.contains(found), "{at}: {found:?}, not of {states:?}");
    }
}

/// One run of all kinds of calls on an index. Those that fail are passed over.
fn run(folder: &Path, expected: &mut Expected, at: &str) {
    let path = folder.join("index.db");
    for round in 0..2 {
        let Ok(index) = Index::open(&path, TokenizerKind::Porter, false) else {
            continue;
        };
        for step in 0..4 {
            let id = format!("{round}-{step}");
            let chunks = [chunk(&id, &format!("oak {id}")), chunk("same", &id)];
            let result = index.upsert(&[&chunks[0], &chunks[1]]).map(drop);
            expected.wrote(result, &index, |state| {
                for chunk in &chunks {
                    state.insert(chunk.id.clone(), chunk.content.clone());
                }
            });
            if step == 1 {
                let id = format!("{round}-0");
                let result = index.delete(&[&id]).map(drop);
                expected.wrote(result, &index, |state| drop(state.remove(&id)));
                let _ = index.optimize();
            }
        }
        // It may report the failed call as a problem.
        let _ = index.check();
        let copy = folder.join(format!("copy-{round}.db"));
        if index.backup(&copy).is_ok() {
            let copy = Index::open(&copy, TokenizerKind::Porter, false);
            if let Ok(found) = copy.and_then(|copy| contents(&copy)) {
                expected.check(&found, at);
            }
        }
        let _ = index.vacuum();
        drop(index);
    }
}

/// Run with one fault; return whether it was reached.
fn try_fault(fault: Fault) -> bool {
    let at = format!("{fault:?}");
    let folder = tempfile::tempdir().unwrap();
    let mut expected = Expected(vec![State::new()]);
    vfs::arm(fault);
    run(folder.path(), &mut expected, &at);
    let failed = vfs::disarm();
    let path = folder.path().join("index.db");
    let index = Index::open(&path, TokenizerKind::Porter, false)
        .unwrap_or_else(|error| panic!("{at}: {error}"));
    assert_eq!(index.check().unwrap(), [] as [&str; 0], "{at}");
    expected.check(&contents(&index).unwrap(), &at);
    let after = chunk("after", "the file takes writes again");
    assert_eq!(index.upsert(&[&after]).unwrap(), 1, "{at}");
    failed > 0
}

#[test]
fn a_failed_call_loses_nothing_acknowledged_and_leaves_no_damage() {
    let _use = vfs::install();
    let mut proof = super::Proof::begin("failing calls");
    for lasting in [false, true] {
        for call in Call::ALL {
            let mut number = 1;
            while try_fault(Fault {
                call,
                number,
                lasting,
            }) {
                proof.count += 1;
                number += 1 + if long() { 0 } else { number / 4 };
            }
            assert!(number > 1, "no {call:?} in a run");
        }
    }
    proof.end();
}

#[test]
fn a_failed_sync_says_that_the_outcome_is_unknown() {
    let _use = vfs::install();
    let folder = tempfile::tempdir().unwrap();
    let location = Location::file(&folder.path().join("index.db"), false, SUBJECTS).unwrap();
    let location = location.with_durability(Durability::Full);
    let (tokenizer, methods) = (TokenizerKind::Porter, Methods::default());
    let index = Index::open_at(location, tokenizer, false, methods).unwrap();
    vfs::arm(Fault {
        call: Call::Sync,
        number: 1,
        lasting: true,
    });
    let error = index.upsert(&[&chunk("a", "oak")]).unwrap_err();
    assert!(vfs::disarm() > 0);
    assert_eq!(error.code(), ErrorCode::IndexIo);
    assert!(error.message().contains(UNKNOWN), "{error}");
    assert!(error.message().contains("repeat the write"), "{error}");
    assert_eq!(index.upsert(&[&chunk("a", "oak")]).unwrap(), 1);
    assert_eq!(index.check().unwrap(), [] as [&str; 0]);
}
