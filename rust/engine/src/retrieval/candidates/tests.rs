//! Both legs fused, on numbers that are easy to check.

use super::*;
use crate::error::Result;
use crate::retrieval::explanation::ExplainedHit;
use crate::retrieval::fuse::reciprocal_rank_fusion;
use crate::retrieval::order;
use std::sync::Arc;

use crate::chunks::RankedRow;
use crate::chunks::Texts;
use crate::index::Hit;

/// The ids, by their rows.
const IDS: [&str; 16] = [
    "a", "b", "c", "d", "e", "f", "h", "m", "n", "x", "y", "z", "best", "p-1", "q-1", "r-1",
];
/// Another chunk, in the group of the first of its letter.
const SECOND: &str = "p-2";

fn row(id: &str) -> i64 {
    let known = IDS.iter().chain([&SECOND]).position(|known| *known == id);
    i64::try_from(known.unwrap()).unwrap()
}

/// Return the key: equal paths have equal keys.
fn key(id: &str) -> i64 {
    row(if id == SECOND { "p-1" } else { id })
}

#[allow(
    clippy::unnecessary_wraps,
    reason = "as reading from an index may fail"
)]
fn read(rows: &[(i64, &'static str)]) -> Result<Vec<Arc<Texts>>> {
    Ok(rows.iter().map(|(row, _)| texts_of(*row)).collect())
}

#[allow(
    clippy::unnecessary_wraps,
    reason = "as reading from an index may fail"
)]
fn id(row: i64) -> Result<String> {
    Ok(texts_of(row).id.clone())
}

fn texts_of(row: i64) -> Arc<Texts> {
    let row = usize::try_from(row).unwrap();
    texts(IDS.get(row).unwrap_or(&SECOND))
}

/// Texts whose path is what stands before the dash of their id.
fn texts(id: &str) -> Arc<Texts> {
    Arc::new(Texts {
        id: id.to_owned(),
        path: id.split('-').next().unwrap_or_default().to_owned(),
        title: format!("title of {id}"),
        ..Texts::default()
    })
}

/// Both legs of these scores by keywords and these cosines, each leg cut to `limit`.
fn legs(
    bm25: &[(&str, f64)],
    cosines: &[(&str, f64)],
    limit: usize,
) -> (Matches<'static>, Nearest) {
    let found = bm25.iter().take(limit).map(|(id, score)| Match {
        source: TextSource::Row(row(id)),
        key: Some(key(id)),
        score: *score,
    });
    let matches = Matches {
        found: found.collect(),
        ..Matches::default()
    };
    let mut by_cosine = cosines.to_vec();
    by_cosine.sort_by(|left, right| order::descending(left.1, right.1));
    let rows = by_cosine.iter().take(limit).map(|(id, cosine)| RankedRow {
        row: row(id),
        key: key(id),
        score: *cosine,
    });
    let nearest = Nearest {
        rows: rows.collect(),
        ..Nearest::default()
    };
    (matches, nearest)
}

/// The totals of score fusion, best first.
fn totals(
    bm25: &[(&str, f64)],
    cosines: &[(&str, f64)],
    (mean, deviation): (f64, f64),
    bound: Option<f64>,
    limit: usize,
) -> Vec<(String, f64)> {
    let (mut matches, mut nearest) = legs(bm25, cosines, limit);
    let cosine = |wanted: &str| cosines.iter().find(|(id, _)| *id == wanted).map(|c| c.1);
    let found = bm25.iter().take(limit);
    nearest.cosines = found.map(|(id, _)| cosine(id)).collect();
    nearest.spread = CosineStats { mean, deviation };
    matches.bound = bound;
    let fused = Candidates::join(&matches, &nearest)
        .score(Fusion::Score, 2)
        .fused();
    let fused = fused.hits(usize::MAX, read, id).unwrap();
    for ExplainedHit { hit, explanation } in &fused {
        let known = cosine(&hit.id);
        assert_eq!(hit.vector_similarity, known, "{}", hit.id);
        assert_eq!(explanation.meaning.map(|by| by.cosine), known);
        assert_eq!(explanation.score.to_bits(), hit.score.to_bits());
    }
    fused
        .into_iter()
        .map(|fused| (fused.hit.id.clone(), fused.hit.score))
        .collect()
}

#[test]
fn both_legs_on_one_scale() {
    let bm25 = [("a", 9.0), ("b", 6.0), ("c", 1.5)];
    let cosines = [("a", 0.2), ("b", 0.5), ("c", 0.1), ("d", 0.6)];
    let spread = (0.1, 0.1);
    let few = [("a", 4.0), ("n", 4.0)];
    let equal = [("a", 0.3), ("b", 0.3)];
    let cases = [
        (
            totals(&bm25, &cosines, spread, Some(18.0), 60),
            vec![("b", 1.466_667), ("a", 1.2), ("d", 1.0), ("c", 0.166_667)],
        ),
        (
            totals(&bm25, &cosines, spread, Some(90.0), 60),
            vec![("b", 1.133_333), ("d", 1.0), ("a", 0.7), ("c", 0.083_333)],
        ),
        (
            // Cosines count also beyond the vector leg.
            totals(&bm25, &cosines, spread, Some(18.0), 3),
            vec![("b", 1.466_667), ("a", 1.2), ("d", 1.0), ("c", 0.166_667)],
        ),
        (
            totals(&few, &[("a", 0.05)], spread, None, 60),
            vec![("n", 1.0), ("a", 0.9)],
        ),
        (
            totals(&[], &[("x", 0.4), ("y", 0.6)], spread, None, 60),
            vec![("y", 1.0), ("x", 0.6)],
        ),
        (
            totals(&[("a", 2.0)], &equal, (0.3, 0.0), None, 60),
            vec![("a", 1.0), ("b", 0.0)],
        ),
    ];
    for (found, expected) in cases {
        let same = found.len() == expected.len()
            && found
                .iter()
                .zip(&expected)
                .all(|(left, right)| left.0 == right.0 && (left.1 - right.1).abs() < 1e-6);
        assert!(same, "{found:?}, expected {expected:?}");
    }
}

#[test]
fn equal_totals_stand_by_cosine_then_path() {
    let cosines = [("z", 0.5), ("a", 0.5), ("m", 0.5), ("h", 0.25)];
    // The keyword score of h exactly offsets its lower cosine, to the bit.
    let bm25 = [("best", 5.0), ("h", 1.0)];
    let found = totals(&bm25, &cosines, (0.0, 0.25), None, 60);
    let ids: Vec<&str> = found.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids, ["best", "a", "m", "z", "h"]);
    assert_eq!(found[1].1.to_bits(), found[4].1.to_bits());
    let found = totals(
        &[("n", 4.0), ("b", 4.0)],
        &[("n", 0.1)],
        (0.1, 0.1),
        None,
        60,
    );
    assert_eq!(found, [("n".to_owned(), 1.0), ("b".to_owned(), 1.0)]);
}

#[test]
fn places_fuse_as_lists_do() {
    let bm25 = [("a", 9.0), ("b", 6.0), ("c", 1.5), ("e", 1.0)];
    let cosines = [("c", 0.9), ("b", 0.5), ("f", 0.1), ("d", 0.6)];
    for limit in 0..=4 {
        let (matches, nearest) = legs(&bm25, &cosines, limit);
        let by_keywords = bm25.iter().take(limit).enumerate();
        let by_keywords = by_keywords.map(|(rank, (id, _))| Hit {
            bm25_rank: Some(rank),
            ..texts(id).into()
        });
        let by_meaning = nearest.rows.iter().map(|found| Hit {
            vector_similarity: Some(found.score),
            ..texts_of(found.row).into()
        });
        let lists: [Vec<Hit>; 2] = [by_keywords.collect(), by_meaning.collect()];
        let expected = reciprocal_rank_fusion(&lists, DEFAULT_K).unwrap();
        for wanted in [0, 1, 2, 3, 4, 5, usize::MAX] {
            let fused = Candidates::join(&matches, &nearest)
                .score(Fusion::Rrf, 2)
                .fused();
            assert_eq!(fused.count, expected.len());
            let fused = fused.hits(wanted, read, id).unwrap();
            for one in &fused {
                assert_eq!(one.explanation.best_possible, Some(2.0 / 61.0));
            }
            let hits: Vec<Hit> = fused.into_iter().map(|one| one.hit).collect();
            assert_eq!(hits, expected[..wanted.min(expected.len())]);
        }
    }
}

#[test]
fn a_group_is_its_best_chunk_by_keywords() {
    let (matches, nearest) = legs(
        &[("p-1", 3.0), ("q-1", 2.0)],
        &[("p-2", 0.9), ("r-1", 0.5), ("q-1", 0.1)],
        60,
    );
    let fused = Candidates::join(&matches, &nearest)
        .score(Fusion::Rrf, 2)
        .fused();
    let fused = fused.hits(60, read, id).unwrap();
    let found: Vec<(&str, &str, Option<f64>)> = (fused.iter())
        .map(|one| (&*one.hit.id, &*one.hit.title, one.hit.vector_similarity))
        .collect();
    assert_eq!(
        found,
        [
            ("p-1", "title of p-1", Some(0.9)),
            ("q-1", "title of q-1", Some(0.1)),
            ("r-1", "title of r-1", Some(0.5)),
        ]
    );
    let ranks = fused[0].explanation.meaning.map(|by| by.rank);
    assert_eq!(ranks, Some(Some(0)));
}
