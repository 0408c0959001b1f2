//! Searches by sparse vectors, compared with a brute force over random histories.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::chunks::{Chunk, Filters, GroupBy, Selection};
use crate::error::ErrorCode;
use crate::index::Index;
use crate::index::session::Needs;
use crate::sparse_vector::SparseVector;
use crate::text::tokenizer::TokenizerKind;

const TOKENS: [&str; 7] = ["a", "b", "ba", "c", "zz", "\u{ff5e}", "😀"];

fn vector(entries: &[(&str, f32)]) -> SparseVector {
    let entries = entries
        .iter()
        .map(|(token, weight)| ((*token).to_owned(), *weight));
    SparseVector::new(entries.collect(), "it", ErrorCode::InvalidVector).unwrap()
}

fn chunk(id: &str, sparse: Option<SparseVector>) -> Chunk {
    Chunk {
        id: id.to_owned(),
        path: format!("p{}", id.len()),
        content: "the text".to_owned(),
        sparse,
        ..Chunk::default()
    }
}

fn open(path: &Path) -> Index {
    Index::open(path, TokenizerKind::Porter, false).unwrap()
}

/// The ids of the best rows with their scores, and the statistics.
fn search(
    index: &Index,
    query: &SparseVector,
    limit: usize,
    filters: &Filters,
    group_by: Option<GroupBy<'_>>,
) -> (Vec<(String, f64)>, ScoreStats) {
    let needs = Needs {
        sparse: true,
        group_by,
        ..Needs::default()
    };
    let selection = Selection {
        group_by,
        statistics: true,
        ..Selection::plain(limit, filters)
    };
    let found = index.session(needs, |session| {
        let found = session.sparse_rows(query, &selection)?;
        let named = found.rows.iter().map(|one| {
            assert_eq!(found.score(one.key), Some(one.score));
            Ok((session.id(one.row)?, one.score))
        });
        let named: crate::error::Result<Vec<_>> = named.collect();
        Ok((named?, found.stats))
    });
    found.unwrap()
}

/// The products of equal tokens, added in the order of the query's tokens.
fn dot(query: &SparseVector, other: &SparseVector) -> f64 {
    let mut sum = 0.0;
    for (token, weight) in query.entries() {
        for (known, own) in other.entries() {
            if known == token {
                sum += f64::from(*weight) * f64::from(*own);
            }
        }
    }
    sum
}

/// The ids by score and then by row, with their scores.
fn brute_force(
    index: &Index,
    model: &BTreeMap<u8, Option<SparseVector>>,
    query: &SparseVector,
    limit: usize,
) -> Vec<(String, f64)> {
    let row = |id: &u8| {
        let id = id.to_string();
        index.session(Needs::default(), |session| session.row(&id))
    };
    let vectors = model
        .iter()
        .filter_map(|(id, own)| Some((id, own.as_ref()?)));
    let scored = vectors.map(|(id, own)| (row(id).unwrap(), id, dot(query, own)));
    let mut scored: Vec<_> = scored.filter(|(.., score)| *score > 0.0).collect();
    scored.sort_by(|left, right| right.2.total_cmp(&left.2).then(left.0.cmp(&right.0)));
    scored.truncate(limit);
    let named = scored.into_iter();
    named
        .map(|(_, id, score)| (id.to_string(), score))
        .collect()
}

#[derive(Debug, Clone)]
enum Step {
    Upsert(Vec<(u8, Option<SparseVector>)>),
    Set(u8, SparseVector),
    Delete(Vec<u8>),
    Search(SparseVector, usize),
    Reopen,
}

fn any_vector() -> impl Strategy<Value = SparseVector> {
    let weight = prop_oneof![Just(1.0_f32), Just(0.1), 0.001_f32..4.0, Just(1e-30)];
    let entry = (prop::sample::select(TOKENS.to_vec()), weight);
    prop::collection::vec(entry, 0..5).prop_map(|entries| {
        let distinct: BTreeMap<&str, f32> = entries.into_iter().collect();
        vector(&distinct.into_iter().collect::<Vec<_>>())
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let chunk = (0..30_u8, prop::option::of(any_vector()));
    let step = prop_oneof![
        4 => prop::collection::vec(chunk, 1..8).prop_map(Step::Upsert),
        1 => (0..30_u8, any_vector()).prop_map(|(id, vector)| Step::Set(id, vector)),
        2 => prop::collection::vec(0..30_u8, 1..8).prop_map(Step::Delete),
        4 => (any_vector(), 1..12_usize).prop_map(|(query, limit)| Step::Search(query, limit)),
        1 => Just(Step::Reopen),
    ];
    prop::collection::vec(step, 1..25)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_search_finds_what_a_brute_force_finds(steps in steps()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.db");
        // `index` writes, and `other` follows.
        let (mut index, mut other) = (open(&path), open(&path));
        let mut model: BTreeMap<u8, Option<SparseVector>> = BTreeMap::new();
        for step in steps {
            match step {
                Step::Upsert(chunks) => {
                    let given = chunks.iter();
                    let given = given.map(|(id, sparse)| chunk(&id.to_string(), sparse.clone()));
                    let given: Vec<Chunk> = given.collect();
                    index.upsert(&given.iter().collect::<Vec<_>>()).unwrap();
                    // Of several chunks of an id the last counts. The texts of an id never change.
                    let latest: BTreeMap<u8, Option<SparseVector>> = chunks.into_iter().collect();
                    for (id, sparse) in latest {
                        let known = model.entry(id).or_default();
                        *known = sparse.or(known.take());
                    }
                }
                Step::Set(id, sparse) => {
                    let stored = chunk(&id.to_string(), None);
                    let set = index.set_sparse(&[&stored], std::slice::from_ref(&sparse));
                    prop_assert_eq!(set.unwrap(), usize::from(model.contains_key(&id)));
                    if let Some(known) = model.get_mut(&id) {
                        *known = Some(sparse);
                    }
                }
                Step::Delete(ids) => {
                    let names: Vec<String> = ids.iter().map(u8::to_string).collect();
                    index.delete(&names).unwrap();
                    model.retain(|id, _| !ids.contains(id));
                }
                Step::Search(query, limit) => {
                    let expected = brute_force(&index, &model, &query, limit);
                    let found = search(&index, &query, limit, &Filters::default(), None);
                    prop_assert_eq!(&found.0, &expected);
                    let followed = search(&other, &query, limit, &Filters::default(), None);
                    prop_assert_eq!(&followed, &found);
                }
                Step::Reopen => {
                    index.close().unwrap();
                    other.close().unwrap();
                    (index, other) = (open(&path), open(&path));
                }
            }
            let lacking = (0..30).filter(|id| model.get(id).is_none_or(Option::is_none));
            let lacking: Vec<usize> = lacking.map(usize::from).collect();
            let bare: Vec<Chunk> = (0..30_u8).map(|id| chunk(&id.to_string(), None)).collect();
            let bare: Vec<&Chunk> = bare.iter().collect();
            prop_assert_eq!(index.without_sparse(&bare).unwrap(), lacking);
            let live = model.values().flatten().filter(|vector| !vector.is_empty());
            prop_assert_eq!(index.stats().unwrap().sparse_vectors, live.count() as u64);
        }
        prop_assert_eq!(index.check().unwrap(), [] as [&str; 0]);
        for id in model.keys() {
            let stored = index.get(&id.to_string()).unwrap().unwrap().sparse;
            prop_assert_eq!(stored, model[id].clone().filter(|vector| !vector.is_empty()));
        }
    }
}

#[test]
fn filters_and_groups_come_before_ranking() {
    let index = Index::in_memory(TokenizerKind::Porter).unwrap();
    let chunks = [
        chunk("a", Some(vector(&[("x", 3.0)]))),
        chunk("b", Some(vector(&[("x", 2.0), ("y", 1.0)]))),
        chunk("cc", Some(vector(&[("x", 1.0)]))),
        chunk("dd", Some(vector(&[("z", 1.0)]))),
        chunk("eee", Some(vector(&[("z", 1.0)]))),
        chunk("f", None),
    ];
    index.upsert(&chunks.iter().collect::<Vec<_>>()).unwrap();
    let all = Filters::default();
    let ids = |found: Vec<(String, f64)>| -> Vec<String> {
        found.into_iter().map(|(id, _)| id).collect()
    };
    let query = vector(&[("x", 1.0), ("y", 2.0)]);
    let (found, stats) = search(&index, &query, 9, &all, None);
    let expected = [("b", 4.0), ("a", 3.0), ("cc", 1.0)];
    assert_eq!(found, expected.map(|(id, score)| (id.to_owned(), score)));
    let near = |left: f64, right: f64| assert!((left - right).abs() < 1e-8, "{left} {right}");
    near(stats.best, 4.0);
    near(stats.mean, 8.0 / 5.0);
    near(stats.deviation, (26.0_f64 / 5.0 - 2.56).sqrt());
    let filters = Filters {
        paths: vec!["p1".to_owned(), "p3".to_owned()],
        ..Filters::default()
    };
    let (found, stats) = search(&index, &query, 1, &filters, None);
    assert_eq!(ids(found), ["b"]);
    near(stats.mean, 7.0 / 3.0);
    let (found, stats) = search(&index, &query, 9, &all, Some(GroupBy::Path));
    assert_eq!(ids(found), ["b", "cc"]);
    near(stats.mean, 5.0 / 3.0);
    let (found, stats) = search(&index, &vector(&[("q", 1.0)]), 9, &all, None);
    assert_eq!((found.len(), stats), (0, ScoreStats::default()));
}

#[test]
fn equal_scores_are_in_row_order_and_the_best_k_the_first_of_more() {
    let index = Index::in_memory(TokenizerKind::Porter).unwrap();
    let ids: Vec<String> = (0..300).map(|n| format!("{:03}", 299 - n)).collect();
    let equal = vector(&[("x", 1.0)]);
    let chunks: Vec<Chunk> = ids
        .iter()
        .map(|id| chunk(id, Some(equal.clone())))
        .collect();
    index.upsert(&chunks.iter().collect::<Vec<_>>()).unwrap();
    for limit in [1, 64, 65, 299, 300, 301] {
        let (found, _) = search(&index, &equal, limit, &Filters::default(), None);
        let found: Vec<String> = found.into_iter().map(|(id, _)| id).collect();
        assert_eq!(found, ids[..limit.min(300)]);
    }
}

#[test]
fn statistics_do_not_depend_on_the_history() {
    let stats = |order: &[usize]| {
        let index = Index::in_memory(TokenizerKind::Porter).unwrap();
        let weights = [0.1, 0.7, 1e-9, 3.3, 0.000_123, 2.0, 0.3];
        for position in order {
            let own = vector(&[("x", weights[*position]), ("y", 0.2)]);
            index
                .upsert(&[&chunk(&position.to_string(), Some(own))])
                .unwrap();
        }
        let query = vector(&[("x", 0.3), ("y", 0.01)]);
        search(&index, &query, 3, &Filters::default(), None)
    };
    let expected = stats(&[0, 1, 2, 3, 4, 5, 6]);
    for order in [[6, 5, 4, 3, 2, 1, 0], [3, 0, 6, 2, 5, 1, 4]] {
        assert_eq!(stats(&order), expected);
    }
}

#[test]
fn many_changes_are_loaded_again() {
    let index = Index::in_memory(TokenizerKind::Porter).unwrap();
    let put = |from: u32, weight: f32| {
        let sparse = vector(&[("x", weight)]);
        let chunks = from..from + 900;
        let chunks: Vec<Chunk> = chunks
            .map(|n| chunk(&n.to_string(), Some(sparse.clone())))
            .collect();
        index.upsert(&chunks.iter().collect::<Vec<_>>()).unwrap();
    };
    let query = vector(&[("x", 1.0)]);
    for round in 0..12_u8 {
        put(u32::from(round) * 450, f32::from(round) + 1.0);
        let (found, _) = search(&index, &query, 2000, &Filters::default(), None);
        let best = f64::from(round) + 1.0;
        let best = found
            .iter()
            .filter(|(_, score)| score.to_bits() == best.to_bits());
        assert_eq!(best.count(), 900);
    }
    let stats = index.stats().unwrap();
    assert_eq!(stats.sparse_vectors, 11 * 450 + 900);
    assert!(stats.sparse_bytes > 8 * (11 * 450 + 900));
    index.close().unwrap();
    assert!(index.sparse.newest().is_none());
}

#[test]
fn a_file_without_sparse_vectors_has_no_table_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.db");
    let index = open(&path);
    let tables = |index: &Index| -> u64 {
        let sql = "SELECT count(*) FROM sqlite_schema WHERE name LIKE '%sparse%'";
        let count =
            |connection: &rusqlite::Connection| connection.query_row(sql, [], |row| row.get(0));
        index.database().read(count).unwrap()
    };
    index.upsert(&[&chunk("a", None)]).unwrap();
    index.delete(&["a"]).unwrap();
    index.upsert(&[&chunk("b", None)]).unwrap();
    assert_eq!(tables(&index), 0);
    index.close().unwrap();
    let read_only = Index::open(&path, TokenizerKind::Porter, true).unwrap();
    let query = vector(&[("x", 1.0)]);
    let (found, _) = search(&read_only, &query, 9, &Filters::default(), None);
    assert!(found.is_empty());
    assert_eq!(read_only.stats().unwrap().sparse_vectors, 0);
    let index = open(&path);
    index.upsert(&[&chunk("b", Some(query.clone()))]).unwrap();
    assert_eq!(tables(&index), 1);
    let (found, _) = search(&read_only, &query, 9, &Filters::default(), None);
    assert_eq!(found, [("b".to_owned(), 1.0)]);
}

#[test]
fn damage_is_found_and_named() {
    for (damage, what) in [
        (
            "UPDATE sparse_vectors SET vector = x'0161'",
            "the sparse vector of row 1 is not one",
        ),
        (
            "UPDATE sparse_vectors SET vector = x''",
            "the sparse vector of row 1 is not one",
        ),
    ] {
        let index = Index::in_memory(TokenizerKind::Porter).unwrap();
        let query = vector(&[("x", 1.0)]);
        index.upsert(&[&chunk("a", Some(query.clone()))]).unwrap();
        let spoil = |connection: &rusqlite::Connection| connection.execute_batch(damage);
        index.database().write(spoil).unwrap();
        let needs = Needs {
            sparse: true,
            ..Needs::default()
        };
        let filters = Filters::default();
        let selection = Selection::plain(9, &filters);
        let found = index.session(needs, |session| session.sparse_rows(&query, &selection));
        for error in [found.err().unwrap(), index.get("a").unwrap_err()] {
            assert_eq!(error.code(), ErrorCode::IndexDamaged, "{error}");
            assert!(error.message().contains(what), "{error}");
        }
        assert_eq!(
            index.check().unwrap(),
            ["1 sparse vectors are damaged: \"row 1\""]
        );
    }
    let index = Index::in_memory(TokenizerKind::Porter).unwrap();
    let query = vector(&[("x", 1.0)]);
    index.upsert(&[&chunk("a", Some(query))]).unwrap();
    for (damage, what) in [
        ("UPDATE sparse_vectors SET row = 7", "row 7"),
        (
            "DROP TABLE sparse_vectors; CREATE TABLE sparse_vectors (row, vector)",
            "is not defined as hedgerow does it",
        ),
    ] {
        let spoil = |connection: &rusqlite::Connection| connection.execute_batch(damage);
        index.database().write(spoil).unwrap();
        let problems = index.check().unwrap();
        assert!(
            problems.iter().any(|one| one.contains(what)),
            "{problems:?}"
        );
    }
}
