//! Power loss during a random history: the file opens again without damage, in a state that the history had, and not one
//! before the last sync of its log.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hedgerow_engine::chunks::Chunk;
use hedgerow_engine::index::{Index, Methods, SUBJECTS};
use hedgerow_engine::storage::{Durability, Location};
use hedgerow_engine::text::tokenizer::TokenizerKind;

use super::disk::{Disk, Random};
use super::vfs::{self, Change};
use super::{Proof, State, contents, long};

const NAME: &str = "index.db";
const LOG: &str = "index.db-wal";
const SHARED: &str = "index.db-shm";

/// The files of a folder after a power loss.
type Files = BTreeMap<String, Vec<u8>>;

/// A state of the index in a history.
struct Step {
    state: State,
    /// The numbers of changes of the disk when the write began, and when it was acknowledged.
    begun: usize,
    done: usize,
}

/// A random history: its states, in their order, and the changes of the disk.
struct History {
    /// None for an index that syncs nothing.
    durability: Option<Durability>,
    steps: Vec<Step>,
    changes: Vec<Change>,
}

impl History {
    /// Record a history of `calls` that begins with `files`, in which the index has the state `first`.
    fn of(
        files: &Files,
        first: State,
        calls: usize,
        durability: Option<Durability>,
        random: &mut Random,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), files);
        vfs::record(folder.path());
        let mut steps = vec![Step {
            state: first,
            begun: 0,
            done: vfs::recorded(),
        }];
        let path = folder.path().join(NAME);
        let open = || {
            let location = Location::file(&path, false, SUBJECTS).unwrap();
            let location = location.with_durability(durability.unwrap_or_default());
            let (tokenizer, methods) = (TokenizerKind::Porter, Methods::default());
            let index = Index::open_at(location, tokenizer, false, methods).unwrap();
            if durability.is_none() {
                pragma(&index, "synchronous = OFF");
            }
            index
        };
        let mut index = open();
        for number in 0..calls {
            let mut state = steps.last().unwrap().state.clone();
            let begun = vfs::recorded();
            match random.below(20) {
                0..10 => upsert(&index, &mut state, &chunks(number, random)),
                10..13 => {
                    let ids = state.keys().filter(|_| random.has(30));
                    let ids: Vec<String> = ids.cloned().collect();
                    index.delete(&ids).unwrap();
                    state.retain(|id, _| !ids.contains(id));
                }
                13 => index.optimize().unwrap(),
                14 => index.vacuum().unwrap(),
                15 => {
                    drop(index);
                    index = open();
                }
                16 => pragma(&index, "wal_checkpoint(PASSIVE)"),
                17 => pragma(&index, "wal_checkpoint(TRUNCATE)"),
                // Transactions then write into the log before their end.
                18 => pragma(&index, "cache_size = 5"),
                _ => upsert(&open(), &mut state, &chunks(number, random)),
            }
            let done = vfs::recorded();
            steps.push(Step { state, begun, done });
        }
        drop(index);
        let changes = vfs::take_record();
        Self {
            durability,
            steps,
            changes,
        }
    }

    /// The states that may be left when the power fails after a number of changes: none before that of the last sync of
    /// the log, and with full durability none before the last that was acknowledged.
    fn allowed(&self, changes: usize) -> impl Iterator<Item = &State> {
        let mut log = None;
        let mut synced = 0;
        for (number, change) in self.changes[..changes].iter().enumerate() {
            match change {
                Change::Create { file, name } if name == LOG => log = Some(*file),
                Change::Sync { file, .. } if log == Some(*file) => synced = number,
                _ => {}
            }
        }
        if self.durability == Some(Durability::Full) {
            synced = changes;
        }
        let is_durable = |step: &Step| step.done <= synced;
        let first = self.steps.iter().rposition(is_durable).unwrap_or(0);
        let begun = self.steps[first..].iter();
        begun
            .take_while(move |step| step.begun <= changes)
            .map(|step| &step.state)
    }

    /// Lose power at random moments, `percent` of all; return their number, or what a loss left that it must not. After
    /// `nested` percent of them the power fails again.
    fn prove(&self, percent: usize, nested: usize, random: &mut Random) -> Result<usize, String> {
        let mut disk = Disk::empty();
        let mut losses = 0;
        for (number, change) in self.changes.iter().enumerate() {
            disk.apply(change);
            if number + 1 < self.steps[0].done || !random.has(percent) {
                continue;
            }
            losses += 1;
            let at = |problem| format!("after {} changes: {problem}", number + 1);
            let sector = if random.has(50) { 512 } else { 4096 };
            let mut files = disk.left(random, sector);
            if random.has(50) {
                let bytes = (0..32_768).map(|_| random.next().to_le_bytes()[0]);
                files.insert(SHARED.to_owned(), bytes.collect());
            }
            let found = open_again(&files).map_err(at)?;
            if !self.allowed(number + 1).any(|state| *state == found) {
                return Err(at(format!("not a state since the last sync: {found:?}")));
            }
            // While the file is opened, or soon after.
            if random.has(nested) {
                let again = Self::of(&files, found, 2, self.durability, random);
                losses += again.prove(10, 0, random).map_err(at)?;
            }
        }
        Ok(losses)
    }
}

/// Open files that a power loss left, and write; return the state found, or the problem.
fn open_again(files: &Files) -> Result<State, String> {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), files);
    let path = folder.path().join(NAME);
    let try_all = || {
        let index = Index::open(&path, TokenizerKind::Porter, false)?;
        let found = contents(&index)?;
        let mut problems = index.check()?;
        let after = super::chunk("after", "the file takes writes again");
        index.upsert(&[&after])?;
        problems.extend(index.check()?);
        let mut state = found.clone();
        state.insert(after.id, after.content);
        if contents(&index)? != state {
            problems.push("a write is missing".to_owned());
        }
        Ok((found, problems))
    };
    match try_all() {
        Err(error) => Err(hedgerow_engine::Error::to_string(&error)),
        Ok((_, problems)) if !problems.is_empty() => Err(problems.join(", ")),
        Ok((found, _)) => Ok(found),
    }
}

fn write(folder: &Path, files: &Files) {
    for (name, content) in files {
        fs::write(folder.join(name), content).unwrap();
    }
}

fn pragma(index: &Index, pragma: &str) {
    let sql = format!("PRAGMA {pragma}");
    let run = |connection: &rusqlite::Connection| connection.execute_batch(&sql);
    index.database().on_writer(run).unwrap();
}

/// Some chunks, small and large; each call of a history has others.
fn chunks(number: usize, random: &mut Random) -> Vec<Chunk> {
    let count = 1 + random.below(4);
    let chunk = |_| {
        let words = if random.has(10) { 3000 } else { 20 };
        let words: Vec<String> = (0..random.below(words))
            .map(|_| format!("w{}", random.below(500)))
            .collect();
        let id = format!("id {}", random.below(12));
        Chunk {
            embedding: random
                .has(30)
                .then(|| vec![1.0, f32::from(u8::try_from(number).unwrap())]),
            ..super::chunk(&id, &format!("{number} {}", words.join(" ")))
        }
    };
    (0..count).map(chunk).collect()
}

fn upsert(index: &Index, state: &mut State, chunks: &[Chunk]) {
    let given: Vec<&Chunk> = chunks.iter().collect();
    index.upsert(&given).unwrap();
    for chunk in chunks {
        state.insert(chunk.id.clone(), chunk.content.clone());
    }
}

/// The seed of `PROOF_SEED`; else one of the clock in the long form, and a fixed one in the short form.
fn seed() -> u64 {
    let given = env::var("PROOF_SEED").ok();
    let clock = || {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_secs()
    };
    given.map_or_else(
        || if long() { clock() } else { 1 },
        |seed| seed.parse().unwrap(),
    )
}

/// The duration of the long form, from `PROOF_SECONDS`.
fn duration() -> Duration {
    let seconds = env::var("PROOF_SECONDS").map_or(600, |seconds| seconds.parse().unwrap());
    Duration::from_secs(seconds)
}

/// Lose power in histories of one durability, and print the record.
fn prove(name: &'static str, durability: Durability) {
    let _use = vfs::install();
    let mut proof = Proof::begin(name);
    let mut seed = seed();
    proof.seed = Some(seed);
    loop {
        let mut random = Random(seed);
        let history = History::of(
            &Files::new(),
            State::new(),
            30,
            Some(durability),
            &mut random,
        );
        let percent = if long() { 20 } else { 4 };
        let losses = history.prove(percent, 10, &mut random);
        proof.count += losses.unwrap_or_else(|problem| panic!("PROOF_SEED={seed}: {problem}"));
        if !long() || proof.begun.elapsed() > duration() {
            break;
        }
        seed += 1;
    }
    assert!(proof.count > 20, "{} losses", proof.count);
    proof.end();
}

#[test]
fn a_power_loss_leaves_a_whole_state_since_the_last_sync() {
    prove("power loss, normal durability", Durability::Normal);
}

#[test]
fn a_power_loss_with_full_durability_loses_nothing_acknowledged() {
    prove("power loss, full durability", Durability::Full);
}

#[test]
fn a_power_loss_with_normal_durability_may_lose_the_last_writes() {
    let _use = vfs::install();
    let mut random = Random(1);
    let normal = Some(Durability::Normal);
    let mut history = History::of(&Files::new(), State::new(), 30, normal, &mut random);
    // Held to the promise of the other durability.
    history.durability = Some(Durability::Full);
    history.prove(50, 0, &mut random).unwrap_err();
}

#[test]
fn a_power_loss_without_syncs_is_noticed() {
    let _use = vfs::install();
    let mut random = Random(1);
    let history = History::of(&Files::new(), State::new(), 30, None, &mut random);
    history.prove(50, 0, &mut random).unwrap_err();
}
