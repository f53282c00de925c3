//! Keeps the smallest values of a stream, in whatever order they come.

use std::collections::BinaryHeap;

/// The `bound` smallest things seen so far, and how many there were in all.
pub struct SmallestN<T> {
    bound: usize,
    heap: BinaryHeap<T>,
    seen: usize,
}

impl<T: Ord> SmallestN<T> {
    /// Keeps at most `bound` things.
    pub fn new(bound: usize) -> Self {
        Self { bound, heap: BinaryHeap::new(), seen: 0 }
    }

    /// Returns the largest value that is kept; `None` while there is room.
    pub fn worst(&self) -> Option<&T> {
        if self.heap.len() < self.bound { None } else { self.heap.peek() }
    }

    /// Counts a value that is known to be too large.
    pub fn pass(&mut self) {
        self.seen += 1;
    }

    /// Counts a thing, and keeps it if it is among the first.
    pub fn push(&mut self, thing: T) {
        self.seen += 1;
        if self.heap.len() < self.bound {
            self.heap.push(thing);
        } else if let Some(mut worst) = self.heap.peek_mut()
            && thing < *worst
        {
            *worst = thing;
        }
    }

    /// Adds what another thread has kept.
    pub fn merge(&mut self, other: Self) {
        let seen = self.seen + other.seen;
        for thing in other.heap {
            self.push(thing);
        }
        self.seen = seen;
    }

    /// Returns how many things were seen.
    pub fn seen(&self) -> usize {
        self.seen
    }

    /// Returns what was kept, in order.
    pub fn into_sorted(self) -> Vec<T> {
        self.heap.into_sorted_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_stay_in_order() {
        let mut one = SmallestN::new(3);
        assert_eq!(one.worst(), None);
        [5, 1, 4].into_iter().for_each(|n| one.push(n));
        assert_eq!(one.worst(), Some(&5));
        let mut two = SmallestN::new(3);
        [3, 9, 2, 8].into_iter().for_each(|n| two.push(n));
        two.pass();
        one.merge(two);
        assert_eq!((one.seen(), one.into_sorted()), (8, vec![1, 2, 3]));
    }
}
