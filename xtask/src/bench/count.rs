//! An allocator that counts, for the figure "allocations per delta".

#![expect(unsafe_code, reason = "an allocator is unsafe to implement; this one passes everything on")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Constant from the start and never dropped, so that it needs no memory itself.
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator with a counter before it.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns how often this thread has asked for memory so far, growing included.
pub fn allocations() -> u64 {
    COUNT.get()
}

// SAFETY: every call goes to the system's allocator unchanged; the counter touches no memory of theirs.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`, and all memory is the system's.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller keeps the contract of `realloc`, and all memory is the system's.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_is_counted() {
        let before = allocations();
        drop(std::hint::black_box(Box::new(7)));
        assert_eq!(allocations() - before, 1);
    }
}
