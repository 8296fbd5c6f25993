//! A cell and a manifest with nothing special to them: tests change what matters to them.

use hustings_record::*;

pub(crate) fn info() -> CellInfo {
    CellInfo {
        index: 0,
        name: "cell".into(),
        repetition: None,
        contest: None,
        recipe: "naive".into(),
        declared: None,
        step_down: Some(StepDown::OnDisconnect),
        fault: "none".into(),
        fault_kind: FaultKind::None,
        groups: Vec::new(),
        hosts: Vec::new(),
        candidates_per_group: 1,
        timeout_asked_ms: 4_000,
        tick_ms: 1_000,
        servers: 3,
        own_servers: true,
        sessions: SessionUse::PerCandidate,
        links: LinkUse::Direct,
        fencing: Fencing::Fenced,
        work_interval_ms: 100,
        expect: Expect::default(),
        self_test: false,
        must_show: Vec::new(),
        fencing_method: FencingMethod::Resource,
        poll_interval_ms: 200,
        rejoin_after_ms: None,
        init_limit: None,
        sync_limit: None,
        parameters: Default::default(),
    }
}

/// Of one cell.
pub(crate) fn manifest(segments: Vec<SegmentEntry>) -> Manifest {
    Manifest {
        schema: SCHEMA,
        run: "test".into(),
        state: RunState::Completed,
        scenario: "test".into(),
        summary: String::new(),
        analysis: String::new(),
        seed: 1,
        started_utc: String::new(),
        ended_utc: None,
        folder: String::new(),
        command: String::new(),
        ensemble_kind: EnsembleKind::Simulated,
        ensemble: "none".into(),
        ensemble_version: String::new(),
        versions: Default::default(),
        machine: Machine::default(),
        cells_planned: 1,
        files: Default::default(),
        cells: vec![CellEntry { index: 0, name: "cell".into(), complete: true, segments }],
        warnings: Vec::new(),
    }
}
