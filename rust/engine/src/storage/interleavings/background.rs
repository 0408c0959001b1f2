//! Work in the background is done once, or told that the handle is closed, and none goes on after closing.

use super::*;
use crate::storage::background::{NoticeLevel, Notices};
use crate::sync::explore::{explore, explore_all};

#[test]
fn each_work_is_called_once_and_none_goes_on_after_closing() {
    explore(|| {
        let handle = Handle::open(FakeFile::default());
        let (calls, working) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let starting = (handle.clone(), Arc::clone(&calls), Arc::clone(&working));
        let mut threads = times(2, move |_| {
            let (handle, calls, working) = starting.clone();
            let work = move |connection: Option<Result<&FakeConnection>>| {
                calls.fetch_add(1, SeqCst);
                if let Some(connection) = connection {
                    working.fetch_add(1, SeqCst);
                    assert!(connection.is_ok());
                    working.fetch_sub(1, SeqCst);
                }
            };
            assert!(handle.background.spawn("test", work));
        });
        let closer = handle.clone();
        threads.extend(times(1, move |_| {
            closer.close();
            assert_eq!(working.load(SeqCst), 0, "closing waits for work");
        }));
        together(threads);
        until(|| calls.load(SeqCst) == 2);
        until(|| handle.file.0.open.load(SeqCst) == 0);
        assert_eq!(calls.load(SeqCst), 2);
    });
}

#[test]
fn computing_ends_before_the_handle_is_closed() {
    explore(|| {
        let handle = Handle::open(FakeFile::default());
        let working = Arc::new(AtomicUsize::new(0));
        let computing = Arc::clone(&working);
        let started = handle.background.compute("test", move || {
            computing.fetch_add(1, SeqCst);
            until(crate::interrupt::is_due);
            computing.fetch_sub(1, SeqCst);
        });
        assert!(started);
        handle.close();
        assert_eq!(working.load(SeqCst), 0);
    });
}

#[test]
fn a_thread_that_cannot_start_is_reported() {
    explore(|| {
        let handle = Handle::open(FakeFile::default());
        thread::refuse(1);
        assert!(!handle.background.spawn("test", |_| ()));
        assert!(handle.background.spawn("test", |_| ()));
        handle.close();
    });
}

#[test]
fn a_notice_is_taken_once_in_every_interleaving() {
    explore_all(|| {
        let notices = Arc::new(Notices::default());
        let reporting = Arc::clone(&notices);
        let report = move |_: usize| reporting.report(NoticeLevel::Info, "once");
        let threads: Vec<_> = times(2, report).into_iter().map(thread::spawn).collect();
        let mut taken = notices.take();
        for thread in threads {
            thread.join().unwrap();
        }
        taken.extend(notices.take());
        assert_eq!(taken.len(), 1);
    });
}

#[test]
fn no_notice_and_no_reading_is_lost() {
    explore(|| {
        let notices = Arc::new(Notices::default());
        let reporting = Arc::clone(&notices);
        let report = move |number: usize| {
            reporting.report(NoticeLevel::Info, number.to_string());
            reporting.note_reading("numbers", std::time::Duration::ZERO);
        };
        let threads: Vec<_> = times(3, report).into_iter().map(thread::spawn).collect();
        let (mut taken, mut readings) = (notices.take(), notices.take_readings());
        taken.extend(notices.take());
        for thread in threads {
            thread.join().unwrap();
        }
        taken.extend(notices.take());
        readings.extend(notices.take_readings());
        let mut messages: Vec<String> = taken.into_iter().map(|one| one.message).collect();
        messages.sort_unstable();
        assert_eq!(messages, ["0", "1", "2"]);
        assert_eq!(readings.len(), 3);
    });
}
