//! File columns: filters, marks and views on small examples.

use serde_json::json;

use super::*;
use crate::times::parse_time;

/// The columns of files with these facts, each with the rows ten times its number and the next.
fn columns(files: &[(&str, Value)]) -> FileColumns {
    let column = |((path, facts), number): (&(&str, Value), i64)| {
        let facts = FileFacts::new(path, facts.as_object().unwrap());
        FileColumn::new(facts, [10 * number, 10 * number + 1].into())
    };
    FileColumns::new(1, files.iter().zip(0..).map(column).collect(), None)
}

#[test]
fn a_filter_selects_rows_and_says_why_files_are_left_out() {
    let columns = columns(&[
        ("notes/a.md", json!({"tags": ["garden"]})),
        ("notes/b.md", json!({"tags": ["kitchen"]})),
        (
            "notes/c.md",
            json!({"marks": {"retracted": true}, "tags": ["garden"]}),
        ),
        ("notes/d.md", json!({"tags": ["garden"]})),
    ]);
    let everything = RecallFilter {
        include_superseded: true,
        ..RecallFilter::default()
    };
    let garden = RecallFilter {
        tags: vec!["garden".to_owned()],
        ..RecallFilter::default()
    };
    let (filtered, retracted) = (
        Some(LeftOut::Filtered),
        Some(LeftOut::Invalid(Why::Retracted)),
    );
    for (filter, files, left_out) in [
        (&everything, None, [None; 4]),
        (
            &RecallFilter::default(),
            Some(&[0, 1, 3][..]),
            [None, None, retracted, None],
        ),
        (&garden, Some(&[0, 3]), [None, filtered, retracted, None]),
    ] {
        let selected = columns.select(filter);
        let rows = |file: &i64| [10 * file, 10 * file + 1];
        let rows = files.map(|files| files.iter().flat_map(rows).collect::<RowSet>());
        assert_eq!(selected.rows.as_deref(), rows.as_ref(), "{filter:?}");
        assert_eq!(selected.left_out, left_out, "{filter:?}");
        assert_eq!(selected.leaves_out, left_out != [None; 4], "{filter:?}");
    }
}

#[test]
fn the_columns_of_a_scope_are_those_of_its_files_alone() {
    let of_user = |name: &str, marks: Value| json!({"scope": {"user": name}, "marks": marks});
    let columns = columns(&[
        ("aa/old.md", of_user("ben", json!({}))),
        (
            "notes/ben.md",
            of_user("ben", json!({"supersedes": ["old"]})),
        ),
        ("notes/new.md", json!({"marks": {"supersedes": ["old"]}})),
        ("zz/old.md", of_user("ana", json!({}))),
        ("zz/plan.md", of_user("ana", json!({"supersedes": ["old"]}))),
    ]);
    let scope = Scope::new([Some("ana".to_owned()), None, None]);
    for (shared, paths, rows, news) in [
        (
            false,
            &["zz/old.md", "zz/plan.md"][..],
            &[30, 31, 40, 41][..],
            &["zz/plan.md"][..],
        ),
        (
            true,
            &["notes/new.md", "zz/old.md", "zz/plan.md"],
            &[20, 21, 30, 31, 40, 41],
            &["notes/new.md", "zz/plan.md"],
        ),
    ] {
        let part = columns.within(&Visibility {
            scope: scope.clone(),
            shared,
        });
        assert_eq!(part.paths().collect::<Vec<_>>(), paths);
        let old = part.number_of("zz/old.md").unwrap();
        assert_eq!(part.marks().superseding(old as usize), news);
        let rows: RowSet = rows.iter().copied().collect();
        let everything = RecallFilter {
            include_superseded: true,
            ..RecallFilter::default()
        };
        assert_eq!(part.select(&everything).rows.as_deref(), Some(&rows));
    }
}

#[test]
fn nested_labels_and_times_pass_a_filter() {
    let columns = columns(&[
        (
            "a.md",
            json!({"tags": ["garden/herbs"], "time": "2026-03-01"}),
        ),
        (
            "b.md",
            json!({"tags": ["gardens"], "written_by": ["codex/s1"]}),
        ),
        (
            "c.md",
            json!({"time": "2026-05-01", "written_by": ["claude"]}),
        ),
    ]);
    let paths = |filter: &RecallFilter| columns.paths_passing(filter).join(" ");
    let tags = |tag: &str| RecallFilter {
        tags: vec![tag.to_owned()],
        ..RecallFilter::default()
    };
    let writers = |names: &[&str]| RecallFilter {
        writers: names.iter().map(|name| (*name).to_owned()).collect(),
        ..RecallFilter::default()
    };
    assert_eq!(paths(&tags("garden")), "a.md");
    assert_eq!(paths(&tags("garden/herbs")), "a.md");
    assert_eq!(paths(&tags("herbs")), "");
    assert_eq!(paths(&writers(&["codex"])), "b.md");
    assert_eq!(paths(&writers(&["claude", "codex"])), "b.md c.md");
    let in_april = RecallFilter {
        at: parse_time(&json!("2026-04-01")).unwrap().time.micros,
        was_known: true,
        ..RecallFilter::default()
    };
    let unknown = Some(LeftOut::Invalid(Why::NotYetValid));
    assert_eq!(columns.select(&in_april).left_out, [None, None, unknown]);
}

#[test]
fn the_file_of_a_row_is_found_with_gaps_and_without() {
    let columns = columns(&[
        ("a.md", json!({})),
        ("b.md", json!({})),
        ("c.md", json!({})),
    ]);
    let found: Vec<_> = (-1..23).map(|row| columns.file_of(row)).collect();
    let file = |row: i64| match row {
        0 | 1 => Some(0),
        10 | 11 => Some(1),
        20 | 21 => Some(2),
        _ => None,
    };
    assert_eq!(found, (-1..23).map(file).collect::<Vec<_>>());
    assert_eq!(columns.file_of(i64::MAX), None);
    assert_eq!(columns.file_of(i64::MIN), None);
}
