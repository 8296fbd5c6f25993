//! Description of this machine for the manifest: measurements mean little without it.

use hustings_record::Machine;
use hustings_record::numbers::to_u32;

/// Reads it from the kernel. Unreadable values are left empty.
#[must_use]
pub fn describe() -> Machine {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpu = read("/proc/cpuinfo");
    let cpu = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or_default();
    let memory = read("/proc/meminfo");
    let memory = memory.lines().find_map(|line| line.strip_prefix("MemTotal:")).unwrap_or_default();
    let memory_kb: u64 = memory.split_whitespace().next().and_then(|kb| kb.parse().ok()).unwrap_or(0);
    Machine {
        cores: std::thread::available_parallelism().map_or(0, |n| to_u32(n.get())),
        memory_mb: memory_kb / 1024,
        kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        cpu: cpu.trim_start_matches([' ', '\t', ':']).to_owned(),
        load_1m: load_1m(),
        load_1m_end: None,
    }
}

/// Load average over the last minute, by the kernel. Empty if it cannot be read.
#[must_use]
pub fn load_1m() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split_whitespace().next().unwrap_or_default().to_owned()
}
