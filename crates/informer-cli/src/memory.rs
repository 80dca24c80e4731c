//! The memory of this process, where the system reports it.

/// What the system says of this process's memory, in kB.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    /// The most that was ever in RAM at once.
    pub(crate) peak_rss_kb: Option<u64>,
    /// What is in RAM now.
    pub(crate) rss_kb: Option<u64>,
}

/// Reads it. Systems other than Linux do not report it.
#[cfg(target_os = "linux")]
pub(crate) fn read() -> Memory {
    use procfs_core::FromRead;
    use procfs_core::process::Status;

    match Status::from_file("/proc/self/status") {
        Ok(status) => Memory {
            peak_rss_kb: status.vmhwm,
            rss_kb: status.vmrss,
        },
        Err(_) => Memory::default(),
    }
}

/// Resets the peak.
///
/// # Errors
/// When the system does not allow it.
#[cfg(target_os = "linux")]
pub(crate) fn forget_peak() -> std::io::Result<()> {
    // proc_pid_clear_refs(5): 5 resets the peak.
    std::fs::write("/proc/self/clear_refs", "5")
}

/// Systems other than Linux report no peak.
#[cfg(not(target_os = "linux"))]
pub(crate) fn forget_peak() -> std::io::Result<()> {
    Ok(())
}

/// Reads it. Systems other than Linux do not report it.
#[cfg(not(target_os = "linux"))]
pub(crate) fn read() -> Memory {
    Memory::default()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn memory_peak_can_be_reset() {
        let block = vec![1_u8; 64 << 20];
        let before = read().peak_rss_kb.unwrap();
        drop(block);
        forget_peak().unwrap();
        assert!(read().peak_rss_kb.unwrap() < before);
    }

    #[test]
    fn memory_peak_is_at_least_present_memory() {
        let memory = read();
        let now = memory.rss_kb.unwrap();
        assert!(now > 0);
        assert!(memory.peak_rss_kb.unwrap() >= now);
    }
}
