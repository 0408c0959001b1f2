//! The fuzz targets, run on their seeds and on mutants: in seconds, where `make fuzz` runs for
//! minutes. `FUZZ_ROUNDS` is the number of mutants for each seed.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "../../fuzz/src/lib.rs"]
mod targets;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

const ROUNDS: usize = 12;

/// `SplitMix64`, which needs no crate: the same mutants everywhere.
struct Generator(u64);

impl Generator {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end.max(1)).unwrap();
        usize::try_from(self.next() % end).unwrap()
    }

    /// A seed with a few bytes changed, removed, repeated or put in.
    fn mutant(&mut self, seed: &[u8]) -> Vec<u8> {
        const TELLING: [u8; 8] = [0, 1, 0x7f, 0x80, 0xff, b'"', b'(', b'{'];
        let mut bytes = seed.to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len());
            match self.below(6) {
                0 if !bytes.is_empty() => bytes[at] ^= 1 << self.below(8),
                1 if !bytes.is_empty() => bytes[at] = TELLING[self.below(TELLING.len())],
                2 => bytes.truncate(at),
                3 if !bytes.is_empty() => drop(bytes.remove(at)),
                4 => {
                    let end = (at + self.below(16)).min(bytes.len());
                    let again = bytes[at.min(end)..end].repeat(2 + self.below(3));
                    bytes.splice(at..at, again);
                }
                _ => bytes.insert(at, self.next().to_le_bytes()[0]),
            }
        }
        bytes
    }
}

fn seeds(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../fuzz/seeds")
        .join(target);
    let mut found: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            (
                entry.file_name().to_string_lossy().into_owned(),
                fs::read(entry.path()).unwrap(),
            )
        })
        .collect();
    found.sort();
    found
}

fn run(target: &str) {
    let (_, function) = targets::TARGETS
        .into_iter()
        .find(|(name, _)| *name == target)
        .unwrap();
    let given = std::env::var("FUZZ_ROUNDS").ok();
    let rounds = given.map_or(ROUNDS, |rounds| rounds.parse().unwrap());
    let seeds = seeds(target);
    assert!(!seeds.is_empty(), "{target} has no seeds");
    let mut generator = Generator(7);
    for (name, seed) in seeds {
        for round in 0..=rounds {
            let input = if round == 0 {
                seed.clone()
            } else {
                generator.mutant(&seed)
            };
            let ended = catch_unwind(AssertUnwindSafe(|| function(&input)));
            if let Err(panic) = ended {
                let path = std::env::temp_dir().join(format!("hedgerow-fuzz-{target}"));
                fs::write(&path, &input).unwrap();
                let cause = panic
                    .downcast_ref::<String>()
                    .map(String::as_str)
                    .or_else(|| panic.downcast_ref::<&str>().copied());
                panic!(
                    "{target}: mutant {round} of {name}, now in {}: {}",
                    path.display(),
                    cause.unwrap_or_default()
                );
            }
        }
    }
}

#[test]
fn queries() {
    run("query");
}

#[test]
fn pipelines() {
    run("pipeline");
}

#[test]
fn stored_postings() {
    run("postings");
}

#[test]
fn stored_rows() {
    run("rows");
}

#[test]
fn texts_to_tokenize() {
    run("tokens");
}

#[test]
fn stored_vectors() {
    run("vectors");
}

#[test]
fn every_target_is_run_and_has_its_binary() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/Cargo.toml");
    let manifest = fs::read_to_string(manifest).unwrap();
    for (target, _) in targets::TARGETS {
        assert!(
            manifest.contains(&format!("name = \"{target}\"")),
            "{target}"
        );
    }
    assert_eq!(manifest.matches("[[bin]]").count(), targets::TARGETS.len());
    assert!(targets::template().starts_with(b"SQLite format 3\0"));
}
