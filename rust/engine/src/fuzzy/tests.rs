use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use std::sync::Arc;

use proptest::prelude::*;

use super::segment::*;
use super::slugs::*;
use crate::chunks::Chunk;
use crate::error::ErrorCode;
use crate::index::Index;
use crate::index::session::Needs;
use crate::interrupt::with_cancellation;
use crate::storage::cache::RowVersion;
use crate::storage::generations;
use crate::text::tokenizer::TokenizerKind;

fn chunk(id: &str, path: &str) -> Chunk {
    Chunk {
        id: id.to_owned(),
        path: path.to_owned(),
        ..Chunk::default()
    }
}

fn needs() -> Needs<'static> {
    Needs {
        slugs: true,
        ..Needs::default()
    }
}

/// Path, id, row and similarity.
type Found = Vec<(String, String, i64, f64)>;

fn found(similar: Vec<(&SlugEntry, f64)>) -> Found {
    let shown = |(entry, similarity): (&SlugEntry, f64)| {
        (entry.path.clone(), entry.id.clone(), entry.row, similarity)
    };
    similar.into_iter().map(shown).collect()
}

/// Return the results of a handle, and the results after reading everything again.
fn both(index: &Index, tokens: &[&str], limit: usize) -> (Found, Found) {
    let search = index.session(needs(), |session| {
        let kept = session.slugs()?.expect("asked for beforehand");
        let anew = session.read(|connection| Slugs::load(&(), connection))?;
        assert_eq!(kept.generation, anew.generation);
        Ok((
            found(kept.similar(tokens, limit, |entry| entry.row % 5 != 0)?),
            found(anew.similar(tokens, limit, |entry| entry.row % 5 != 0)?),
        ))
    });
    search.unwrap()
}

#[derive(Debug, Clone)]
enum Step {
    Upsert(Vec<(u8, String)>),
    Delete(Vec<u8>),
    Search(usize),
    Merge,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    // Paths with characters whose order in UTF-16 is another than in UTF-8.
    let path = "(a|b|😀|\u{ff5e})/[ab]{1,3}(-[abc]{1,3}){0,2}";
    let step = prop_oneof![
        4 => prop::collection::vec((0_u8..40, path), 1..12).prop_map(Step::Upsert),
        2 => prop::collection::vec(0_u8..40, 1..12).prop_map(Step::Delete),
        3 => (1_usize..30).prop_map(Step::Search),
        1 => Just(Step::Merge),
    ];
    prop::collection::vec(step, 1..25)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn they_find_what_those_that_are_read_anew_find(steps in steps()) {
        let index = Index::in_memory(TokenizerKind::Porter).unwrap();
        for step in steps {
            match step {
                Step::Upsert(chunks) => {
                    let chunks = chunks.iter().map(|(id, path)| chunk(&id.to_string(), path));
                    let chunks: Vec<Chunk> = chunks.collect();
                    index.upsert(&chunks.iter().collect::<Vec<_>>()).unwrap();
                }
                Step::Delete(ids) => {
                    let ids: Vec<String> = ids.iter().map(u8::to_string).collect();
                    index.delete(&ids).unwrap();
                }
                Step::Search(limit) => {
                    let (kept, anew) = both(&index, &["ab", "abc", "b", "a"], limit);
                    prop_assert_eq!(kept, anew);
                }
                Step::Merge => wait_for_merge(&index),
            }
        }
        wait_for_merge(&index);
        let (kept, anew) = both(&index, &["ab", "ca", "bbb"], 99);
        prop_assert_eq!(kept, anew);
    }

    #[test]
    fn a_merge_takes_in_what_changed_meanwhile(
        before in prop::collection::btree_map(0_i64..30, "[ab]{1,3}", 1..30),
        later in prop::collection::vec(
            prop::collection::btree_map(0_i64..40, prop::option::of("[ab]{1,3}"), 1..6),
            0..8,
        ),
    ) {
        let entry = |row: i64, path: &str| SlugEntry { row, id: row.to_string(), path: path.to_owned() };
        let mut rows: BTreeMap<i64, String> = before;
        let entries = rows.iter().map(|(row, path)| entry(*row, path)).collect();
        let mut slugs = Slugs {
            generation: 1,
            parts: vec![SlugPart::of(entries).unwrap()],
            changed: Some(Vec::new()),
        };
        let begun = slugs.clone();
        for changes in later {
            let mut added = Vec::new();
            for (row, path) in changes {
                if let Some((part, slot)) = slugs.find(row) {
                    slugs.parts[part].delete(slot);
                }
                rows.remove(&row);
                if let Some(path) = path {
                    added.push(entry(row, &path));
                    rows.insert(row, path);
                }
                slugs.changed.as_mut().unwrap().push(row);
            }
            slugs.add(added).unwrap();
        }
        let changed = slugs.changed.clone().unwrap();
        let merged = slugs.made_of(begun.merged().unwrap(), &changed).unwrap();
        let entries = rows.iter().map(|(row, path)| entry(*row, path)).collect();
        let anew = Slugs {
            generation: 1,
            parts: vec![SlugPart::of(entries).unwrap()],
            changed: None,
        };
        for tokens in [["a", "ab"], ["bb", "aba"]] {
            let expected = found(anew.similar(&tokens, 50, |_| true).unwrap());
            prop_assert_eq!(&found(merged.similar(&tokens, 50, |_| true).unwrap()), &expected);
            prop_assert_eq!(&found(slugs.similar(&tokens, 50, |_| true).unwrap()), &expected);
        }
    }
}

fn newest(index: &Index) -> Option<Arc<Slugs>> {
    index.slugs.newest()
}

fn wait_for_merge(index: &Index) {
    while newest(index).is_some_and(|slugs| slugs.changed.is_some()) {
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn worn_ones_are_merged_in_the_background() {
    let index = Index::in_memory(TokenizerKind::Porter).unwrap();
    let chunks: Vec<Chunk> = (0..100).map(|n| chunk(&n.to_string(), "oak")).collect();
    index.upsert(&chunks.iter().collect::<Vec<_>>()).unwrap();
    let parts = || newest(&index).unwrap().parts.len();
    both(&index, &["oak"], 9);
    assert_eq!(parts(), 1);
    for n in 0..12 {
        index.upsert(&[&chunk(&n.to_string(), "elm")]).unwrap();
        let (kept, anew) = both(&index, &["oak", "elm"], 200);
        assert_eq!(kept, anew, "{n}");
    }
    // Not every step finds a merge that is through, but a last one does.
    while newest(&index).unwrap().is_worn() {
        both(&index, &["oak"], 9);
        wait_for_merge(&index);
    }
    let bytes = newest(&index).unwrap().bytes();
    let (kept, anew) = both(&index, &["elm"], 200);
    assert_eq!((kept.len(), &kept), (10, &anew));
    assert_eq!(index.stats().unwrap().fuzzy_bytes, bytes);
    index.close().unwrap();
    assert!(newest(&index).is_none());
}

#[test]
fn what_leaves_slugs_as_they_were_adds_nothing() {
    let index = Index::in_memory(TokenizerKind::Porter).unwrap();
    index.upsert(&[&chunk("a", "oak")]).unwrap();
    both(&index, &["oak"], 9);
    let segment = || Arc::clone(&newest(&index).unwrap().parts[0].segment);
    let before = segment();
    let other = Chunk {
        content: "another".to_owned(),
        ..chunk("a", "oak")
    };
    index.upsert(&[&other]).unwrap();
    both(&index, &["oak"], 9);
    assert!(Arc::ptr_eq(&before, &segment()));
    assert_eq!(newest(&index).unwrap().parts.len(), 1);
}

#[test]
fn reading_goes_on_when_nobody_waits_any_more() {
    let index = Index::in_memory(TokenizerKind::Porter).unwrap();
    index.upsert(&[&chunk("a", "oak")]).unwrap();
    let search = || index.session(needs(), |session| Ok(session.slugs()?.is_some()));
    let error = with_cancellation(|| true, search).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Interrupted);
    while newest(&index).is_none() {
        thread::sleep(Duration::from_millis(1));
    }
    assert!(search().unwrap());
}

#[test]
fn a_search_that_did_not_know_lacks_them_once() {
    let index = Index::in_memory(TokenizerKind::Porter).unwrap();
    index.upsert(&[&chunk("a", "oak")]).unwrap();
    let lacks = |needs: Needs| {
        let lacks = index.session(needs, |session| {
            assert_eq!(session.slugs()?.is_none(), session.lacks_slugs());
            Ok(session.lacks_slugs())
        });
        lacks.unwrap()
    };
    let steps = [Needs::default(), needs(), Needs::default()].map(lacks);
    assert_eq!(steps, [true, false, false]);
    let many: Vec<Chunk> = (0..300).map(|n| chunk(&n.to_string(), "elm")).collect();
    index.upsert(&many.iter().collect::<Vec<_>>()).unwrap();
    index.database().write(generations::create).unwrap();
    let steps = [Needs::default(), needs(), Needs::default()].map(lacks);
    assert_eq!(steps, [true, false, false]);
}
