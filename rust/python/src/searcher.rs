//! `Searcher`: the engine's half of `hedgerow.Retriever`.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hedgerow_engine::chunks::Chunk;
use hedgerow_engine::index::Index;
use hedgerow_engine::query::{
    AliasTable, Connective, MatchOptions, Matching, compile_match, parse,
};
use hedgerow_engine::retrieval::{
    Collection, Fusion, FuzzyChunks, Request, SearchResult, Setup, search, search_many, why_not,
};
use hedgerow_engine::{ErrorCode, Result};
use hedgerow_memory::facts::Visibility;
use hedgerow_memory::recall::ColumnCache;
use hedgerow_opensearch::RemoteCollection;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::aliases::Aliases;
use crate::chunk::PyChunk;
use crate::errors;
use crate::found::PyFound;
use crate::json;
use crate::search_options::{DatedQuery, Embedded, PySearchOptions, embedded};
use crate::search_target::{SearchTarget, State};
use crate::source::Source;
use crate::text::Text;
use crate::value::Argument;
use crate::{calling, compile, interrupt, notices};

/// Ends running calls, from any thread.
#[pyclass(name = "Stop", module = "hedgerow._engine", frozen)]
pub struct PyStop(pub Arc<AtomicBool>);

#[pymethods]
impl PyStop {
    #[new]
    fn new() -> Self {
        Self(Arc::default())
    }

    /// End the calls soon; they change nothing.
    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Call a function with these arguments; `set` ends its calls into the engine.
    #[pyo3(signature = (function, *arguments))]
    fn run<'py>(
        &self,
        function: &Bound<'py, PyAny>,
        arguments: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        interrupt::stoppable(&self.0, || calling::call(function, arguments.clone(), None))
    }
}

/// The setup shared by every search of a retriever.
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is an independent option"
)]
#[pyclass(name = "Searcher", module = "hedgerow._engine", frozen)]
pub struct PySearcher {
    target: SearchTarget,
    aliases: Option<AliasTable>,
    default_operator: Connective,
    matching: Matching,
    fusion: Fusion,
    neighbors: bool,
    speakers: bool,
    dates: bool,
    reweight: bool,
    fuzzy: FuzzyChunks,
}

#[pymethods]
impl PySearcher {
    #[new]
    #[allow(
        clippy::too_many_arguments,
        clippy::fn_params_excessive_bools,
        reason = "as many as a Retriever has"
    )]
    fn new(
        py: Python<'_>,
        index: &Bound<'_, PyAny>,
        aliases: Option<Aliases<'_>>,
        trigram_chunks: Option<&Bound<'_, PyAny>>,
        matching: &str,
        fusion: &str,
        neighbors: bool,
        speakers: bool,
        dates: bool,
        reweight: bool,
        default_operator: &str,
    ) -> PyResult<Self> {
        let chunks = trigram_chunks.map(chunks).transpose()?;
        let target = SearchTarget::of(index)?;
        let aliases = aliases.map(|aliases| aliases.table().clone());
        errors::call_detached(py, || {
            let options = MatchOptions {
                matching: compile::matching(matching)?,
                default_operator: compile::connective(default_operator)?,
                ..MatchOptions::default()
            };
            // Options that exclude each other are refused now, and not by every search.
            compile_match(&parse("")?, &options)?;
            let fuzzy = match chunks {
                Some(chunks) => FuzzyChunks::given(chunks)?,
                None => FuzzyChunks::Own,
            };
            Ok(Self {
                target,
                aliases,
                default_operator: options.default_operator,
                matching: options.matching,
                fusion: Fusion::from_option("fusion", fusion)?,
                neighbors,
                speakers,
                dates,
                reweight,
                fuzzy,
            })
        })
    }

    /// Return the fate of the chunk `id` in a search; the arguments are those of `search`, for one
    /// query.
    #[allow(clippy::too_many_arguments, reason = "as many as `search` has")]
    fn why_not<'py>(
        &self,
        py: Python<'py>,
        query: Text,
        dated: Option<DatedQuery>,
        vector: &Bound<'py, PyAny>,
        embedder: Option<Text>,
        options: &Bound<'py, PySearchOptions>,
        id: Text,
        stop: &Bound<'py, PyStop>,
        point_in_time: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let mut vectors = embedded(vector, 1)?;
        let vector = vectors.pop().unwrap_or(Embedded::Absent);
        if let Some(error) = vector.error(py) {
            return Err(error);
        }
        let options = options.get();
        let request = options.request(&query, dated.as_ref(), &vector);
        let state = State::new(&self.target, point_in_time);
        let remote = state.collection();
        let setup = self.setup(embedder.as_deref(), remote.as_ref())?;
        let look = || why_not(&setup, &request, &id);
        let work = || self.call_detached(py, look);
        let found = interrupt::stoppable(&stop.get().0, work);
        state.check()?;
        let found = found?;
        let fields = PyDict::new(py);
        fields.set_item("exists", found.exists)?;
        fields.set_item("passes", found.passes)?;
        fields.set_item("phrases", found.phrases)?;
        fields.set_item("excluded_by", found.excluded_by)?;
        fields.set_item("keywords", found.keywords)?;
        fields.set_item("vectors", found.vectors)?;
        fields.set_item("rank", found.rank)?;
        let explanation = found.explanation.map(|found| found.to_json());
        let explanation = explanation.map(|found| json::dict(py, &found));
        fields.set_item("explanation", explanation.transpose()?)?;
        Ok(fields)
    }

    /// Search for every query: the Found of each, or its exception.
    ///
    /// `dated` and `vectors` have an item for each query; `vectors` is None without an embedder and
    /// "failed" if it failed. `embedder` is its name, if it has one, and `embed_seconds` the time
    /// it took.
    #[allow(clippy::too_many_arguments, reason = "one call does it all")]
    fn search<'py>(
        &self,
        py: Python<'py>,
        queries: Vec<Text>,
        dated: Vec<Option<DatedQuery>>,
        vectors: &Bound<'py, PyAny>,
        embedder: Option<Text>,
        embed_seconds: f64,
        options: &Bound<'py, PySearchOptions>,
        threads: NonZeroUsize,
        stop: &Bound<'py, PyStop>,
        point_in_time: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let vectors = embedded(vectors, queries.len())?;
        let options = options.get();
        let request = |position: usize| {
            options.request(
                &queries[position],
                dated[position].as_ref(),
                &vectors[position],
            )
        };
        let sound = (0..queries.len()).filter(|position| vectors[*position].error(py).is_none());
        let requests: Vec<Request<'_>> = sound.map(request).collect();
        let state = State::new(&self.target, point_in_time);
        let remote = state.collection();
        let setup = self.setup(embedder.as_deref(), remote.as_ref())?;
        let found = self.run(py, &setup, &requests, threads, &stop.get().0);
        state.check()?;
        let mut found = found?.into_iter();
        let embed = Duration::try_from_secs_f64(embed_seconds).unwrap_or_default();
        vectors
            .iter()
            .map(|vector| match vector.error(py) {
                Some(error) => Ok(error.into_value(py).into_bound(py).into_any()),
                None => answer(py, found.next().flatten(), embed),
            })
            .collect()
    }
}

impl PySearcher {
    /// The index that is searched; an error for a collection on a server.
    pub fn index(&self) -> PyResult<&Index> {
        self.target.index().ok_or_else(|| {
            let message = "memories are recalled from an index, not from a collection";
            errors::error(ErrorCode::EngineFault, message)
        })
    }

    /// Return a searcher of the visible memories of the index.
    pub fn within(&self, columns: Arc<ColumnCache>, visible: Visibility) -> PyResult<Self> {
        let target = self.target.part(columns, visible);
        let target = target.ok_or_else(|| {
            let message = "a scope is of a memory root, which has an index";
            errors::error(ErrorCode::EngineFault, message)
        })?;
        Ok(Self {
            target,
            aliases: self.aliases.clone(),
            fuzzy: FuzzyChunks::Own,
            ..*self
        })
    }

    /// Return the setup shared by all searches with vectors of this embedder.
    pub fn setup<'a>(
        &'a self,
        embedder: Option<&'a str>,
        remote: Option<&'a RemoteCollection<'a>>,
    ) -> PyResult<Setup<'a>> {
        let collection: &dyn Collection = match (&self.target, remote) {
            (SearchTarget::Index(index), _) => &***index,
            (SearchTarget::Part(part), _) => &**part,
            (SearchTarget::Remote { .. }, Some(collection)) => collection,
            (SearchTarget::Remote { .. }, None) => {
                let message = "a collection is searched at a point in time, and none was given";
                return Err(errors::error(ErrorCode::EngineFault, message));
            }
        };
        Ok(Setup {
            collection,
            aliases: self.aliases.as_ref(),
            default_operator: self.default_operator,
            matching: self.matching,
            fusion: self.fusion,
            neighbors: self.neighbors,
            speakers: self.speakers,
            dates: self.dates,
            reweight: self.reweight,
            fuzzy: &self.fuzzy,
            embedder,
        })
    }

    /// Run a search. A single search runs on this thread; a batch on separate threads, so that it
    /// can be interrupted.
    fn run(
        &self,
        py: Python<'_>,
        setup: &Setup<'_>,
        requests: &[Request<'_>],
        threads: NonZeroUsize,
        stop: &interrupt::Flag,
    ) -> PyResult<Vec<Option<Result<SearchResult>>>> {
        if let [request] = requests {
            let search = || Ok(vec![Some(search(setup, request))]);
            return interrupt::stoppable(stop, || self.call_detached(py, search));
        }
        let many = || Ok(search_many(setup, requests, threads, stop));
        let found = errors::call_interruptible(py, stop, many);
        self.log(py);
        found
    }

    fn call_detached<T: Send>(
        &self,
        py: Python<'_>,
        engine: impl FnOnce() -> Result<T> + Send,
    ) -> PyResult<T> {
        let result = errors::call_detached(py, engine);
        self.log(py);
        result
    }

    /// Log the notices of the index.
    pub fn log(&self, py: Python<'_>) {
        if let Some(index) = self.target.index() {
            notices::log(py, index);
        }
    }
}

/// A Found or an exception. Raises CancelledError for a search that did not run, since the batch
/// was stopped.
fn answer(
    py: Python<'_>,
    found: Option<Result<SearchResult>>,
    embed: Duration,
) -> PyResult<Bound<'_, PyAny>> {
    match found {
        Some(Ok(mut found)) => {
            found.trace.timings.embed = embed;
            Ok(Bound::new(py, PyFound(found))?.into_any())
        }
        Some(Err(error)) => {
            let error = errors::to_py(error);
            Ok(error.into_value(py).into_bound(py).into_any())
        }
        None => {
            let stopped = py.import("concurrent.futures")?.getattr("CancelledError")?;
            Err(PyErr::from_value(stopped.call0()?))
        }
    }
}

/// The chunks of the fuzzy rung, from any iterable of objects with an id and a path.
fn chunks(object: &Bound<'_, PyAny>) -> PyResult<Vec<Chunk>> {
    let argument = Argument {
        name: "trigram_chunks",
        code: ErrorCode::InvalidChunk,
    };
    let Ok(items) = object.try_iter() else {
        return Err(argument.wrong("must be an iterable of Chunk", object));
    };
    items
        .enumerate()
        .map(|(position, item)| {
            let item = item?;
            if let Ok(chunk) = item.cast::<PyChunk>() {
                return Ok(chunk.get().0.clone());
            }
            let source = Source::new(&format!("trigram_chunks[{position}]"), &item)?;
            Ok(Chunk::from(source.hit().texts.as_ref().clone()))
        })
        .collect()
}
