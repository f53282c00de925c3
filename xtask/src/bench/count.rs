//! An allocator that counts, for the figures "allocations per delta" and "memory per known file".

#![expect(unsafe_code, reason = "an allocator is unsafe to implement; this one passes everything on")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Constant from the start and never dropped, so that it needs no memory itself.
    static COUNT: Cell<u64> = const { Cell::new(0) };
    /// What was asked for and not given back; below zero where another thread asked for it.
    static HELD: Cell<i64> = const { Cell::new(0) };
}

/// The system's allocator with a counter before it.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns how often this thread has asked for memory so far, growing included.
pub fn allocations() -> u64 {
    COUNT.get()
}

/// Returns how many bytes this thread has asked for and not given back.
pub fn held() -> i64 {
    HELD.get()
}

fn hold(size: usize) {
    HELD.set(HELD.get() + i64::try_from(size).unwrap_or(i64::MAX));
}

fn give_back(size: usize) {
    HELD.set(HELD.get() - i64::try_from(size).unwrap_or(i64::MAX));
}

// SAFETY: every call goes to the system's allocator unchanged; the counters touch no memory of theirs.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        hold(layout.size());
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        give_back(layout.size());
        // SAFETY: the caller keeps the contract of `dealloc`, and all memory is the system's.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        give_back(layout.size());
        hold(size);
        // SAFETY: the caller keeps the contract of `realloc`, and all memory is the system's.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_is_counted() {
        let before = (allocations(), held());
        let kept = std::hint::black_box(Box::new(7_u64));
        assert_eq!((allocations() - before.0, held() - before.1), (1, 8));
        drop(kept);
        assert_eq!((allocations() - before.0, held() - before.1), (1, 0));
    }
}
