//! The n-th call of each kind fails, for n = 1, 2, 3 and so on until a run has fewer calls.

use std::collections::BTreeMap;
use std::path::Path;

use hedgerow_engine::Result;
use hedgerow_engine::index::Index;
use hedgerow_engine::text::tokenizer::TokenizerKind;

use super::vfs::{self, Call, Fault};
use super::{State, chunk, contents, long};

/// What may be in the file: the acknowledged state, and with a failed write that after it.
struct Expected {
    state: State,
    or: Option<State>,
}

impl Expected {
    /// Note the result of a write. A failed write is in the file whole or not at all: `found`, if it can be
    /// read, says which.
    fn wrote(&mut self, result: &Result<()>, after: State, index: &Index, at: &str) {
        match result {
            Ok(()) => (self.state, self.or) = (after, None),
            Err(_) => match contents(index) {
                Ok(found) if self.or.is_none() => {
                    assert!(found == self.state || found == after, "{at}: {found:?}");
                    // A log that was written, but not synced, can come back when the file is opened again.
                    self.or = Some(if found == self.state {
                        after
                    } else {
                        self.state.clone()
                    });
                    self.state = found;
                }
                _ => self.or = Some(after),
            },
        }
    }

    fn check(&self, found: &State, at: &str) {
        let holds = *found == self.state || self.or.as_ref() == Some(found);
        assert!(
            holds,
            "{at}: found {found:?}, acknowledged {:?}",
            self.state
        );
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
            let mut after = expected.state.clone();
            after.extend(
                chunks
                    .iter()
                    .map(|chunk| (chunk.id.clone(), chunk.content.clone())),
            );
            let result = index.upsert(&[&chunks[0], &chunks[1]]).map(drop);
            expected.wrote(&result, after, &index, at);
            if step == 1 {
                let mut after = expected.state.clone();
                after.remove(&format!("{round}-0"));
                let result = index.delete(&[format!("{round}-0")]).map(drop);
                expected.wrote(&result, after, &index, at);
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
    let mut expected = Expected {
        state: BTreeMap::new(),
        or: None,
    };
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
