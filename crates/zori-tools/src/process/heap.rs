//! The memory of our own process: what a turn needed and nobody needs any more goes back to the system (PERF-6).

/// Gives back what is free. The C library keeps it otherwise: once a request of ten megabytes was made, twice as much.
#[cfg(target_env = "gnu")]
#[expect(unsafe_code, reason = "the C library's own call has no safe interface")]
pub fn give_back() {
    // SAFETY: it takes no pointer, and what is in use stays where it is.
    unsafe { libc::malloc_trim(0) };
}

/// Other C libraries give back by themselves.
#[cfg(not(target_env = "gnu"))]
pub fn give_back() {}

#[cfg(target_env = "gnu")]
#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how many kilobytes of this process are in memory.
    fn resident() -> usize {
        let told = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = told.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    #[test]
    fn free_memory_goes_back() {
        const PIECE: usize = 16 << 10;
        const PIECES: usize = 1024;
        let pieces: Vec<Vec<u8>> = (0..PIECES).map(|_| vec![1; PIECE]).collect();
        // What is still in use above them keeps them from being given back.
        let above = vec![1_u8; PIECE];
        drop(pieces);
        let before = resident();
        give_back();
        let after = resident();
        assert!(before > after + PIECE * PIECES / 2048, "{before} kB before, {after} after");
        drop(above);
    }
}
