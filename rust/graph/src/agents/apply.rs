//! The end of a run: actions, visits, the run itself and its claims in one transaction.

use rusqlite::{Connection, OptionalExtension, params};

use super::action::Action;
use super::claims;
use super::effects::{Application, Stop};
use super::runs::Record;
use crate::graph::Store;
use crate::graph::node::Outcome;
use crate::graph::write::{VisitInput, id_of, note_visit};
use hedgerow_engine::error::Result;
use hedgerow_engine::storage::WorkError;

/// The outcome of a run, with which it ends.
#[derive(Debug, Clone)]
pub struct RunOutcome<'a> {
    /// The run, which must be under way.
    pub run: i64,
    /// The time, in Unix seconds.
    pub now: i64,
    /// The actions, each with the record to keep of it; its reason is not used.
    pub actions: &'a [(Action, Record)],
    /// The records of actions rejected before.
    pub rejected: &'a [Record],
    /// The keys of the nodes that were visited.
    pub visited: &'a [String],
    /// The contents that the model was shown, by key.
    pub shown: &'a [(String, String)],
    /// The number of tokens that the model read.
    pub tokens_in: u64,
    /// The number of tokens that the model wrote.
    pub tokens_out: u64,
}

/// For each action why it was rejected; None when it was applied.
pub type Reasons = Vec<Option<String>>;

impl Store {
    /// Apply the actions of a run, note its visits, end it and release its claims.
    ///
    /// An action that is impossible is rejected, and does not stop the others. A visit counts as
    /// `modified` if an action changed the node. None, with nothing written, if the run has ended
    /// or expired already.
    pub fn apply(&self, applied: &RunOutcome<'_>) -> Result<Option<Reasons>> {
        self.index().database().try_write(|connection| {
            let Some(agent) = agent_of(connection, applied)? else {
                return Ok(None);
            };
            let visited = ids(connection, applied.visited)?;
            let mut application = Application {
                store: self,
                connection,
                agent: &agent,
                run: applied.run,
                now: applied.now,
                shown: applied.shown,
                touched: Vec::new(),
            };
            let actions = applied.actions.iter().map(|(action, _)| action);
            let reasons = act_all(&mut application, actions)?;
            visit(connection, applied, &agent, &visited, &application.touched)?;
            record(connection, applied, &reasons)?;
            end(connection, applied, &reasons)?;
            claims::release(connection, applied.run)?;
            Ok(Some(reasons))
        })
    }

    /// Return the outcome that the actions of an agent would have now. Nothing is written. `run` is
    /// the run that has claimed their nodes, if any; `shown` is as in [`RunOutcome`].
    pub fn rehearse(
        &self,
        agent: &str,
        run: Option<i64>,
        actions: &[Action],
        shown: &[(String, String)],
        now: i64,
    ) -> Result<Reasons> {
        self.index().database().try_out(|connection| {
            let mut application = Application {
                store: self,
                connection,
                agent,
                run: run.unwrap_or(NO_RUN),
                now,
                shown,
                touched: Vec::new(),
            };
            act_all(&mut application, actions.iter())
        })
    }
}

/// A number that no run has.
const NO_RUN: i64 = 0;

fn act_all<'a>(
    application: &mut Application<'_>,
    actions: impl Iterator<Item = &'a Action>,
) -> std::result::Result<Reasons, WorkError> {
    let reason = |action| match application.act(action) {
        Ok(()) => Ok(None),
        Err(Stop::Rejected(reason)) => Ok(Some(reason)),
        Err(Stop::Failed(failure)) => Err(failure),
    };
    actions.map(reason).collect()
}

/// The agent of a run; None if the run has ended or expired.
fn agent_of(connection: &Connection, applied: &RunOutcome<'_>) -> rusqlite::Result<Option<String>> {
    connection
        .prepare_cached(
            "SELECT agent FROM agent_runs WHERE id = ? AND status = 'started' AND expires > ?",
        )?
        .query_row(params![applied.run, applied.now], |row| row.get(0))
        .optional()
}

fn ids(connection: &Connection, keys: &[String]) -> std::result::Result<Vec<i64>, WorkError> {
    keys.iter().map(|key| id_of(connection, key)).collect()
}

fn visit(
    connection: &Connection,
    applied: &RunOutcome<'_>,
    agent: &str,
    visited: &[i64],
    touched: &[i64],
) -> rusqlite::Result<()> {
    for (node, key) in visited.iter().zip(applied.visited) {
        let outcome = if touched.contains(node) {
            Outcome::Modified
        } else {
            Outcome::Processed
        };
        let visit = VisitInput {
            agent: agent.to_owned(),
            key: key.clone(),
            at: applied.now,
            outcome,
        };
        note_visit(connection, *node, &visit, Some(applied.run))?;
    }
    Ok(())
}

/// Record the outcome of each action, in the order of the reply.
fn record(
    connection: &Connection,
    applied: &RunOutcome<'_>,
    reasons: &[Option<String>],
) -> rusqlite::Result<()> {
    let done = applied.actions.iter().zip(reasons);
    let mut records: Vec<Record> = done
        .map(|((_, record), reason)| Record {
            reason: reason.clone(),
            ..record.clone()
        })
        .chain(applied.rejected.iter().cloned())
        .collect();
    records.sort_by_key(|record| record.line);
    let mut insert =
        connection.prepare_cached("INSERT INTO agent_actions VALUES (?, ?, ?, ?, ?)")?;
    for (position, record) in records.iter().enumerate() {
        insert.execute(params![
            applied.run,
            position,
            record.line,
            record.action,
            record.reason
        ])?;
    }
    Ok(())
}

fn end(
    connection: &Connection,
    applied: &RunOutcome<'_>,
    reasons: &[Option<String>],
) -> rusqlite::Result<()> {
    let done = reasons.iter().filter(|reason| reason.is_none()).count();
    connection
        .prepare_cached(
            "UPDATE agent_runs SET ended = ?, status = 'ok', applied = ?, rejected = ?,
                    tokens_in = ?, tokens_out = ?
              WHERE id = ?",
        )?
        .execute(params![
            applied.now,
            done,
            reasons.len() - done + applied.rejected.len(),
            applied.tokens_in,
            applied.tokens_out,
            applied.run,
        ])?;
    Ok(())
}
