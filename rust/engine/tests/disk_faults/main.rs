//! Faults between SQLite and the disk: failing calls and power loss. After every fault the file is opened again. Set
//! `PROOF_LONG` for the long form, as `make proof` does.
#![allow(
    unsafe_code,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a VFS is written for C; a test fails by panicking and prints its record"
)]

mod disk;
mod failing_calls;
mod power_loss;
mod vfs;

use std::collections::BTreeMap;
use std::env;
use std::time::Instant;

use hedgerow_engine::Result;
use hedgerow_engine::chunks::Chunk;
use hedgerow_engine::index::Index;

/// The contents of an index: text by id.
type State = BTreeMap<String, String>;

fn chunk(id: &str, content: &str) -> Chunk {
    Chunk {
        id: id.to_owned(),
        content: content.to_owned(),
        ..Chunk::default()
    }
}

fn contents(index: &Index) -> Result<State> {
    let page = index.page(0, 10_000)?;
    Ok(page
        .chunks
        .into_iter()
        .map(|chunk| (chunk.id, chunk.content))
        .collect())
}

/// Whether this is the long form, which tries every call.
fn long() -> bool {
    env::var_os("PROOF_LONG").is_some()
}

/// The count and duration of one run, printed at its end.
struct Proof {
    name: &'static str,
    /// The first seed, if the run is random.
    seed: Option<u64>,
    count: usize,
    begun: Instant,
}

impl Proof {
    fn begin(name: &'static str) -> Self {
        Self {
            name,
            seed: None,
            count: 0,
            begun: Instant::now(),
        }
    }

    fn end(self) {
        let seed = self
            .seed
            .map_or_else(|| "null".to_owned(), |seed| seed.to_string());
        println!(
            "proof {{\"name\": \"{}\", \"seed\": {seed}, \"seconds\": {:.0}, \"count\": {}}}",
            self.name,
            self.begun.elapsed().as_secs_f64().ceil(),
            self.count
        );
    }
}
