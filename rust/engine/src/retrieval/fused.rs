//! Documents in the order of fusion, and the first of them with their texts.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

use super::explanation::{ByNeighbor, ByQuestion, ExplainedHit, Explanation};
use super::fuse::fill_texts;
use super::matches::TextSource;
use super::order;
use super::request::Fusion;
use crate::bm25::MATCHED;
use crate::chunks::Texts;
use crate::error::Result;
use crate::index::Hit;
use crate::text::utf16;
use crate::top_k;
use crate::vectors::NEAREST;

/// A document, known by its row alone, and where its score comes from.
pub(super) struct Document<'a> {
    /// The key shared with the same document of the other leg; without grouping its row, if it has
    /// one.
    pub key: Option<i64>,
    /// The neighbors that counted.
    pub neighbors: Vec<NeighborContribution>,
    /// The row before it in its path and what both legs gave that, if neighbors counted.
    pub before: Option<(i64, f64)>,
    /// The question before it that counted.
    pub answers: Option<NeighborContribution>,
    pub source: TextSource<'a>,
    /// The row under which the vector leg found the keyword hit elsewhere.
    pub partner: Option<i64>,
    pub explanation: Explanation,
}

/// The contribution of a neighbor to the score of a document.
#[derive(Clone, Copy)]
pub(super) struct NeighborContribution {
    pub row: i64,
    pub distance: u8,
    pub total: f64,
    pub contribution: f64,
}

/// The chunks that gave to the score of a document, by their rows.
pub(super) struct RowContributions {
    neighbors: Vec<NeighborContribution>,
    answers: Option<NeighborContribution>,
}

impl RowContributions {
    /// Add them to an explanation, with their ids.
    pub fn explain(
        self,
        explanation: &mut Explanation,
        id: impl Fn(i64) -> Result<String>,
    ) -> Result<()> {
        for adjacent in self.neighbors {
            explanation.neighbors.push(ByNeighbor {
                id: id(adjacent.row)?,
                distance: adjacent.distance,
                total: adjacent.total,
                contribution: adjacent.contribution,
            });
        }
        if let Some(question) = self.answers {
            explanation.answers = Some(ByQuestion {
                id: id(question.row)?,
                total: question.total,
                contribution: question.contribution,
            });
        }
        Ok(())
    }
}

/// A row, and what found it.
type FoundRow = (i64, &'static str);

impl Document<'_> {
    /// The row of the index that it has texts from.
    fn row(&self) -> Option<FoundRow> {
        match self.source {
            TextSource::Row(row) => {
                Some((row, self.explanation.keywords.map_or(NEAREST, |_| MATCHED)))
            }
            TextSource::Given(_) => self.partner.map(|row| (row, NEAREST)),
        }
    }

    /// The chunks that gave to its score.
    pub fn take_given(&mut self) -> RowContributions {
        RowContributions {
            neighbors: std::mem::take(&mut self.neighbors),
            answers: self.answers.take(),
        }
    }

    /// The hit, with the texts of [`Self::row`].
    fn hit(self, stored: Option<Arc<Texts>>) -> ExplainedHit {
        let explanation = self.explanation;
        let texts = match self.source {
            TextSource::Row(_) => stored.unwrap_or_default(),
            TextSource::Given(chunk) => {
                let mut given = Texts::from(chunk.clone());
                // Another chunk of the group counts by its nearness, not by its texts.
                if let Some(stored) = stored.filter(|stored| stored.id == given.id) {
                    fill_texts(&mut given, &stored);
                }
                given.into()
            }
        };
        ExplainedHit {
            hit: Hit {
                score: explanation.score,
                bm25_rank: explanation.keywords.map(|by| by.rank),
                vector_similarity: explanation.meaning.map(|by| by.cosine),
                ..texts.into()
            },
            explanation,
        }
    }
}

/// Documents in no order yet: ties are broken by texts, of which few are read.
pub(super) struct Fused<'a> {
    /// All documents, or those that can be among the first of the wanted number.
    pub documents: Vec<Document<'a>>,
    /// The number of all documents.
    pub count: usize,
}

impl<'a> Fused<'a> {
    /// All documents.
    #[cfg(test)]
    pub fn of(documents: Vec<Document<'a>>) -> Self {
        Self {
            count: documents.len(),
            documents,
        }
    }

    /// The first `wanted` hits, with their texts; only those of possible hits are read. Ids of
    /// neighbors are read for the hits alone.
    pub fn hits(
        self,
        wanted: usize,
        read: impl FnOnce(&[FoundRow]) -> Result<Vec<Arc<Texts>>>,
        id: impl Fn(i64) -> Result<String>,
    ) -> Result<Vec<ExplainedHit>> {
        let documents = self.first(wanted);
        let rows: Vec<FoundRow> = documents.iter().filter_map(Document::row).collect();
        let mut texts = read(&rows)?.into_iter();
        let hit = |mut document: Document<'_>| {
            let stored = document.row().and_then(|_| texts.next());
            let given = document.take_given();
            (document.hit(stored), given)
        };
        let mut hits: Vec<(ExplainedHit, RowContributions)> =
            documents.into_iter().map(hit).collect();
        hits.sort_by(|(left, _), (right, _)| {
            explained_before(&left.explanation, &right.explanation)
                .then_with(|| utf16::compare(&left.hit.path, &right.hit.path))
                .then_with(|| utf16::compare(&left.hit.id, &right.hit.id))
        });
        hits.truncate(wanted);
        let named = |(mut hit, given): (ExplainedHit, RowContributions)| {
            given.explain(&mut hit.explanation, &id)?;
            Ok(hit)
        };
        hits.into_iter().map(named).collect()
    }

    /// The rows of the best documents with their scores, as [`Self::first`] selects them.
    pub fn rows(self, wanted: usize) -> Vec<(i64, f64)> {
        let documents = self.first(wanted).into_iter();
        let scored = documents.filter_map(|one| Some((one.row()?.0, one.explanation.score)));
        scored.collect()
    }

    /// The best documents, as many as wanted and all that are as good as the last of them.
    fn first(self, wanted: usize) -> Vec<Document<'a>> {
        let mut documents = self.documents;
        top_k::select(&mut documents, wanted, |left, right| {
            explained_before(&left.explanation, &right.explanation)
        });
        documents
    }
}

/// Return the best document of each group, of equal ones the first by row. Documents without a group stay.
pub(super) fn best_of_groups(
    mut documents: Vec<Document<'_>>,
    group_of: impl Fn(i64) -> Option<i64>,
) -> Vec<Document<'_>> {
    documents.sort_by(|left, right| {
        explained_before(&left.explanation, &right.explanation).then(left.key.cmp(&right.key))
    });
    let mut seen = HashSet::new();
    documents.retain(|document| {
        let group = document.key.and_then(&group_of);
        group.is_none_or(|group| seen.insert(group))
    });
    documents
}

/// Compare two hits by score and, in score fusion, by cosine. Each has its score and its cosine.
pub(super) fn before(
    fusion: Fusion,
    left: (f64, Option<f64>),
    right: (f64, Option<f64>),
) -> Ordering {
    let cosine = |one: Option<f64>| one.unwrap_or(f64::NEG_INFINITY);
    let by_cosine = match fusion {
        Fusion::Rrf => Ordering::Equal,
        Fusion::Score => order::descending(cosine(left.1), cosine(right.1)),
    };
    order::descending(left.0, right.0).then(by_cosine)
}

/// [`before`], for explained hits.
pub(super) fn explained_before(left: &Explanation, right: &Explanation) -> Ordering {
    let of = |one: &Explanation| (one.score, one.meaning.map(|meaning| meaning.cosine));
    before(left.fusion, of(left), of(right))
}

/// A document of a row with a fused score, for tests.
#[cfg(test)]
pub(super) fn document_with_score(row: i64, score: f64) -> Document<'static> {
    Document {
        key: Some(row),
        neighbors: Vec::new(),
        before: None,
        answers: None,
        source: TextSource::Row(row),
        partner: None,
        explanation: Explanation {
            fusion: Fusion::Score,
            keywords: None,
            meaning: None,
            fused: score,
            neighbors: Vec::new(),
            speaker: None,
            answers: None,
            date: None,
            recency: None,
            best_possible: None,
            coverage: None,
            weight: None,
            multiplier: crate::retrieval::multiplier::Multiplier::default(),
            score,
            rerank_score: None,
            rerank_blend: None,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::chunks::Chunk;
    use crate::chunks::RankedRow;
    use crate::retrieval::candidates::Candidates;
    use crate::retrieval::legs::Nearest;
    use crate::retrieval::matches::{Match, Matches};

    #[allow(
        clippy::unnecessary_wraps,
        reason = "as reading from an index may fail"
    )]
    fn read(rows: &[FoundRow]) -> Result<Vec<Arc<Texts>>> {
        let texts = rows.iter().map(|(row, _)| Texts {
            id: row.to_string(),
            title: format!("title of {row}"),
            ..Texts::default()
        });
        Ok(texts.map(Arc::new).collect())
    }

    #[allow(
        clippy::unnecessary_wraps,
        reason = "as reading from an index may fail"
    )]
    fn id(row: i64) -> Result<String> {
        Ok(row.to_string())
    }

    fn nearest(rows: &[i64]) -> Nearest {
        let rows = rows.iter().map(|row| RankedRow {
            row: *row,
            key: *row,
            score: 0.5,
        });
        Nearest {
            rows: rows.collect(),
            ..Nearest::default()
        }
    }

    #[test]
    fn no_texts_are_read_but_of_what_may_be_wanted() {
        let found = [1, 2, 3].map(|row| Match {
            source: TextSource::Row(row),
            key: Some(row),
            score: 1.0,
        });
        let matches = Matches {
            found: found.into(),
            ..Matches::default()
        };
        let nearest = nearest(&[6, 2, 4]);
        // 2, then 1 and 6 with the same score, then 3 and 4 with the same.
        let all = ["2", "1", "6", "3", "4"];
        for (wanted, reads) in [(0, 0), (1, 1), (2, 3), (3, 3), (4, 5), (9, 5)] {
            let asked = Cell::new(0);
            let counted = |rows: &[FoundRow]| {
                asked.set(asked.get() + rows.len());
                read(rows)
            };
            let fused = Candidates::join(&matches, &nearest)
                .score(Fusion::Rrf, 2)
                .fused();
            let hits = fused.hits(wanted, counted, id).unwrap();
            assert_eq!(asked.get(), reads, "{wanted}");
            let ids: Vec<&str> = hits.iter().map(|hit| hit.hit.id.as_str()).collect();
            assert_eq!(ids, all[..wanted.min(all.len())]);
        }
    }

    #[test]
    fn a_given_chunk_is_filled_up_from_its_own_row_alone() {
        for (given, title) in [("7", "title of 7"), ("of its group", "")] {
            let given = Chunk {
                id: given.to_owned(),
                content: "given".to_owned(),
                ..Chunk::default()
            };
            let matches = Matches {
                found: vec![Match {
                    source: TextSource::Given(&given),
                    key: Some(7),
                    score: 0.7,
                }],
                fuzzy: true,
                bound: None,
            };
            let fused = Candidates::join(&matches, &nearest(&[7]))
                .score(Fusion::Rrf, 2)
                .fused();
            let hits = fused.hits(60, read, id).unwrap();
            let [found] = &hits[..] else {
                panic!("{hits:?}")
            };
            assert_eq!((&*found.hit.title, &*found.hit.content), (title, "given"));
            assert_eq!(found.hit.vector_similarity, Some(0.5));
        }
    }
}
