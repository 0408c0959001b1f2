//! Histories of many changes, with merges that begin and end anywhere between them: ranking stays
//! what FTS5's is, and parts stay few.

use std::thread;
use std::time::Duration;

use proptest::prelude::*;

use super::differential::{Change, compare, expression, make, many, words};
use crate::bm25::Ranking;
use crate::bm25::merging::Merge;
use crate::bm25::segment_view::SegmentView;
use crate::bm25::tiers::MAX_PARTS;
use crate::chunks::Chunk;
use crate::index::Index;
use crate::interrupt;
use crate::query::{MatchExpression, Phrase};
use crate::text::tokenizer::TokenizerKind;

/// Chunks enough for merges that no search does by the way.
const IDS: u32 = 400;

#[derive(Debug, Clone)]
enum Step {
    Change(Change),
    BeginMerge,
    EndMerge,
}

fn changed() -> impl Strategy<Value = Chunk> {
    (0..IDS, words(0..3), words(0..12)).prop_map(|(id, title, content)| Chunk {
        id: id.to_string(),
        title,
        content,
        ..Chunk::default()
    })
}

fn step() -> impl Strategy<Value = Step> {
    let upsert = prop::collection::vec(changed(), 1..90).prop_map(Change::Upsert);
    let one = changed().prop_map(|chunk| Change::Upsert(vec![chunk]));
    let deleted = prop::collection::vec(0..IDS, 1..90);
    let delete = deleted.prop_map(|ids| Change::Delete(ids.iter().map(u32::to_string).collect()));
    prop_oneof![
        3 => upsert.prop_map(Step::Change),
        3 => one.prop_map(Step::Change),
        2 => delete.prop_map(Step::Change),
        2 => Just(Step::BeginMerge),
        2 => Just(Step::EndMerge),
    ]
}

/// An index in which merges are made by the test alone.
fn held(chunks: &[Chunk]) -> Index {
    let index = Index::in_memory_with(TokenizerKind::Porter, Ranking::Memory).unwrap();
    index.ranker.hold_merges();
    make(&index, &Change::Upsert(chunks.to_vec()));
    index.ranker.load().unwrap();
    index
}

fn parts(index: &Index) -> Vec<SegmentView> {
    let newest = index.ranker.snapshots().newest();
    newest.map_or_else(Vec::new, |newest| newest.parts().to_vec())
}

/// Bring the snapshot up to date, as a search does.
fn follow(index: &Index) {
    let acquire = |connection: &_| {
        let generation = crate::storage::generations::generation(connection)?;
        assert!(index.ranker.current(connection, generation)?.is_some());
        Ok(())
    };
    index.database().read(acquire).unwrap();
}

fn begin(index: &Index) -> Option<(Merge, SegmentView)> {
    let merge = Merge::begin(index.ranker.snapshots())?;
    let merged = merge.run().unwrap();
    Some((merge, merged))
}

fn check_bounds(index: &Index) {
    let parts = parts(index);
    let idle = parts.iter().filter(|part| !part.is_merging()).count();
    assert!(idle <= MAX_PARTS + 1, "{idle}");
    assert!(parts.len() <= 2 * MAX_PARTS, "{}", parts.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn merges_change_nothing_wherever_they_begin_and_end(
        first in prop::collection::vec(changed(), 1..250),
        steps in prop::collection::vec(step(), 1..24),
        expressions in prop::collection::vec(expression(), 1..4),
    ) {
        let index = held(&first);
        let mut under_way = None;
        for step in &steps {
            match step {
                Step::Change(change) => make(&index, change),
                Step::BeginMerge if under_way.is_none() => under_way = begin(&index),
                Step::BeginMerge => {}
                Step::EndMerge => {
                    if let Some((merge, merged)) = under_way.take() {
                        Merge::publish(merge, index.ranker.snapshots(), merged);
                    }
                }
            }
            for expression in &expressions {
                compare(&index, &index.ranker, expression, Some(7));
            }
            check_bounds(&index);
        }
        // Whatever was left to merge.
        drop(under_way);
        while let Some((merge, merged)) = begin(&index) {
            merge.publish(index.ranker.snapshots(), merged);
            for expression in &expressions {
                compare(&index, &index.ranker, expression, None);
            }
        }
        assert!(parts(&index).iter().all(|part| !part.is_merging()));
    }
}

fn oak() -> MatchExpression {
    let phrase = |text: &str, prefix| Phrase {
        text: text.to_owned(),
        prefix,
        ..Phrase::default()
    };
    let any = [
        phrase("oak", false),
        phrase("as", true),
        phrase("oak elm", false),
    ];
    MatchExpression {
        any: any.map(|phrase| vec![vec![phrase]]).to_vec(),
        none: vec![phrase("x-ray", false)],
    }
}

#[test]
fn parts_stay_few_while_a_large_merge_takes_its_time() {
    let index = held(&many(0..3_000, 1));
    follow(&index);
    make(&index, &Change::Upsert(many(0..200, 2)));
    follow(&index);
    for round in 3..7 {
        make(
            &index,
            &Change::Upsert(many(round * 200..round * 200 + 200, round)),
        );
        follow(&index);
    }
    let (merge, merged) = begin(&index).unwrap();
    assert!(
        merged.rows >= 3_000,
        "the large part is among them: {}",
        merged.rows
    );
    let mut most = 0;
    for step in 0..1_500 {
        make(
            &index,
            &Change::Upsert(many(step * 7 % 3_100..step * 7 % 3_100 + 1, step)),
        );
        follow(&index);
        check_bounds(&index);
        most = most.max(parts(&index).len());
        if step % 250 == 0 {
            compare(&index, &index.ranker, &oak(), Some(30));
        }
    }
    assert!(
        most > MAX_PARTS,
        "more than the large merge leaves alone: {most}"
    );
    merge.publish(index.ranker.snapshots(), merged);
    compare(&index, &index.ranker, &oak(), None);
    while let Some((merge, merged)) = begin(&index) {
        merge.publish(index.ranker.snapshots(), merged);
    }
    assert!(parts(&index).len() <= 6, "{}", parts(&index).len());
    compare(&index, &index.ranker, &oak(), None);
}

#[test]
fn no_two_merges_have_a_part_in_common() {
    let index = held(&many(0..300, 1));
    follow(&index);
    make(&index, &Change::Upsert(many(0..200, 2)));
    follow(&index);
    let first = begin(&index).unwrap();
    assert!(begin(&index).is_none());
    for round in 0..2 {
        make(
            &index,
            &Change::Upsert(many(200 + round * 100..300 + round * 100, 3)),
        );
        follow(&index);
    }
    let second = begin(&index).unwrap();
    for (merge, merged) in [second, first] {
        merge.publish(index.ranker.snapshots(), merged);
        compare(&index, &index.ranker, &oak(), None);
    }
}

#[test]
fn what_was_merged_of_parts_that_are_not_there_is_thrown_away() {
    let index = held(&many(0..300, 1));
    follow(&index);
    make(&index, &Change::Upsert(many(0..200, 2)));
    follow(&index);
    let (merge, merged) = begin(&index).unwrap();
    index.ranker.clear();
    index.ranker.wait_for_load().unwrap();
    let before: Vec<SegmentView> = parts(&index);
    merge.publish(index.ranker.snapshots(), merged);
    let after = parts(&index);
    assert_eq!(after.len(), before.len());
    assert!(
        after
            .iter()
            .zip(&before)
            .all(|(after, before)| after.is(before))
    );
    compare(&index, &index.ranker, &oak(), None);
}

#[test]
fn a_merge_that_was_interrupted_is_made_later() {
    let index = held(&many(0..16_000, 1));
    follow(&index);
    for round in 0..20 {
        make(
            &index,
            &Change::Upsert(many(round * 200..round * 200 + 200, round)),
        );
        follow(&index);
    }
    let merge = Merge::begin(index.ranker.snapshots()).unwrap();
    let stopped = interrupt::with_cancellation(|| true, || merge.run());
    let message = stopped.err().map(|failure| format!("{failure:?}"));
    assert!(message.unwrap().contains("OperationInterrupted"));
    drop(merge);
    let (merge, merged) = begin(&index).unwrap();
    merge.publish(index.ranker.snapshots(), merged);
    compare(&index, &index.ranker, &oak(), Some(20));
}

#[test]
fn searches_have_parts_merged_in_the_background() {
    let index = Index::in_memory_with(TokenizerKind::Porter, Ranking::Memory).unwrap();
    make(&index, &Change::Upsert(many(0..300, 1)));
    index.ranker.load().unwrap();
    follow(&index);
    make(&index, &Change::Upsert(many(0..200, 2)));
    follow(&index);
    for _ in 0..6_000 {
        if parts(&index).len() == 1 {
            compare(&index, &index.ranker, &oak(), None);
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("not merged after a minute");
}
