//! Engine errors and caught panics as exceptions of `hedgerow.errors`.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use hedgerow_engine::{Error, ErrorCode, ErrorKind, Fix, Result};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::{calling, interrupt, json};

/// Call the engine; an error or a panic becomes an exception.
///
/// A caught panic leaves nothing half-done that a later call could see: the engine's locks
/// recover from poisoning and its transactions roll back.
pub fn call<T>(engine: impl FnOnce() -> Result<T>) -> PyResult<T> {
    caught(engine).map_err(to_py)
}

/// [`call`] while detached from the interpreter, so that other threads can run. Ctrl-C ends it
/// soon.
///
/// Not for a call that may hold the write lock: on Python's main thread this waits for the
/// interpreter now and then.
pub fn call_detached<T: Send>(
    py: Python<'_>,
    engine: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    let (result, interrupted) = interrupt::with_cancellation(py, || caught(engine));
    if interrupted {
        interrupt::handle(py)?;
    }
    result.map_err(to_py)
}

/// Bytes that are written in far less time than it may take to notice Ctrl-C.
const LITTLE: usize = 1 << 18;
/// The estimated bytes of a small item: a node without its texts, an edge, an id.
pub const ITEM: usize = 1 << 11;

/// [`call_detached`] for a call that may hold the write lock, with which no thread may wait for the
/// interpreter. It writes about this many bytes; None if that is not known.
///
/// A helper thread costs tens of microseconds, or milliseconds if all processors are busy.
/// Therefore a little is written on the calling thread, and Ctrl-C waits for it.
pub fn call_writing<T: Send>(
    py: Python<'_>,
    bytes: Option<usize>,
    engine: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    let stop = interrupt::stop().unwrap_or_default();
    if bytes.is_some_and(|bytes| bytes <= LITTLE) {
        let result = interrupt::on_the_spot(py, &stop, || caught(engine));
        return result.map_err(to_py);
    }
    let look = |py: Python<'_>| interrupt::is_pressed(py).then_some(());
    let (result, pressed) = interrupt::apart(py, &stop, look, || caught(engine));
    if pressed.is_some() {
        interrupt::handle(py)?;
    }
    result.map_err(to_py)
}

/// [`call_detached`] for work that takes long: a signal that arrives meanwhile sets `stop`, and its
/// exception is raised once the work has ended.
pub fn call_interruptible<T: Send>(
    py: Python<'_>,
    stop: &interrupt::Flag,
    engine: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    let look = |py: Python<'_>| py.check_signals().err();
    let (result, raised) = interrupt::apart(py, stop, look, || caught(engine));
    match raised {
        Some(raised) => Err(raised),
        None => result.map_err(to_py),
    }
}

fn caught<T>(engine: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(engine)).unwrap_or_else(|panic| Err(panic_error(panic.as_ref())))
}

/// The exception for an engine error.
#[allow(clippy::needless_pass_by_value)] // so that `map_err(to_py)` reads plainly
pub fn to_py(error: Error) -> PyErr {
    Python::attach(|py| instantiate(py, &error).unwrap_or_else(|failure| failure))
}

/// The exception for an error that the shell itself finds.
pub fn error(code: ErrorCode, message: impl Into<String>) -> PyErr {
    to_py(Error::new(code, message))
}

fn instantiate(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let class = match error.code().kind() {
        ErrorKind::InvalidInput => "InvalidInputError",
        ErrorKind::QueryTooLarge => "QueryTooLargeError",
        ErrorKind::IndexFile => "IndexFileError",
        ErrorKind::Backend => "BackendError",
        ErrorKind::Fault => "EngineError",
    };
    let arguments = PyDict::new(py);
    arguments.set_item("code", error.code().as_str())?;
    if let Some(path) = error.path() {
        arguments.set_item("path", path)?;
    }
    if !error.fixes().is_empty() {
        let fixes = error.fixes().iter().map(|one| fix(py, one));
        arguments.set_item("fixes", fixes.collect::<PyResult<Vec<_>>>()?)?;
    }
    let class = py.import("hedgerow.errors")?.getattr(class)?;
    let raised = calling::call(&class, (error.message(),), Some(&arguments))?;
    Ok(PyErr::from_value(raised))
}

/// A fix as a `Fix` of `hedgerow.errors`.
pub fn fix<'py>(py: Python<'py>, fix: &Fix) -> PyResult<Bound<'py, PyAny>> {
    let arguments = PyDict::new(py);
    for (name, value) in &fix.arguments {
        arguments.set_item(name, json::value(py, value)?)?;
    }
    let class = py.import("hedgerow.errors")?.getattr("Fix")?;
    class.call1((fix.does, fix.operation, arguments))
}

fn panic_error(panic: &(dyn Any + Send)) -> Error {
    let what = panic
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned());
    Error::new(
        ErrorCode::EnginePanic,
        format!("the engine failed unexpectedly ({what}); please report this with the input"),
    )
}

/// Panic where the engine is guarded, so that tests see the exception of a caller.
#[pyfunction]
#[allow(clippy::panic)]
pub fn _panic(message: String) -> PyResult<()> {
    call(|| panic!("{message}"))
}
