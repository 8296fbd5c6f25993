//! The output of the reports for any summary: the page's text, the terminal's table, JSON. External text never becomes
//! markup or an escape code.

mod render_repeated;
mod render_safety;
mod render_sample;
mod render_terminal;

use hustings_record::FaultKind;
use hustings_reports::render::{html, json, league, terminal};
use hustings_reports::summary::{Rate, Summary};
use render_sample::pools::repeated;
use render_sample::{empty, fenced_and_unfenced, herd, hostile, large, sample};

fn page(summary: &Summary) -> String {
    html(summary).expect("the page is made")
}

/// The page's text, one line per block: without style, scripts, drawings and tags.
fn skeleton(page: &str) -> String {
    let mut text = String::new();
    let mut rest = page;
    while let Some(open) = rest.find('<') {
        text.push_str(&rest[..open]);
        rest = &rest[open..];
        let skipped = [("<style", "</style>"), ("<script", "</script>"), ("<svg", "</svg>")]
            .into_iter()
            .find(|(tag, _)| rest.starts_with(tag));
        let end = match skipped {
            Some((tag, end)) => {
                if tag == "<svg" {
                    text.push_str(&format!("\n[drawing: {}]\n", between(rest, "<title", "</title>")));
                }
                rest.find(end).map(|at| at + end.len())
            }
            None => rest.find('>').map(|at| at + 1),
        };
        let tag = &rest[..end.expect("every tag ends")];
        let inline =
            ["<b", "</b", "<a", "</a", "<span", "</span", "<em", "</em", "<code", "</code", "<strong", "</strong"];
        text.push_str(if inline.iter().any(|name| tag.starts_with(name)) && !tag.starts_with("<body") {
            " "
        } else {
            "\n"
        });
        rest = &rest[tag.len()..];
    }
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

fn between<'a>(text: &'a str, tag: &str, end: &str) -> &'a str {
    let from = text.find(tag).map_or(0, |at| at + text[at..].find('>').map_or(0, |close| close + 1));
    &text[from..from + text[from..].find(end).unwrap_or(0)]
}

#[test]
fn the_page_of_a_realistic_run() {
    insta::assert_snapshot!(skeleton(&page(&sample())));
}

#[test]
fn the_terminal_summary_of_a_realistic_run_on_a_wide_terminal() {
    insta::assert_snapshot!(terminal(&sample(), 150, false));
}

#[test]
fn the_terminal_summary_of_a_realistic_run_on_a_telephone() {
    let text = terminal(&sample(), 40, false);
    assert!(text.lines().all(|line| line.chars().count() <= 40), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn the_terminal_summary_of_a_realistic_run_on_a_narrow_terminal() {
    insta::assert_snapshot!(terminal(&sample(), 80, false));
}

#[test]
fn a_run_with_repetitions_shows_all_of_them_together_before_each() {
    let page = page(&repeated());
    let text = skeleton(&page);
    let from = text.rfind("All repetitions together").expect("its own section");
    let to = text.find("A row for each cell").expect("the cells' table");
    insta::assert_snapshot!(&text[from..to]);
    let at = |part: &str| page.find(part).unwrap_or_else(|| panic!("{part} is missing"));
    assert!(at("id=\"verdict\"") < at("id=\"pools\"") && at("id=\"pools\"") < at("id=\"cells\""));
    for link in page.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(page.contains(&format!("id=\"{link}\"")), "nothing is at #{link}");
    }
    // One curve per configuration, and none per repetition.
    assert!(
        page.contains("repetition 2 of 4") && page.contains("All repetitions of a configuration are drawn together")
    );
}

#[test]
fn the_terminal_shows_repetitions_below_all_of_them_together() {
    for (name, width) in [("wide", 150), ("narrow", 80), ("telephone", 40)] {
        let text = terminal(&repeated(), width, false);
        assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
        insta::assert_snapshot!(format!("repetitions_on_a_terminal_that_is_{name}"), text);
    }
}

#[test]
fn the_verdict_stands_before_everything_else_and_unsafe_is_not_shown_as_a_pass() {
    let page = page(&sample());
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text} is missing"));
    assert!(at("id=\"verdict\"") < at("id=\"times\"") && at("id=\"times\"") < at("id=\"answers\""));
    assert!(at("id=\"answers\"") < at("id=\"problems\"") && at("id=\"problems\"") < at("id=\"cautions\""));
    assert!(at("id=\"cautions\"") < at("id=\"what\""));
    assert!(at("id=\"what\"") < at("id=\"cells\"") && at("id=\"cells\"") < at("id=\"chart-1\""));
    assert_eq!(page.matches("<tr role=\"row\" class=\"unsafe\">").count(), 1);
    assert_eq!(page.matches("<tr role=\"row\" class=\"pass\">").count(), 12);

    let mut expected = sample();
    expected.verdict = hustings_reports::verdict::Verdict::Pass;
    expected.cells.drain(10..);
    assert!(html(&expected).expect("the page is made").contains("<section class=\"banner unsafe\""));
}

#[test]
fn every_zero_of_handovers_carries_its_injections_and_their_bound() {
    let text = skeleton(&page(&sample()));
    let mut seen = 0;
    // Writes, sessions and groups state the unit of their counts; a count of 40 refers to handovers.
    for line in text.lines().filter(|line| line.starts_with("0 of 40") || line.starts_with("0 in 40")) {
        assert!(line.contains("4 injections: 95 % bound"), "{line}");
        seen += 1;
    }
    assert!(seen > 40, "only {seen} zeros found");
}

#[test]
fn recipes_side_by_side_are_two_tables_in_which_nothing_from_outside_is_markup() {
    insta::assert_snapshot!(league(&sample()));
    let told = league(&hostile("|<b>*x*\n# y"));
    let head =
        told.lines().filter(|line| line.starts_with("| | ")).map(|line| line.replace("\\|", "").matches('|').count());
    let (columns, mut at) = (head.collect::<Vec<_>>(), 0);
    for line in told.lines().filter(|line| line.starts_with('|')) {
        at += usize::from(line.starts_with("| | "));
        let bars = line.replace("\\|", "").matches('|').count();
        assert!(bars == columns[at - 1] || line.starts_with("|---"), "{line}");
        assert!(!line.replace("\\<", "").contains('<') && !line.replace("\\*", "").contains('*'), "{line}");
    }
}

#[test]
fn nothing_from_outside_becomes_markup() {
    let harmless = page(&hostile("harmless"));
    for attack in [
        "<script>alert(1)</script>",
        "\"' onload=alert(1) x='",
        "</title></style></svg><img src=x onerror=alert(1)>",
        "]]><!-- <b>&amp;",
        "{{ 7919 * 13 }}{% raw %}",
    ] {
        let page = page(&hostile(attack));
        assert!(!page.contains(attack) || attack.starts_with("{{"), "{attack} is there as it came");
        for word in ["<script", "<img", "<b>", "<!--", "]]>", "</style", "</title", "102947", "\" onload", "' onload"] {
            assert_eq!(page.matches(word).count(), harmless.matches(word).count(), "{word} got through with {attack}");
        }
    }
}

#[test]
fn a_hostile_page_has_the_same_elements_as_a_harmless_one() {
    let elements = |text: &str| {
        let page = page(&hostile(text));
        ["<details", "<tr", "<svg", "<text", "<a ", "<section", "<li", "<table", "<figure"]
            .map(|tag| page.matches(tag).count())
    };
    assert_eq!(elements("harmless"), elements("<a href=x><tr><li>\"&'"));
}

#[test]
fn control_characters_from_outside_do_not_reach_the_terminal_or_the_page() {
    let attack = "a\nb\r\u{1b}[31mred\u{7}\u{202e}\u{0}\tc";
    let text = terminal(&hostile(attack), 100, false);
    let unwanted = |c: &char| (c.is_control() && *c != '\n') || *c == '\u{202e}';
    assert_eq!(text.chars().find(unwanted), None);
    assert_eq!(page(&hostile(attack)).chars().find(unwanted), None);
    let lines = terminal(&hostile("plain"), 100, false).lines().count();
    assert!(text.lines().count() <= lines * 4, "line ends from outside made lines");
}

#[test]
fn json_of_texts_from_outside_does_nothing_on_a_terminal_and_keeps_them() {
    let summary = hostile("a\nb\u{1b}[31m\u{7f}\u{9b}31m\u{202e}\u{2028}c");
    let text = json(&summary);
    assert_eq!(text.chars().find(|c| c.is_control() && *c != '\n' || ['\u{202e}', '\u{2028}'].contains(c)), None);
    let back: Summary = serde_json::from_str(&text).expect("what was written can be read");
    assert_eq!(back.manifest, summary.manifest);
}

#[test]
fn colour_adds_codes_and_changes_no_word() {
    let (plain, painted) = (terminal(&sample(), 120, false), terminal(&sample(), 120, true));
    assert!(!plain.contains('\u{1b}'));
    assert!(painted.matches('\u{1b}').count() > 2 * 12);
    let mut bare = painted;
    for code in ["0", "1", "32", "33", "35", "1;31"] {
        bare = bare.replace(&format!("\u{1b}[{code}m"), "");
    }
    assert_eq!(bare, plain);
}

#[test]
fn cells_are_told_apart_by_what_differs_between_them_and_by_nothing_else() {
    let text = terminal(&herd(), 150, false);
    for title in ["predecessor-watch, 10 a group", "predecessor-watch, 200 a group", "lock-race, 50 a group"] {
        assert!(text.lines().any(|line| line.starts_with(title) && line.contains("pass")), "{title}:\n{text}");
    }
    assert!(text.contains("All cells: on-disconnect, 20 groups, fenced"), "{text}");

    let summary = fenced_and_unfenced();
    for width in [60, 80, 150] {
        let text = terminal(&summary, width, false);
        let (_, table) = text.split_once("All cells:").expect("what they share");
        assert_eq!(table.matches("unfenced").count(), 3, "{text}");
        assert!(text.contains("All cells: predecessor-watch, 20 groups, 5 a group"), "{text}");
    }
    let page = page(&summary);
    let titles: Vec<&str> =
        page.split("role=\"rowheader\">").skip(1).filter_map(|row| row.split("</th>").next()).collect();
    assert_eq!(titles.len(), 6);
    for (i, title) in titles.iter().enumerate() {
        let of_row = |title: &str| title.split_once('>').expect("a link").1.to_owned();
        assert!(titles[..i].iter().all(|other| of_row(other) != of_row(title)), "{title}");
    }
}

#[test]
fn cells_that_differ_in_nothing_that_is_recorded_are_told_apart_by_their_names() {
    let mut summary = herd();
    summary.cells.truncate(1);
    summary.cells.push(summary.cells[0].clone());
    summary.cells[1].info.name = "once-more".into();
    let text = terminal(&summary, 150, false);
    assert!(text.lines().any(|line| line.starts_with("once-more ")), "{text}");
}

/// The page's drawings whose title starts with `title`.
fn drawings<'a>(page: &'a str, title: &str) -> Vec<&'a str> {
    let all = page.split("<svg viewBox").skip(1).filter_map(|drawing| drawing.split("</svg>").next());
    all.filter(|drawing| between(drawing, "<title", "</title>").starts_with(title)).collect()
}

#[test]
fn no_two_curves_of_a_drawing_look_the_same_and_no_legend_is_cut() {
    let page = page(&fenced_and_unfenced());
    let latencies = drawings(&page, "Failover latency");
    assert_eq!(latencies.len(), 1);
    for label in ["on-disconnect, fenced: p50", "on-disconnect, unfenced: p50", "after=0.4, unfenced: p50"] {
        assert!(latencies[0].contains(label), "{label} is missing");
    }
    assert!(!latencies[0].contains('…'));
    let style = |curve: &&str| -> String {
        let of = |name: &str| curve.split(name).nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
        format!("{} {}", of("stroke=\""), of("stroke-dasharray=\""))
    };
    // Only the samples in the legend have this stroke width.
    let samples: Vec<&str> =
        latencies[0].split("<polyline").filter(|line| line.contains("stroke-width=\"3\"")).collect();
    assert_eq!(samples.len(), 6);
    let styles: std::collections::BTreeSet<String> = samples.iter().map(style).collect();
    assert_eq!(styles.len(), 6, "{styles:?}");
}

#[test]
fn a_failover_is_drawn_step_by_step_with_its_floor() {
    let page = page(&sample());
    let crash = drawings(&page, "A failover in steps: crash");
    assert_eq!(crash.len(), 1);
    let words = between(crash[0], "<desc", "</desc>");
    for part in ["T runs out 5.18 s", "floor 5.18 s", "heard of last 820 ms", "noticed 9", "decided ", "acts 1.40 ms"] {
        assert!(words.contains(part), "{part} is missing from {words}");
    }
    assert!(crash[0].contains("stroke-dasharray"), "the floor is dashed");
    // On the scale of T, the phases after the expiry are not visible.
    assert_eq!(drawings(&page, "The same from the first notification on: crash").len(), 1);
    let resign = drawings(&page, "A failover in steps: resign");
    assert!(between(resign[0], "<desc", "</desc>").contains("release 210 µs"));
}

#[test]
fn growth_is_drawn_where_a_recipe_was_run_at_several_sizes() {
    let large = page(&herd());
    for title in ["Failover: resign", "Requests per loss of a leader: resign"] {
        let drawn = drawings(&large, title);
        assert_eq!(drawn.len(), 1, "{title}");
        let words = between(drawn[0], "<desc", "</desc>");
        assert!(words.contains(" at 10, ") && words.contains(" at 200"), "{words}");
    }
    assert!(drawings(&page(&fenced_and_unfenced()), "Requests per loss").is_empty(), "one size is no growth");
}

#[test]
fn a_race_of_milliseconds_that_is_allowed_is_a_pass_and_no_headline() {
    let summary = fenced_and_unfenced();
    let page = page(&summary);
    assert!(page.contains("<section class=\"banner pass\"") && !page.contains("unsafe, as expected</span>"));
    assert!(page.contains("in 6 cells two candidates led at once, for 8 ms at most, as the scenario allows"));
    assert!(!page.contains("class=\"rate seen\""), "it is not shown in red");
    let mut long = summary;
    long.cells[0].split_brain.active_max_ns = 800_000_000;
    let page = page_of(&long);
    assert!(page.contains("two candidates led at once, for 800 ms at most, as the scenario allows"));
    assert_eq!(page.matches("class=\"rate seen\"").count(), 1);
}

fn page_of(summary: &Summary) -> String {
    page(summary)
}

#[test]
fn the_four_questions_are_answered_in_sentences() {
    for (name, summary) in
        [("herd", herd()), ("fenced", fenced_and_unfenced()), ("sample", sample()), ("repeated", repeated())]
    {
        let page = page(&summary);
        let text = skeleton(&page);
        let from = text.find("Summary").expect("answers");
        let to = ["What did not pass", "Before you rely", "Summary What was run"];
        let to = to.into_iter().filter_map(|end| text[from..].find(end)).min().expect("an end");
        insta::assert_snapshot!(format!("answers_of_{name}"), &text[from..from + to]);
    }
}

#[test]
fn a_difference_is_claimed_only_where_it_is_clear() {
    let of_first =
        |summary: &Summary| skeleton(&page(summary)).lines().find(|line| line.starts_with("After ")).map(str::to_owned);
    let clear = of_first(&herd()).expect("a sentence");
    assert!(clear.contains("with predecessor-watch; in") && clear.contains("at 200 candidates a group"), "{clear}");
    assert!(clear.contains("with lock-race and naive (not told apart)"), "{clear}");
    // Three injections on each side are not enough evidence, however far apart the medians are.
    let mut few = herd();
    for cell in &mut few.cells {
        cell.handovers.injections = 3;
        cell.injections.truncate(3);
    }
    let few = of_first(&few).expect("a sentence");
    assert!(few.contains("(not told apart)") && few.contains("(3 injections a cell)"), "{few}");
    assert!(!few.contains("; in"), "{few}");
}

#[test]
fn zeros_are_told_of_the_kind_of_fault_of_which_least_is_known_and_never_of_a_sum() {
    let of = |kinds: &[(FaultKind, u64, u64)]| {
        let mut summary = herd();
        summary.cells.truncate(kinds.len());
        for (cell, &(kind, n, injections)) in summary.cells.iter_mut().zip(kinds) {
            cell.info.fault_kind = kind;
            let upper_95 = (injections > 0).then(|| 1.0 - 0.05_f64.powf(1.0 / injections as f64));
            cell.split_brain.active = Rate { seen: 0, n, injections, bad_injections: 0, upper_95 };
        }
        let text = skeleton(&page(&summary));
        text.lines().find(|line| line.contains("obody led beside another")).map(str::to_owned)
    };
    let (resign, crash) = ((FaultKind::Resign, 75, 75), (FaultKind::Crash, 0, 0));
    let told = of(&[resign, crash, (FaultKind::Partition, 12, 3), (FaultKind::Expire, 75, 15)]).expect("a sentence");
    assert_eq!(
        told,
        "Nobody led beside another after any of 2 kinds of faults; least is known of a partition: in 12 handovers of 3 \
         injections (95 % bound: 64 % of injections); resignations are left aside."
    );
    let told = of(&[resign, crash]).expect("a sentence");
    assert!(told.ends_with("given up before anybody could take it: that shows little."), "{told}");
    assert_eq!(of(&[crash]), None, "the dead lead beside nobody, and that shows nothing");
}

#[test]
fn cells_that_failed_or_are_inconclusive_lend_no_figure_to_a_sentence() {
    let mut summary = herd();
    for cell in &mut summary.cells[3..] {
        cell.verdict = hustings_reports::verdict::Verdict::Fail;
        cell.failover.whole.as_mut().expect("failovers").p50 = Some(77_000_000_000);
    }
    let text = skeleton(&page(&summary));
    let answers =
        &text[text.find("Summary").expect("answers")..text.find("What was run, and on what").expect("an end")];
    assert!(!answers.contains("77") && answers.contains("6 cells failed"), "{answers}");
    summary.cells.truncate(0);
    assert!(!page(&summary).contains("id=\"answers\""), "nothing was judged");
}

#[test]
fn lines_fit_the_terminal() {
    for width in [60, 80, 100, 118, 200] {
        let text = terminal(&sample(), width, false);
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(widest <= width, "{widest} columns of {width}:\n{text}");
    }
    assert!(!terminal(&sample(), 0, false).is_empty());
}

#[test]
fn a_run_without_cells_is_never_shown_as_a_pass() {
    insta::assert_snapshot!(terminal(&empty(), 80, false), @r"
    ? INCONCLUSIVE
    No cell was recorded, so nothing was shown. 12 cells that the scenario asks for
    left no record.
    ");
    assert!(page(&empty()).contains("<section class=\"banner inconclusive\""));
}

#[test]
fn a_run_of_sixty_cells_stays_readable() {
    let page = page(&large(60));
    assert_eq!(page.matches("<details class=\"cell").count(), 60);
    assert_eq!(page.matches("<details class=\"cell fail\" open").count(), 2);
    assert_eq!(page.matches("<details class=\"cell pass\" open").count(), 0);
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
}

/// Attribute of an element's opening tag, as a number.
fn number(tag: &str, name: &str) -> f64 {
    let rest = tag.split(&format!(" {name}=\"")).nth(1).unwrap_or_default();
    rest.split('"').next().and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no {name} in {tag}"))
}

#[test]
fn no_text_of_a_drawing_is_clipped() {
    let long = "a-rather-long-name-that-somebody-gave-to-something-".repeat(5);
    for summary in [sample(), large(60), hostile(&long)] {
        let page = page(&summary);
        let mut texts = 0;
        for drawing in page.split("<svg viewBox=\"0 0 ").skip(1) {
            let drawing = drawing.split("</svg>").next().unwrap_or_default();
            let width: f64 = drawing.split(' ').next().and_then(|w| w.parse().ok()).expect("a width");
            for text in drawing.split("<text").skip(1) {
                let (tag, words) = text.split_once('>').expect("a tag ends");
                let words = words.split("</text>").next().unwrap_or_default().trim();
                // Mean width of a character of a common sans-serif font.
                let length = words.chars().count() as f64 * number(tag, "font-size") * 0.52;
                let from = match tag {
                    tag if tag.contains("\"end\"") => number(tag, "x") - length,
                    tag if tag.contains("\"middle\"") => number(tag, "x") - length / 2.0,
                    _ => number(tag, "x"),
                };
                assert!(from >= -2.0 && from + length <= width + 2.0, "clipped: {words}");
                texts += 1;
            }
        }
        assert!(texts > 100, "only {texts} texts found");
    }
}

#[test]
fn values_at_the_edge_of_their_types_are_drawn_without_panic() {
    let mut odd = sample();
    for cell in &mut odd.cells {
        for timeline in &mut cell.timelines {
            timeline.from = 0;
            timeline.to = u64::MAX;
            timeline.terms[0].to = u64::MAX;
            timeline.terms[0].host = u16::MAX;
            timeline.terms[0].candidate = u32::MAX;
            timeline.terms[0].latent.push((u64::MAX, 0));
        }
        if let Some(failover) = &mut cell.failover.whole {
            failover.curve = vec![(0, f64::NAN), (u64::MAX, f64::INFINITY)];
            (failover.p50, failover.max) = (Some(u64::MAX), u64::MAX);
        }
        cell.fan_out.woken = Some((0, u64::MAX / 2, u64::MAX));
        cell.info.candidates_per_group = u32::MAX;
        cell.timeout_ms = Some(u64::MAX);
        cell.leaderless.share = f64::NAN;
        cell.info.hosts.clear();
    }
    assert!(page(&odd).ends_with("</html>"));
    let _ = terminal(&odd, 80, true);
}

#[test]
fn json_can_be_read_back_and_is_the_same_each_time() {
    let summary = sample();
    let text = json(&summary);
    assert_eq!(text, json(&summary));
    let back: Summary = serde_json::from_str(&text).expect("what was written can be read");
    assert_eq!(back.manifest, summary.manifest);
    let shown = |summary: &Summary| terminal(summary, 200, false);
    assert_eq!(shown(&back), shown(&summary));
}
