//! Calling code that may be written in Python.
#![allow(unsafe_code)]

use std::hint;
use std::mem;
use std::ptr;
use std::thread;

use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// `PyObject_Call`, declared as a function that may end the thread, and then unwinds its stack.
type Call = unsafe extern "C-unwind" fn(
    function: *mut PyObject,
    arguments: *mut PyObject,
    options: *mut PyObject,
) -> *mut PyObject;

/// Call something that may run Python's code.
///
/// Python code releases the interpreter now and then. Before Python 3.14, a thread that asks for it
/// again while the interpreter shuts down is ended by `pthread_exit`, which unwinds the stack on
/// Linux, and the process aborts where the unwinding meets Rust. Python 3.14 lets such a thread
/// sleep, and so does PyO3 when it attaches a thread; here it sleeps as well.
pub fn call<'py>(
    function: &Bound<'py, PyAny>,
    arguments: impl Arguments<'py>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let arguments = arguments.into_pyobject(function.py()).map_err(Into::into)?;
    let options = options.map_or(ptr::null_mut(), Bound::as_ptr);
    let call: unsafe extern "C" fn(_, _, _) -> _ = ffi::PyObject_Call;
    // If the compiler saw which function it is, it would leave out the code for unwinding, which
    // the declaration of the function rules out.
    let call = hint::black_box(call);
    // SAFETY: the two types differ only in whether the stack may be unwound through the call.
    let call: Call = unsafe { mem::transmute(call) };
    let sleep = Sleep;
    // SAFETY: all arguments live until the call returns, and the interpreter is attached.
    let result = unsafe { call(function.as_ptr(), arguments.as_ptr(), options) };
    mem::forget(sleep);
    // SAFETY: the result is a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(function.py(), result) }
}

/// Like `call`, for a function of one of our modules written in Python.
pub fn call_named<'py>(
    py: Python<'py>,
    module: &str,
    name: &str,
    arguments: impl Arguments<'py>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    call(&py.import(module)?.getattr(name)?, arguments, options)
}

/// The arguments of a call: a tuple.
pub trait Arguments<'py>:
    IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error: Into<PyErr>>
{
}

impl<'py, T> Arguments<'py> for T where
    T: IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error: Into<PyErr>>
{
}

/// Dropped when the stack is unwound: the thread sleeps for good.
struct Sleep;

impl Drop for Sleep {
    fn drop(&mut self) {
        loop {
            thread::park();
        }
    }
}
