//! Makes strings from outside (names, evidence, prose) fit for one line of a table, a plot or a terminal. The templates
//! escape for HTML on top of this; the plots' back end escapes for SVG.

/// One line: line ends and tabs become spaces, other control characters and those that reorder or hide text become `�`.
#[must_use]
pub fn line(text: &str) -> String {
    text.chars().map(|c| if c.is_whitespace() { ' ' } else { visible(c) }).collect()
}

/// One line of at most `chars_max` characters, its end replaced by `…` where it is longer.
#[must_use]
pub(crate) fn short(text: &str, chars_max: usize) -> String {
    // Only characters that can be shown are read: a name from outside may be megabytes long.
    let mut text: String = line(&text.chars().take(chars_max + 1).collect::<String>());
    if text.chars().count() > chars_max {
        text = text.chars().take(chars_max.saturating_sub(1)).collect();
        text.push('…');
    }
    text
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

fn visible(c: char) -> char {
    let hides = matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    if c.is_control() || hides { '\u{fffd}' } else { c }
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
    fn long_text_is_cut_at_characters() {
        assert_eq!(short("äöüäöü", 4), "äöü…");
        assert_eq!(short("äöü", 3), "äöü");
        assert_eq!(short("abc", 0), "…");
    }
}
