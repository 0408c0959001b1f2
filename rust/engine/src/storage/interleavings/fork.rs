//! While a thread forks, no connection to a file is open and no other thread works.

use super::*;
use crate::interrupt;
use crate::sync::explore::explore;

/// Fork as the operating system does: `work` runs in between.
fn fork(work: impl FnOnce()) {
    gate::before_fork();
    work();
    gate::after_fork();
}

#[test]
fn no_connection_is_open_while_a_thread_forks() {
    explore(|| {
        let handle = Handle::open(FakeFile::default());
        handle.with_pool(|pool| pool.put_snapshot(1, handle.file.connection()));
        let user = handle.clone();
        let mut threads = times(2, move |_| {
            user.read(|_, _| ()).unwrap();
            user.write(1).unwrap();
        });
        let file = Arc::clone(&handle.file.0);
        threads.extend(times(1, move |_| {
            fork(|| {
                assert_eq!(file.open.load(SeqCst), 0);
                assert!(gate::is_forking());
            });
            assert!(!gate::is_forking());
        }));
        together(threads);
        assert_eq!(handle.file.0.generation.load(SeqCst), 2);
        handle.close();
        until(|| handle.file.0.open.load(SeqCst) == 0);
    });
}

#[test]
fn a_thread_that_forks_uses_the_engine_without_waiting_for_itself() {
    explore(|| {
        let handle = Handle::open(FakeFile::default());
        let user = handle.clone();
        let mut threads = times(1, move |_| {
            user.write(0).unwrap();
        });
        let forking = handle.clone();
        threads.extend(times(1, move |_| {
            fork(|| assert!(forking.read(|_, _| ()).is_some()));
        }));
        together(threads);
        handle.close();
    });
}

#[test]
fn long_work_ends_for_every_thread_that_forks() {
    explore(|| {
        let handle = Handle::open(FakeFile::default());
        let ended = Arc::new(AtomicUsize::new(0));
        let start = |ended: Arc<AtomicUsize>| {
            let work = move |connection: Option<Result<&FakeConnection>>| {
                if connection.is_some() {
                    until(interrupt::is_due);
                }
                ended.fetch_add(1, SeqCst);
            };
            assert!(handle.background.spawn("long", work));
        };
        start(Arc::clone(&ended));
        start(Arc::clone(&ended));
        // Forks at the same time: each waits for the work that began after the other.
        together(times(2, |_| fork(|| ())));
        handle.close();
        until(|| ended.load(SeqCst) == 2);
    });
}
