//! Ranking in memory against FTS5: the same rows, order and scores, over random chunks, changes
//! and expressions.

use std::ops::Range;

use proptest::prelude::*;
use rusqlite::{Connection, ToSql, params_from_iter};

use crate::bm25::phrase_counts::PhraseCounts;
use crate::bm25::plan::Plan;
use crate::bm25::ranking::FtsRanked;
use crate::bm25::score::Filter;
use crate::bm25::search::{first_of_paths, rank_by_fts5};
use crate::bm25::*;
use crate::chunks::Chunk;
use crate::chunks::{Filters, Paths, RowSet};
use crate::index::Index;
use crate::query::{MatchExpression, Matching, Phrase};
use crate::storage::cache::RowVersion;
use crate::storage::generations;
use crate::text::tokenizer::TokenizerKind;
use crate::text::words::Stems;

/// Few words, so that they meet; some in most chunks, some with a stem, an accent or a prefix in
/// common.
const WORDS: [&str; 12] = [
    "oak",
    "oaks",
    "elm",
    "elms",
    "ash",
    "ashen",
    "the",
    "the",
    "the",
    "Élan",
    "東京都",
    "x-ray",
];

/// Words of other scripts, decomposed ones among them, which have common stems and units.
const WORDS_OF_SCRIPTS: [&str; 29] = [
    "oak",
    "the",
    "hedges",
    "ハリネズミ",
    "東京",
    "京都庁東京",
    "ああああ",
    "อยู่ในสวน",
    "ในสวนไม้",
    "программа",
    "программисты",
    "Влади\u{301}мир",
    "القنفذ",
    "والقنفذ",
    "친구를",
    "친구",
    "u\u{308}berwintern",
    "Überwinterung",
    "Gärten",
    "Hecken",
    "oak++",
    "U.S.A.",
    "12,000",
    "२०२६",
    "貓咪",
    "Straße",
    "oak#",
    "🦔",
    "🦔👍🏽",
];

pub(super) fn words(count: Range<usize>) -> impl Strategy<Value = String> {
    let words = prop_oneof![Just(&WORDS[..]), Just(&WORDS_OF_SCRIPTS[..])];
    words.prop_flat_map(move |words| {
        prop::collection::vec(prop::sample::select(words), count.clone())
            .prop_map(|words| words.join(" "))
    })
}

fn chunk() -> impl Strategy<Value = Chunk> {
    let texts = (words(0..3), words(0..4), words(0..5), words(0..20));
    (0..20_u8, texts, prop::collection::vec(words(0..3), 0..3)).prop_map(
        |(id, (path, title, summary, content), tags)| Chunk {
            id: id.to_string(),
            path,
            title,
            summary,
            tags,
            content,
            ..Chunk::default()
        },
    )
}

fn phrase() -> impl Strategy<Value = Phrase> {
    let one = prop::sample::select(
        &[
            "o",
            "a",
            "as",
            "el",
            "t",
            "oak",
            "the",
            "ash",
            "東",
            "あ",
            "ああ",
            "สว",
            "програм",
            "كتب القنفذ",
            "구",
            "программа",
            "Hecken программа",
            "ズミ",
            "USA",
            "12000",
            "2026",
            "猫咪",
            "strasse",
        ][..],
    );
    let text = prop_oneof![3 => one.prop_map(str::to_owned), 2 => words(1..4)];
    let stems = prop::sample::select(vec![
        Stems::Usual,
        Stems::Usual,
        Stems::None,
        Stems::Unaccented,
    ]);
    (text, any::<bool>(), stems).prop_map(|(text, prefix, stems)| Phrase {
        text,
        prefix,
        stems,
        ..Phrase::default()
    })
}

pub(super) fn expression() -> impl Strategy<Value = MatchExpression> {
    let alternatives = || prop::collection::vec(phrase(), 1..3);
    let all = prop_oneof![
        3 => prop::collection::vec(alternatives(), 1..2),
        1 => prop::collection::vec(alternatives(), 2..4),
    ];
    let none = prop_oneof![2 => Just(Vec::new()), 1 => prop::collection::vec(phrase(), 1..3)];
    (prop::collection::vec(all, 1..6), none, any::<bool>()).prop_map(|(mut any, none, again)| {
        if again {
            any.extend(any.clone());
        }
        MatchExpression { any, none }
    })
}

#[derive(Debug, Clone)]
pub(super) enum Change {
    Upsert(Vec<Chunk>),
    Delete(Vec<String>),
    Optimize,
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => prop::collection::vec(chunk(), 1..8).prop_map(Change::Upsert),
        2 => prop::collection::vec(0..20_u8, 1..6)
            .prop_map(|ids| Change::Delete(ids.iter().map(u8::to_string).collect())),
        1 => Just(Change::Optimize),
    ]
}

pub(super) fn make(index: &Index, change: &Change) {
    match change {
        Change::Upsert(chunks) => drop(index.upsert(&chunks.iter().collect::<Vec<_>>()).unwrap()),
        Change::Delete(ids) => drop(index.delete(ids).unwrap()),
        Change::Optimize => index.optimize().unwrap(),
    }
}

/// Return the ranked rows, with scores as bits.
fn bits(ranked: Vec<FtsRanked>) -> Vec<(i64, u64)> {
    let bits = ranked
        .into_iter()
        .map(|(row, score)| (row, score.to_bits()));
    bits.collect()
}

/// FTS5's own function, over the whole expression.
fn bm25(
    connection: &Connection,
    expression: &MatchExpression,
    limit: Option<usize>,
    filters: &Filters,
) -> rusqlite::Result<Vec<FtsRanked>> {
    let conditions = filters.conditions()?;
    let sql = format!(
        "SELECT chunk.row, bm25(knowledge_fts, 3.0, 10.0, 5.0, 4.0, 1.0) AS score
           FROM knowledge_fts CROSS JOIN knowledge_chunks AS chunk ON chunk.row = knowledge_fts.rowid
          WHERE knowledge_fts MATCH ?{} ORDER BY score, chunk.row LIMIT ?",
        conditions.sql()
    );
    let (text, limit) = (
        expression.to_string(),
        limit.map_or(-1, |limit| i64::try_from(limit).unwrap()),
    );
    let values = std::iter::once(&text as &dyn ToSql)
        .chain(conditions.values.iter().map(AsRef::as_ref))
        .chain([&limit as &dyn ToSql]);
    connection
        .prepare(&sql)?
        .query_map(params_from_iter(values), |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?
        .collect()
}

pub(super) fn compare(
    index: &Index,
    ranker: &SnapshotManager,
    expression: &MatchExpression,
    limit: Option<usize>,
) {
    let filters = [
        Filters::default(),
        Filters {
            path_prefix: Some("o".to_owned()),
            ..Filters::default()
        },
    ];
    let plan = Plan::of(expression, index.tokenizer()).unwrap();
    ranker.load().unwrap();
    for filters in filters {
        let all = index.database().read(|connection| {
            let generation = generations::generation(connection)?;
            let snapshot = ranker.current(connection, generation)?;
            let snapshot = snapshot.expect("small changes are followed");
            assert_eq!(snapshot.generation(), generation);
            let rows: RowSet = filters.rows(connection)?.into_iter().collect();
            let in_memory = |matching| -> rusqlite::Result<_> {
                let limit = limit.unwrap_or(usize::MAX);
                let by_file = Filter::File(connection, &filters);
                let by_rows = Filter::Rows(&rows);
                let known = snapshot.rank(&plan, limit, by_rows, None, matching)?;
                let looked_up = snapshot.rank(&plan, limit, by_file, None, matching)?;
                assert_eq!(known, looked_up, "{expression} {filters:?}");
                let paths = Paths::load(&crate::chunks::GroupField::Path, connection)?;
                let (all, _) = snapshot.rank(&plan, usize::MAX, by_rows, None, matching)?;
                let expected = first_of_paths(&paths, all, limit)?;
                for filter in [by_rows, by_file] {
                    let (grouped, _) =
                        snapshot.rank(&plan, limit, filter, Some(&paths), matching)?;
                    assert_eq!(grouped, expected, "{expression} {filters:?}");
                }
                Ok(known)
            };
            let by_fts5 =
                |matching| rank_by_fts5(connection, &plan, expression, limit, &filters, matching);
            let ours = (!plan.only_fts5)
                .then(|| in_memory(Matching::Spec))
                .transpose()?;
            let fallback = by_fts5(Matching::Spec)?;
            if !plan.only_fts5 {
                let (extended, _) = in_memory(Matching::Extended)?;
                let by_function = by_fts5(Matching::Extended)?;
                assert_eq!(
                    bits(extended),
                    bits(by_function),
                    "{expression} {filters:?}"
                );
            }
            Ok((
                ours,
                fallback,
                bm25(connection, expression, limit, &filters)?,
            ))
        });
        let (ours, fallback, theirs) = all.unwrap();
        let theirs = bits(theirs);
        assert_eq!(bits(fallback), theirs, "{expression} {filters:?}");
        match ours {
            Some((ours, counts)) => {
                let expected = index
                    .database()
                    .read(|connection| PhraseCounts::read(connection, expression));
                assert_eq!(counts, expected.unwrap(), "{expression}");
                assert_eq!(bits(ours), theirs, "{expression} {filters:?}");
            }
            None => assert!(plan.only_fts5),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_memory_ranks_is_what_fts5_ranks(
        changes in prop::collection::vec(change(), 1..8),
        expressions in prop::collection::vec(expression(), 1..6),
        tokenizer in prop::sample::select(TokenizerKind::ALL),
        limit in prop_oneof![Just(None), (1..5_usize).prop_map(Some)],
    ) {
        let index = Index::in_memory_with(tokenizer, Ranking::Memory).unwrap();
        let searchable = |phrase: &Phrase| tokenizer.finds_token(&phrase.text).unwrap();
        let expressions = expressions.iter().filter(|expression| {
            let mut phrases = expression.any.iter().flatten().flatten().chain(&expression.none);
            phrases.all(searchable)
        });
        let expressions: Vec<&MatchExpression> = expressions.collect();
        for change in &changes {
            make(&index, change);
            for expression in &expressions {
                compare(&index, &index.ranker, expression, limit);
            }
        }
        // A later handle reads everything in one load.
        let late = SnapshotManager::new(Ranking::Memory, index.database.background().clone());
        for expression in &expressions {
            compare(&index, &late, expression, limit);
        }
    }
}

/// An expression of many words, some of them more than once, as of a long question.
fn long_question() -> impl Strategy<Value = MatchExpression> {
    let word = (prop::sample::select(&WORDS[..]), prop::bool::weighted(0.1));
    let phrase = word.prop_map(|(word, prefix)| Phrase {
        text: word.to_owned(),
        prefix,
        ..Phrase::default()
    });
    let any = prop::collection::vec(phrase.prop_map(|phrase| vec![vec![phrase]]), 2..14);
    let none = prop::option::weighted(0.2, Just("Élan"));
    (any, none).prop_map(|(any, none)| MatchExpression {
        any,
        none: Vec::from_iter(none.map(|text| Phrase {
            text: text.to_owned(),
            ..Phrase::default()
        })),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_best_of_many_windows_are_those_of_fts5(
        (count, seed) in (17..400_u32, any::<u32>()),
        expressions in prop::collection::vec(long_question(), 1..5),
        limit in 1..40_usize,
        (first, step) in (0..50_u32, 2..9_usize),
    ) {
        let index = Index::in_memory_with(TokenizerKind::Porter, Ranking::Memory).unwrap();
        // Some twice, so that scores tie.
        let mut chunks = many(0..count, seed);
        chunks.extend(many(count..count + count / 2, seed));
        make(&index, &Change::Upsert(chunks));
        for expression in &expressions {
            compare(&index, &index.ranker, expression, Some(limit));
        }
        let gone = (first..count).step_by(step).map(|id| id.to_string());
        make(&index, &Change::Delete(gone.collect()));
        for expression in &expressions {
            compare(&index, &index.ranker, expression, Some(limit));
        }
    }
}

/// Chunks by the thousand, so that there are several windows and parts: the same words, each
/// time in another order.
pub(in crate::bm25) fn many(ids: Range<u32>, seed: u32) -> Vec<Chunk> {
    let mut state = seed;
    let mut dice = move |sides: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state as usize / 65_536 % sides
    };
    let mut text = |most: usize| {
        let count = dice(most);
        let words: Vec<&str> = (0..count).map(|_| WORDS[dice(WORDS.len())]).collect();
        words.join(" ")
    };
    ids.map(|id| Chunk {
        id: id.to_string(),
        path: text(3),
        title: text(4),
        content: text(30),
        ..Chunk::default()
    })
    .collect()
}

#[test]
fn thousands_of_chunks_and_of_changes_are_ranked_as_fts5_does() {
    let index = Index::in_memory_with(TokenizerKind::Porter, Ranking::Memory).unwrap();
    make(&index, &Change::Upsert(many(0..9_000, 1)));
    let phrase = |text: &str, prefix: bool| Phrase {
        text: text.to_owned(),
        prefix,
        ..Phrase::default()
    };
    let any = |phrases: &[Phrase]| {
        phrases
            .iter()
            .map(|phrase| vec![vec![phrase.clone()]])
            .collect()
    };
    let (oak, elms) = (phrase("oak", false), phrase("el", true));
    let (row, rare) = (phrase("oak elm as", true), phrase("changed", false));
    let expressions = [
        MatchExpression {
            any: any(&[oak.clone(), elms.clone(), oak.clone(), rare.clone()]),
            none: vec![],
        },
        MatchExpression {
            any: vec![vec![vec![oak.clone()], vec![elms, row.clone()]]],
            none: vec![],
        },
        MatchExpression {
            any: any(&[row, rare]),
            none: vec![oak],
        },
    ];
    for round in 0..12 {
        for expression in &expressions {
            compare(&index, &index.ranker, expression, Some(50));
            compare(&index, &index.ranker, expression, None);
        }
        // Small enough to be listed; new chunks, changed ones and ones that go.
        let start = round * 700;
        let mut changed = many(start..start + 200, round);
        changed.extend(many(9_000 + round * 50..9_050 + round * 50, round));
        changed[7].content.push_str(" changed");
        make(&index, &Change::Upsert(changed));
        let gone = (start + 150..start + 230).map(|id| id.to_string());
        make(&index, &Change::Delete(gone.collect()));
    }
}
