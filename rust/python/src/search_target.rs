//! Where a retriever searches: an index, or a collection on a server.

use std::sync::Arc;

use hedgerow_engine::index::Index;
use hedgerow_engine::query::StopWords;
use hedgerow_engine::text::tokenizer::TokenizerKind;
use hedgerow_memory::facts::Visibility;
use hedgerow_memory::recall::{ColumnCache, ScopedIndex};
use hedgerow_opensearch::RemoteCollection;
use pyo3::prelude::*;

use crate::engine_handle::EngineHandle;
use crate::errors;
use crate::index::PyIndex;
use crate::point_in_time::PyPointInTime;
use crate::stopwords::StopWordsLike;

/// Where a retriever searches.
pub enum SearchTarget {
    Index(EngineHandle<Arc<Index>>),
    /// The visible memories of an index.
    Part(EngineHandle<ScopedIndex>),
    /// A collection on a server, of which each search opens a point in time.
    Remote {
        tokenizer: TokenizerKind,
        stopwords: StopWords,
    },
}

impl SearchTarget {
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(index) = object.cast::<PyIndex>() {
            return Ok(Self::Index(EngineHandle::new(Arc::clone(
                &index.get().index,
            ))));
        }
        let tokenizer: String = object.getattr("tokenizer")?.extract()?;
        let stopwords: StopWordsLike = object.getattr("stopwords")?.extract()?;
        Ok(Self::Remote {
            tokenizer: errors::call(|| TokenizerKind::parse(&tokenizer))?,
            stopwords: stopwords.0,
        })
    }

    /// The index, whose notices are logged.
    pub fn index(&self) -> Option<&Index> {
        match self {
            Self::Index(index) => Some(index),
            Self::Part(part) => Some(part.index()),
            Self::Remote { .. } => None,
        }
    }

    /// The visible memories of an index that is searched whole. None for a collection on a server.
    pub fn part(&self, columns: Arc<ColumnCache>, visible: Visibility) -> Option<Self> {
        let Self::Index(index) = self else {
            return None;
        };
        let part = ScopedIndex::new(Arc::clone(index), columns, visible);
        Some(Self::Part(EngineHandle::new(part)))
    }
}

/// The point in time of a collection on a server, passed to each call.
pub struct State<'a> {
    point_in_time: Option<PyPointInTime>,
    remote: Option<(TokenizerKind, &'a StopWords)>,
}

impl<'a> State<'a> {
    pub fn new(target: &'a SearchTarget, point_in_time: Option<&Bound<'_, PyAny>>) -> Self {
        Self {
            point_in_time: point_in_time.map(PyPointInTime::new),
            remote: match target {
                SearchTarget::Index(_) | SearchTarget::Part(_) => None,
                SearchTarget::Remote {
                    tokenizer,
                    stopwords,
                } => Some((*tokenizer, stopwords)),
            },
        }
    }

    pub fn collection(&self) -> Option<RemoteCollection<'_>> {
        let (tokenizer, stopwords) = self.remote?;
        Some(RemoteCollection {
            tokenizer,
            stopwords,
            point_in_time: self.point_in_time.as_ref()?,
        })
    }

    /// Raise the exception that ended the search, if it is not an error of hedgerow's.
    pub fn check(&self) -> PyResult<()> {
        match self.point_in_time.as_ref().and_then(PyPointInTime::raised) {
            Some(raised) => Err(raised),
            None => Ok(()),
        }
    }
}
