//! File columns: updated by changes they equal new ones, and they select by the fields of each file.

use hedgerow_engine::chunks::Chunk;
use hedgerow_engine::index::{FileSync, Index};
use hedgerow_engine::sources::SourceFile;
use hedgerow_engine::text::tokenizer::TokenizerKind;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{Bound, ColumnCache, FileColumns, LeftOut, RecallFilter};
use crate::facts::{FileFacts, Scope, Visibility};
use crate::format::tags::is_within;
use crate::recall::columns;

const DAY: i64 = 86_400_000_000;
const PATHS: [&str; 5] = [
    "notes/a.md",
    "notes/b.md",
    "pages/c.md",
    "d.md",
    "other/e.md",
];

/// The facts of a file, and the count of its chunks; None if the file is gone.
type State = Vec<Option<(Value, usize)>>;

fn facts() -> impl Strategy<Value = Value> {
    let day = prop::option::of(1..9_u8);
    let targets = [&PATHS[..], &["a", "Elm", "Oak"]].concat();
    let names = prop::collection::vec(prop::sample::select(targets), 0..2);
    let title = prop::sample::select(vec!["", "Elm", "Oak"]);
    let tags = prop::collection::vec(prop::sample::select(vec!["a", "a/b", "ab", "c"]), 0..3);
    let user = prop::option::of(prop::sample::select(vec!["ana", "bo"]));
    let kind = prop::option::of(prop::sample::select(vec!["decision", "my type"]));
    let marks = (
        day.clone(),
        day.clone(),
        names.clone(),
        names,
        any::<bool>(),
    );
    let given = (day, marks, tags, user, kind, title);
    given.prop_map(|(day, marks, tags, user, kind, title)| {
        let date = |day: u8| format!("2026-01-0{day}");
        let (from, until, supersedes, derived_from, retracted) = marks;
        let mut stated = Map::new();
        if let Some(from) = from {
            stated.insert("valid_from".to_owned(), date(from).into());
        }
        if let Some(until) = until {
            stated.insert("valid_until".to_owned(), date(until).into());
        }
        if retracted && day.is_some() {
            stated.insert("retracted".to_owned(), true.into());
        }
        stated.insert("supersedes".to_owned(), json!(supersedes));
        stated.insert("derived_from".to_owned(), json!(derived_from));
        let mut facts = json!({"marks": stated, "tags": tags, "written_by": tags, "title": title});
        if let Some(day) = day {
            facts["time"] = format!("{}T00:00:00+00:00", date(day)).into();
            facts["day"] = true.into();
        }
        if let Some(user) = user {
            facts["scope"] = json!({"user": user});
        }
        if let Some(kind) = kind {
            facts["type"] = kind.into();
        }
        facts
    })
}

fn states() -> impl Strategy<Value = Vec<State>> {
    let file = prop::option::of((facts(), 0..3_usize));
    prop::collection::vec(prop::collection::vec(file, PATHS.len()), 1..4)
}

fn write(index: &Index, state: &State) {
    let chunk = |path: &str, ordinal: usize| Chunk {
        id: format!("{path}#{ordinal}"),
        path: path.to_owned(),
        content: "text".to_owned(),
        metadata: serde_json::from_value(json!({"source_file": path})).unwrap(),
        ..Chunk::default()
    };
    let (mut read, mut gone, mut chunks) = (Vec::new(), Vec::new(), Vec::new());
    for (path, file) in PATHS.iter().zip(state) {
        gone.push((*path).to_owned());
        if let Some((facts, count)) = file {
            let source = SourceFile {
                path: (*path).to_owned(),
                facts: facts.to_string(),
                ..SourceFile::default()
            };
            read.push(source);
            chunks.push((0..*count).map(|n| chunk(path, n)).collect::<Vec<_>>());
        }
    }
    let dropped = FileSync {
        gone,
        ..FileSync::default()
    };
    index.sync(&dropped).unwrap();
    let sync = FileSync {
        read: (read.into_iter().zip(&chunks))
            .map(|(source, chunks)| (source, chunks.iter().collect()))
            .collect(),
        ..FileSync::default()
    };
    index.sync(&sync).unwrap();
}

fn passes(file: &FileFacts, filter: &RecallFilter) -> bool {
    let has_type =
        filter.types.is_empty() || file.kind.types.iter().any(|one| filter.types.contains(one));
    let has = |wanted: &String| file.tags.iter().any(|tag| is_within(tag, wanted));
    let is_one = |name: &String| filter.writers.iter().any(|one| is_within(name, one));
    let is_by = file.writers.iter().any(is_one);
    let time = file.time.map(|stated| stated.time.micros);
    has_type
        && filter.tags.iter().all(has)
        && (filter.writers.is_empty() || is_by)
        && (filter
            .after
            .is_none_or(|after| time.is_some_and(|time| time >= after.local)))
        && (filter
            .before
            .is_none_or(|before| time.is_some_and(|time| time < before.local)))
}

/// Views of all files, of Ana's, and of Ana's with those of no scope.
fn views() -> [Visibility; 3] {
    let ana = Scope::new([Some("ana".to_owned()), None, None]);
    let of = |scope: &Scope, shared| Visibility {
        scope: scope.clone(),
        shared,
    };
    [
        of(&Scope::default(), false),
        of(&ana, false),
        of(&ana, true),
    ]
}

/// The state without the files that are not visible.
fn within(state: &State, visible: &Visibility) -> State {
    let sees = |facts: &Value| visible.sees(&Scope::stated(facts.as_object().unwrap()));
    let kept = state
        .iter()
        .map(|file| file.clone().filter(|(facts, _)| sees(facts)));
    kept.collect()
}

fn filters() -> Vec<RecallFilter> {
    let start = 20_454 * DAY;
    let bound = |day: i64| Bound {
        moment: start + day * DAY,
        local: start + day * DAY,
    };
    let plain = RecallFilter {
        at: start + 4 * DAY,
        ..RecallFilter::default()
    };
    vec![
        plain.clone(),
        RecallFilter {
            types: vec!["decision".to_owned()],
            ..plain.clone()
        },
        RecallFilter {
            tags: vec!["a".to_owned()],
            include_superseded: true,
            ..plain.clone()
        },
        RecallFilter {
            writers: vec!["a".to_owned()],
            ..plain.clone()
        },
        RecallFilter {
            after: Some(bound(2)),
            before: Some(bound(6)),
            ..plain.clone()
        },
        RecallFilter {
            was_known: true,
            ..plain
        },
    ]
}

proptest! {
    #[test]
    fn columns_follow_the_index_and_select_what_files_say(states in states()) {
        let index = Index::in_memory(TokenizerKind::Porter).unwrap();
        let cache = ColumnCache::default();
        for state in &states {
            write(&index, state);
            for visible in views() {
                let kept = columns(&index, &cache, &visible).unwrap();
                let anew = columns(&index, &ColumnCache::default(), &visible).unwrap();
                prop_assert!(kept.paths().eq(anew.paths()));
                let rows: Vec<i64> = (0..1000).collect();
                prop_assert!(rows.iter().all(|row| kept.file_of(*row) == anew.file_of(*row)));
                let alone = Index::in_memory(TokenizerKind::Porter).unwrap();
                let visible_state = within(state, &visible);
                write(&alone, &visible_state);
                let alone = columns(&alone, &ColumnCache::default(), &Visibility::default()).unwrap();
                for filter in filters() {
                    prop_assert_eq!(&kept.select(&filter).rows, &anew.select(&filter).rows);
                    check(&kept, &alone, &filter, &visible_state)?;
                }
            }
        }
    }
}

fn check(
    kept: &FileColumns,
    alone: &FileColumns,
    filter: &RecallFilter,
    state: &State,
) -> Result<(), TestCaseError> {
    let (selected, again) = (kept.select(filter), alone.select(filter));
    prop_assert_eq!(&selected.left_out, &again.left_out);
    for (path, file) in PATHS.iter().zip(state) {
        let number = kept.number_of(path);
        prop_assert_eq!(number.is_some(), file.is_some());
        let Some(number) = number else { continue };
        let validity = kept.validity_at(number, filter.at, filter.was_known);
        prop_assert_eq!(
            &validity,
            &alone.validity_at(number, filter.at, filter.was_known)
        );
        let facts = kept.file(number).unwrap();
        let ends = validity.why.filter(|_| !filter.include_superseded);
        let expected = if passes(facts, filter) {
            ends.map(LeftOut::Invalid)
        } else {
            Some(LeftOut::Filtered)
        };
        prop_assert_eq!(selected.left_out[number as usize], expected);
    }
    Ok(())
}
