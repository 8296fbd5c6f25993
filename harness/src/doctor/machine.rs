//! The machine: disk space, memory, cores, clock, and leftovers of killed runs.

use std::fs;
use std::thread;

use hustings_record::words::count;

use super::{CheckFinding, Context};
use crate::cleanup::leftovers;
use crate::process::clock;

const MIB: u64 = 1 << 20;
/// Transaction logs and records of a short run, and of a long one.
const SPACE_MIB_NEEDED: u64 = 256;
const SPACE_MIB_WANTED: u64 = 2_048;
/// Three servers (70 to 240 MiB each, as garbage accumulates) and five hosts: with few candidates, and with thousands.
const MEMORY_MIB_NEEDED: u64 = 768;
const MEMORY_MIB_WANTED: u64 = 2_048;
/// Resident memory of 1,000 candidates: 60 KiB each in their hosts, 3 KiB each in the heap of each of three servers.
const MEMORY_MIB_PER_1000: u64 = 70;
/// Measured latencies are as short as a millisecond.
const CLOCK_NS_MAX: u64 = 100_000;

pub(super) fn temp_space(context: &Context) -> CheckFinding {
    let root = &context.temp_root;
    let remedy = "free space there, or set HUSTINGS_TMP to a folder with more";
    let free = match rustix::fs::statvfs(root) {
        Ok(stat) => stat.f_bavail.saturating_mul(stat.f_frsize) / MIB,
        Err(e) => return CheckFinding::failed(format!("{} cannot be used: {e}", root.display()), remedy),
    };
    if let Err(e) = tempfile::tempfile_in(root) {
        return CheckFinding::failed(format!("{} cannot be written to: {e}", root.display()), remedy);
    }
    let text = format!("{} MiB free in {}", count(free), root.display());
    match free {
        free if free < SPACE_MIB_NEEDED => CheckFinding::failed(text, remedy),
        free if free < SPACE_MIB_WANTED => CheckFinding::warning(text, remedy),
        _ => CheckFinding::ok(text),
    }
}

pub(super) fn memory(_: &Context) -> CheckFinding {
    let info = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let Some(kib) = available.and_then(|kib| kib.trim().trim_end_matches(" kB").parse::<u64>().ok()) else {
        return CheckFinding::info("/proc/meminfo does not tell");
    };
    let mib = kib / 1024;
    let candidates = mib.saturating_sub(MEMORY_MIB_NEEDED) * 1_000 / MEMORY_MIB_PER_1000;
    let text = format!(
        "{} MiB available: about {} candidates, at {MEMORY_MIB_PER_1000} MiB per 1,000 over {MEMORY_MIB_NEEDED} MiB",
        count(mib),
        count(candidates),
    );
    match mib {
        mib if mib < MEMORY_MIB_NEEDED => CheckFinding::failed(text, "end other programs, or use a larger machine"),
        mib if mib < MEMORY_MIB_WANTED => CheckFinding::warning(text, "keep scenarios small, or end other programs"),
        _ => CheckFinding::ok(text),
    }
}

pub(super) fn cpu(_: &Context) -> CheckFinding {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let Some(load) = load.split(' ').next().and_then(|load| load.parse::<f64>().ok()) else {
        return CheckFinding::info(format!("{cores} cores; /proc/loadavg does not tell the load"));
    };
    let text = format!("{cores} cores, load {load:.2} over the last minute");
    if load > cores as f64 * 0.5 {
        return CheckFinding::warning(text, "wait until the machine is idle: other load shows up in every latency");
    }
    if cores < 2 {
        return CheckFinding::warning(text, "use two cores or more: servers and candidates stall each other on one");
    }
    CheckFinding::ok(text)
}

pub(super) fn clock(_: &Context) -> CheckFinding {
    let ns = clock::uncertainty();
    let text = format!("readings are good to {} ns", count(ns));
    if ns > CLOCK_NS_MAX {
        return CheckFinding::warning(
            text,
            "use a kernel with high-resolution timers: overlaps this short cannot be told",
        );
    }
    CheckFinding::ok(text)
}

pub(super) fn left_overs(context: &Context) -> CheckFinding {
    let survey = match leftovers::survey(&context.temp_root) {
        Ok(survey) => survey,
        Err(e) => return CheckFinding::info(format!("{} cannot be listed: {e}", context.temp_root.display())),
    };
    if survey.dead.is_empty() {
        return CheckFinding::ok(format!(
            "none in {}; {} runs under way",
            context.temp_root.display(),
            survey.alive.len()
        ));
    }
    let processes: usize = survey.dead.iter().map(|leftover| leftover.children.len()).sum();
    let text = format!("{} killed runs left folders, {processes} processes of theirs still run", survey.dead.len());
    CheckFinding::warning(text, "run hustings clean")
}
