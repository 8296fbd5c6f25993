//! Records that were changed after writing, by accident or on purpose, and files that are no records.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use hustings_record::*;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Folder, parameters, write};

const SCENARIO: &str = "scenario.toml";

/// A record of two cells with two sealed segments each, and a scenario.
pub(super) struct SealedRecord {
    dir: TempDir,
    pub(super) manifest: Manifest,
}

impl SealedRecord {
    fn new() -> Self {
        Self::with(&[parameters()])
    }

    /// The coordinators of its cells tell of this, and the observers of the parameters among it.
    fn with(events: &[Event]) -> Self {
        let mut manifest = Folder::new(SCHEMA).read().unwrap().manifest;
        let dir = tempfile::tempdir().unwrap();
        let cells = (0..2).map(|index| {
            let name = format!("c{index}");
            fs::create_dir_all(dir.path().join("events").join(&name)).unwrap();
            let own = |event: &Event| {
                let Event::Cell { t, info } = event else { return event.clone() };
                let info = CellInfo { index, name: name.clone(), ..(**info).clone() };
                Event::Cell { t: *t, info: Box::new(info) }
            };
            let own: Vec<Event> = events.iter().map(own).collect();
            let observed: Vec<Event> =
                own.iter().filter(|event| matches!(event, Event::Cell { .. })).cloned().collect();
            let segments = [("coordinator", own), ("observer", observed)]
                .map(|(writer, events)| segment(dir.path(), index, (writer, None, 0), &events));
            CellEntry { index, name, complete: true, segments: segments.to_vec() }
        });
        manifest.cells = cells.collect();
        manifest.cells_planned = 2;
        fs::write(dir.path().join(SCENARIO), "name = \"s\"").unwrap();
        manifest.files.insert(SCENARIO.into(), sum_of(b"name = \"s\""));
        let sealed = Self { dir, manifest };
        sealed.keep();
        sealed
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Adds a segment of a host to the first cell.
    pub(super) fn add_host(&mut self, host: u16, generation: u32, events: &[Event]) {
        let writer = format!("host-{host:03}.{generation}");
        let entry = segment(self.dir.path(), 0, (&writer, Some(host), generation), events);
        self.manifest.cells[0].segments.push(entry);
        self.keep();
    }

    /// Writes the manifest with a matching seal.
    pub(super) fn keep(&self) {
        fs::write(self.path(MANIFEST_FILE), self.manifest.to_sealed_json().unwrap()).unwrap();
    }

    /// Edits the manifest's text.
    fn edit(&self, change: impl FnOnce(&mut Value)) {
        let path = self.path(MANIFEST_FILE);
        let mut value: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        change(&mut value);
        fs::write(path, serde_json::to_vec(&value).unwrap()).unwrap();
    }

    pub(super) fn read(&self) -> Result<Record, RecordError> {
        Record::read(self.dir.path())
    }

    pub(super) fn refused(&self) -> String {
        self.read().expect_err("it is not what was written").to_string()
    }

    /// The changes that the reader reports about the record.
    fn changed(&self) -> Vec<String> {
        let record = self.read().unwrap();
        assert_eq!(record.notes, Vec::<String>::new());
        record.changed
    }
}

fn segment(
    record: &Path,
    cell: u32,
    (writer, host, generation): (&str, Option<u16>, u32),
    events: &[Event],
) -> SegmentEntry {
    let path = record.join(format!("events/c{cell}/{writer}.jsonl"));
    let writer = writer.to_owned();
    let begin =
        Event::Segment { schema: SCHEMA, t: 1, cell, writer, host, generation, pid: 1, clock_uncertainty_ns: 1 };
    write(&path, &[&[begin], events, &[Event::End { t: 3 }]]);
    let SealedSegment { path: sealed, bytes, crc, plain } = seal_segment(&path).unwrap();
    fs::remove_file(path).unwrap();
    let file = sealed.strip_prefix(record.join("events")).unwrap().display().to_string();
    SegmentEntry { file, sealed: Some((bytes, crc)), plain: Some(plain) }
}

#[test]
fn a_manifest_that_says_something_else_is_refused_and_one_in_another_layout_is_not() {
    let sealed = SealedRecord::new();
    assert_eq!(sealed.changed(), Vec::<String>::new());
    // Compact, and with its keys in another order.
    sealed.edit(|_| ());
    assert_eq!(sealed.changed(), Vec::<String>::new());
    type ManifestEdit = fn(&mut Value);
    let changes: [(&str, ManifestEdit); 6] = [
        ("seed", |m| m["seed"] = json!(2)),
        ("ensemble", |m| m["ensemble"] = json!("external: a large one")),
        ("kind of ensemble", |m| m["ensemble_kind"] = json!("embedded")),
        ("state", |m| m["state"] = json!("interrupted")),
        ("cells", |m| _ = m["cells"].as_array_mut().unwrap().pop()),
        ("warnings", |m| m["warnings"] = json!([{ "kind": "modelled", "text": "" }])),
    ];
    for (what, change) in changes {
        sealed.keep();
        sealed.edit(change);
        let error = sealed.refused();
        assert!(error.contains("seal") && error.contains("changed after it was written"), "{what}: {error}");
    }
}

#[test]
fn a_manifest_without_a_seal_is_told() {
    let sealed = SealedRecord::new();
    sealed.edit(|manifest| _ = manifest.as_object_mut().unwrap().remove("seal"));
    assert!(sealed.changed()[0].contains("its seal was taken off"), "{:?}", sealed.changed());
}

#[test]
fn what_is_listed_twice_is_refused() {
    let mut twice = SealedRecord::new();
    twice.manifest.cells[1] = twice.manifest.cells[0].clone();
    twice.keep();
    assert!(twice.refused().contains("cell c0 is listed twice"), "{}", twice.refused());
    let mut doubled = SealedRecord::new();
    let first = doubled.manifest.cells[0].segments[0].clone();
    doubled.manifest.cells[0].segments.push(first);
    doubled.keep();
    assert!(doubled.refused().contains("coordinator.jsonl.zst is listed twice"), "{}", doubled.refused());
    for (short, long) in [("c0/", "c0//"), ("c0/", "c0/./"), ("c0/", "./c0/")] {
        let mut respelt = SealedRecord::new();
        let mut again = respelt.manifest.cells[0].segments[0].clone();
        again.file = again.file.replacen(short, long, 1);
        respelt.manifest.cells[0].segments.push(again);
        respelt.keep();
        assert!(respelt.refused().contains("a longer path than it needs"), "{long}: {}", respelt.refused());
    }
}

pub(super) type CellEdit = fn(&mut CellInfo);

/// A record whose cells have these parameters, with these events.
pub(super) fn record_of(info: CellInfo, events: &[Event]) -> SealedRecord {
    let parameters = Event::Cell { t: 2, info: Box::new(info) };
    SealedRecord::with(&[&[parameters], events].concat())
}

/// The parameters of a cell with one group, one host and one candidate.
pub(super) fn one_of_each() -> CellInfo {
    let Event::Cell { info, .. } = parameters() else { panic!("it has parameters") };
    *info
}

#[test]
fn a_cell_with_figures_that_no_run_has_is_refused() {
    let edits: [(&str, CellEdit); 5] = [
        ("4294967295 candidates", |info| info.candidates_per_group = u32::MAX),
        ("work_interval_ms is 18446744073709551615", |info| info.work_interval_ms = u64::MAX),
        ("rejoin_after_ms is 18446744073709551615", |info| info.rejoin_after_ms = Some(u64::MAX)),
        ("timeout_asked_ms is 0", |info| info.timeout_asked_ms = 0),
        ("tick_ms is 0", |info| info.tick_ms = 0),
    ];
    for (what, edit) in edits {
        let mut info = one_of_each();
        edit(&mut info);
        let refused = record_of(info, &[]).refused();
        assert!(refused.contains(what) && refused.contains("which no run has"), "{refused}");
    }
    let session = |timeout_ms| Event::Session { t: 2, session: 1, timeout_ms, asked_ms: 4_000, connect_ns: 1 };
    let refused = record_of(one_of_each(), &[session(0)]).refused();
    assert!(refused.contains("a session has a timeout of 0 ms, which no run has"), "{refused}");
    assert!(record_of(one_of_each(), &[session(1)]).read().is_ok());
}

pub(super) fn candidate(cand: u32, group: u32) -> Event {
    Event::Candidate { t: 2, cand, group }
}

pub(super) fn ordered(kind: FaultKind, planned: Option<u32>, cands: &[u32]) -> Event {
    Event::Fault(Box::new(FaultOrder {
        id: 0,
        planned,
        kind,
        t: 2,
        intended: 2,
        for_ms: None,
        hosts: vec![0],
        cands: cands.to_vec(),
        groups: vec![0],
        servers: Vec::new(),
        detail: String::new(),
    }))
}

#[test]
fn a_cell_whose_events_name_more_than_it_has_is_refused() {
    let (none, started) = (FaultKind::None, Event::HostStarted { t: 2, host: 1, generation: 0, pid: 1 });
    let owner = |group| LeadOwner { from: 2, to: 2, group, session: None, node: None, czxid: None };
    for (event, what) in [
        (candidate(0, 1), "it has 1 group, and an event names group 1, counted from 0"),
        (candidate(1, 0), "it has 1 candidate, and an event names candidate 1, counted from 0"),
        (started, "it has 1 host, and an event names host 1, counted from 0"),
        (ordered(none, None, &[0, 7]), "it has 1 candidate, and an event names candidate 7"),
        (Event::Owner(Box::new(owner(1))), "it has 1 group, and an event names group 1"),
    ] {
        let refused = record_of(one_of_each(), &[event]).refused();
        assert!(refused.contains("events/c0") && refused.contains(what), "{refused}");
    }
    let edits: [(&str, CellEdit); 3] = [
        ("it has 0 groups", |info| info.groups.clear()),
        ("it has 0 candidates", |info| info.candidates_per_group = 0),
        ("it has 0 hosts", |info| info.hosts.clear()),
    ];
    let all = [candidate(0, 0), Event::HostStarted { t: 2, host: 0, generation: 0, pid: 1 }];
    for (what, edit) in edits {
        let mut info = one_of_each();
        edit(&mut info);
        let refused = record_of(info, &all).refused();
        assert!(refused.contains(what) && refused.contains("which no run has"), "{refused}");
    }
}

#[test]
fn an_event_may_name_what_a_program_made_up() {
    let (how, group, by) = (FencingMethod::None, u32::MAX, 9);
    let events = [
        candidate(0, 0),
        Event::Note { t: 2, cand: Some(9), text: String::new() },
        Event::Fence { t: 2, group, by, old_czxid: 1, old_session: 1, how, done: false },
    ];
    assert!(record_of(one_of_each(), &events).read().is_ok());
    // A cell about its servers alone.
    let info = CellInfo { groups: Vec::new(), hosts: Vec::new(), ..one_of_each() };
    assert!(record_of(info, &[Event::ServerWatch { t: 2, every_ns: 1 }]).read().is_ok());
}

pub(super) fn planned(kinds: &[FaultKind]) -> Event {
    let intent = |(id, &kind)| FaultIntent { id, kind, intended: 2, for_ms: None, target: String::new() };
    Event::FaultPlan { t: 2, faults: (0..).zip(kinds).map(intent).collect() }
}

/// What the reader says of a cell with this fault and these parameters, in a record of this ensemble.
fn of_fault(
    fault_kind: FaultKind,
    parameters: &[(&str, &str)],
    event: Event,
    ensemble: EnsembleKind,
) -> Result<(), String> {
    let parameters = parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    // A planned order has a plan.
    let is_planned = |order: &FaultOrder| order.planned.is_some();
    let plan = if let Event::Fault(order) = &event { is_planned(order).then(|| planned(&[order.kind])) } else { None };
    let events: Vec<Event> = plan.into_iter().chain([event]).collect();
    let mut sealed = record_of(CellInfo { fault_kind, parameters, ..one_of_each() }, &events);
    sealed.manifest.ensemble_kind = ensemble;
    sealed.keep();
    sealed.read().map(drop).map_err(|error| error.to_string())
}

#[test]
fn a_cell_of_another_fault_than_its_events_tell_is_refused() {
    use EnsembleKind::{Local, Simulated};
    use FaultKind::{Crash, Expire, Resign};
    let both = [("fault.kind", "crash"), ("with.kind", "resign")];
    let alone = &both[..1];
    for (own, parameters, event, ensemble, what) in [
        (Crash, alone, planned(&[Resign]), Simulated, "its fault is crash, and its events record resign"),
        (Crash, &[], planned(&[Resign]), Local, "its fault is crash, and its events record resign"),
        (FaultKind::None, &[], planned(&[Crash]), Local, "its fault is none, and its events record crash"),
        (Resign, alone, planned(&[Resign]), Local, "its fault is resign, and by its parameters crash"),
        (Crash, alone, planned(&[Crash, Resign]), Local, "its fault is crash, and its events record resign too"),
        (
            Crash,
            &both,
            planned(&[Crash, Expire]),
            Local,
            "its fault is crash with resign, and its events record expire",
        ),
        (Crash, &both, planned(&[Resign]), Local, "its fault is crash, and its events record resign"),
        (Crash, alone, ordered(Expire, None, &[0]), Local, "its fault is crash, and its events record expire"),
        (Crash, alone, ordered(Expire, Some(0), &[0]), Simulated, "its fault is crash, and its events record expire"),
    ] {
        let refused = of_fault(own, parameters, event, ensemble).expect_err(what);
        assert!(refused.contains(what) && refused.contains("which no run has"), "{what}: {refused}");
    }
}

#[test]
fn a_cell_may_have_two_faults_none_or_those_of_a_schedule() {
    use EnsembleKind::{Local, Simulated};
    use FaultKind::{Crash, Expire, Resign};
    let both = [("fault.kind", "crash"), ("with.kind", "resign")];
    for (own, parameters, event, ensemble) in [
        (Crash, &both[..], planned(&[Crash, Resign, Crash, Resign]), Local),
        (Crash, &both, ordered(Crash, Some(0), &[0]), Local),
        (Crash, &both, planned(&[]), Local),
        (FaultKind::None, &[], planned(&[]), Local),
        // Records without parameters do not tell which fault hit with their own.
        (Crash, &[], planned(&[Crash, Resign]), Local),
        (Crash, &both[..1], ordered(Expire, None, &[0]), Simulated),
    ] {
        assert_eq!(of_fault(own, parameters, event, ensemble), Ok(()), "{own} in {ensemble}");
    }
}

#[test]
fn a_segment_that_is_said_to_be_longer_than_any_is_not_read_to_its_end() {
    let mut bomb = SealedRecord::new();
    let path = bomb.path("events/c0/coordinator.jsonl");
    write(&path, &[&vec![Event::End { t: 3 }; 8_000_000]]);
    let SealedSegment { bytes, crc, plain, .. } = seal_segment(&path).unwrap();
    fs::remove_file(path).unwrap();
    let segment = &mut bomb.manifest.cells[0].segments[0];
    (segment.sealed, segment.plain) = (Some((bytes, crc)), Some(plain));
    bomb.keep();
    assert!(plain > 64 << 20 && bytes < 300_000, "{plain} of {bytes}");
    assert!(bomb.refused().contains("coordinator.jsonl.zst"), "{}", bomb.refused());
}

#[test]
fn segments_that_changed_places_are_refused() {
    for (a, b) in [((0, 0), (0, 1)), ((0, 0), (1, 0))] {
        let mut swapped = SealedRecord::new();
        let of = |place: (usize, usize)| swapped.manifest.cells[place.0].segments[place.1].clone();
        let (first, second) = (of(a), of(b));
        let path = |entry: &SegmentEntry| swapped.path("events").join(&entry.file);
        let (there, here) = (fs::read(path(&first)).unwrap(), fs::read(path(&second)).unwrap());
        fs::write(path(&first), here).unwrap();
        fs::write(path(&second), there).unwrap();
        // The manifest is changed to match.
        (swapped.manifest.cells[a.0].segments[a.1].sealed, swapped.manifest.cells[b.0].segments[b.1].sealed) =
            (second.sealed, first.sealed);
        (swapped.manifest.cells[a.0].segments[a.1].plain, swapped.manifest.cells[b.0].segments[b.1].plain) =
            (second.plain, first.plain);
        swapped.keep();
        assert!(swapped.refused().contains("it is what"), "{}", swapped.refused());
    }
}

#[test]
fn files_that_nobody_named_are_told() {
    let sealed = SealedRecord::new();
    // The manifest also names the file that remains if a run is killed while it compresses a segment.
    fs::write(sealed.path("events/c0/coordinator.jsonl"), "").unwrap();
    assert_eq!(sealed.changed(), Vec::<String>::new());
    (0..7).for_each(|n| fs::write(sealed.path(&format!("events/c1/extra-{n}.jsonl")), "").unwrap());
    let notes = sealed.changed();
    assert!(notes[0].contains("events/c1/extra-0.jsonl: not named by the manifest"), "{notes:?}");
    assert!(notes.len() == 6 && notes[5].contains("2 more"), "{notes:?}");
}

#[test]
fn files_beside_the_manifest_that_nobody_named_are_told() {
    let sealed = SealedRecord::new();
    for made in [SUMMARY_FILE, REPORT_FILE, ".hustings-abcdef"] {
        fs::write(sealed.path(made), "").unwrap();
    }
    fs::create_dir(sealed.path("empty")).unwrap();
    assert_eq!(sealed.changed(), Vec::<String>::new());
    for extra in ["extra.txt", "against.toml", ".hidden", "empty/report.html", "empty/.hustings-abcdef"] {
        fs::write(sealed.path(extra), "").unwrap();
        assert_eq!(sealed.changed(), [format!("{extra}: not named by the manifest, and not read")]);
        fs::remove_file(sealed.path(extra)).unwrap();
    }
    symlink("/etc", sealed.path("link")).unwrap();
    assert_eq!(sealed.changed(), ["link: not named by the manifest, and not read"], "it is not followed");
}

#[test]
fn a_scenario_that_was_changed_is_refused_and_one_that_is_gone_is_told() {
    let sealed = SealedRecord::new();
    fs::write(sealed.path(SCENARIO), "name = \"t\"").unwrap();
    assert!(sealed.refused().contains("changed after it was written"), "{}", sealed.refused());
    fs::remove_file(sealed.path(SCENARIO)).unwrap();
    assert!(sealed.changed()[0].contains("scenario.toml: named by the manifest, but it is not there"));
}

#[test]
fn a_damaged_segment_costs_its_cell_where_that_is_wanted() {
    let sealed = SealedRecord::new();
    let file = sealed.path("events/c0/observer.jsonl.zst");
    let mut bytes = fs::read(&file).unwrap();
    bytes[20] ^= 1;
    fs::write(&file, bytes).unwrap();
    assert!(sealed.refused().contains("events/c0/observer.jsonl.zst"));
    let record = Record::read_but(sealed.dir.path(), Damage::LeftOut).unwrap();
    let left: Vec<u32> = record.cells.iter().map(|cell| cell.segments[0].events.len() as u32).collect();
    assert_eq!((left, record.notes.len()), (vec![3], 1));
    assert!(record.notes[0].contains("cell c0: left out, for events/c0/observer.jsonl.zst"), "{:?}", record.notes);
    sealed.edit(|manifest| manifest["seed"] = json!(2));
    assert!(Record::read_but(sealed.dir.path(), Damage::LeftOut).is_err(), "nobody knows what else it should say");
}

#[test]
fn sockets_devices_links_and_paths_that_lead_elsewhere_are_refused_at_once() {
    let put = |name: &str, make: &dyn Fn(&Path)| {
        let sealed = SealedRecord::new();
        let path = sealed.path(name);
        fs::remove_file(&path).unwrap();
        make(&path);
        sealed.refused()
    };
    let socket = |path: &Path| drop(UnixListener::bind(path).unwrap());
    let zeros = |path: &Path| symlink("/dev/zero", path).unwrap();
    let folder = |path: &Path| fs::create_dir(path).unwrap();
    for name in [MANIFEST_FILE, SCENARIO, "events/c0/coordinator.jsonl.zst"] {
        assert!(put(name, &socket).contains("no plain file"), "{name}");
        assert!(put(name, &zeros).contains("a link"), "{name}");
        assert!(put(name, &folder).contains("no plain file"), "{name}");
    }
    for (elsewhere, why) in [
        ("../../c0/coordinator.jsonl.zst", "leaves the record"),
        ("c0/../../scenario.toml", "leaves the record"),
        ("/etc/hostname", "not there"),
    ] {
        let mut leaves = SealedRecord::new();
        leaves.manifest.cells[0].segments[0].file = elsewhere.into();
        leaves.keep();
        let error = leaves.refused();
        assert!(error.contains(why), "{elsewhere}: {error}");
    }
    let linked = SealedRecord::new();
    fs::rename(linked.path("events/c1"), linked.path("c1")).unwrap();
    symlink(linked.path("c1"), linked.path("events/c1")).unwrap();
    assert!(linked.refused().contains("a link"), "{}", linked.refused());
}

/// Replaces the first segment by another sealed one, and makes the manifest match.
fn replaced(plain: Option<u64>, write: impl FnOnce(&mut dyn std::io::Write)) -> String {
    let mut sealed = SealedRecord::new();
    let path = sealed.path("events/c0/coordinator.jsonl.zst");
    let mut encoder = zstd::Encoder::new(File::create(&path).unwrap(), 1).unwrap();
    write(&mut encoder);
    encoder.finish().unwrap();
    let entry = &mut sealed.manifest.cells[0].segments[0];
    (entry.sealed, entry.plain) = (Some(sum_of(&fs::read(path).unwrap())), plain);
    sealed.keep();
    sealed.refused()
}

#[test]
fn what_swells_without_end_is_refused_before_it_fills_the_memory() {
    let zeros = vec![0; 1024 * 1024];
    let line = replaced(Some(u64::MAX), |to| (0..200).for_each(|_| to.write_all(&zeros).unwrap()));
    assert!(line.contains("a line of more than 64 MiB"), "{line}");
    let small = replaced(Some(1_000), |to| (0..2).for_each(|_| to.write_all(&zeros).unwrap()));
    assert!(small.contains("it goes on after 1000 bytes"), "{small}");
    let unknown = replaced(None, |to| (0..200).for_each(|_| to.write_all(&zeros).unwrap()));
    assert!(unknown.contains("it goes on after") || unknown.contains("a line of more than"), "{unknown}");
    let lines = replaced(Some(u64::MAX), |to| {
        let end = b"{\"e\":\"end\",\"t\":3}\n".repeat(60_000);
        (0..200).for_each(|_| to.write_all(&end).unwrap());
    });
    assert!(lines.contains("it goes on after 67108864 bytes"), "whatever length is named: {lines}");
}
