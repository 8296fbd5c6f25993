//! Makes strings from outside (names, evidence, prose) fit for one line of a table, a plot or a terminal. The templates
//! escape for HTML on top of this; the plots' back end escapes for SVG.

use hustings_record::words::is_hidden;

/// One line: line ends and tabs become spaces, other control characters and those that reorder or hide text become `�`.
#[must_use]
pub fn line(text: &str) -> String {
    text.chars().map(|c| if c.is_whitespace() { ' ' } else { visible(c) }).collect()
}

/// One line of at most `chars_max` characters, its end replaced by `…` where it is longer.
#[must_use]
pub fn short(text: &str, chars_max: usize) -> String {
    // Only characters that can be shown are read: a name from outside may be megabytes long.
    let mut text: String = line(&text.chars().take(chars_max + 1).collect::<String>());
    if text.chars().count() > chars_max {
        text = text.chars().take(chars_max.saturating_sub(1)).collect();
        text.push('…');
    }
    text
}

/// One cell of a CSV file: one line, which no spreadsheet takes for a formula.
#[must_use]
pub(crate) fn csv_text(text: &str) -> String {
    let text = line(text);
    if text.starts_with(['=', '+', '-', '@']) { format!("'{text}") } else { text }
}

/// One line of Markdown that contains no markup and starts no new cell of a table.
#[must_use]
pub(crate) fn markdown(text: &str) -> String {
    line(text).chars().fold(String::new(), |mut all, c| {
        if "\\`*_{}[]<>#!|&~@".contains(c) {
            all.push('\\');
        }
        all.push(c);
        all
    })
}

/// Prose: line ends stay.
#[must_use]
pub fn prose(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c == '\n' {
                c
            } else if c.is_whitespace() {
                ' '
            } else {
                visible(c)
            }
        })
        .collect()
}

/// JSON text of the same value, in which a terminal finds no control characters and none that reorder or hide text. `serde_json`
/// escapes those below U+0020 alone.
#[must_use]
pub fn json(text: String) -> String {
    // All of these occur in strings alone, and have four digits.
    let acts = |c: char| matches!(c, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}') || is_hidden(c);
    if !text.contains(acts) {
        return text;
    }
    text.chars().fold(String::with_capacity(text.len()), |mut all, c| {
        if acts(c) {
            all.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            all.push(c);
        }
        all
    })
}

fn visible(c: char) -> char {
    if c.is_control() || is_hidden(c) { '\u{fffd}' } else { c }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_and_reordering_marks_become_visible() {
        assert_eq!(line("a\nb\tc\u{1b}[31m\u{202e}x\u{0}\u{85}"), "a b c\u{fffd}[31m\u{fffd}x\u{fffd} ");
        assert_eq!(prose("a\nb\r\n\u{7}"), "a\nb \n\u{fffd}");
    }

    #[test]
    fn json_keeps_its_value_and_does_nothing_on_a_terminal() {
        let acts = "a\u{1b}[31m\u{7}\n\u{7f}\u{80}\u{9b}31m\u{9f}\u{61c}\u{200b}\u{202e}\u{2028}\u{2029}\u{2066}\u{feff}\\\u{9b}";
        let value = serde_json::json!({ acts: [acts, "äöü\u{a0}🗳"], "n": 1 });
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            let escaped = json(text);
            let raw = |c: char| c != '\n' && c != '\u{a0}' && c != ' ' && (visible(c) != c || c.is_whitespace());
            assert_eq!(escaped.chars().find(|c| raw(*c)), None, "{escaped}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
            assert!(escaped.contains("\\u009b31m") && escaped.contains("äöü\u{a0}🗳"), "{escaped}");
        }
        let plain = r#"{"a": "ä \u001b"}"#;
        assert_eq!(json(plain.to_owned()), plain);
    }

    #[test]
    fn a_cell_of_a_csv_file_is_one_line_and_no_formula() {
        for (text, cell) in
            [("=1+2", "'=1+2"), ("+a", "'+a"), ("-a\nb", "'-a b"), ("@a", "'@a"), ("'=1", "'=1"), ("a-b", "a-b")]
        {
            assert_eq!(csv_text(text), cell);
        }
    }

    #[test]
    fn long_text_is_cut_at_characters() {
        assert_eq!(short("äöüäöü", 4), "äöü…");
        assert_eq!(short("äöü", 3), "äöü");
        assert_eq!(short("abc", 0), "…");
    }
}
