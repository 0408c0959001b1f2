//! The effects of agents' runs on a store, for `hedgerow.agents`.

use hedgerow_engine::ErrorCode;
use hedgerow_graph::agents::{Action, AgentRun, Record, RunOutcome, RunRequest, RunStatus};
use hedgerow_graph::pipeline::{self, Options};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors;
use crate::pipeline::{PipelineLike, ranked};
use crate::results;
use crate::store::PyStore;

/// An action, its line in the reply (from 1), and the text to keep of it.
type ActionLine<'py> = (Bound<'py, PyAny>, u32, String);

/// Run a pipeline without the nodes that are claimed at `now`; `legs` is as in Store.query.
#[pyfunction]
#[pyo3(signature = (store, pipeline, now, legs=None))]
pub fn _unclaimed<'py>(
    py: Python<'py>,
    store: &PyStore,
    pipeline: PipelineLike,
    now: i64,
    legs: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let pipeline = store.parsed(py, pipeline, None)?;
    let legs = legs.map(|legs| ranked(legs, &pipeline)).transpose()?;
    let outcome = errors::call_detached(py, || {
        let options = Options {
            now,
            legs,
            without: store.store.claimed(now)?,
            ..Options::default()
        };
        pipeline::run(&store.store, &pipeline, &options)
    })?;
    results::query_result(py, outcome)
}

/// Begin a run; returns its number and its nodes, or None if it cannot begin.
#[pyfunction]
#[allow(
    clippy::similar_names,
    clippy::too_many_arguments,
    reason = "keyword arguments in Python"
)]
#[pyo3(signature = (store, agent, definition, keys, *, least, last, now, expires))]
pub fn _begin_run(
    py: Python<'_>,
    store: &PyStore,
    agent: String,
    definition: String,
    keys: Vec<String>,
    least: usize,
    last: Option<i64>,
    now: i64,
    expires: i64,
) -> PyResult<Option<(i64, Vec<String>)>> {
    let begun = errors::call_writing(py, Some(keys.len() * errors::ITEM), || {
        store.store.begin_run(&RunRequest {
            agent: &agent,
            definition: &definition,
            keys: &keys,
            least,
            last,
            now,
            expires,
        })
    })?;
    Ok(begun.map(|begun| (begun.run, begun.keys)))
}

/// End a run of which nothing is stored, as "failed" or "stopped"; returns whether it was in
/// progress.
#[pyfunction]
#[pyo3(signature = (store, run, *, now, status, error=None, permanent=false))]
pub fn _end_run(
    py: Python<'_>,
    store: &PyStore,
    run: i64,
    now: i64,
    status: &str,
    error: Option<String>,
    permanent: bool,
) -> PyResult<bool> {
    let ends = |status: &RunStatus| matches!(status, RunStatus::Failed | RunStatus::Stopped);
    let status = RunStatus::from_name(status).filter(ends).ok_or_else(|| {
        let message = format!("a run ends \"failed\" or \"stopped\", not {status:?}");
        errors::error(ErrorCode::InvalidOption, message)
    })?;
    errors::call_writing(py, Some(0), || {
        let error = error.as_deref();
        store.store.end_run(run, now, status, error, permanent)
    })
}

/// Apply a run; returns for each action why it was rejected, or None, and None if the run is over.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "keyword arguments in Python")]
#[pyo3(signature = (store, run, *, now, actions, rejected, visited, shown, tokens_in, tokens_out))]
pub fn _apply_run(
    py: Python<'_>,
    store: &PyStore,
    run: i64,
    now: i64,
    actions: Vec<ActionLine<'_>>,
    rejected: Vec<(u32, String, String)>,
    visited: Vec<String>,
    shown: Vec<(String, String)>,
    tokens_in: u64,
    tokens_out: u64,
) -> PyResult<Option<Vec<Option<String>>>> {
    let actions = actions
        .into_iter()
        .map(|(object, line, action)| {
            let record = Record {
                line,
                action,
                reason: None,
            };
            Ok((action_of(&object)?, record))
        })
        .collect::<PyResult<Vec<_>>>()?;
    let rejected: Vec<Record> = rejected
        .into_iter()
        .map(|(line, action, reason)| Record {
            line,
            action,
            reason: Some(reason),
        })
        .collect();
    errors::call_writing(py, None, || {
        store.store.apply(&RunOutcome {
            run,
            now,
            actions: &actions,
            rejected: &rejected,
            visited: &visited,
            shown: &shown,
            tokens_in,
            tokens_out,
        })
    })
}

/// Why each action of an agent would be rejected now, or None, in a run or outside of one; nothing
/// is written.
#[pyfunction]
#[pyo3(signature = (store, agent, actions, shown, now, run=None))]
pub fn _rehearse(
    py: Python<'_>,
    store: &PyStore,
    agent: String,
    actions: Vec<Bound<'_, PyAny>>,
    shown: Vec<(String, String)>,
    now: i64,
    run: Option<i64>,
) -> PyResult<Vec<Option<String>>> {
    let actions: Vec<Action> = actions.iter().map(action_of).collect::<PyResult<_>>()?;
    errors::call_writing(py, None, || {
        store.store.rehearse(&agent, run, &actions, &shown, now)
    })
}

/// The last runs of an agent, the latest first, each as the fields of an AgentRun.
#[pyfunction]
pub fn _agent_runs<'py>(
    py: Python<'py>,
    store: &PyStore,
    agent: String,
    now: i64,
    limit: u32,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let runs = errors::call_detached(py, || store.store.runs(&agent, now, limit))?;
    runs.iter().map(|run| fields(py, run)).collect()
}

/// Return the outcomes of the actions of a run: line, action and reason.
#[pyfunction]
pub fn _run_records(
    py: Python<'_>,
    store: &PyStore,
    run: i64,
) -> PyResult<Vec<(u32, String, Option<String>)>> {
    let records = errors::call_detached(py, || store.store.records(run))?;
    let records = records.into_iter();
    Ok(records
        .map(|record| (record.line, record.action, record.reason))
        .collect())
}

/// The last run of an agent, its `ok` runs since a time, its failures in a row, and the last of
/// them.
#[pyfunction]
pub fn _standing<'py>(
    py: Python<'py>,
    store: &PyStore,
    agent: String,
    definition: String,
    now: i64,
    since: i64,
) -> PyResult<Bound<'py, PyDict>> {
    let standing =
        errors::call_detached(py, || store.store.standing(&agent, &definition, now, since))?;
    let run = |run: Option<&AgentRun>| run.map(|run| fields(py, run)).transpose();
    let dict = PyDict::new(py);
    dict.set_item("last", run(standing.last.as_ref())?)?;
    dict.set_item("ok_runs", standing.ok_runs)?;
    dict.set_item("failures", standing.failures)?;
    dict.set_item("failure", run(standing.failure.as_ref())?)?;
    Ok(dict)
}

/// When an agent last visited each of these nodes, or None.
#[pyfunction]
pub fn _last_visits(
    py: Python<'_>,
    store: &PyStore,
    agent: String,
    keys: Vec<String>,
) -> PyResult<Vec<Option<i64>>> {
    errors::call_detached(py, || store.store.last_visits(&agent, &keys))
}

/// Stop counting the failures of an agent so far.
#[pyfunction]
pub fn _resume_agent(py: Python<'_>, store: &PyStore, agent: String) -> PyResult<()> {
    errors::call_writing(py, Some(0), || store.store.resume(&agent))
}

/// The numbers of nodes, edges, communities and communities of one node, the mean isolation and the
/// mean clustering coefficient.
#[pyfunction]
pub fn _topology(
    py: Python<'_>,
    store: &PyStore,
) -> PyResult<(usize, usize, usize, usize, f64, f64)> {
    let found = errors::call_detached(py, || store.store.topology())?;
    Ok((
        found.nodes,
        found.edges,
        found.communities,
        found.alone,
        found.isolation,
        found.clustering,
    ))
}

fn fields<'py>(py: Python<'py>, run: &AgentRun) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("id", run.id)?;
    dict.set_item("agent", &run.agent)?;
    dict.set_item("definition", &run.definition)?;
    dict.set_item("started", run.started)?;
    dict.set_item("expires", run.expires)?;
    dict.set_item("ended", run.ended)?;
    dict.set_item("status", run.status.as_str())?;
    dict.set_item("permanent", run.permanent)?;
    dict.set_item("nodes", run.nodes)?;
    dict.set_item("applied", run.applied)?;
    dict.set_item("rejected", run.rejected)?;
    dict.set_item("error", run.error.as_deref())?;
    dict.set_item("tokens_in", run.tokens_in)?;
    dict.set_item("tokens_out", run.tokens_out)?;
    Ok(dict)
}

/// An action of `hedgerow.agents`, by its operation.
fn action_of(object: &Bound<'_, PyAny>) -> PyResult<Action> {
    let text = |name: &str| object.getattr(name)?.extract::<String>();
    let number = |name: &str| object.getattr(name)?.extract::<f64>();
    Ok(match text("op")?.as_str() {
        "link-add" => Action::LinkAdd {
            a: text("a")?,
            b: text("b")?,
            strength: number("strength")?,
        },
        "weight" => Action::Weight {
            key: text("key")?,
            value: number("value")?,
        },
        "categorize" => Action::Categorize {
            key: text("key")?,
            category: text("category")?,
        },
        "write-node" => Action::WriteNode {
            key: text("key")?,
            content: text("content")?,
            kind: text("type")?,
            confidence: object.getattr("confidence")?.extract()?,
            covers: object.getattr("covers")?.extract()?,
        },
        "refine" => Action::Refine {
            key: text("key")?,
            content: text("content")?,
        },
        "delete" => Action::Delete { key: text("key")? },
        "rename" => Action::Rename {
            key: text("key")?,
            new_key: text("new_key")?,
        },
        "note" => Action::Note,
        other => {
            let message = format!("there is no action {other:?}");
            return Err(errors::error(ErrorCode::InvalidOption, message));
        }
    })
}
