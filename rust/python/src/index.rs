//! `Index`: the embedded index.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hedgerow_engine::chunks::{Filters, check_limit};
use hedgerow_engine::index::{Index, SUBJECTS, Update};
use hedgerow_engine::storage::{Durability, Location};
use hedgerow_engine::text::tokenizer::TokenizerKind;
use hedgerow_engine::{Error, ErrorCode};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::aliases::Aliases;
use crate::calling;
use crate::chunk::{self, PyChunk};
use crate::chunk_iterator::PyChunks;
use crate::engine_handle::EngineHandle;
use crate::errors;
use crate::filters::FiltersLike;
use crate::hit::PyHit;
use crate::index_options::{self, OpenArguments};
use crate::name;
use crate::notices;
use crate::query::QueryOrText;
use crate::stats;
use crate::stopwords::{self, StopWordsLike};
use crate::text::{Text, Word};
use crate::value::{Argument, FilePath, Flag, Limit};
use crate::vector::{self, Dimensions};

/// The ids that a method is given.
const IDS: Argument<'_> = Argument {
    name: "ids",
    code: ErrorCode::InvalidId,
};
/// How long `progress` is not called again.
const PROGRESS: Duration = Duration::from_millis(100);

/// An embedded index: one SQLite file, or memory (spec/index.md).
///
/// Made by `Index.open` or `Index.in_memory`; `Index(path)` is `Index.open(path)`. One handle
/// serves many threads: searches run in parallel and never wait for a writer of a file; writers
/// take turns. It is a context manager, and pickles as long as it has a file. After a fork, open
/// the index again.
///
/// Every method raises IndexFileError when the file cannot be read or written or was replaced, and
/// when the handle is closed or was opened by another process.
#[pyclass(name = "Index", module = "hedgerow", frozen)]
pub struct PyIndex {
    pub index: EngineHandle<Arc<Index>>,
    /// The tokenizer and the dimensions as they were passed to `open`.
    pub(crate) tokenizer: TokenizerKind,
    pub(crate) dimensions: Option<usize>,
}

/// The filters of an argument `where`, whose errors name what is wrong in it.
fn passing(given: Option<&Bound<'_, PyAny>>) -> PyResult<Filters> {
    let filters = given
        .map(PyAnyMethods::extract::<FiltersLike>)
        .transpose()?;
    Ok(filters.map(|filters| filters.0).unwrap_or_default())
}

#[pymethods]
impl PyIndex {
    #[new]
    #[pyo3(signature = (path, **options))]
    fn new(path: &Bound<'_, PyAny>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let open = path.py().get_type::<Self>().getattr("open")?;
        let opened = calling::call(&open, (path,), options)?.cast_into::<Self>()?;
        Ok(opened.get().shared())
    }

    /// Open an index file, or create it if it is missing.
    ///
    /// `dimensions` is the length of its vectors; by default the first one stored fixes it. `tokenizer` is
    /// chosen when the file is made: "words" (every language), "porter unicode61" (words by their English
    /// stems), "unicode61" (words unchanged) or "trigram" (windows of three characters). A file keeps its own
    /// until `retokenize`; the default is accepted for any. A `read_only` handle refuses to write, and needs
    /// a file that exists. `ranking` is the backend of BM25, with the same results (spec/index.md, "Ranking
    /// in memory"): "memory", many times as fast, for about 60 MB in 100,000 chunks of 80 words; "fts5",
    /// without that memory; or "auto", memory from the second search on where it takes at most 1 GiB.
    /// `vectors` is the way to find the nearest: "exact", all of them, or "fast", by one bit a number first,
    /// which may miss a few, for hundreds of thousands of vectors (spec/index.md, "Fast search"). `resident`
    /// is the part of them in memory: "all", or their "codes" alone, for a quarter of the memory and slower
    /// searches. `stopwords` are dropped from queries without operators (spec/query.md, "Filtering"):
    /// "en+nl", "en", "nl", "none" or words; the file keeps them, and left out they are those of the file.
    /// `metadata_index` names keys of the metadata, or "tags", "path" and "ordinal", whose values are
    /// indexed, so that filters on them are found sooner (spec/filters.md, "Declared keys"); the file
    /// remembers them. `durability` is what a power failure leaves of acknowledged writes: "normal", all but
    /// the last ones, or "full", all of them, for a wait at each write (spec/index.md, "Promises").
    ///
    /// Raises InvalidInputError for an unknown or another tokenizer, an unknown `ranking`, `vectors`,
    /// `resident`, `durability` or `stopwords`, for a wrong `metadata_index` and for dimensions that are not the file's,
    /// IndexFileError for a file that cannot be used.
    #[staticmethod]
    #[pyo3(
        signature = (path, *, dimensions=None, tokenizer=Word::of("words"), read_only=Flag::of(false), ranking=Word::of("auto"), vectors=Word::of("exact"), resident=Word::of("all"), stopwords=None, metadata_index=None, durability=Word::of("normal")),
        text_signature = "(path, *, dimensions=None, tokenizer='words', read_only=False, ranking='auto', vectors='exact', resident='all', stopwords=None, metadata_index=None, durability='normal')"
    )]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments in Python")]
    fn open(
        py: Python<'_>,
        path: FilePath,
        dimensions: Option<Dimensions>,
        tokenizer: Word,
        read_only: Flag<name::ReadOnly>,
        ranking: Word,
        vectors: Word,
        resident: Word,
        stopwords: Option<StopWordsLike>,
        metadata_index: Option<Bound<'_, PyAny>>,
        durability: Word,
    ) -> PyResult<Self> {
        let (FilePath(path), read_only) = (path, read_only.0);
        index_options::check_path(&path, "Index")?;
        let methods = (&*ranking, &*vectors, &*resident);
        let keys = metadata_index.as_ref();
        let open = |tokenizer, methods| {
            let durability = Durability::from_option("durability", &durability)?;
            let location = Location::file(&path, read_only, SUBJECTS)?;
            Index::open_at(
                location.with_durability(durability),
                tokenizer,
                read_only,
                methods,
            )
        };
        Self::made(py, dimensions, &tokenizer, methods, stopwords, keys, open)
    }

    /// Make an index in memory, of at most 2 GiB; it is gone when it is closed.
    ///
    /// A writer waits for running searches, and searches for a running writer.
    #[staticmethod]
    #[pyo3(
        signature = (dimensions=None, tokenizer=Word::of("words"), ranking=Word::of("auto"), vectors=Word::of("exact"), resident=Word::of("all"), stopwords=None, metadata_index=None),
        text_signature = "(dimensions=None, tokenizer='words', ranking='auto', vectors='exact', resident='all', stopwords=None, metadata_index=None)"
    )]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments in Python")]
    fn in_memory(
        py: Python<'_>,
        dimensions: Option<Dimensions>,
        tokenizer: Word,
        ranking: Word,
        vectors: Word,
        resident: Word,
        stopwords: Option<StopWordsLike>,
        metadata_index: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let methods = (&*ranking, &*vectors, &*resident);
        let keys = metadata_index.as_ref();
        let make = Index::in_memory_with;
        Self::made(py, dimensions, &tokenizer, methods, stopwords, keys, make)
    }

    /// Create an index of plain texts, in memory or in the file `path`.
    ///
    /// `ids`, `paths`, `metadatas` and `embeddings` have a value for each text, if they are given.
    /// Without an id, 16 hexadecimal digits are made of path and text, the same each time, and
    /// those of a text that comes again get "-2", "-3" at their end; without a path, the id is one.
    /// Ordinals count the texts of each path. The other options are those of `open`. A file may
    /// exist: the texts are added, and replace those of their ids.
    ///
    /// Raises InvalidInputError for items that are not texts and for lists of another length,
    /// before anything is opened, and the errors of `open` and `upsert`.
    #[staticmethod]
    #[pyo3(
        signature = (texts, **options),
        text_signature = "(texts, *, ids=None, paths=None, metadatas=None, embeddings=None, path=None, **options)"
    )]
    fn from_texts<'py>(
        texts: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = texts.py();
        calling::call_named(py, "hedgerow._texts", "from_texts", (texts,), options)
    }

    /// The absolute path of the file, as a pathlib.Path; None in memory.
    #[getter]
    fn path(&self) -> Option<&PathBuf> {
        self.index.path()
    }

    /// The stop words of a query without operators: "en+nl", "en", "nl", "none", or words as a
    /// frozenset.
    #[getter]
    fn stopwords<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        stopwords::to_py(py, self.index.stopwords())
    }

    /// The tokenizer of the full-text index.
    #[getter]
    fn tokenizer(&self) -> &'static str {
        self.index.tokenizer().as_str()
    }

    /// Whether this handle refuses to write.
    #[getter]
    fn read_only(&self) -> bool {
        self.index.read_only()
    }

    /// Store chunks from any iterable, in one transaction: all of them, or none.
    ///
    /// Mappings with the fields of a Chunk are taken in their place, as `Chunk.from_dict` does. A
    /// chunk replaces the one of the same id and keeps its row, which decides between equal scores;
    /// of several with one id the last counts. A chunk without an embedding keeps its vector while
    /// title, summary and content stay the same. Returns the number of distinct ids.
    ///
    /// Raises InvalidInputError, with the position, for anything but a Chunk or a mapping of one,
    /// for an empty id and for an embedding with other dimensions than those of the index.
    fn upsert(&self, py: Python<'_>, chunks: &Bound<'_, PyAny>) -> PyResult<usize> {
        let chunks = chunk::chunks(chunks)?;
        self.write(py, Some(chunk::bytes(&chunks)), || {
            self.index.upsert(&chunk::inner(&chunks))
        })
    }

    /// Rebuild the full-text index with another tokenizer, in one transaction.
    ///
    /// Chunks and vectors stay. Searches read the former index until the call ends, and writes wait; all
    /// handles of the file follow. `progress(done, total)` is called with numbers of chunks. Returns False if
    /// the index has that tokenizer already.
    ///
    /// Raises InvalidInputError for an unknown tokenizer.
    #[pyo3(
        signature = (tokenizer=Word::of("words"), *, progress=None),
        text_signature = "($self, tokenizer='words', *, progress=None)"
    )]
    fn retokenize(
        &self,
        py: Python<'_>,
        tokenizer: Word,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<bool> {
        let mut raised = None;
        let mut reported = Instant::now();
        let changed = self.write(py, None, || {
            let tokenizer = TokenizerKind::parse(&tokenizer)?;
            self.index.retokenize(tokenizer, &mut |done, total| {
                let Some(callback) = &progress else {
                    return Ok(());
                };
                if done < total && reported.elapsed() < PROGRESS {
                    return Ok(());
                }
                reported = Instant::now();
                raised = Python::attach(|py| callback.call1(py, (done, total)).err());
                match raised {
                    Some(_) => Err(Error::new(ErrorCode::Interrupted, "progress raised")),
                    None => Ok(()),
                }
            })
        });
        match raised {
            Some(error) => Err(error),
            None => changed,
        }
    }

    /// Remove chunks in one transaction: those of `ids`, any iterable of str, or those that pass `where`,
    /// a filter. Returns how many there were.
    ///
    /// Raises InvalidInputError for both or neither, for an id that is not a str, with its position, and
    /// for an empty filter, which every chunk would pass.
    #[pyo3(signature = (ids=None, *, r#where=None), text_signature = "($self, ids=None, *, where=None)")]
    fn delete(
        &self,
        py: Python<'_>,
        ids: Option<&Bound<'_, PyAny>>,
        r#where: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<usize> {
        match (ids, r#where) {
            (Some(ids), None) => {
                let ids = IDS.texts_of_any(ids)?;
                self.write(py, Some(ids.len() * errors::ITEM), || {
                    self.index.delete(&ids)
                })
            }
            (None, Some(filters)) => {
                let filters = passing(Some(filters))?;
                self.write(py, None, || self.index.delete_where(&filters))
            }
            _ => Err(errors::error(
                ErrorCode::InvalidOption,
                "delete takes ids or where, one of them",
            )),
        }
    }

    /// Change metadata and tags of the chunks that pass `where`, a filter, in one transaction. Returns
    /// how many passed, including those that were so already.
    ///
    /// Keys of `metadata` are set, or removed if their value is None; other keys stay. `tags` replace all
    /// earlier ones. Vectors and texts stay, so nothing is embedded again. Chunks made from files get the
    /// values of their files back with the next sync.
    ///
    /// Raises InvalidInputError for an empty filter, which every chunk would pass, if neither metadata
    /// nor tags are given, and for values that are not JSON.
    #[pyo3(
        signature = (r#where, *, metadata=None, tags=None),
        text_signature = "($self, where, *, metadata=None, tags=None)"
    )]
    fn update(
        &self,
        py: Python<'_>,
        r#where: &Bound<'_, PyAny>,
        metadata: Option<&Bound<'_, PyAny>>,
        tags: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<usize> {
        let argument = |name| Argument {
            name,
            code: ErrorCode::InvalidChunk,
        };
        let filters = passing(Some(r#where))?;
        let update = Update {
            metadata: argument("metadata").json_object(metadata)?,
            tags: tags.map(|tags| argument("tags").texts(tags)).transpose()?,
        };
        self.write(py, None, || self.index.update_where(&filters, &update))
    }

    /// Remove every chunk of a path; return the number removed.
    fn delete_path(&self, py: Python<'_>, path: Text<name::Path>) -> PyResult<usize> {
        self.write(py, None, || self.index.delete_path(&path))
    }

    /// Bring the index up to date with files and folders, as `hedgerow index` does (spec/ingest.md,
    /// "Runs"); return an IndexReport.
    ///
    /// `paths` are names of Markdown, text and JSON Lines files, and of folders with such files, or
    /// one of them. Changed files are read, and chunks gone from the files are removed; chunks that
    /// were not made from files are left alone. `exclude` and `include` are patterns of a shell,
    /// for names or for paths below a folder: files to skip, and files to read nevertheless.
    /// `embedder`, if given, makes the vectors of chunks that have none. `progress(done, total)` is
    /// called with numbers of files, then with those of chunks.
    ///
    /// Raises InvalidInputError, with nothing changed, for a path that does not exist, and for one
    /// without anything to read of which the index has files, unless `allow_empty`; the errors of
    /// the embedder.
    #[pyo3(
        signature = (paths, **options),
        text_signature = "($self, paths, *, exclude=(), include=(), allow_empty=False, embedder=None, progress=None)"
    )]
    fn sync_files<'py>(
        slf: &Bound<'py, Self>,
        paths: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arguments = (slf, paths);
        calling::call_named(
            slf.py(),
            "hedgerow.ingest",
            "sync_files",
            arguments,
            options,
        )
    }

    /// The chunk of an id, or None.
    fn get(&self, py: Python<'_>, id: Text<name::Id>) -> PyResult<Option<PyChunk>> {
        let found = self.call(py, || self.index.get(&id))?;
        Ok(found.map(PyChunk))
    }

    /// The chunks of these ids, from any iterable of str, in their order; None for an id without a chunk.
    ///
    /// All are read in one state of the index. An id that comes twice has its chunk twice.
    fn get_many(&self, py: Python<'_>, ids: &Bound<'_, PyAny>) -> PyResult<Vec<Option<PyChunk>>> {
        let ids = IDS.texts_of_any(ids)?;
        let found = self.call(py, || self.index.get_many(&ids))?;
        Ok(found.into_iter().map(|chunk| chunk.map(PyChunk)).collect())
    }

    /// The first `limit` chunks in row order, or all if there are fewer.
    ///
    /// Raises InvalidInputError for a limit below 1.
    #[pyo3(signature = (limit=Limit(10)), text_signature = "($self, limit=10)")]
    fn peek(&self, py: Python<'_>, limit: Limit) -> PyResult<Vec<PyChunk>> {
        let limit = u32::try_from(limit.0).unwrap_or(u32::MAX);
        let page = self.call(py, || {
            check_limit(limit as usize)?;
            self.index.page(0, limit)
        })?;
        Ok(page.chunks.into_iter().map(PyChunk).collect())
    }

    /// How many chunks pass `where`, a filter; all without one.
    #[pyo3(signature = (r#where=None), text_signature = "($self, where=None)")]
    fn count(&self, py: Python<'_>, r#where: Option<&Bound<'_, PyAny>>) -> PyResult<usize> {
        let filters = passing(r#where)?;
        let chunks = self.call(py, || self.index.count(&filters))?;
        Ok(usize::try_from(chunks)?)
    }

    /// The chunks that pass `where`, a filter, in row order; all without one.
    ///
    /// The iteration shows the index as it was when it began: chunks may be written and deleted
    /// meanwhile. Of a file it holds 256 chunks at a time; an index in memory is copied first. A file
    /// keeps what is replaced until the iteration ends, so a long one should not be left open.
    #[pyo3(signature = (r#where=None), text_signature = "($self, where=None)")]
    fn chunks(&self, py: Python<'_>, r#where: Option<&Bound<'_, PyAny>>) -> PyResult<PyChunks> {
        PyChunks::new(py, &self.index, &passing(r#where)?)
    }

    /// Like `chunks()`.
    fn __iter__(&self, py: Python<'_>) -> PyResult<PyChunks> {
        self.chunks(py, None)
    }

    /// Whether there is a chunk of this id; False for anything but a str.
    fn __contains__(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<bool> {
        let id = id.extract::<String>().unwrap_or_default();
        self.call(py, || self.index.contains(&id))
    }

    /// Return the number of chunks.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.count(py, None)
    }

    /// The best `limit` chunks for a query by BM25, best first (spec/index.md, "Ranking").
    ///
    /// `text` is a query text or a Query; `aliases`, `matching` and `operator` are as
    /// in `compile_match`; `filters` is a Filters or a mapping (spec/filters.md), and holds before
    /// anything is ranked. Equal scores are in row order. A query with nothing to search for finds
    /// nothing.
    ///
    /// Raises InvalidInputError for a limit below 1, wrong filters or options, and
    /// QueryTooLargeError.
    #[pyo3(
        signature = (text, limit=Limit(10), *, aliases=None, filters=None, matching=Word::of("spec"), operator=None),
        text_signature = "($self, text, limit=10, *, aliases=None, filters=None, matching='spec', operator=None)"
    )]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments in Python")]
    fn search_bm25(
        &self,
        py: Python<'_>,
        text: QueryOrText,
        limit: Limit,
        aliases: Option<Aliases<'_>>,
        filters: Option<FiltersLike>,
        matching: Word,
        operator: Option<Word>,
    ) -> PyResult<Vec<PyHit>> {
        self.found_by_words(
            py,
            &text,
            limit,
            aliases,
            filters,
            &matching,
            operator.as_deref(),
        )
    }

    /// The best `limit` chunks by the cosine of their vector with this one, best first
    /// (spec/index.md, "Vectors").
    ///
    /// `vector` is a buffer of floats, such as a numpy array, or a sequence of numbers; `filters`
    /// holds before anything is ranked. All vectors are compared, and equal ones are ordered by
    /// path, then by id. A vector that is empty or all zeros finds nothing.
    ///
    /// Raises InvalidInputError for a vector of another dimension than the index's or with NaN or
    /// an infinity, for a limit below 1 and for wrong filters.
    #[pyo3(
        signature = (vector, limit=Limit(10), *, filters=None),
        text_signature = "($self, vector, limit=10, *, filters=None)"
    )]
    fn search_vector(
        &self,
        py: Python<'_>,
        vector: &Bound<'_, PyAny>,
        limit: Limit,
        filters: Option<FiltersLike>,
    ) -> PyResult<Vec<PyHit>> {
        let argument = Argument {
            name: "vector",
            code: ErrorCode::InvalidVector,
        };
        let vector = vector::vector(vector, argument)?;
        let filters = filters.map(|filters| filters.0).unwrap_or_default();
        let hits = self.call(py, || self.index.search_vector(&vector, limit.0, &filters))?;
        Ok(hits.into_iter().map(PyHit::from).collect())
    }

    /// Copy the index to a new file while it is in use: all of it, in one state.
    ///
    /// Raises IndexFileError if there is something at `path` already; no part of a copy is left
    /// behind.
    fn backup(&self, py: Python<'_>, path: FilePath) -> PyResult<()> {
        self.call(py, || self.index.backup(&path.0))
    }

    /// Counts, size and versions, as an IndexStats.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let stats = self.call(py, || self.index.stats())?;
        stats::to_python(py, stats)
    }

    /// Look for damage (spec/index.md, "Check"); returns a sentence for each problem.
    ///
    /// A read-only handle compares the rows of the full-text index, but not its texts.
    fn check(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.write(py, None, || self.index.check())
    }

    /// Merge the full-text index into one piece, for faster searches after much writing.
    fn optimize(&self, py: Python<'_>) -> PyResult<()> {
        self.write(py, None, || self.index.optimize())
    }

    /// Close the files once running calls have ended; closing again does nothing.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        notices::call_detached(py, &self.index, || self.index.close())
    }

    /// Set how long writes wait for another process, so that tests need not wait as long.
    fn _set_write_timeout(&self, py: Python<'_>, seconds: f64) -> PyResult<()> {
        let timeout = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        self.write(py, Some(0), || {
            self.index.database().set_write_timeout(timeout)
        })
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        index_options::repr(py, &self.index, self.dimensions)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, OpenArguments)> {
        let handle = slf.get();
        let arguments =
            index_options::arguments(&handle.index, handle.tokenizer, handle.dimensions)?;
        Ok((slf.get_type().getattr("_restore")?, arguments))
    }

    /// Open an index with what pickle kept of its handle.
    #[staticmethod]
    #[allow(clippy::too_many_arguments, reason = "as many as `open` has")]
    fn _restore(
        py: Python<'_>,
        path: FilePath,
        dimensions: Option<Dimensions>,
        tokenizer: Word,
        read_only: Flag<name::ReadOnly>,
        ranking: Word,
        vectors: Word,
        resident: Word,
        stopwords: Option<String>,
        durability: Word,
    ) -> PyResult<Self> {
        let stopwords = stopwords.map(|text| errors::call(|| text.parse()));
        let stopwords = stopwords.transpose()?.map(StopWordsLike);
        Self::open(
            py, path, dimensions, tokenizer, read_only, ranking, vectors, resident, stopwords,
            None, durability,
        )
    }
}
