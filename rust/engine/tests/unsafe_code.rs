//! Where unsafe code is, and that no other file has any: `Cargo.toml` denies it, and a file that
//! allows it again is listed here, with the reason.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

const ALLOWED: [(&str, &str); 9] = [
    (
        "engine/src/bm25/function.rs",
        "a function of ours that FTS5 calls",
    ),
    (
        "engine/src/storage/maintenance/priority.rs",
        "the scheduling of a thread on Linux, for which no safe crate is left",
    ),
    (
        "engine/src/text/registered.rs",
        "a tokenizer of ours that FTS5 calls",
    ),
    (
        "engine/src/text/tokenizer.rs",
        "tokenizers of FTS5 that we call",
    ),
    (
        "engine/src/vectors/kernels.rs",
        "instructions that not all processors have, in its modules too",
    ),
    (
        "engine/tests/allocation.rs",
        "what SQLite says of itself to C alone",
    ),
    (
        "engine/tests/disk_faults/main.rs",
        "a file layer of SQLite that fails calls",
    ),
    (
        "python/src/calling.rs",
        "a call of Python that may not come back",
    ),
    ("python/src/interrupt.rs", "what pyo3 has no function for"),
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn it_is_where_it_is_said_to_be() {
    let rust = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for member in ["engine", "graph", "opensearch", "python"] {
        sources(&rust.join(member), &mut files);
    }
    let mut allowing: Vec<String> = files
        .iter()
        .filter(|file| {
            fs::read_to_string(file)
                .unwrap()
                .contains(concat!("unsafe", "_code"))
        })
        .map(|file| {
            file.strip_prefix(rust)
                .unwrap()
                .to_string_lossy()
                .replace('\\', "/")
        })
        .collect();
    allowing.sort();
    assert_eq!(allowing, ALLOWED.map(|(file, _)| file));
}
