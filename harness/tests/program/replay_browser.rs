//! The replay of a simulated record in a real browser: its last step matches the record, event by event.

use std::collections::BTreeMap;
use std::process::Command;

use crate::run_support::Bench;
use hustings_record::{CellRecord, Event, Record};
use hustings_reports::replay::{Replay, WalkThroughKind};
use serde_json::Value;

/// Names of the group's candidates that believe to lead at `t`, from the events alone.
fn leading(cell: &CellRecord, group: &str, t: u64) -> Vec<String> {
    let mut hosts: BTreeMap<u32, u16> = BTreeMap::new();
    let mut terms: BTreeMap<(u32, i64, u32), (u64, u64)> = BTreeMap::new();
    let mut deaths: Vec<(u16, u64)> = Vec::new();
    for segment in &cell.segments {
        for event in &segment.events {
            match event {
                Event::Candidate { cand, group: of, .. } if cell.info.groups[*of as usize] == group => {
                    hosts.insert(*cand, segment.host.expect("candidates live on hosts"));
                }
                Event::Granted { t, cand, session, term } => {
                    terms.entry((*cand, *session, *term)).or_insert((*t, u64::MAX)).0 = *t;
                }
                Event::Revoke { from, cand, session, term, .. } => {
                    terms.entry((*cand, *session, *term)).or_insert((u64::MAX, *from)).1 = *from;
                }
                Event::HostEnded { t, host, killed: true, .. } => deaths.push((*host, *t)),
                _ => {}
            }
        }
    }
    let mut leading = Vec::new();
    for ((cand, ..), (from, to)) in terms {
        let Some(host) = hosts.get(&cand) else { continue };
        let died = deaths.iter().any(|(dead, at)| dead == host && from <= *at && *at <= t);
        if from <= t && t < to && !died {
            leading.push(format!("{} #{cand}", cell.info.hosts[usize::from(*host)]));
        }
    }
    leading.sort();
    leading
}

/// For each group: the leaders at the last step, and the notified candidates in the walk through the leader's death.
const SCRIPT: &str = r#"
  const $ = (all) => page.querySelector(".replay " + all);
  const rows = (test) => [...page.querySelectorAll(".replay .row")].filter((row) => [...row.querySelectorAll(".tag")].some((tag) => test(tag.textContent))).map((row) => row.querySelector("strong").textContent).sort();
  const select = $("select"), seen = [];
  for (const option of select.options) {
    select.value = option.value;
    select.dispatchEvent(new Event("change"));
    await settled();
    $("[data-do=last]").click();
    const one = { title: option.textContent, leading: rows((tag) => tag.startsWith("believes to lead")), count: $(".count").textContent, clipped: 0 };
    for (let k = Number($("input").max); k >= 0; k--) {
      $("input").value = String(k);
      $("input").dispatchEvent(new Event("input"));
      one.clipped += [...page.querySelectorAll(".replay .row")].filter((row) => row.scrollHeight > row.clientHeight + 1).length;
    }
    seen.push(one);
  }
  return seen;
"#;

fn groups_of(page: &std::path::Path, width: u32) -> Vec<Value> {
    let (came, visit) = crate::browser::drive(Command::new(crate::browser::program()), page, width, SCRIPT);
    assert!(visit.console.is_empty() && visit.requests.is_empty(), "{:?} {:?}", visit.console, visit.requests);
    came.as_array().expect("a list").clone()
}

#[test]
fn the_last_step_of_each_group_shows_the_records_last_leader() {
    let bench = Bench::new();
    let ran = bench.run(&["simulate", "quick", "--out", "record", "--json"]).expect(0);
    let (summary, record) = (ran.summary(), Record::read(&bench.path("record")).expect("it can be read"));
    let walks = |replay: &Replay| replay.walks.iter().map(|walk| walk.kind).collect::<Vec<_>>();
    let shown: Vec<WalkThroughKind> = summary.replays.iter().flat_map(walks).collect();
    let kinds = [WalkThroughKind::JoinAndElect, WalkThroughKind::LeaderDies, WalkThroughKind::MiddleDies];
    assert!(kinds.iter().all(|kind| shown.contains(kind)), "a crash shows all of them: {shown:?}");
    for width in [1300, 400] {
        let groups = groups_of(&bench.path("record/report.html"), width);
        assert_eq!(groups.len(), summary.replays.len() + 1, "and free play");
        for (replay, group) in summary.replays.iter().zip(&groups) {
            let cell = record.cells.iter().find(|cell| cell.info.index == replay.cell).expect("its cell");
            let at = replay.from + replay.steps.last().expect("steps").at;
            let expected = leading(cell, &replay.group, at);
            assert_eq!(expected.len(), 1, "{}: somebody leads at the end", group["title"]);
            assert_eq!(group["leading"], serde_json::json!(expected), "{}", group["title"]);
            assert_eq!(group["clipped"], 0, "{} at {width} pixels: rows hold what they show", group["title"]);
        }
    }
}
