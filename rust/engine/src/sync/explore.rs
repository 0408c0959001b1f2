//! Runs of a test in many interleavings of its threads.
//!
//! shuttle runs one thread at a time, and at each operation of [`crate::sync`] its scheduler chooses the next. A
//! failure prints the schedule, which `shuttle::replay` repeats. Atomics are sequentially consistent whatever
//! their ordering, so a missing `Acquire` is not found here but by `ThreadSanitizer`.

use std::env;
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use shuttle::scheduler::{DfsScheduler, PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, MaxSteps, Runner};

/// The time of a test without `INTERLEAVINGS_SECONDS`.
const SHORT: Duration = Duration::from_secs(1);
/// The most interleavings of a test without `INTERLEAVINGS_SECONDS`.
const SHORT_COUNT: usize = 2000;
/// The interleavings from one seed. Each batch begins with one in which the oldest thread runs first.
const BATCH: usize = 50;
/// The bytes of the stack of a thread: enough for a search in SQLite.
const STACK: usize = 1 << 20;
/// The preemptions of a schedule at which PCT finds every failure with a known probability.
const DEPTH: usize = 3;

/// The most steps of a schedule. More are a loop whose condition will never hold.
const MAX_STEPS: usize = 200_000;

/// One test explores at a time: statics of the engine have shuttle's primitives, which belong to one thread.
static TURN: Mutex<()> = Mutex::new(());

/// Wait until no other test explores. A test that failed left locks of statics held.
#[allow(clippy::panic, reason = "a test fails by panicking")]
fn turn() -> MutexGuard<'static, ()> {
    let turn = TURN.lock();
    turn.unwrap_or_else(|_| panic!("another test failed in this process: run this one alone"))
}

/// Run `test` with threads that are chosen at random, and with random priorities (PCT), for
/// `INTERLEAVINGS_SECONDS` from `INTERLEAVINGS_SEED`. Panics if a thread panics or all threads wait.
pub fn explore(test: fn()) {
    let _turn = turn();
    let seconds = variable("INTERLEAVINGS_SECONDS");
    let most = seconds.map_or(SHORT_COUNT, |_| usize::MAX);
    let time = seconds.map_or(SHORT, Duration::from_secs_f64);
    let first = variable("INTERLEAVINGS_SEED").unwrap_or_else(seed);
    let (start, mut count) = (Instant::now(), 0);
    for number in 0.. {
        if count >= most || start.elapsed() >= time {
            break;
        }
        let seed = Seed(first.wrapping_add(number));
        count += run(RandomScheduler::new_from_seed(seed.0, BATCH), test);
        count += run(PctScheduler::new_from_seed(seed.0, DEPTH, BATCH), test);
    }
    note(seconds.is_some(), first, start, count);
}

/// The seed of a batch, which a failure prints.
struct Seed(u64);

impl Drop for Seed {
    #[allow(clippy::print_stderr, reason = "the report of a test")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("INTERLEAVINGS_SEED={} begins with this failure", self.0);
        }
    }
}

/// Run `test` in every interleaving of its threads. Only for a test that has few.
pub fn explore_all(test: fn()) {
    let _turn = turn();
    let start = Instant::now();
    let count = run(DfsScheduler::new(None, false), test);
    let is_long = variable::<f64>("INTERLEAVINGS_SECONDS").is_some();
    note(
        is_long,
        variable("INTERLEAVINGS_SEED").unwrap_or_default(),
        start,
        count,
    );
}

fn run(scheduler: impl Scheduler + 'static, test: fn()) -> usize {
    let mut config = Config::new();
    config.stack_size = STACK;
    config.max_steps = MaxSteps::FailAfter(MAX_STEPS);
    config.silence_warnings = true;
    Runner::new(scheduler, config).run(test)
}

/// Print the line of a long run that `scripts/record_proof.py` adds to the record.
#[allow(clippy::print_stdout, reason = "the report of a test")]
fn note(is_long: bool, seed: u64, start: Instant, count: usize) {
    if is_long {
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "proof {{\"name\": \"interleavings\", \"seed\": {seed}, \"seconds\": {seconds:.3}, \"count\": {count}}}"
        );
    }
}

fn variable<T: FromStr>(name: &str) -> Option<T> {
    env::var(name).ok()?.parse().ok()
}

/// The seed of a run that has none: always the same in CI.
fn seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let is_ci = env::var_os("CI").is_some();
    now.map_or(0, |now| if is_ci { 0 } else { now.as_secs() })
}
