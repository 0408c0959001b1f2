//! Rows from columns, compared with rows read and checked individually.

use std::thread;

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

use crate::chunks::{Chunk, Filters, Where};
use crate::index::Index;
use crate::index::session::{Needs, Session};
use crate::text::tokenizer::TokenizerKind;

fn scalars() -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => select(vec![json!(null), json!(true), json!(false), json!(1), json!(1.0), json!(-0.0)]),
        3 => select(vec![json!(0), json!(0.5), json!(9_007_199_254_740_993_i64), json!(u64::MAX)]),
        3 => select(vec!["", "a", "ab", "b", "é", "2024-03-05", "2024-03"]).prop_map(Value::from),
        2 => (0..40_i64).prop_map(Value::from),
        // Together these outgrow the memory for columns in tests.
        1 => (0..30_u8).prop_map(|n| Value::from("long ".repeat(20) + &n.to_string())),
    ]
}

fn values() -> impl Strategy<Value = Value> {
    let names = || select(vec!["n", "m", "n.m"]).prop_map(str::to_owned);
    prop_oneof![
        6 => scalars(),
        2 => prop::collection::vec(scalars(), 0..3).prop_map(Value::from),
        1 => prop::collection::vec((names(), scalars()), 0..3)
            .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        1 => prop::collection::vec((names(), scalars()), 0..3)
            .prop_map(|entries| entries.into_iter().map(|entry| Value::from_iter([entry])).collect()),
        1 => prop::collection::vec(scalars(), 0..3).prop_map(|items| json!([items])),
    ]
}

fn metadata() -> impl Strategy<Value = Map<String, Value>> {
    let names = select(vec!["k", "l", "k.n", "path", "\"é"]).prop_map(str::to_owned);
    prop::collection::vec((names, values()), 0..4).prop_map(Map::from_iter)
}

fn chunk() -> impl Strategy<Value = Chunk> {
    (
        0_u8..80,
        select(vec!["docs/a.md", "docs/b/c.md", "notes/a.md", "a", "é"]),
        prop::collection::vec(
            select(vec!["a", "b", "two words"]).prop_map(str::to_owned),
            0..3,
        ),
        metadata(),
        0_i64..3,
    )
        .prop_map(|(id, path, tags, metadata, ordinal)| Chunk {
            id: id.to_string(),
            path: path.to_owned(),
            tags,
            metadata,
            ordinal,
            content: "oak".to_owned(),
            ..Chunk::default()
        })
}

/// Chunks to write, and ids to delete.
fn changes() -> impl Strategy<Value = (Vec<Chunk>, Vec<String>)> {
    let ids = prop::collection::vec((0_u8..80).prop_map(|id| id.to_string()), 0..4);
    (prop::collection::vec(chunk(), 0..40), ids)
}

const FIELDS: [&str; 11] = [
    "k",
    "l",
    "k.n",
    "k.n.m",
    "metadata.path",
    "\"é",
    "tags",
    "ordinal",
    "id",
    "path",
    "none",
];

fn leaves() -> impl Strategy<Value = Value> {
    let operand = || prop_oneof![scalars(), Just(json!({"$date": "2024-03-05"}))];
    let ordered = operand().prop_filter("a value that is ordered", |value| !value.is_null());
    let test = prop_oneof![
        (select(vec!["$eq", "$ne", "$contains"]), values())
            .prop_map(|(name, value)| json!({ name: value })),
        (select(vec!["$gt", "$gte", "$lt", "$lte"]), ordered)
            .prop_map(|(name, value)| json!({ name: value })),
        (
            select(vec!["$in", "$nin"]),
            prop::collection::vec(values(), 0..4)
        )
            .prop_map(|(name, value)| json!({ name: value })),
        (operand(), operand()).prop_map(|(from, to)| json!({ "$between": [from, to] })),
        any::<bool>().prop_map(|is_there| json!({ "$exists": is_there })),
        prop::collection::vec(scalars(), 1..3).prop_map(|all| json!({ "$all": all })),
        select(vec!["*", "?", "a*", "docs/*", "*.md", "2024*", "[ab]*"])
            .prop_map(|glob| json!({ "$glob": glob })),
    ];
    (select(FIELDS.to_vec()), test).prop_map(|(field, test)| json!({ field: test }))
}

fn conditions() -> impl Strategy<Value = Value> {
    leaves().prop_recursive(3, 16, 4, |inner| {
        let several = prop::collection::vec(inner.clone(), 1..5);
        prop_oneof![
            (select(vec!["$and", "$or", "$nor"]), several)
                .prop_map(|(join, all)| json!({ join: all })),
            inner.prop_map(|one| json!({ "$not": one })),
        ]
    })
}

fn filters() -> impl Strategy<Value = Filters> {
    let some = |texts: Vec<&'static str>, most| {
        prop::collection::vec(select(texts).prop_map(str::to_owned), 0..most)
    };
    (
        prop_oneof![
            4 => Just(Vec::new()),
            1 => some(vec!["docs/a.md", "a", "elsewhere"], 3)
        ],
        prop::option::weighted(
            0.2,
            select(vec!["", "d", "docs/", "é", "x"]).prop_map(str::to_owned),
        ),
        prop_oneof![4 => Just(Vec::new()), 1 => some(vec!["a", "b", "two words"], 3)],
        prop_oneof![4 => Just(Map::new()), 1 => metadata()],
        prop::option::weighted(0.8, conditions()),
    )
        .prop_map(|(paths, path_prefix, tags, metadata, condition)| Filters {
            paths,
            path_prefix,
            tags,
            metadata,
            // An object such as {"n": 1} is not a condition everywhere.
            wanted: condition.and_then(|condition| {
                Where::new("where", condition.as_object()?.clone())
                    .ok()
                    .flatten()
            }),
            period: None,
        })
}

/// The rows of a filter as the cache has them, checked against the rows that pass one by one.
fn check(session: &Session<'_>, filters: &Filters) -> crate::Result<()> {
    let expected = session.read(|connection| filters.rows(connection))?;
    let Some(rows) = session.allowed_rows(filters)? else {
        assert!(filters.is_empty());
        return Ok(());
    };
    assert_eq!(rows.iter().collect::<Vec<_>>(), expected, "{filters:?}");
    Ok(())
}

fn write(index: &Index, (chunks, deleted): &(Vec<Chunk>, Vec<String>)) {
    index.upsert(&chunks.iter().collect::<Vec<_>>()).unwrap();
    index.delete(deleted).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn rows_are_those_that_pass_one_by_one(
        steps in prop::collection::vec((changes(), prop::collection::vec(filters(), 1..6)), 1..8),
        declared in prop::collection::vec(select(FIELDS.to_vec()), 0..3),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let open = || Index::open(&folder.path().join("index.db"), TokenizerKind::Porter, false).unwrap();
        let (index, other) = (open(), open());
        index.index_metadata(&declared).unwrap();
        let mut all = Vec::new();
        for (step, (changes, filters)) in steps.iter().enumerate() {
            // The first handle derives a version for each change, the second for several changes
            // together.
            write(if step % 3 == 0 { &other } else { &index }, changes);
            all.extend(filters.clone());
            index.session(Needs::default(), |session| {
                all.iter().try_for_each(|filters| check(session, filters))
            }).unwrap();
            if step % 2 == 0 {
                other.session(Needs::default(), |session| {
                    filters.iter().try_for_each(|filters| check(session, filters))
                }).unwrap();
            }
        }
    }

    #[test]
    fn a_condition_holds_where_the_arguments_accept(
        chunks in prop::collection::vec(chunk(), 0..20),
        filters in filters(),
    ) {
        let condition = filters.condition();
        for chunk in chunks {
            let subject = crate::chunks::filters::TestedChunk::of(&chunk);
            prop_assert_eq!(condition.holds(&subject), filters.accept(&chunk));
        }
    }

    #[test]
    fn a_session_sees_its_own_state(
        before in changes(),
        after in changes(),
        early in filters(),
        late in filters(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.db");
        let index = Index::open(&path, TokenizerKind::Porter, false).unwrap();
        write(&index, &before);
        index.session(Needs::default(), |session| {
            check(session, &early)?;
            // Another thread writes, and brings the columns to a later state.
            thread::scope(|scope| {
                let newer = || {
                    write(&index, &after);
                    index.session(Needs::default(), |session| check(session, &early)).unwrap();
                };
                scope.spawn(newer).join().unwrap();
            });
            check(session, &late)?;
            check(session, &early)
        }).unwrap();
        index.session(Needs::default(), |session| check(session, &late)).unwrap();
    }
}

fn chunks(count: usize) -> Vec<Chunk> {
    let chunk = |n: usize| Chunk {
        id: n.to_string(),
        path: format!("{}/{n}.md", n % 7),
        content: "oak".to_owned(),
        metadata: Map::from_iter([("k".to_owned(), json!(n % 5)), ("l".to_owned(), json!(n))]),
        ..Chunk::default()
    };
    (0..count).map(chunk).collect()
}

fn filter(condition: &Value) -> Filters {
    Filters {
        wanted: Where::new("where", condition.as_object().cloned().unwrap()).unwrap(),
        ..Filters::default()
    }
}

#[test]
fn columns_are_made_for_the_second_filter_of_a_search_by_keywords() {
    let index = Index::in_memory(TokenizerKind::Porter).unwrap();
    index
        .upsert(&chunks(50).iter().collect::<Vec<_>>())
        .unwrap();
    let is_found = |condition: &Value| {
        index
            .session(Needs::default(), |session| {
                let filters = filter(condition);
                session.read(|connection| {
                    let generation = crate::storage::generations::generation(connection)?;
                    let rows = index
                        .filters
                        .rows_if_cheap(connection, generation, &filters)?;
                    Ok::<_, rusqlite::Error>(rows.is_some())
                })
            })
            .unwrap()
    };
    assert!(!is_found(&json!({"k": 1})), "the best rows are checked");
    assert!(
        is_found(&json!({"k": 2})),
        "another filter on the same field"
    );
    assert!(is_found(&json!({"k": {"$gt": 3}})), "columns are there");
    assert!(!is_found(&json!({"l": 3})), "another field");
    index.index_metadata(&["tags"]).unwrap();
    assert!(is_found(&json!({"tags": "a"})), "a declared key");
}

#[test]
fn columns_are_dropped_with_the_rest() {
    let index = Index::in_memory(TokenizerKind::Porter).unwrap();
    index
        .upsert(&chunks(30).iter().collect::<Vec<_>>())
        .unwrap();
    assert_eq!(index.filters.bytes(), 0);
    let rows = |condition: &Value| {
        let filters = filter(condition);
        index
            .session(Needs::default(), |session| session.allowed_rows(&filters))
            .unwrap()
            .unwrap()
            .len()
    };
    assert_eq!(rows(&json!({"l": {"$lt": 7}})), 7);
    assert!(index.filters.bytes() > 0);
    // More columns than the limit, in turn and together.
    let keys: Vec<Value> = (0..200).map(|n| json!({ format!("key {n}"): 1 })).collect();
    for key in keys.iter().take(20) {
        assert_eq!(rows(key), 0);
    }
    let most = index.filters.bytes();
    assert_eq!(rows(&json!({ "$nor": keys })), 30);
    assert!(index.filters.bytes() < most + 10_000);
    assert_eq!(rows(&json!({"l": {"$lt": 8}})), 8);
    index.filters.clear();
    assert_eq!(index.filters.bytes(), 0);
}
