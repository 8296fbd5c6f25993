//! What the reports say, whatever is in the summary: the page's text, the terminal's table, JSON, and that nothing from
//! outside becomes markup or an escape code.

mod render_sample;

use hustings_reports::render::{html, json, terminal};
use hustings_reports::summary::Summary;
use render_sample::pools::repeated;
use render_sample::{empty, hostile, large, sample};

fn page(summary: &Summary) -> String {
    html(summary).expect("the page is made")
}

/// The page's text, a line a block: without style, scripts, drawings and tags.
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
    // A curve for each configuration, and none for a repetition.
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
fn of_a_thousand_repetitions_a_page_shows_those_that_matter() {
    let mut summary = repeated();
    let (passed, failed) = (summary.cells[0].clone(), summary.cells[7].clone());
    summary.cells = (0..1_000).map(|i| if i == 777 { failed.clone() } else { passed.clone() }).collect();
    for (i, cell) in summary.cells.iter_mut().enumerate() {
        cell.info.name = format!("it-r{}", i + 1);
        if let Some(repetition) = &mut cell.info.repetition {
            repetition.number = i as u32 + 1;
        }
    }
    let page = page(&summary);
    assert_eq!(page.matches("<details class=\"cell").count(), 101, "the first, and a hundred more");
    assert!(page.contains("id=\"cell-778\"") && page.contains("899 repetitions more, which passed"));
    assert!(terminal(&summary, 80, false).lines().count() < 300);
}

#[test]
fn the_verdict_stands_before_everything_else_and_unsafe_is_not_shown_as_a_pass() {
    let page = page(&sample());
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text} is missing"));
    assert!(at("id=\"verdict\"") < at("id=\"cautions\"") && at("id=\"cautions\"") < at("id=\"what\""));
    assert!(at("id=\"what\"") < at("id=\"cells\"") && at("id=\"cells\"") < at("id=\"chart-1\""));
    assert_eq!(page.matches("<tr role=\"row\" class=\"unsafe\">").count(), 2);
    assert_eq!(page.matches("<tr role=\"row\" class=\"pass\">").count(), 11);

    let mut expected = sample();
    expected.verdict = hustings_reports::verdict::Verdict::Pass;
    expected.cells.drain(10..);
    assert!(html(&expected).expect("the page is made").contains("<section class=\"banner unsafe\""));
}

#[test]
fn every_zero_of_handovers_carries_its_strikes_and_their_bound() {
    let text = skeleton(&page(&sample()));
    let mut seen = 0;
    // Writes, sessions and groups come with what they are counts of; 40 are the handovers.
    for line in text.lines().filter(|line| line.starts_with("0 of 40") || line.starts_with("0 in 40")) {
        assert!(line.contains("4 strikes: 95 % bound"), "{line}");
        seen += 1;
    }
    assert!(seen > 40, "only {seen} zeros found");
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
fn cells_that_differ_in_their_sizes_alone_are_told_apart_by_their_names() {
    let mut summary = sample();
    summary.cells.truncate(1);
    let alone = terminal(&summary, 80, false);
    assert!(alone.starts_with("recipe "), "{alone}");
    summary.cells[0].info.name = "predecessor-watch-n50".to_owned();
    let mut larger = summary.cells[0].clone();
    larger.info.name = "predecessor-watch-n200".to_owned();
    larger.info.candidates_per_group = 200;
    summary.cells.push(larger);
    for width in [80, 150] {
        let text = terminal(&summary, width, false);
        let named = |name: &str| text.lines().any(|line| line.starts_with(name) && line.contains("pass"));
        assert!(
            text.starts_with("cell ") && named("predecessor-watch-n50") && named("predecessor-watch-n200"),
            "{text}"
        );
    }
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
