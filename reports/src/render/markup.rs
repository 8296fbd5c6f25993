//! Paragraphs of this program's own documents as HTML.

/// The text with its emphasis and code marked, and everything else escaped.
pub(super) fn html(text: &str) -> String {
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('\n', " ");
    [("**", "strong"), ("*", "em"), ("`", "code")].iter().fold(escaped, |text, (mark, tag)| marked(&text, mark, tag))
}

fn marked(text: &str, mark: &str, tag: &str) -> String {
    let parts: Vec<&str> = text.split(mark).collect();
    // A mark without its counterpart is an ordinary character.
    let pairs = (parts.len() - 1) / 2;
    parts.iter().enumerate().fold(String::new(), |html, (place, part)| {
        let before = match place {
            0 => String::new(),
            place if place > 2 * pairs => mark.to_owned(),
            place if place % 2 == 1 => format!("<{tag}>"),
            _ => format!("</{tag}>"),
        };
        html + &before + part
    })
}

#[cfg(test)]
mod tests {
    use super::html;

    #[test]
    fn emphasis_and_code_are_marked_and_everything_else_is_escaped() {
        assert_eq!(
            html("a **b** *c* `d`\n<e> & f"),
            "a <strong>b</strong> <em>c</em> <code>d</code> &lt;e&gt; &amp; f"
        );
        assert_eq!(html("3 * 4"), "3 * 4", "one mark alone");
    }
}
