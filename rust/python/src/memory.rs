//! The allocator, with a reserve, so that a call that runs out of memory ends with an error.
//!
//! Rust ends the process when an allocation fails. The first failing allocation is served from the
//! reserve, which is freed, and the engine is notified: calls end at their next check, and none
//! begins before the reserve is restored. A single allocation larger than the reserve is refused.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::thread;
use std::time::Duration;

use hedgerow_engine::{Result, memory};

/// 16 MiB, which are never written.
const LAYOUT: Layout = Layout::new::<[u64; 1 << 21]>();
/// How often a thread tries while others free their memory.
const TRIES: usize = 50;
/// How long it waits before it tries again.
const PAUSE: Duration = Duration::from_millis(1);

/// The reserve; null before the first call, and after it was given up.
static RESERVE: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());

struct Reserving;

#[global_allocator]
static ALLOCATOR: Reserving = Reserving;

// SAFETY: all memory is from `System`, and goes back to it with the layout that callers give.
unsafe impl GlobalAlloc for Reserving {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        served(layout.size(), || unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        served(layout.size(), || unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises; after a failed reallocation the memory is unchanged.
        served(size, || unsafe { System.realloc(memory, layout, size) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Return the memory of `allocate`. If it is null, try again with the reserve, and with the memory
/// of calls that end now.
fn served(size: usize, allocate: impl Fn() -> *mut u8) -> *mut u8 {
    let mut found = allocate();
    for attempt in 0..TRIES {
        if !found.is_null() || size >= LAYOUT.size() {
            break;
        }
        if attempt > 0 {
            thread::sleep(PAUSE);
        }
        give_up();
        found = allocate();
    }
    found
}

fn give_up() {
    let reserve = RESERVE.swap(ptr::null_mut(), Ordering::AcqRel);
    if !reserve.is_null() {
        memory::note_shortage();
        // SAFETY: it was allocated with this layout, and nobody else has it any more.
        unsafe { System.dealloc(reserve, LAYOUT) };
    }
}

/// Make sure that there is a reserve before a call begins.
pub fn restore() -> Result<()> {
    if !RESERVE.load(Ordering::Acquire).is_null() {
        // Another thread may have made a reserve before the loss of the last one was noted.
        if memory::is_short() {
            memory::note_enough();
        }
        return Ok(());
    }
    // SAFETY: the layout has a size.
    let reserve = unsafe { System.alloc(LAYOUT) };
    if reserve.is_null() {
        return Err(memory::error());
    }
    let none = ptr::null_mut();
    let kept = RESERVE.compare_exchange(none, reserve, Ordering::AcqRel, Ordering::Acquire);
    if kept.is_err() {
        // SAFETY: it was allocated with this layout just now; another thread was faster.
        unsafe { System.dealloc(reserve, LAYOUT) };
    }
    memory::note_enough();
    Ok(())
}
