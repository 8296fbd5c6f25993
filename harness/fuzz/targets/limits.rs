//! Any bytes as a file of limits: refused with a reason, or compared with a record, which no limit makes better than it is.
#![no_main]

use std::cell::OnceCell;

use hustings_record::Manifest;
use hustings_reports::gate::{GateRequirements, Limits, gate};
use hustings_reports::summary::Summary;
use libfuzzer_sys::fuzz_target;
use serde_json::json;

thread_local! {
    static SUMMARY: OnceCell<Summary> = const { OnceCell::new() };
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let limits = match toml::from_str::<Limits>(text) {
        Ok(limits) => limits,
        Err(error) => {
            assert!(!error.to_string().is_empty(), "a refusal says why");
            return;
        }
    };
    SUMMARY.with(|summary| {
        let summary = summary.get_or_init(judged);
        let asked = GateRequirements { limits: Some(&limits), comparing: None };
        let like = |pattern: &str, name: &str| pattern == name || pattern == "*";
        match gate(summary, &asked, like) {
            Ok(gated) => {
                assert!(gated.verdict >= summary.verdict && gated.items.iter().all(|item| item.verdict <= gated.verdict));
            }
            Err(error) => assert!(!error.to_string().is_empty(), "a refusal says why"),
        }
    });
});

/// Of a record of one cell that passed.
fn judged() -> Summary {
    let manifest = &include_bytes!("../seeds/manifest/whole")[1..];
    let manifest: Manifest = serde_json::from_slice(manifest).expect("a manifest");
    let expect = json!({
        "overlap": "none", "overlap_of_t_max": null, "stale_writes": "none", "unplanned": "none", "fan_out": null, "because": "",
    });
    let info = json!({
        "index": 0, "name": "naive-crash", "recipe": "naive", "step_down": "on-disconnect", "fault": "crash",
        "fault_kind": "crash", "groups": ["g"], "hosts": ["h"], "candidates_per_group": 3, "timeout_asked_ms": 1000,
        "tick_ms": 100, "servers": 3, "sessions": "per-candidate", "links": "direct", "fencing": "unfenced",
        "fencing_method": "none", "work_interval_ms": 20, "poll_interval_ms": 100, "expect": expect,
    });
    let cell = json!({
        "info": info, "verdict": "pass", "unsafe_as_expected": false, "timeout_ms": 1000, "checks": [], "timelines": [],
    });
    let summary = json!({ "verdict": "pass", "manifest": manifest, "notes": [], "cells": [cell] });
    serde_json::from_value(summary).expect("a summary")
}
