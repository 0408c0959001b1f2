//! Nodes in columns: one for each field, a node at the same slot in all of them.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::iter;
use std::sync::Arc;

use rusqlite::types::{FromSqlError, Type};
use rusqlite::{Connection, Row};

use super::column::Column;
use super::names::{Keys, Texts};
use super::node::Category;
use crate::schema::NODES_GENERATION;
use hedgerow_engine::storage::Background;
use hedgerow_engine::storage::cache::{Cache, Lookup, Version};
use hedgerow_engine::storage::parallel::{self, Table};
use hedgerow_engine::storage::settings;

const COLUMNS: &str = "id, key, type, content_length, weight, category, emotion, provenance, \
                       created_at, updated_at, last_replayed, replay_interval, deleted";

/// Up to this many changed nodes, or one in `ONE_IN` of all, are read one by one. If more changed,
/// all are read, on several threads.
const MOST_CHANGES: usize = if cfg!(test) { 10 } else { 1000 };
const ONE_IN: usize = 4;

/// Every node, deleted ones too: a node keeps its slot for good.
#[derive(Debug, Clone, Default)]
pub struct Nodes {
    pub(super) generation: i64,
    /// Ascending.
    pub ids: Column<i64>,
    keys: Keys,
    /// In characters.
    pub key_lengths: Column<u16>,
    /// The type of each node: a slot in `types`.
    pub kinds: Column<u32>,
    types: Texts,
    /// The category of each node.
    pub categories: Column<Category>,
    /// From 0 to 1.
    pub weights: Column<f64>,
    /// From 0 to 10.
    pub emotions: Column<f64>,
    /// In characters.
    pub content_lengths: Column<u32>,
    /// Where each comes from: a slot in `sources`.
    pub provenances: Column<u32>,
    sources: Texts,
    /// In Unix seconds.
    pub created: Column<i64>,
    /// In Unix seconds.
    pub updated: Column<i64>,
    /// In Unix seconds; 0 for never.
    pub replayed: Column<i64>,
    /// In days.
    pub intervals: Column<u32>,
    /// Whether each is live, not deleted.
    pub live: Column<bool>,
    /// The slots of live nodes, by key.
    pub order: Arc<Vec<u32>>,
    /// The position of each live node in `order`.
    pub ranks: Arc<Vec<u32>>,
}

impl Version for Nodes {
    type Source = Background;
    const NAME: &'static str = "nodes";

    fn generation(&self) -> i64 {
        self.generation
    }

    fn load(source: &Background, connection: &Connection) -> rusqlite::Result<Self> {
        let generation = generation(connection)?;
        let mut nodes = Self {
            generation,
            ..Self::default()
        };
        nodes.read_all(&Table {
            background: source,
            connection,
            generation: (NODES_GENERATION, generation),
        })?;
        Ok(nodes)
    }

    fn next(
        self: &Arc<Self>,
        _: &Background,
        connection: &Connection,
        generation: i64,
    ) -> rusqlite::Result<Option<Self>> {
        let most = MOST_CHANGES.max(self.len() / ONE_IN);
        let changed: usize = connection
            .prepare_cached("SELECT count(*) FROM (SELECT 1 FROM nodes WHERE changed > ? LIMIT ?)")?
            .query_row([self.generation, most as i64 + 1], |row| row.get(0))?;
        let mut next = Self::clone(self);
        if changed > most || !next.read_changes(connection)? {
            return Ok(None);
        }
        next.generation = generation;
        Ok(Some(next))
    }
}

/// Return the number of transactions that changed a node in the state that `connection` sees.
pub(super) fn generation(connection: &Connection) -> rusqlite::Result<i64> {
    Ok(settings::get(connection, NODES_GENERATION)?.unwrap_or_default())
}

/// Return the nodes in the state that `connection` sees, for reads that need them.
pub(super) fn of_state(
    cache: &Cache<Nodes>,
    connection: &Connection,
) -> rusqlite::Result<Arc<Nodes>> {
    match cache.get(connection, generation(connection)?)? {
        Lookup::Hit(nodes) => Ok(nodes),
        Lookup::Newer | Lookup::Miss => cache.load_here(connection),
    }
}

impl Nodes {
    /// Return the number of slots, including slots of deleted nodes.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are zero slots.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The key at a slot.
    pub fn key(&self, slot: u32) -> &str {
        self.keys.get(slot as usize)
    }

    /// The provenance at a slot.
    pub fn provenance(&self, slot: u32) -> &str {
        &self.sources()[self.provenances[slot as usize] as usize]
    }

    /// The type at a slot.
    pub fn kind(&self, slot: u32) -> &str {
        &self.types()[self.kinds[slot as usize] as usize]
    }

    /// Every type that a node is or was of.
    pub fn types(&self) -> &[String] {
        self.types.all()
    }

    /// Every provenance there is.
    pub fn sources(&self) -> &[String] {
        self.sources.all()
    }

    /// The slot of a live node.
    pub fn find(&self, key: &str) -> Option<u32> {
        let found = self.order.binary_search_by(|slot| self.key(*slot).cmp(key));
        found.ok().map(|rank| self.order[rank])
    }

    /// The slot of an id.
    pub fn slot_of(&self, id: i64) -> Option<u32> {
        // Ids are 1, 2, 3 and so on, unless another program wrote the file.
        let dense = self.ids.last() == Some(self.ids.len() as i64);
        if dense {
            let known = (1..=self.ids.len() as i64).contains(&id);
            return known.then(|| (id - 1) as u32);
        }
        let (mut first, mut end) = (0, self.ids.len());
        while first < end {
            let middle = usize::midpoint(first, end);
            match self.ids[middle].cmp(&id) {
                Ordering::Less => first = middle + 1,
                Ordering::Equal => return Some(middle as u32),
                Ordering::Greater => end = middle,
            }
        }
        None
    }

    /// By key.
    pub fn by_key(&self, left: u32, right: u32) -> Ordering {
        self.ranks[left as usize].cmp(&self.ranks[right as usize])
    }

    fn read_all(&mut self, table: &Table<'_>) -> rusqlite::Result<()> {
        let last = "SELECT coalesce(max(id), 0) FROM nodes";
        let last = table.connection.query_row(last, [], |row| row.get(0))?;
        // The longest piece comes first.
        let pieces: Vec<Option<(i64, i64)>> = iter::once(None)
            .chain(parallel::pieces(last).into_iter().map(Some))
            .collect();
        let parts = table.read(&pieces, |connection, piece| match piece {
            None => read_order(connection).map(Part::Order),
            Some((after, last)) => {
                let rows = Self::read_rows(connection, *after, *last)?;
                Ok(Part::Rows(Box::new(rows)))
            }
        })?;
        let mut order = Vec::new();
        for part in parts {
            match part {
                Part::Order(ids) => order = ids,
                Part::Rows(rows) => self.append(&rows),
            }
        }
        let slots = order.into_iter().filter_map(|id| self.slot_of(id));
        let live = slots.filter(|slot| self.live[*slot as usize]);
        self.order = Arc::new(live.collect());
        self.rank();
        Ok(())
    }

    /// The nodes with ids above `after` and up to `last`, not yet ordered by key.
    fn read_rows(connection: &Connection, after: i64, last: i64) -> rusqlite::Result<Self> {
        let sql = format!("SELECT {COLUMNS} FROM nodes WHERE id > ? AND id <= ? ORDER BY id");
        let mut statement = connection.prepare_cached(&sql)?;
        let mut rows = statement.query([after, last])?;
        let mut nodes = Self::default();
        while let Some(row) = rows.next()? {
            nodes.push(row)?;
        }
        Ok(nodes)
    }

    /// Add the nodes of the next ids.
    fn append(&mut self, next: &Self) {
        let sources = self.sources.append(&next.sources);
        let types = self.types.append(&next.types);
        for provenance in next.provenances.iter() {
            self.provenances.push(sources[provenance as usize]);
        }
        for kind in next.kinds.iter() {
            self.kinds.push(types[kind as usize]);
        }
        self.keys.append(&next.keys);
        self.ids.append(&next.ids);
        self.key_lengths.append(&next.key_lengths);
        self.categories.append(&next.categories);
        self.weights.append(&next.weights);
        self.emotions.append(&next.emotions);
        self.content_lengths.append(&next.content_lengths);
        self.created.append(&next.created);
        self.updated.append(&next.updated);
        self.replayed.append(&next.replayed);
        self.intervals.append(&next.intervals);
        self.live.append(&next.live);
    }

    /// Read the nodes that changed; returns whether all could be. A node with another key cannot,
    /// since keys are kept one after the other.
    fn read_changes(&mut self, connection: &Connection) -> rusqlite::Result<bool> {
        let sql = format!("SELECT {COLUMNS} FROM nodes WHERE changed > ? ORDER BY id");
        let mut statement = connection.prepare_cached(&sql)?;
        let mut rows = statement.query([self.generation])?;
        let (mut came, mut went) = (Vec::new(), false);
        while let Some(row) = rows.next()? {
            if self.is_renamed(row)? {
                return Ok(false);
            }
            let (slot, was_live) = self.put(row)?;
            match (was_live, self.live[slot as usize]) {
                (false, true) => came.push(slot),
                (true, false) => went = true,
                _ => {}
            }
        }
        if went || !came.is_empty() {
            self.merge_order(came);
        }
        Ok(true)
    }

    /// Whether the node of a row had another key before.
    fn is_renamed(&self, row: &Row<'_>) -> rusqlite::Result<bool> {
        Ok(match self.slot_of(row.get(0)?) {
            Some(slot) => self.key(slot) != row.get_ref(1)?.as_str()?,
            None => false,
        })
    }

    /// Read a row; returns its slot, and whether the node was live before.
    fn put(&mut self, row: &Row<'_>) -> rusqlite::Result<(u32, bool)> {
        let id = row.get(0)?;
        if let Some(slot) = self.slot_of(id) {
            let was_live = self.live[slot as usize];
            self.replace(slot as usize, row)?;
            return Ok((slot, was_live));
        }
        self.push(row)?;
        Ok((self.ids.len() as u32 - 1, false))
    }

    /// Add a row after the others.
    fn push(&mut self, row: &Row<'_>) -> rusqlite::Result<()> {
        let key = row.get_ref(1)?.as_str()?;
        self.ids.push(row.get(0)?);
        self.key_lengths.push(key.chars().count() as u16);
        self.keys.push(key);
        let kind = self.types.intern(row.get_ref(2)?.as_str()?);
        self.kinds.push(kind);
        self.content_lengths.push(row.get(3)?);
        self.weights.push(row.get(4)?);
        self.categories.push(word(row, 5, Category::from_name)?);
        self.emotions.push(row.get(6)?);
        let provenance = self.sources.intern(row.get_ref(7)?.as_str()?);
        self.provenances.push(provenance);
        self.created.push(row.get(8)?);
        self.updated.push(row.get(9)?);
        self.replayed.push(row.get(10)?);
        self.intervals.push(row.get(11)?);
        self.live.push(!row.get::<_, bool>(12)?);
        Ok(())
    }

    /// Replace everything but id and key.
    fn replace(&mut self, slot: usize, row: &Row<'_>) -> rusqlite::Result<()> {
        let kind = self.types.intern(row.get_ref(2)?.as_str()?);
        self.kinds.set(slot, kind);
        self.content_lengths.set(slot, row.get(3)?);
        self.weights.set(slot, row.get(4)?);
        self.categories
            .set(slot, word(row, 5, Category::from_name)?);
        self.emotions.set(slot, row.get(6)?);
        let provenance = self.sources.intern(row.get_ref(7)?.as_str()?);
        self.provenances.set(slot, provenance);
        self.created.set(slot, row.get(8)?);
        self.updated.set(slot, row.get(9)?);
        self.replayed.set(slot, row.get(10)?);
        self.intervals.set(slot, row.get(11)?);
        self.live.set(slot, !row.get::<_, bool>(12)?);
        Ok(())
    }

    /// Add the slots of nodes that are live now, and drop those of nodes that are not.
    fn merge_order(&mut self, mut came: Vec<u32>) {
        came.sort_unstable_by(|left, right| self.key(*left).cmp(self.key(*right)));
        let mut merged = Vec::with_capacity(self.order.len() + came.len());
        let mut came = came.into_iter().peekable();
        for slot in &*self.order {
            if !self.live[*slot as usize] {
                continue;
            }
            let key = self.key(*slot);
            while let Some(new) = came.next_if(|new| self.key(*new) < key) {
                merged.push(new);
            }
            merged.push(*slot);
        }
        merged.extend(came);
        self.order = Arc::new(merged);
        self.rank();
    }

    /// The nodes with these keys; the others as if they were deleted.
    pub(super) fn within(&self, keys: &HashSet<String>) -> Self {
        let mut nodes = self.clone();
        let order = self.order.iter().copied();
        let order: Vec<u32> = order
            .filter(|slot| keys.contains(self.key(*slot)))
            .collect();
        let mut live = vec![false; self.len()];
        for slot in &order {
            live[*slot as usize] = true;
        }
        nodes.live = Column::default();
        nodes.live.extend_from_slice(&live);
        nodes.order = Arc::new(order);
        nodes.rank();
        nodes
    }

    fn rank(&mut self) {
        let mut ranks = vec![u32::MAX; self.ids.len()];
        for (rank, slot) in self.order.iter().enumerate() {
            ranks[*slot as usize] = rank as u32;
        }
        self.ranks = Arc::new(ranks);
    }
}

/// A column of the table to read.
enum Part {
    /// Every id, in the order of keys.
    Order(Vec<i64>),
    Rows(Box<Nodes>),
}

/// Every id in the order of keys, which SQLite's index has.
fn read_order(connection: &Connection) -> rusqlite::Result<Vec<i64>> {
    let mut statement = connection.prepare_cached("SELECT id FROM nodes ORDER BY key")?;
    statement.query_map([], |row| row.get(0))?.collect()
}

/// A word of a closed set; any other means that another program wrote the file.
pub(crate) fn word<T>(
    row: &Row<'_>,
    column: usize,
    from_name: impl Fn(&str) -> Option<T>,
) -> rusqlite::Result<T> {
    let name = row.get_ref(column)?.as_str()?;
    from_name(name).ok_or_else(|| {
        rusqlite::Error::FromSqlConversionFailure(
            column,
            Type::Text,
            Box::new(FromSqlError::Other(
                format!("{name:?} is not a value that this column can have").into(),
            )),
        )
    })
}
