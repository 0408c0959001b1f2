//! A pool lends each connection to one thread at a time, and gets all of them back.

use super::*;
use crate::sync::explore::{explore, explore_all};

#[test]
fn no_connection_has_two_users_and_all_come_back() {
    explore(|| {
        let handle = Handle::open(FakeFile::default());
        let file = Arc::clone(&handle.file.0);
        let reader = handle.clone();
        let mut threads = times(3, move |_| {
            for _ in 0..2 {
                reader.read(|_, _| ()).unwrap();
            }
        });
        let writer = handle.clone();
        threads.extend(times(2, move |_| {
            writer.write(0).unwrap();
        }));
        together(threads);
        assert_eq!(file.generation.load(SeqCst), 2);
        let opened = file.opened.load(SeqCst);
        assert!(
            opened <= 4,
            "{opened} connections for 3 readers and a writer"
        );
        assert_eq!(file.open.load(SeqCst), opened, "all are kept");
        handle.close();
        assert_eq!(file.open.load(SeqCst), 0);
    });
}

#[test]
fn two_readers_use_two_connections_in_every_interleaving() {
    explore_all(|| {
        let file = FakeFile::default();
        let pool = Arc::new(Pool::new(file.connection(), true, file.clone()));
        let shared = Arc::clone(&pool);
        let read = move |_: usize| {
            let reader = shared.take_reader().unwrap_or_else(|| file.connection());
            drop(reader.exclusively());
            shared.return_reader(reader);
        };
        together(times(2, read));
        let kept = std::iter::from_fn(|| pool.take_reader()).count();
        assert!((1..=2).contains(&kept), "{kept} were kept");
    });
}

#[test]
fn readers_in_memory_never_meet_a_writer() {
    explore(|| {
        let handle = Handle::open(FakeFile::in_memory());
        let reader = handle.clone();
        let mut threads = times(2, move |_| {
            let first = reader.read(|_, generation| generation).unwrap();
            let second = reader.read(|_, generation| generation).unwrap();
            assert!(first <= second, "{second} after {first}");
        });
        let writer = handle.clone();
        threads.extend(times(2, move |_| {
            writer.write(1).unwrap();
        }));
        together(threads);
        until(|| handle.file.0.steps.load(SeqCst) == 0);
        handle.close();
    });
}

#[test]
fn a_snapshot_is_lent_to_one_caller_and_closed_with_the_handle() {
    explore(|| {
        let handle = Handle::open(FakeFile::default());
        handle.with_pool(|pool| pool.put_snapshot(7, handle.file.connection()));
        let caller = handle.clone();
        let mut threads = times(2, move |_| {
            caller.with_pool(|pool| {
                if let Some(reader) = pool.take_snapshot(7) {
                    reader.read(|_| ());
                    pool.put_snapshot(7, reader);
                }
            });
        });
        let closer = handle.clone();
        threads.extend(times(1, move |_| closer.close()));
        together(threads);
        assert_eq!(handle.file.0.open.load(SeqCst), 0);
    });
}

#[test]
fn a_panic_leaves_the_pool_usable() {
    explore(|| {
        let handle = Handle::open(FakeFile::in_memory());
        let reader = handle.clone();
        let panics = move || {
            reader.read(|_, _| thread::panic_as_planned());
        };
        thread::Builder::new().spawn(panics).unwrap();
        handle.write(0).unwrap();
        assert_eq!(handle.read(|_, generation| generation), Some(1));
        handle.close();
        until(|| handle.file.0.open.load(SeqCst) == 0);
    });
}
