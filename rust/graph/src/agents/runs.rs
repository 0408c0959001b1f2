//! Runs: how one begins and ends, and how the last ones of an agent ended.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::claims;
use crate::graph::nodes::word;
use crate::graph::{Needs, Snapshot, Store};
use hedgerow_engine::error::Result;
use hedgerow_engine::named_enum;

/// A neighbor is claimed too when the strength of the edge times its weight is above this.
const STRONG: f64 = 0.15;

/// The error of a run that a dead process left behind.
const LOST: &str = "the run did not end in its time; its process was killed, or hung";

/// The last runs of an agent after a given one, the latest first.
const RUNS: &str = "SELECT id, agent, definition, started, expires, ended, status, permanent,
                           nodes, applied, rejected, error, tokens_in, tokens_out
                      FROM agent_runs WHERE agent = ? AND id > ? ORDER BY id DESC LIMIT ?";

named_enum! {
    /// The status of a run.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub enum RunStatus {
        /// The run is under way.
        #[default]
        Started = "started",
        /// The actions of the run are stored.
        Ok = "ok",
        /// Nothing of it is stored, and it counts as a failure.
        Failed = "failed",
        /// The run was stopped on purpose: none of its actions are stored, and it does not count.
        Stopped = "stopped",
    }
}

/// A run of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentRun {
    /// The number of the run.
    pub id: i64,
    /// The agent.
    pub agent: String,
    /// The hash of the definition it follows.
    pub definition: String,
    /// When it began, in Unix seconds.
    pub started: i64,
    /// When it counts as failed if it has not ended.
    pub expires: i64,
    /// When it ended.
    pub ended: Option<i64>,
    /// The status of the run.
    pub status: RunStatus,
    /// Whether its failure lasts until something is changed.
    pub permanent: bool,
    /// The number of nodes that the run claims.
    pub nodes: usize,
    /// The number of applied actions.
    pub applied: usize,
    /// The number of rejected actions.
    pub rejected: usize,
    /// Why it failed.
    pub error: Option<String>,
    /// The number of tokens that the model read.
    pub tokens_in: u64,
    /// The number of tokens that the model wrote.
    pub tokens_out: u64,
}

/// The outcome of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The line of the action in the reply, from 1.
    pub line: u32,
    /// The action as JSON, or the text that is not one.
    pub action: String,
    /// Why it was rejected; None when it was applied.
    pub reason: Option<String>,
}

/// The facts needed to begin a run.
#[derive(Debug, Clone)]
pub struct RunRequest<'a> {
    /// The agent.
    pub agent: &'a str,
    /// The hash of its definition.
    pub definition: &'a str,
    /// The nodes it is about.
    pub keys: &'a [String],
    /// The fewest free nodes it begins with; at least 1.
    pub least: usize,
    /// The agent's last run that the caller knows of.
    pub last: Option<i64>,
    /// The time, in Unix seconds.
    pub now: i64,
    /// When it counts as failed if it has not ended.
    pub expires: i64,
}

/// A run that has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartedRun {
    /// The number of the run.
    pub run: i64,
    /// The nodes it is about: those that no other run had claimed.
    pub keys: Vec<String>,
}

/// The last runs of an agent in short.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunHistory {
    /// The last run of the agent.
    pub last: Option<AgentRun>,
    /// The number of runs that began after a given time and ended `ok`.
    pub ok_runs: usize,
    /// The number of consecutive failures among the last runs with the same definition, since the
    /// agent was last resumed.
    pub failures: usize,
    /// The last of these.
    pub failure: Option<AgentRun>,
}

impl Store {
    /// Begin a run: claim its nodes, and those of their strong neighbors that are free.
    ///
    /// None, with nothing written, if too few nodes are free, or if the agent has a run in progress
    /// or one that the caller does not know of.
    pub fn begin_run(&self, beginning: &RunRequest<'_>) -> Result<Option<StartedRun>> {
        let RunRequest {
            agent,
            now,
            expires,
            ..
        } = *beginning;
        let snapshot = self.snapshot(&Needs {
            edges: true,
            ..Needs::default()
        })?;
        self.index().database().try_write(|connection| {
            let last = runs(connection, agent, 0, now, 1)?.pop();
            let under_way = last.as_ref().is_some_and(|run| run.ended.is_none());
            if under_way || last.map(|run| run.id) != beginning.last {
                return Ok(None);
            }
            let mut mine = Vec::new();
            for key in beginning.keys {
                if let Some(node) = claims::free_node(connection, key, now)? {
                    mine.push((node, key.clone()));
                }
            }
            if mine.len() < beginning.least.max(1) {
                return Ok(None);
            }
            connection
                .prepare_cached(
                    "INSERT INTO agent_runs (agent, definition, started, expires, status, nodes)
                     VALUES (?, ?, ?, ?, ?, ?)",
                )?
                .execute(params![
                    agent,
                    beginning.definition,
                    now,
                    expires,
                    RunStatus::Started.as_str(),
                    mine.len(),
                ])?;
            let run = connection.last_insert_rowid();
            claims::forget_expired(connection, now)?;
            for (node, _) in &mine {
                claims::claim(connection, *node, agent, run, expires)?;
            }
            for key in strong_neighbors(&snapshot, beginning.keys) {
                if let Some(node) = claims::free_node(connection, &key, now)? {
                    claims::claim(connection, node, agent, run, expires)?;
                }
            }
            let keys = mine.into_iter().map(|(_, key)| key).collect();
            Ok(Some(StartedRun { run, keys }))
        })
    }

    /// End a run of which nothing is stored, and release its claims; returns whether it was in
    /// progress. `permanent` says that its failure lasts until something is changed.
    pub fn end_run(
        &self,
        run: i64,
        now: i64,
        status: RunStatus,
        error: Option<&str>,
        permanent: bool,
    ) -> Result<bool> {
        self.index().database().try_write(|connection| {
            let ended = connection
                .prepare_cached(
                    "UPDATE agent_runs SET ended = ?, status = ?, error = ?, permanent = ?
                      WHERE id = ? AND status = 'started'",
                )?
                .execute(params![now, status.as_str(), error, permanent, run])?;
            claims::release(connection, run)?;
            Ok(ended > 0)
        })
    }

    /// The last runs of an agent, the latest first; those that expired before `now` failed.
    pub fn runs(&self, agent: &str, now: i64, limit: u32) -> Result<Vec<AgentRun>> {
        self.index()
            .database()
            .read(|connection| runs(connection, agent, 0, now, limit))
    }

    /// Return the outcomes of the actions of a run, in the order of its reply.
    pub fn records(&self, run: i64) -> Result<Vec<Record>> {
        self.index().database().read(|connection| {
            connection
                .prepare_cached(
                    "SELECT line, action, reason FROM agent_actions WHERE run = ? ORDER BY place",
                )?
                .query_map([run], |row| {
                    Ok(Record {
                        line: row.get(0)?,
                        action: row.get(1)?,
                        reason: row.get(2)?,
                    })
                })?
                .collect()
        })
    }

    /// The last runs of an agent with this definition in short; `ok` runs count if they began after
    /// `since`.
    pub fn standing(
        &self,
        agent: &str,
        definition: &str,
        now: i64,
        since: i64,
    ) -> Result<RunHistory> {
        self.index().database().read(|connection| {
            let mut standing = RunHistory {
                last: runs(connection, agent, 0, now, 1)?.pop(),
                ok_runs: connection
                    .prepare_cached(
                        "SELECT count(*) FROM agent_runs
                          WHERE agent = ? AND status = 'ok' AND started > ?",
                    )?
                    .query_row(params![agent, since], |row| row.get(0))?,
                ..RunHistory::default()
            };
            let mut statement = connection.prepare_cached(RUNS)?;
            let after = resumed_at(connection, agent)?;
            for run in statement.query_map(params![agent, after, u32::MAX], run_of)? {
                let run = run?.seen_at(now);
                match run.status {
                    RunStatus::Started | RunStatus::Stopped => {}
                    RunStatus::Failed if run.definition == definition => {
                        standing.failures += 1;
                        standing.failure.get_or_insert(run);
                    }
                    RunStatus::Ok | RunStatus::Failed => break,
                }
            }
            Ok(standing)
        })
    }

    /// When an agent last visited these nodes, not counting visits that failed.
    pub fn last_visits(&self, agent: &str, keys: &[String]) -> Result<Vec<Option<i64>>> {
        self.index().database().read(|connection| {
            let mut find = connection.prepare_cached(
                "SELECT at FROM last_visits
                  WHERE agent = ? AND node = (SELECT id FROM nodes WHERE key = ?)",
            )?;
            keys.iter()
                .map(|key| find.query_row([agent, key], |row| row.get(0)).optional())
                .collect()
        })
    }

    /// Stop counting the failures of an agent so far.
    pub fn resume(&self, agent: &str) -> Result<()> {
        self.index().database().try_write(|connection| {
            connection
                .prepare_cached(
                    "INSERT OR REPLACE INTO agent_resumes
                     SELECT ?1, coalesce(max(id), 0) FROM agent_runs WHERE agent = ?1",
                )?
                .execute([agent])?;
            Ok(())
        })
    }
}

/// The last runs of an agent after a given one, the latest first.
fn runs(
    connection: &Connection,
    agent: &str,
    after: i64,
    now: i64,
    limit: u32,
) -> rusqlite::Result<Vec<AgentRun>> {
    connection
        .prepare_cached(RUNS)?
        .query_map(params![agent, after, limit], |row| {
            run_of(row).map(|run| run.seen_at(now))
        })?
        .collect()
}

fn run_of(row: &Row<'_>) -> rusqlite::Result<AgentRun> {
    Ok(AgentRun {
        id: row.get(0)?,
        agent: row.get(1)?,
        definition: row.get(2)?,
        started: row.get(3)?,
        expires: row.get(4)?,
        ended: row.get(5)?,
        status: word(row, 6, RunStatus::from_name)?,
        permanent: row.get(7)?,
        nodes: row.get(8)?,
        applied: row.get(9)?,
        rejected: row.get(10)?,
        error: row.get(11)?,
        tokens_in: row.get(12)?,
        tokens_out: row.get(13)?,
    })
}

impl AgentRun {
    /// Return the run as seen at `now`: a run that has not ended has failed once it expires.
    fn seen_at(self, now: i64) -> Self {
        if self.status != RunStatus::Started || now < self.expires {
            return self;
        }
        Self {
            ended: Some(self.expires),
            status: RunStatus::Failed,
            error: Some(LOST.to_owned()),
            ..self
        }
    }
}

/// The last run before the agent was resumed.
fn resumed_at(connection: &Connection, agent: &str) -> rusqlite::Result<i64> {
    let run = connection
        .prepare_cached("SELECT run FROM agent_resumes WHERE agent = ?")?
        .query_row([agent], |row| row.get(0))
        .optional()?;
    Ok(run.unwrap_or_default())
}

/// The keys of the strong neighbors of these nodes, by slot.
fn strong_neighbors(snapshot: &Snapshot, keys: &[String]) -> Vec<String> {
    let nodes = &snapshot.nodes;
    let mut strong: Vec<u32> = keys
        .iter()
        .filter_map(|key| nodes.find(key))
        .flat_map(|slot| snapshot.edges.joined(slot))
        .filter(|(other, strength)| strength * nodes.weights[*other as usize] > STRONG)
        .map(|(other, _)| other)
        .collect();
    strong.sort_unstable();
    strong.dedup();
    strong
        .into_iter()
        .map(|slot| nodes.key(slot).to_owned())
        .collect()
}
