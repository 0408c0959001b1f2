//! The scheduling of the maintenance thread on Linux.
#![allow(
    unsafe_code,
    reason = "no safe crate sets the scheduling policy of one thread"
)]

/// Have the kernel schedule this thread as batch work: it never preempts a thread that searches.
///
/// Ignores a failure, as in a sandbox that forbids the call: the thread is then scheduled as others
/// are. Threads that this thread starts are batch work too.
pub(super) fn lower() {
    // The kernel's `sched_param` is this one number. The struct of libc has more fields with musl.
    let priority: libc::c_int = 0;
    // The system call itself, since the function of this name does nothing in musl.
    // SAFETY: the kernel reads one `c_int` through the pointer, which is to a live value on this
    // thread's stack, and keeps no reference to it. Process 0 is the calling thread.
    let _ = unsafe {
        libc::syscall(
            libc::SYS_sched_setscheduler,
            0,
            libc::SCHED_BATCH,
            &raw const priority,
        )
    };
}
