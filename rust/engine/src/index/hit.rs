//! The hits of a search.

use std::ops::Deref;
use std::sync::Arc;

use crate::chunks::Texts;

/// A chunk that a search found, with what put it where it is. Its texts are read as if they were
/// its own.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Hit {
    /// The texts of the chunk, shared by all hits of it.
    pub texts: Arc<Texts>,
    /// The score that orders the hits; higher is better.
    pub score: f64,
    /// The rank in the BM25 ranking, from 0.
    pub bm25_rank: Option<usize>,
    /// The cosine with the query's vector.
    pub vector_similarity: Option<f64>,
    /// The score of a reranker.
    pub rerank_score: Option<f64>,
}

impl From<Arc<Texts>> for Hit {
    fn from(texts: Arc<Texts>) -> Self {
        Self {
            texts,
            ..Self::default()
        }
    }
}

impl From<Texts> for Hit {
    fn from(texts: Texts) -> Self {
        Arc::new(texts).into()
    }
}

impl Deref for Hit {
    type Target = Texts;

    fn deref(&self) -> &Texts {
        &self.texts
    }
}

impl Hit {
    /// Return a sentence that explains the position of the hit.
    pub fn explain(&self) -> String {
        let parts = [
            self.bm25_rank
                .map(|rank| format!("number {} by BM25", rank + 1)),
            self.vector_similarity
                .map(|cosine| format!("vector similarity {}", short(cosine))),
            self.rerank_score
                .map(|score| format!("reranker's score {}", short(score))),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        format!("score {}: {}", short(self.score), parts.join(", "))
    }
}

/// A number to read. BM25 gives a word that is in most chunks almost nothing, but not nothing.
fn short(number: f64) -> String {
    if number != 0.0 && number.abs() < 0.001 {
        format!("{number:.3e}")
    } else {
        format!("{number:.4}")
    }
}
