//! Reciprocal rank fusion (spec/retrieval.md, "Fusion").

use std::collections::HashMap;
use std::sync::Arc;

use super::order;
use crate::chunks::Texts;
use crate::error::Result;
use crate::index::Hit;
use crate::interrupt::{self, CancelTicker};
use crate::text::utf16;

/// The `k` of the specification: the larger, the less the first ranks stand out.
pub const DEFAULT_K: f64 = 60.0;

/// Fuse several rankings, best first: rank `r` of a list (from 0) gives `1 / (k + r + 1)`.
///
/// A `k` that is not above 0 (or is not a number) means [`DEFAULT_K`]. The fields of a list fill
/// only fields that earlier lists left blank. Ties: path, then id, in UTF-16 order.
pub fn reciprocal_rank_fusion<'a, L>(lists: impl IntoIterator<Item = L>, k: f64) -> Result<Vec<Hit>>
where
    L: IntoIterator<Item = &'a Hit>,
{
    let k = if k > 0.0 { k } else { DEFAULT_K };
    let mut slots: HashMap<&str, usize> = HashMap::new();
    let mut fused: Vec<Fused> = Vec::new();
    let mut pace = CancelTicker::default();
    for list in lists {
        let mut rank = 0.0;
        for hit in list {
            pace.step(1)?;
            let slot = *slots.entry(&hit.id).or_insert(fused.len());
            match fused.get_mut(slot) {
                Some(known) => fill(&mut known.hit, hit),
                None => fused.push(Fused::seed(hit)),
            }
            fused[slot].contributions.push(contribution(k, rank));
            rank += 1.0;
        }
    }
    let mut hits: Vec<Hit> = fused.into_iter().map(Fused::into_hit).collect();
    interrupt::sort(&mut hits, |left, right| {
        order::descending(left.score, right.score)
            .then_with(|| utf16::compare(&left.path, &right.path))
            .then_with(|| utf16::compare(&left.id, &right.id))
    })?;
    Ok(hits)
}

/// Return the contribution of a list to the score of a document: `rank` is its rank there, from 0.
pub fn contribution(k: f64, rank: f64) -> f64 {
    1.0 / (k + rank + 1.0)
}

/// Fill blank fields of a hit from a later one of the same document.
fn fill(known: &mut Hit, later: &Hit) {
    if !Arc::ptr_eq(&known.texts, &later.texts) {
        fill_texts(Arc::make_mut(&mut known.texts), later);
    }
    known.bm25_rank = known.bm25_rank.or(later.bm25_rank);
    known.vector_similarity = known.vector_similarity.or(later.vector_similarity);
}

/// Fill blank texts of a hit.
pub(super) fn fill_texts(known: &mut Texts, later: &Texts) {
    for (known, later) in [
        (&mut known.title, &later.title),
        (&mut known.summary, &later.summary),
        (&mut known.content, &later.content),
    ] {
        if known.is_empty() {
            known.clone_from(later);
        }
    }
    if known.tags.is_empty() {
        known.tags.clone_from(&later.tags);
    }
    if known.ordinal == 0 {
        known.ordinal = later.ordinal;
    }
    if known.metadata.is_empty() {
        known.metadata.clone_from(&later.metadata);
    }
}

/// A document during fusion: its fields so far, and the contribution of each of its ranks.
struct Fused {
    hit: Hit,
    contributions: Vec<f64>,
}

impl Fused {
    fn seed(hit: &Hit) -> Self {
        Self {
            hit: Hit {
                rerank_score: None,
                ..hit.clone()
            },
            contributions: Vec::with_capacity(2),
        }
    }

    /// Floats do not add up the same in every order, so the order is fixed: largest first.
    fn into_hit(mut self) -> Hit {
        self.contributions
            .sort_unstable_by(|left, right| right.total_cmp(left));
        Hit {
            score: self.contributions.iter().sum(),
            ..self.hit
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit(id: &str, path: &str) -> Hit {
        let texts = Texts {
            id: id.to_owned(),
            path: path.to_owned(),
            ..Texts::default()
        };
        texts.into()
    }

    fn ids(hits: &[Hit]) -> Vec<&str> {
        hits.iter().map(|hit| hit.id.as_str()).collect()
    }

    #[test]
    fn ties_go_by_path_then_id_in_utf16_order() {
        let lists = [
            [hit("c", "\u{FF5E}.md")],
            [hit("b", "😀.md")],
            [hit("a", "😀.md")],
        ];
        assert_eq!(
            ids(&reciprocal_rank_fusion(&lists, 60.0).unwrap()),
            ["a", "b", "c"]
        );
    }

    #[test]
    fn a_k_that_is_not_above_zero_is_the_default() {
        let lists = [[hit("a", "a.md"), hit("b", "b.md")]];
        let expected = reciprocal_rank_fusion(&lists, DEFAULT_K).unwrap();
        for k in [0.0, -0.0, -3.5, f64::NEG_INFINITY, f64::NAN] {
            assert_eq!(reciprocal_rank_fusion(&lists, k).unwrap(), expected, "{k}");
        }
        assert!((expected[0].score - 1.0 / 61.0).abs() < 1e-15);
    }

    #[test]
    fn an_infinite_k_leaves_the_order_of_paths() {
        let lists = [[hit("z", "z.md"), hit("a", "a.md")]];
        let fused = reciprocal_rank_fusion(&lists, f64::INFINITY).unwrap();
        assert_eq!(ids(&fused), ["a", "z"]);
        assert!(fused.iter().all(|hit| hit.score == 0.0));
    }

    #[test]
    fn a_rank_and_a_similarity_of_zero_are_not_blank() {
        let first = Hit {
            bm25_rank: Some(0),
            vector_similarity: Some(0.0),
            rerank_score: Some(1.0),
            ..hit("a", "first.md")
        };
        let mut texts = hit("a", "later.md").texts;
        Arc::make_mut(&mut texts).title = "Title".to_owned();
        let later = Hit {
            bm25_rank: Some(7),
            vector_similarity: Some(0.9),
            ..texts.into()
        };
        let fused = reciprocal_rank_fusion([[&first], [&later]], 1.0).unwrap();
        let [fused] = &fused[..] else {
            panic!("{fused:?}")
        };
        assert_eq!(
            (fused.path.as_str(), fused.title.as_str()),
            ("first.md", "Title")
        );
        assert_eq!(
            (fused.bm25_rank, fused.vector_similarity),
            (Some(0), Some(0.0))
        );
        assert_eq!((fused.score, fused.rerank_score), (1.0, None));
    }

    #[test]
    fn tags_and_an_ordinal_are_filled_where_there_are_none() {
        let with = |tags: &[&str], ordinal| {
            let mut texts = hit("a", "a.md").texts;
            let known = Arc::make_mut(&mut texts);
            known.tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
            known.ordinal = ordinal;
            Hit::from(texts)
        };
        let lists = [[with(&[], 0)], [with(&["x"], 3)], [with(&["y"], 4)]];
        let fused = reciprocal_rank_fusion(&lists, 1.0).unwrap();
        assert_eq!(
            (&fused[0].tags[..], fused[0].ordinal),
            (&["x".to_owned()][..], 3)
        );
    }
}
