//! The allocator, which keeps some memory back: so a call that memory runs out for ends with an error.
//!
//! Rust ends the process where memory is refused. The first time that happens the reserve is given
//! up, which serves whoever asked, and the engine hears of it: calls end as soon as they look whether
//! to go on. None begins before there is a reserve again. Who asks for more at once than the reserve
//! has is refused.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::thread;
use std::time::Duration;

use hedgerow_engine::{Result, memory};

/// 16 MiB, which are never touched.
const LAYOUT: Layout = Layout::new::<[u64; 1 << 21]>();
/// How often a thread tries while others let go of what they have.
const TRIES: usize = 50;
/// How long it waits before it tries again.
const PAUSE: Duration = Duration::from_millis(1);

/// What is kept back; null before the first call, and where it was given up.
static RESERVE: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());

struct Reserving;

#[global_allocator]
static ALLOCATOR: Reserving = Reserving;

// SAFETY: all memory is `System`'s, and goes back to it with what callers say of it.
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
        // SAFETY: as the caller promises; what could not be made larger is as it was.
        served(size, || unsafe { System.realloc(memory, layout, size) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// What `allocate` gets: where it gets nothing, with the reserve, and with what calls that end now
/// let go of.
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

/// Have a reserve before a call begins.
pub fn restore() -> Result<()> {
    if !RESERVE.load(Ordering::Acquire).is_null() {
        // Another thread may have had a reserve before this was noted of the last one.
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
