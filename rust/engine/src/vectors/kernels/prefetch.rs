//! Prefetching rows: a scan waits for little else than memory.

#![allow(clippy::inline_always)] // compiled for the processor of the function around it

/// The bytes of a plane that one instruction reads, and the size of a cache line.
pub(super) const LINE: usize = 64;

/// Prefetch a row.
#[inline(always)]
pub(in crate::vectors) fn prefetch<T>(row: &[T]) {
    let first = row.as_ptr().cast::<u8>();
    for offset in (0..size_of_val(row)).step_by(LINE) {
        prefetch_line(first.wrapping_add(offset));
    }
}

/// Prefetch the line that an address is in. Stable Rust has an instruction for it on x86-64 alone.
#[inline(always)]
pub(super) fn prefetch_line(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: any address may be asked for: nothing is read, and no fault is raised.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
