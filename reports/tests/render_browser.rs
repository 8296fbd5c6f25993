//! The pages in a real browser: they must produce no console messages, run only the replay's script and send no network
//! requests. A page with a request is loaded first, to show that this test would notice it.

mod browser;
mod render_sample;
#[expect(dead_code, reason = "the benchmarks use more of it")]
#[path = "../benches/synthetic/mod.rs"]
mod synthetic;

use std::path::{Path, PathBuf};
use std::process::Command;

use browser::{RenderedPage, drive, visit};
use hustings_record::{Damage, Declaration, FanOut, RecordReader};
use hustings_reports::analysis::{MutationTesting, summarise_read};
use hustings_reports::render::html;
use hustings_reports::summary::Summary;
use render_sample::pools::repeated;
use render_sample::{empty, fenced_and_unfenced, herd, hostile, large, sample};
use serde_json::{Value, json};

#[expect(clippy::disallowed_methods, reason = "only a test of the page starts a browser")]
fn chromium() -> Command {
    Command::new(browser::program())
}

fn written(name: &str, page: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, page).expect("the page is written");
    path
}

/// The summary's page, and the script's result; the browser logs nothing, and sends no requests.
fn driven(name: &str, summary: &Summary, width: u32, script: &str) -> Value {
    let page = html(summary).expect("the page is made");
    let (came, visit) = drive(chromium(), &written(&format!("{name}.html"), &page), width, script);
    assert!(visit.console.is_empty(), "{name}: {:?}", visit.console);
    assert!(visit.requests.is_empty(), "{name}: {:?}", visit.requests);
    came
}

#[test]
fn this_test_would_notice_a_request_and_a_breach_of_the_policy() {
    let asks = visit(chromium(), &written("asks.html", "<!DOCTYPE html><img src='http://127.0.0.1:47123/x.png'>"));
    assert!(asks.requests.iter().any(|url| url.starts_with("http://127.0.0.1:47123/")), "{:?}", asks.requests);
    let page = html(&sample()).expect("the page is made");
    let page = page.replace(
        "</main>",
        "<script>document.title = 'ran'</script><p onclick='1' id='p'></p><img src='http://127.0.0.1:47123/x.png'></main>",
    );
    let breach = visit(chromium(), &written("breach.html", &page));
    assert!(breach.console.len() >= 2, "the policy did not speak up: {:?}", breach.console);
    assert!(breach.requests.is_empty(), "the policy let through {:?}", breach.requests);
    assert!(!breach.dom.contains("<title>ran"), "the policy let a script run");
    // With one more character, the replay's own script has another hash.
    let page = html(&sample()).expect("the page is made").replace("\"use strict\";", "\"use strict\"; ");
    let changed = visit(chromium(), &written("changed.html", &page));
    assert!(changed.console.iter().any(|line| line.contains("Content Security Policy")), "{:?}", changed.console);
    assert!(changed.dom.contains("which did not run here"), "the page says what is missing");
}

#[test]
fn no_page_says_a_word_on_the_console_or_asks_the_network() {
    let attack = "<script>document.title='ran'</script><img src=http://127.0.0.1:47123/x.png onerror=alert(1)>\"&'";
    let long = "</style><script>document.title='ran'</script>\u{202e}".repeat(200);
    let pages = [
        ("sample", sample()),
        ("repeated", repeated()),
        ("empty", empty()),
        ("fenced", fenced_and_unfenced()),
        ("herd", herd()),
        ("large", large(60)),
        ("hostile", hostile(attack)),
        ("long", hostile(&long)),
    ];
    for (name, summary) in pages {
        let page = html(&summary).expect("the page is made");
        let visit: RenderedPage = visit(chromium(), &written(&format!("{name}.html"), &page));
        assert!(visit.console.is_empty(), "{name}: {:?}", visit.console);
        assert!(visit.requests.is_empty(), "{name}: {:?}", visit.requests);
        assert!(visit.dom.contains("How to read it"), "{name}: the page did not come through");
        assert!(!visit.dom.contains("<title>ran"), "{name}: a script of the record ran");
        // The replay's script, and its data.
        assert_eq!(visit.dom.matches("<script").count(), 2, "{name}");
        // One picture belongs to the replay.
        assert_eq!(visit.dom.matches("<svg").count(), page.matches("<svg").count() + 1, "{name}");
        assert!(!visit.dom.contains("which did not run here"), "{name}: the replay runs");
    }
}

/// Opens everything, and returns the pictures that are not displayed correctly.
const PICTURES: &str = r#"
  for (const details of page.querySelectorAll("details")) details.open = true;
  await settled();
  const odd = [];
  const pictures = [...page.querySelectorAll("figure.plot svg")];
  for (const svg of pictures) {
    const box = svg.getBoundingClientRect(), style = view.getComputedStyle(svg);
    const marks = [...svg.querySelectorAll("rect, path, polyline, polygon, circle, line, text")];
    const seen = marks.filter((mark) => { const b = mark.getBoundingClientRect(); return b.width + b.height > 0; });
    const within = seen.filter((mark) => { const b = mark.getBoundingClientRect(); return b.right >= box.left - 1 && b.left <= box.right + 1 && b.bottom >= box.top - 1 && b.top <= box.bottom + 1; });
    if (box.width < 200 || box.height < 40 || style.visibility !== "visible" || style.display === "none" || seen.length < 5 || within.length < seen.length)
      odd.push([svg.querySelector("title")?.textContent, box.width, box.height, marks.length, seen.length, within.length]);
  }
  return { pictures: pictures.length, odd, wide: page.documentElement.scrollWidth - view.innerWidth };
"#;

#[test]
fn every_chart_can_be_seen_wide_and_narrow() {
    for width in [1300, 400] {
        let came = driven("charts", &sample(), width, PICTURES);
        assert!(came["pictures"].as_u64() > Some(10), "{came}");
        assert_eq!(came["odd"], json!([]), "at {width} pixels");
        assert!(came["wide"].as_i64() <= Some(0), "at {width} pixels the page is too wide: {came}");
    }
}

/// The displayed parts of the replay, and functions to operate it.
const HANDS: &str = r#"
  const $ = (all) => page.querySelector(".replay " + all);
  const press = async (what) => { what.click(); await settled(); };
  const step = (what) => press($(`[data-do=${what}]`));
  const rest = async () => { while ($("[data-do=play]").textContent === "Pause") await settled(); };
  const shown = () => [...page.querySelectorAll(".replay .row")].map((row) => ({
    name: row.querySelector("strong").textContent, node: row.querySelector("code").textContent,
    tags: [...row.querySelectorAll(".tag")].map((tag) => tag.textContent) }));
  const leaders = () => shown().filter((row) => row.tags.some((tag) => tag.startsWith("believes to lead"))).map((row) => row.name);
  const told = () => shown().filter((row) => row.tags.includes("told")).map((row) => row.name);
  const watches = () => Object.fromEntries(shown().map((row) => [row.name.slice(-1), (row.tags.find((tag) => tag.startsWith("watches")) || "").slice("watches candidate ".length)[0] || ""]));
  const choose = async (select, label) => { select.value = [...select.options].find((option) => option.textContent.includes(label)).value; select.dispatchEvent(new Event("change")); await settled(); };
  const free = async (recipe) => { await choose($("select"), "Free play"); await choose($("[aria-label='What is shown'] label:nth-child(2) select"), recipe); };
  const doTo = async (action, name) => { const row = [...page.querySelectorAll(".replay .row")].find((row) => row.querySelector("strong").textContent === "candidate " + name); const at = position(); await press([...row.querySelectorAll("button")].find((button) => button.textContent === action)); return at; };
  const position = () => Number($("input").value);
  // Steps on to the end, and returns everything that was shown on the way.
  const onwards = async () => { const seen = []; if ($("[data-do=play]").textContent === "Pause") await press($("[data-do=play]")); while (!seen.length || $("[data-do=next]").getAttribute("aria-disabled") === "false") { if (seen.length) await step("next"); seen.push({ says: $(".says").textContent, told: told(), leaders: leaders(), when: $(".count").textContent }); } return seen; };
"#;

fn by_hand(name: &str, summary: &Summary, script: &str) -> Value {
    driven(name, summary, 1300, &format!("{HANDS}{script}"))
}

#[test]
fn steps_times_and_keys_lead_through_a_group_of_the_record() {
    let script = r#"
      const first = { says: $(".says").textContent, rows: shown() };
      const end = Number($("input").max);
      for (let k = 0; k < end; k++) await step("next");
      const last = { at: position(), count: $(".count").textContent, leaders: leaders(), belief: $(".belief").textContent };
      await step("next");
      const beyond = position();
      await step("first");
      const board = $(".board");
      const key = async (name) => { board.dispatchEvent(new view.KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true })); await settled(); return position(); };
      const keys = [await key("ArrowRight"), await key("ArrowRight"), await key("ArrowLeft"), await key("End"), await key("Home"), await key("x")];
      const time = page.querySelectorAll(".replay input")[1];
      time.value = "8000"; time.dispatchEvent(new Event("input"));
      const byTime = { says: $(".says").textContent, leaders: leaders() };
      await step("first");
      await press($("[data-do=play]"));
      await rest();
      const played = position();
      const reached = [...page.querySelectorAll(".replay button, .replay select, .replay input, .replay [tabindex]")].filter((one) => one.tabIndex < 0 || one.disabled).length;
      const [arrows, queue] = [$("svg"), $(".queue")].map((one) => one.getBoundingClientRect());
      const apart = Math.abs(arrows.top - queue.top) + Math.abs(arrows.height - queue.height);
      return { apart, first, end, last, beyond, keys, byTime, played, reached, words: page.querySelectorAll(".words-of-steps li").length };
    "#;
    let came = by_hand("steps", &sample(), script);
    assert!(
        came["first"]["says"].as_str().is_some_and(|says| says.contains("stands: its znode is n_0000000000")),
        "{came}"
    );
    assert_eq!(came["first"]["rows"].as_array().map(Vec::len), Some(3));
    assert_eq!((&came["end"], &came["last"]["at"], &came["beyond"]), (&json!(19), &json!(19), &json!(19)));
    assert_eq!(came["last"]["leaders"].as_array().map(Vec::len), Some(1), "{came}");
    let leader = came["last"]["leaders"][0].as_str().unwrap_or_default();
    assert!(leader.ends_with("#31"), "{came}");
    assert_eq!(came["last"]["belief"], json!(format!("Believes to lead: {leader}.")));
    assert_eq!(came["keys"], json!([1, 2, 1, 19, 0, 0]));
    assert!(came["apart"].as_f64() < Some(1.0), "arrows lie beside the rows: {came}");
    assert!(came["byTime"]["leaders"][0].as_str().is_some_and(|name| name.ends_with("#31")), "{came}");
    assert_eq!((&came["played"], &came["reached"], &came["words"]), (&json!(19), &json!(0), &json!(20)));
}

#[test]
fn walks_go_to_the_record_where_it_has_them_and_to_the_model_where_it_has_not() {
    let script = r#"
      const seen = {};
      for (const kind of ["join-and-elect", "leader-dies", "middle-dies"]) {
        await press($(`[data-walk=${kind}]`));
        const begun = $(".walking").textContent;
        const from = position();
        await rest();
        seen[kind] = { begun, from, to: position(), leaders: leaders(), says: $(".says").textContent, show: $("select").selectedOptions[0].textContent };
      }
      return seen;
    "#;
    let mut summary = sample();
    let (leader_wakes, follower_wakes, requests_per_wake_max) = (FanOut::One, FanOut::One, Some(2));
    for cell in &mut summary.cells {
        cell.info.declared =
            Some(Declaration { leader_wakes, follower_wakes, requests_per_wake_max, watches_max: None });
    }
    let came = by_hand("walks", &summary, script);
    let [join, leader, middle] = ["join-and-elect", "leader-dies", "middle-dies"].map(|kind| &came[kind]);
    assert_eq!((&join["from"], &join["to"]), (&json!(0), &json!(8)), "{came}");
    assert_eq!((&leader["from"], &leader["to"]), (&json!(9), &json!(15)), "{came}");
    assert!(
        leader["begun"].as_str().is_some_and(|text| text.contains("Leader dies, no herd, from the record")),
        "{came}"
    );
    assert!(middle["begun"].as_str().is_some_and(|text| text.contains("A middle one dies, on the model")), "{came}");
    assert!(middle["show"].as_str().is_some_and(|text| text.contains("a model, not the record")), "{came}");
    assert_eq!(middle["leaders"], json!(["candidate A"]));
}

#[test]
fn in_free_play_a_dead_leader_wakes_its_successor_and_nobody_else() {
    let script = r#"
      await free("predecessor-watch");
      const before = { leaders: leaders(), watches: watches() };
      await doTo("Kill", "A");
      const seen = await onwards();
      return { before, seen, watches: watches() };
    "#;
    let came = by_hand("leader", &empty(), script);
    assert_eq!(came["before"]["leaders"], json!(["candidate A"]));
    assert_eq!(came["before"]["watches"], json!({"A": "", "B": "A", "C": "B", "D": "C", "E": "D"}));
    let seen = came["seen"].as_array().expect("steps");
    let told: Vec<&Value> = seen.iter().flat_map(|step| step["told"].as_array().expect("a list")).collect();
    assert_eq!(told, [&json!("candidate B")], "{came}");
    assert_eq!(seen[0]["leaders"], json!([]), "a killed leader believes nothing");
    assert_eq!(seen.last().expect("steps")["leaders"], json!(["candidate B"]));
    assert_eq!(came["watches"], json!({"A": "", "B": "", "C": "B", "D": "C", "E": "D"}));
}

#[test]
fn in_free_play_the_herd_of_naive_is_all_others() {
    let script = r#"
      await free("naive");
      const before = watches();
      await doTo("Kill", "A");
      return { before, seen: await onwards(), watches: watches() };
    "#;
    let came = by_hand("herd", &empty(), script);
    assert_eq!(came["before"], json!({"A": "", "B": "A", "C": "A", "D": "A", "E": "A"}));
    let told: Vec<&Value> = came["seen"]
        .as_array()
        .expect("steps")
        .iter()
        .flat_map(|step| step["told"].as_array().expect("a list"))
        .collect();
    assert_eq!(told, ["candidate B", "candidate C", "candidate D", "candidate E"], "{came}");
    assert_eq!(came["watches"], json!({"A": "", "B": "", "C": "B", "D": "B", "E": "B"}));
}

#[test]
fn in_free_play_a_middle_one_that_dies_moves_no_lead_and_its_watcher_watches_anew() {
    let script = r#"
      await free("predecessor-watch");
      await doTo("Kill", "C");
      const seen = await onwards();
      const died = { seen, watches: watches() };
      await doTo("Start again", "C");
      return { died, again: await onwards(), watches: watches() };
    "#;
    let came = by_hand("middle", &empty(), script);
    let seen = came["died"]["seen"].as_array().expect("steps");
    assert!(seen.len() > 2 && seen.iter().all(|step| step["leaders"] == json!(["candidate A"])), "{came}");
    let told: Vec<&Value> = seen.iter().flat_map(|step| step["told"].as_array().expect("a list")).collect();
    assert_eq!(told, [&json!("candidate D")], "{came}");
    assert_eq!(came["died"]["watches"], json!({"A": "", "B": "A", "C": "", "D": "B", "E": "D"}));
    assert_eq!(
        came["watches"],
        json!({"A": "", "B": "A", "C": "E", "D": "B", "E": "D"}),
        "whoever comes again is the last"
    );
}

#[test]
fn in_free_play_a_paused_leader_believes_on_until_it_is_told() {
    let script = r#"
      await free("predecessor-watch");
      await doTo("Pause", "A");
      const stopped = await onwards();
      const latent = { belief: $(".belief").textContent, tags: shown()[0].tags };
      await doTo("Continue", "A");
      const woken = await onwards();
      return { stopped, latent, woken, watches: watches() };
    "#;
    let came = by_hand("pause", &empty(), script);
    let both = json!(["candidate A", "candidate B"]);
    assert_eq!(came["stopped"].as_array().expect("steps").last().expect("steps")["leaders"], both, "{came}");
    assert!(
        came["latent"]["belief"].as_str().is_some_and(|text| text.contains("candidate A (stopped: it does nothing)")),
        "{came}"
    );
    let woken = came["woken"].as_array().expect("steps");
    assert_eq!(woken[0]["leaders"], both, "it has not been told yet");
    assert!(woken[0]["says"].as_str().is_some_and(|text| text.contains("only a fence stops its writes")), "{came}");
    assert_eq!(woken[1]["leaders"], json!(["candidate B"]), "{came}");
    assert_eq!(came["watches"], json!({"A": "E", "B": "", "C": "B", "D": "C", "E": "D"}));
}

#[test]
fn in_free_play_a_leader_that_is_cut_off_steps_down_and_comes_back_in_time_or_as_the_last() {
    let script = r#"
      await free("predecessor-watch");
      const at = await doTo("Cut off", "A");
      await step("next");
      const missed = { says: $(".says").textContent, leaders: leaders(), when: $(".count").textContent };
      await doTo("Reconnect", "A");
      const inTime = await onwards();
      const kept = watches();
      $("input").value = String(at); $("input").dispatchEvent(new Event("input"));
      await doTo("Cut off", "A");
      const cut = await onwards();
      await doTo("Reconnect", "A");
      return { missed, inTime, kept, cut, late: await onwards(), watches: watches() };
    "#;
    let came = by_hand("cut", &empty(), script);
    assert_eq!(came["missed"]["leaders"], json!([]), "{came}");
    assert!(
        came["missed"]["says"].as_str().is_some_and(|text| text.contains("2/5 T") && text.contains("steps down")),
        "{came}"
    );
    let in_time = came["inTime"].as_array().expect("steps");
    assert!(in_time.iter().all(|step| step["told"] == json!([])), "nobody is woken: {came}");
    assert_eq!(in_time.last().expect("steps")["leaders"], json!(["candidate A"]));
    assert_eq!(came["kept"], json!({"A": "", "B": "A", "C": "B", "D": "C", "E": "D"}));
    let cut = came["cut"].as_array().expect("steps");
    assert!(cut.iter().all(|step| step["leaders"].as_array().is_some_and(|all| all.len() <= 1)), "never two: {came}");
    assert_eq!(cut.last().expect("steps")["leaders"], json!(["candidate B"]));
    assert_eq!(came["late"].as_array().expect("steps").last().expect("steps")["leaders"], json!(["candidate B"]));
    assert_eq!(came["watches"], json!({"A": "E", "B": "", "C": "B", "D": "C", "E": "D"}));
}

#[test]
fn a_hostile_record_does_nothing_in_the_replay_either() {
    let attacks = [
        "<script>document.title='ran'</script>".to_owned(),
        "</style></script><script>document.title='ran'</script>".to_owned(),
        "<img src=x onerror=\"document.title='ran'\">".repeat(250),
        "\u{202e}\u{2066}ןושארה\u{202e} <b>".repeat(1_000),
        "\u{2028}\u{2029}\\\"'&amp;${1}`".to_owned(),
    ];
    let script = r#"
      const before = [...page.querySelectorAll(".replay *")].map((one) => one.tagName).filter((tag) => !["DIV", "SPAN", "LI", "P", "OL", "LABEL", "SELECT", "OPTION", "INPUT", "BUTTON", "OUTPUT", "DETAILS", "SUMMARY", "STRONG", "CODE", "SMALL", "svg", "path", "polygon"].includes(tag));
      const stories = $("select").options.length;
      await step("last");
      return { before, stories, title: page.title, at: position(), wide: page.documentElement.scrollWidth - view.innerWidth,
        marks: /[\u202a-\u202e\u2066-\u2069]/.test(page.querySelector(".replay").textContent), outside: [...page.querySelectorAll(".replay .row")].filter((row) => row.scrollWidth > row.clientWidth + 1).length };
    "#;
    for (number, attack) in attacks.iter().enumerate() {
        // Long text may be too wide for one of them; short text is tested on the narrower one.
        let widths: &[u32] = if attack.len() > 1_000 { &[1300, 400] } else { &[400] };
        for &width in widths {
            let script = format!("{HANDS}{script}");
            let came = driven(&format!("attack-{number}"), &hostile(attack), width, &script);
            assert_eq!(came["before"], json!([]), "{number}: {came}");
            assert_eq!((&came["stories"], &came["at"]), (&json!(2), &json!(19)), "{number}: {came}");
            assert!(came["title"].as_str().is_some_and(|title| title.starts_with("Hustings: ")), "{number}: {came}");
            assert_eq!((&came["marks"], &came["outside"]), (&json!(false), &json!(0)), "{number}: {came}");
            assert!(came["wide"].as_i64() <= Some(0), "{number} at {width} pixels: {came}");
        }
    }
}

#[test]
fn the_page_of_a_long_record_is_hardly_larger_than_that_of_a_short_one() {
    let [short, long] = [20_000, 200_000].map(|events| {
        let folder = tempfile::tempdir().expect("a folder");
        synthetic::write(folder.path(), &synthetic::Size::of_events(events)).expect("a record");
        let reading = RecordReader::begin(folder.path(), Damage::Refused).expect("it can be read");
        summarise_read(reading, MutationTesting::Nothing).expect("it can be read")
    });
    let size = |summary: &Summary| html(summary).expect("the page is made").len();
    assert!(size(&long) < size(&short) * 3 / 2 && size(&long) < 3_000_000, "{} after {}", size(&long), size(&short));
    let shown = driven("long", &long, 1100, "return page.querySelectorAll('figure svg').length");
    assert!(shown.as_u64().is_some_and(|figures| figures > 3), "{shown}");
}
