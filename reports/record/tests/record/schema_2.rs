//! Records of schema 2, by hand: what they said is read in today's words.

use std::fs;

use hustings_record::*;
use tempfile::TempDir;

use crate::crc;

const SEGMENT: &str = r#"{"e":"segment","schema":2,"t":1,"cell":0,"writer":"coordinator","host":null,"life":0,"pid":1,"clock_uncertainty_ns":1}"#;
const CELL: &str = r#"{"e":"cell","t":2,"info":{"index":0,"name":"c0","recipe":"naive","step_down":"after=0.5","fault":"crash","fault_kind":"crash","groups":["g"],"hosts":["h"],"candidates_per_group":1,"timeout_asked_ms":4000,"tick_ms":1000,"servers":3,"sessions":"per-candidate","links":"embedded","fencing":"fenced","work_interval_ms":100,"expect":{"overlap":"none","overlap_of_t_max":null,"stale_writes":"none","unplanned":"none","fan_out":null,"server_leader":null,"because":""},"mutant":false,"extra":{"fencing of the old active":"kill","poll interval":"250 ms","init_limit":"10 ticks","sync_limit":"5 ticks"}}}"#;

/// A record with these events in its only segment, after the segment's own and the cell's.
fn record(events: &[&str], ensemble: &str, warnings: &[&str]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("events")).unwrap();
    let lines: Vec<&str> = [SEGMENT, CELL].into_iter().chain(events.iter().copied()).collect();
    let body = lines.join("\n") + "\n";
    let block = format!("{body}#0 {} {} {:08x}\n", body.len(), lines.len(), crc(body.as_bytes()));
    fs::write(dir.path().join("events/coordinator.jsonl"), block).unwrap();
    let manifest = serde_json::json!({
        "schema": 2, "run": "r", "state": "completed", "scenario": "s", "summary": "", "analysis": "", "seed": 1,
        "started_utc": "", "command": "", "ensemble": ensemble, "ensemble_version": "3.8.0", "versions": {},
        "machine": Machine::default(), "cells_planned": 1,
        "cells": [{
            "index": 0, "name": "c0", "complete": true, "segments": [{ "file": "coordinator.jsonl", "sealed": null }],
        }],
        "warnings": warnings,
    });
    fs::write(dir.path().join(MANIFEST_FILE), manifest.to_string()).unwrap();
    dir
}

fn read(events: &[&str]) -> CellRecord {
    Record::read(record(events, "local: 3 servers", &[]).path()).unwrap().cells.remove(0)
}

#[test]
fn departures_and_notices_are_read_in_todays_words() {
    let cell = read(&[
        r#"{"e":"left","t":3,"cand":1,"session":7,"how":"resigned","delete":[4,5]}"#,
        r#"{"e":"left","t":3,"cand":1,"session":7,"how":"resigned","delete":null}"#,
        r#"{"e":"left","t":3,"cand":1,"session":7,"how":"session-ended","delete":null}"#,
        r#"{"e":"left","t":3,"cand":1,"session":7,"how":"stopped","delete":null}"#,
        r#"{"e":"left","t":3,"cand":1,"session":7,"how":{"failed":"why"},"delete":null}"#,
        r#"{"e":"notified","t":6,"cand":1,"session":7,"node":"n","kind":"session-ended"}"#,
        r#"{"e":"notified","t":6,"cand":1,"session":7,"node":"n","kind":"deleted"}"#,
        r#"{"e":"servers","t":8,"at":"begin","metrics":{"3":{"watch_count":2.0}}}"#,
    ]);
    let left = |how| Event::Left { t: 3, cand: 1, session: 7, how };
    let notified = |kind| Event::Notified { t: 6, cand: 1, session: 7, node: "n".into(), kind };
    let metrics = [(3, ServerMetrics::from([("watch_count".to_owned(), 2.0)]))].into();
    assert_eq!(
        cell.segments[0].events[2..],
        [
            left(Departure::Resigned { delete: Some((4, 5)) }),
            left(Departure::Resigned { delete: None }),
            left(Departure::SessionEnded(SessionEnd::Expired)),
            left(Departure::Stopped),
            left(Departure::Failed("why".into())),
            notified(WatchEvent::Ended(SessionEnd::Expired)),
            notified(WatchEvent::Deleted),
            Event::Servers { t: 8, at: WindowEdge::Begin, metrics },
        ]
    );
    assert!(matches!(&cell.segments[0].events[0], Event::Segment { schema: 2, .. }));
}

#[test]
fn what_a_cell_said_under_free_names_has_fields_and_the_recipe_its_promise() {
    let info = read(&[]).info;
    assert_eq!((info.fencing_method, info.poll_interval_ms), (FencingMethod::Kill, 250));
    assert_eq!((info.init_limit, info.sync_limit), (Some(10), Some(5)));
    assert_eq!(info.expect.fan_out, Some(FanOut::AllOthers));
    assert_eq!(info.step_down, Some(StepDown::After(0.5)));
}

#[test]
fn the_kind_of_an_ensemble_and_of_a_warning_is_taken_from_how_their_texts_began() {
    for kind in EnsembleKind::ALL {
        let text = format!("{kind}: 3 servers; chosen because of local: things");
        let record = Record::read(record(&[], &text, &[]).path()).unwrap();
        assert_eq!((record.manifest.ensemble_kind, record.manifest.ensemble), (*kind, text));
        assert_eq!(record.manifest.schema, SCHEMA);
    }
    use WarningKind as W;
    let warnings = [
        ("simulated: no server, process or network took part", W::Modelled),
        ("embedded ensemble: a model in one process stood in for ZooKeeper", W::Modelled),
        ("the scenario asks for 3 servers and the ensemble has 5: those count", W::AsFound),
        ("a session timeout of 150 ms is not within 2 and 20 ticks of 400 ms", W::TimeoutNotGranted),
        ("expect entry 2 is about no cell", W::Scenario),
        ("the run was aborted: no space left on device", W::Aborted),
    ];
    let folder = record(&[], "docker: 3 servers", &warnings.map(|(text, _)| text));
    let read = Record::read(folder.path()).unwrap().manifest.warnings;
    assert_eq!(read, warnings.map(|(text, kind)| Warning::new(kind, text)));
}
