//! The pages' templates.

use minijinja::Environment;
use serde::Serialize;

/// Every part of every page, by the name under which the others know it. The ending turns escaping on.
const TEMPLATES: &[(&str, &str)] = &[
    ("base.html", include_str!("../../templates/base.html")),
    ("report.html", include_str!("../../templates/report.html")),
    ("runs.html", include_str!("../../templates/runs.html")),
    ("tune.html", include_str!("../../templates/tune.html")),
    ("macros.html", include_str!("../../templates/macros.html")),
    ("times.html", include_str!("../../templates/times.html")),
    ("answers.html", include_str!("../../templates/answers.html")),
    ("overview.html", include_str!("../../templates/overview.html")),
    ("costs.html", include_str!("../../templates/costs.html")),
    ("pools.html", include_str!("../../templates/pools.html")),
    ("contest.html", include_str!("../../templates/contest.html")),
    ("cell.html", include_str!("../../templates/cell.html")),
    ("replay.html", include_str!("../../templates/replay.html")),
    ("how.html", include_str!("../../templates/how.html")),
    ("style.css", include_str!("../../templates/style.css")),
    ("replay.css", include_str!("../../templates/replay.css")),
    ("sheet.css", include_str!("../../templates/sheet.css")),
];

/// The page of this name, filled.
///
/// # Errors
/// Faults of this program.
pub(super) fn filled(name: &str, page: impl Serialize) -> Result<String, minijinja::Error> {
    let mut environment = Environment::new();
    for (name, source) in TEMPLATES {
        environment.add_template(name, source)?;
    }
    environment.get_template(name)?.render(page)
}

#[cfg(test)]
mod tests {
    use super::TEMPLATES;

    #[test]
    fn no_template_turns_escaping_off_or_asks_the_network() {
        for (name, source) in TEMPLATES {
            for word in
                ["|safe", "| safe", "autoescape", "<script", "http:", "https:", "url(", "@import", " src=", "style=\""]
            {
                assert!(!source.contains(word), "{name} contains {word}");
            }
        }
        let styles: Vec<_> = TEMPLATES.iter().filter(|(name, _)| name.ends_with(".css")).collect();
        assert!(!styles.is_empty(), "the page has a style sheet");
        for (name, style) in styles {
            assert!(!style.contains("{{") && !style.contains("{%"), "{name} is not escaped, so nothing may go in");
        }
    }
}
