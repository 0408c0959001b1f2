//! The tables of an index file, as the versions of the schema made them one after the other.

use rusqlite::Connection;

use crate::text::tokenizer::TokenizerKind;

/// One step from a schema version to the next.
pub(super) type Migration = fn(&Connection, TokenizerKind) -> rusqlite::Result<()>;

/// Every step: the first makes a new file, and a file of version n needs those from n on.
pub(super) const MIGRATIONS: &[Migration] =
    &[create, add_vectors, add_nodes, add_agents, add_sources];

/// FTS5 reads the searched texts from a view, because its `tags` are joined by spaces and those
/// of the table are kept apart. The joined text is a column, since FTS5 reads no view that calls
/// `json_each`. There are no triggers: `write.rs` keeps everything in step.
///
/// A large `hashsize` makes bulk writing half as fast again; FTS5 fills it only as needed.
fn create(connection: &Connection, tokenizer: TokenizerKind) -> rusqlite::Result<()> {
    connection.execute_batch(&format!(
        "CREATE TABLE settings (
             name TEXT PRIMARY KEY,
             value TEXT NOT NULL
         ) STRICT, WITHOUT ROWID;
         INSERT INTO settings VALUES ('tokenizer', '{tokenizer}');

         CREATE TABLE knowledge_chunks (
             row INTEGER PRIMARY KEY,
             id TEXT NOT NULL UNIQUE,
             path TEXT NOT NULL,
             ordinal INTEGER NOT NULL,
             title TEXT NOT NULL,
             summary TEXT NOT NULL,
             tags TEXT NOT NULL,
             tag_text TEXT NOT NULL,
             content TEXT NOT NULL,
             metadata TEXT NOT NULL
         ) STRICT;
         CREATE INDEX knowledge_chunks_path ON knowledge_chunks (path);

         CREATE VIEW knowledge_texts AS
             SELECT row, path, title, summary, tag_text AS tags, content FROM knowledge_chunks;
         CREATE VIRTUAL TABLE knowledge_fts USING fts5(
             path, title, summary, tags, content,
             content = 'knowledge_texts', content_rowid = 'row',
             tokenize = '{tokenizer}'
         );
         INSERT INTO knowledge_fts (knowledge_fts, rank)
             VALUES ('rank', 'bm25(3.0, 10.0, 5.0, 4.0, 1.0)'), ('hashsize', 16777216);",
        tokenizer = tokenizer.as_str()
    ))
}

/// Vectors, each of length 1 in `f32`, little-endian; an empty one says that there is none to be
/// had for the chunk. `changes` lists which rows the last transactions wrote (`changes.rs`).
fn add_vectors(connection: &Connection, _: TokenizerKind) -> rusqlite::Result<()> {
    connection.execute_batch(
        "CREATE TABLE embeddings (
             row INTEGER PRIMARY KEY,
             vector BLOB NOT NULL
         ) STRICT;
         CREATE TABLE changes (
             generation INTEGER NOT NULL,
             row INTEGER NOT NULL,
             PRIMARY KEY (generation, row)
         ) STRICT, WITHOUT ROWID;
         INSERT INTO settings VALUES ('generation', '0');",
    )
}

/// Nodes, edges and visits (spec/pipeline.md, "The tables"). What a live node says is the chunk of
/// its key: `graph` keeps both in step. A node is never removed, so that its id stays its own.
fn add_nodes(connection: &Connection, _: TokenizerKind) -> rusqlite::Result<()> {
    connection.execute_batch(
        "CREATE TABLE nodes (
             id INTEGER PRIMARY KEY AUTOINCREMENT,
             key TEXT NOT NULL UNIQUE,
             type TEXT NOT NULL,
             content_length INTEGER NOT NULL,
             weight REAL NOT NULL,
             category TEXT NOT NULL,
             emotion REAL NOT NULL,
             provenance TEXT NOT NULL,
             created_at INTEGER NOT NULL,
             updated_at INTEGER NOT NULL,
             last_replayed INTEGER NOT NULL,
             replay_interval INTEGER NOT NULL,
             deleted INTEGER NOT NULL,
             changed INTEGER NOT NULL
         ) STRICT;
         CREATE INDEX nodes_changed ON nodes (changed);
         CREATE TABLE edges (
             source INTEGER NOT NULL,
             target INTEGER NOT NULL,
             relation TEXT NOT NULL,
             strength REAL NOT NULL,
             PRIMARY KEY (source, target, relation)
         ) STRICT, WITHOUT ROWID;
         CREATE TABLE visits (
             id INTEGER PRIMARY KEY,
             node INTEGER NOT NULL,
             agent TEXT NOT NULL,
             at INTEGER NOT NULL,
             outcome TEXT NOT NULL
         ) STRICT;
         CREATE TABLE last_visits (
             agent TEXT NOT NULL,
             node INTEGER NOT NULL,
             at INTEGER NOT NULL,
             PRIMARY KEY (agent, node)
         ) STRICT, WITHOUT ROWID;",
    )
}

/// What agents did and are doing (spec/agents.md, "The tables").
fn add_agents(connection: &Connection, _: TokenizerKind) -> rusqlite::Result<()> {
    connection.execute_batch(
        "CREATE TABLE agent_runs (
             id INTEGER PRIMARY KEY AUTOINCREMENT,
             agent TEXT NOT NULL,
             definition TEXT NOT NULL,
             started INTEGER NOT NULL,
             expires INTEGER NOT NULL,
             ended INTEGER,
             status TEXT NOT NULL,
             permanent INTEGER NOT NULL DEFAULT FALSE,
             nodes INTEGER NOT NULL,
             applied INTEGER NOT NULL DEFAULT 0,
             rejected INTEGER NOT NULL DEFAULT 0,
             error TEXT,
             tokens_in INTEGER NOT NULL DEFAULT 0,
             tokens_out INTEGER NOT NULL DEFAULT 0
         ) STRICT;
         CREATE INDEX agent_runs_agent ON agent_runs (agent, id);
         CREATE TABLE agent_actions (
             run INTEGER NOT NULL,
             place INTEGER NOT NULL,
             line INTEGER NOT NULL,
             action TEXT NOT NULL,
             reason TEXT,
             PRIMARY KEY (run, place)
         ) STRICT, WITHOUT ROWID;
         CREATE TABLE agent_claims (
             node INTEGER PRIMARY KEY,
             agent TEXT NOT NULL,
             run INTEGER NOT NULL,
             expires INTEGER NOT NULL
         ) STRICT;
         CREATE TABLE agent_resumes (
             agent TEXT PRIMARY KEY,
             run INTEGER NOT NULL
         ) STRICT, WITHOUT ROWID;
         ALTER TABLE visits ADD COLUMN run INTEGER;",
    )
}

/// The ledger of a sync (`sources.rs`): files, and which chunks are of which. New vectors wait in
/// `staged_embeddings` until all are there (`staging.rs`).
fn add_sources(connection: &Connection, _: TokenizerKind) -> rusqlite::Result<()> {
    connection.execute_batch(
        "CREATE TABLE sources (
             id INTEGER PRIMARY KEY,
             path TEXT NOT NULL UNIQUE,
             signature TEXT NOT NULL,
             settled INTEGER NOT NULL,
             digest TEXT NOT NULL,
             chunks INTEGER NOT NULL,
             skips TEXT NOT NULL,
             facts TEXT NOT NULL
         ) STRICT;
         CREATE TABLE source_chunks (
             row INTEGER PRIMARY KEY,
             source INTEGER NOT NULL
         ) STRICT;
         CREATE INDEX source_chunks_source ON source_chunks (source);
         CREATE TABLE staged_embeddings (
             row INTEGER PRIMARY KEY,
             vector BLOB NOT NULL
         ) STRICT;",
    )
}
