//! Beginning a session: the data that a search needs is read into memory, in the state of the
//! session.

use std::cell::{Cell, OnceCell};
use std::sync::Arc;

use rusqlite::Connection;
use serde_json::json;

use super::{Needs, Session};
use crate::bm25::Backend;
use crate::chunks::{Field, GroupBy, GroupField, Paths, declared};
use crate::error::{Error, ErrorCode, Fix, Result};
use crate::index::Index;
use crate::storage::cache::{Cache, Lookup};
use crate::storage::{ReadTransaction, WorkError, generations};
use crate::sync::lock;

/// The number of restarts of a search while others write faster than it can read. After that it
/// reads in its own transaction.
const ATTEMPTS: usize = 4;

impl Index {
    /// Call `work` with a session on the current state, with the data that it needs in memory.
    pub fn session<T>(
        &self,
        needs: Needs<'_>,
        mut work: impl FnOnce(&Session<'_>) -> Result<T>,
    ) -> Result<T> {
        self.database.check_process()?;
        let (mut attempts, mut seen) = (0, None);
        let groups = needs.group_by.map(|by| self.groups_by(by)).transpose()?;
        let groups = groups.as_deref();
        loop {
            // Outside a transaction: reading everything takes long and opens a separate one.
            let loaded = self.loaded(needs, groups, seen).or_else(|error| {
                // A file that was replaced may look damaged.
                self.database.on_reader(|_| Ok::<_, WorkError>(()))?;
                Err(error)
            })?;
            let waits = attempts < ATTEMPTS;
            let done = self.database.on_reader(|reader| {
                let transaction = ReadTransaction::begin(reader)?;
                let generation = generations::generation(&transaction)?;
                let begun = self.begin(&transaction, generation, needs, groups, &loaded, waits)?;
                Ok::<_, WorkError>(match begun {
                    Some(session) => Ok(work(&session)?),
                    None => Err((work, generation)),
                })
            })?;
            match done {
                Ok(result) => return Ok(result),
                // The generation of the needed data changed meanwhile.
                Err((left, generation)) => {
                    work = left;
                    attempts += 1;
                    seen = Some(generation.saturating_sub(1));
                }
            }
        }
    }

    /// Wait until the needed data is in memory, and later than `seen`. Vectors may be unreadable.
    fn loaded(
        &self,
        needs: Needs<'_>,
        groups: Option<&Cache<Paths>>,
        seen: Option<i64>,
    ) -> Result<Result<()>> {
        if needs.keywords {
            self.ranker.load()?;
        }
        if let Some(groups) = groups {
            groups.wait_for_newer(seen)?;
        }
        if needs.neighbors {
            self.neighbors.wait_for_newer(seen)?;
        }
        if needs.turns {
            self.turns.wait_for_newer(seen)?;
        }
        if needs.slugs {
            self.slugs.wait_for_newer(seen)?;
        }
        if !needs.vectors {
            return Ok(Ok(()));
        }
        match self.matrices.wait_for_newer(seen) {
            Err(error) if error.code() == ErrorCode::Interrupted => Err(error),
            loaded => Ok(loaded),
        }
    }

    /// Return the cache of the groups of a grouping. Returns an error if the key is not declared.
    fn groups_by(&self, by: GroupBy<'_>) -> Result<Arc<Cache<Paths>>> {
        let GroupBy::Key(name) = by else {
            return Ok(Arc::clone(&self.paths));
        };
        let field = Field::named(name);
        let is_of_key = |groups: &&Arc<Cache<Paths>>| matches!(groups.source(), GroupField::Key(key) if Some(&key.field) == field.as_ref());
        let known = || lock(&self.key_groups);
        if let Some(groups) = known().iter().find(is_of_key) {
            return Ok(Arc::clone(groups));
        }
        let keys = self.database.read(declared)?;
        let names = keys.iter().map(|key| format!("{:?}", key.name));
        let names: Vec<String> = names.collect();
        let Some(key) = keys
            .into_iter()
            .find(|key| Some(&key.field) == field.as_ref())
        else {
            return Err(undeclared(name, &names));
        };
        let mut all = known();
        if let Some(groups) = all.iter().find(is_of_key) {
            return Ok(Arc::clone(groups));
        }
        let background = self.database.background().clone();
        let groups = Arc::new(Cache::new(background, GroupField::Key(key)));
        all.push(Arc::clone(&groups));
        Ok(groups)
    }

    /// Return a session on the generation that `connection` sees; None if data of that generation is not in
    /// memory and the caller `waits`: then it restarts.
    fn begin<'a>(
        &'a self,
        connection: &'a Connection,
        generation: i64,
        needs: Needs<'_>,
        groups: Option<&Cache<Paths>>,
        loaded: &Result<()>,
        waits: bool,
    ) -> rusqlite::Result<Option<Session<'a>>> {
        let matrix = needed(needs.vectors, || {
            let found = loaded.clone().and_then(|()| {
                let found = self.matrices.current(connection, generation, waits);
                found.map_err(|error| self.database.map_error(error))
            });
            Ok(found.transpose())
        })?;
        let paths = match groups {
            Some(groups) => groups.current(connection, generation, waits)?.map(Some),
            None => Some(None),
        };
        let neighbors = needed(needs.neighbors, || {
            self.neighbors.current(connection, generation, waits)
        })?;
        let turns = needed(needs.turns, || {
            self.turns.current(connection, generation, waits)
        })?;
        let keywords = if needs.keywords {
            match self.ranker.acquire(connection, generation, waits)? {
                Backend::Snapshot(snapshot) => Some(Some(snapshot)),
                Backend::Fts5 => Some(None),
                Backend::Later => None,
            }
        } else {
            Some(None)
        };
        let slugs = needed(needs.slugs, || {
            self.slugs.current(connection, generation, waits)
        })?;
        let (Some(keywords), Some(matrix), Some(paths), Some(neighbors), Some(turns), Some(slugs)) =
            (keywords, matrix, paths, neighbors, turns, slugs)
        else {
            return Ok(None);
        };
        let (paths, groups) = if needs.groups_late() {
            (None, paths)
        } else {
            (paths, None)
        };
        let texts = match self.texts.get(connection, generation)? {
            Lookup::Hit(texts) => texts,
            Lookup::Newer | Lookup::Miss => self.texts.load_here(connection)?,
        };
        Ok(Some(Session {
            index: self,
            connection,
            generation,
            keywords,
            matrix,
            paths,
            neighbors,
            turns,
            groups,
            slugs,
            lacks_slugs: Cell::new(false),
            texts,
            full_text: OnceCell::new(),
            allowed: None,
        }))
    }
}

/// The error for grouping by a key that is not declared.
fn undeclared(name: &str, declared: &[String]) -> Error {
    let declared = match declared {
        [] => "none is declared".to_owned(),
        names => format!("declared are {}", names.join(", ")),
    };
    Error::new(
        ErrorCode::InvalidOption,
        format!("group_by is {name:?}, which is no declared key of this index ({declared})"),
    )
    .with_fix(Fix {
        does: "declare it once",
        operation: Some("open"),
        arguments: vec![("metadata_index", json!([name]))],
    })
}

/// The needed data, if the search needs it; None if it is not in memory.
#[allow(
    clippy::option_option,
    reason = "not needed and not there are two things"
)]
fn needed<T>(
    is_needed: bool,
    find: impl FnOnce() -> rusqlite::Result<Option<T>>,
) -> rusqlite::Result<Option<Option<T>>> {
    if is_needed {
        Ok(find()?.map(Some))
    } else {
        Ok(Some(None))
    }
}
