//! Maintenance does every step that writes leave, one at a time, and stops when the handle closes.

use super::*;
use crate::sync::explore::explore;

/// Wait until every step is done and the thread has ended. A step that no thread does fails the test, because
/// waiting takes more than the most steps of a schedule.
fn wait_for_all(handle: &Handle) {
    until(|| handle.file.0.steps.load(SeqCst) == 0 && !handle.maintainer.is_running());
}

fn writers(handle: &Handle, count: usize) -> Vec<Box<dyn FnOnce() + Send>> {
    let writer = handle.clone();
    times(count, move |number| {
        writer.write(number + 1).unwrap();
    })
}

#[test]
fn every_step_is_done_while_other_threads_write_and_read() {
    explore(|| {
        let handle = Handle::open(FakeFile::default());
        let mut threads = writers(&handle, 3);
        let reader = handle.clone();
        threads.extend(times(1, move |_| reader.read(|_, _| ()).unwrap()));
        together(threads);
        wait_for_all(&handle);
        handle.close();
    });
}

#[test]
fn steps_are_done_although_another_process_writes() {
    explore(|| {
        let handle = Handle::open(FakeFile::default());
        handle.file.0.is_busy.store(true, SeqCst);
        together(writers(&handle, 2));
        wait_for_all(&handle);
        handle.close();
    });
}

#[test]
fn a_fork_loses_no_step_of_the_writes_after_it() {
    explore(|| {
        let handle = Handle::open(FakeFile::default());
        let writer = handle.clone();
        let mut threads = times(1, move |_| {
            writer.write(1).unwrap();
            writer.write(1).unwrap();
        });
        threads.extend(times(1, |_| {
            gate::before_fork();
            gate::after_fork();
        }));
        together(threads);
        // What the last write left is done, unless the fork came after it: the next write does it.
        if handle.with_pool(|pool| pool.writer().is_some()).unwrap() {
            wait_for_all(&handle);
        }
        handle.close();
    });
}

#[test]
fn a_write_after_a_failed_step_starts_the_thread_again() {
    explore(|| {
        let handle = Handle::open(FakeFile::default());
        handle.file.0.step_fails.store(true, SeqCst);
        handle.write(2).unwrap();
        until(|| !handle.file.0.step_fails.load(SeqCst));
        handle.write(1).unwrap();
        wait_for_all(&handle);
        assert_eq!(handle.background.notices().take().len(), 1);
        handle.close();
    });
}

#[test]
fn a_write_starts_the_thread_that_an_earlier_one_could_not() {
    explore(|| {
        let handle = Handle::open(FakeFile::default());
        thread::refuse(1);
        together(writers(&handle, 2));
        // Whichever write was refused, a later one does the steps of both.
        handle.write(1).unwrap();
        wait_for_all(&handle);
        handle.close();
    });
}

#[test]
fn the_thread_ends_when_the_handle_closes() {
    explore(|| {
        let handle = Handle::open(FakeFile::default());
        let mut threads = times(2, {
            let handle = handle.clone();
            move |_| {
                handle.write(3);
            }
        });
        let closer = handle.clone();
        threads.extend(times(1, move |_| {
            closer.close();
            assert_eq!(closer.file.0.open.load(SeqCst), 0);
        }));
        together(threads);
        until(|| !handle.maintainer.is_running());
        assert_eq!(handle.file.0.open.load(SeqCst), 0);
    });
}
