//! Where a retriever searches: an index, or a collection elsewhere.

use std::sync::Arc;

use hedgerow_engine::index::Index;
use hedgerow_engine::query::StopWords;
use hedgerow_engine::retrieval::remote::RemoteCollection;
use hedgerow_engine::text::tokenizer::TokenizerKind;
use pyo3::prelude::*;

use crate::errors;
use crate::held::Held;
use crate::index::PyIndex;
use crate::point_in_time::PyPointInTime;
use crate::stopwords::StopWordsLike;

/// Where a retriever searches.
pub enum Searched {
    Index(Held<Arc<Index>>),
    /// A collection elsewhere, of which each search opens a point in time.
    Elsewhere {
        tokenizer: TokenizerKind,
        stopwords: StopWords,
    },
}

impl Searched {
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(index) = object.cast::<PyIndex>() {
            return Ok(Self::Index(Held::new(Arc::clone(&index.get().index))));
        }
        let tokenizer: String = object.getattr("tokenizer")?.extract()?;
        let stopwords: StopWordsLike = object.getattr("stopwords")?.extract()?;
        Ok(Self::Elsewhere {
            tokenizer: errors::call(|| TokenizerKind::parse(&tokenizer))?,
            stopwords: stopwords.0,
        })
    }

    /// The index, whose notices are logged.
    pub fn index(&self) -> Option<&Index> {
        match self {
            Self::Index(index) => Some(index),
            Self::Elsewhere { .. } => None,
        }
    }
}

/// The point in time of a collection elsewhere that is given to each call.
pub struct State<'a> {
    asked: Option<PyPointInTime>,
    elsewhere: Option<(TokenizerKind, &'a StopWords)>,
}

impl<'a> State<'a> {
    pub fn new(searched: &'a Searched, point_in_time: Option<&Bound<'_, PyAny>>) -> Self {
        Self {
            asked: point_in_time.map(PyPointInTime::new),
            elsewhere: match searched {
                Searched::Index(_) => None,
                Searched::Elsewhere {
                    tokenizer,
                    stopwords,
                } => Some((*tokenizer, stopwords)),
            },
        }
    }

    pub fn collection(&self) -> Option<RemoteCollection<'_>> {
        let (tokenizer, stopwords) = self.elsewhere?;
        Some(RemoteCollection {
            tokenizer,
            stopwords,
            point_in_time: self.asked.as_ref()?,
        })
    }

    /// Raise the exception that ended the search, if it is not an error of hedgerow's.
    pub fn check(&self) -> PyResult<()> {
        match self.asked.as_ref().and_then(PyPointInTime::raised) {
            Some(raised) => Err(raised),
            None => Ok(()),
        }
    }
}
