//! The page's one script and what it is given. The page's policy allows this script by its hash and no other; data stand in an
//! element that nobody runs, and nothing in them can end it.

use std::fmt::Write as _;
use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use minijinja::Value;
use serde::Serialize;
use serde_json::ser::{CharEscape, CompactFormatter, Formatter, Serializer};
use sha2::{Digest as _, Sha256};

const REPLAY: &str = include_str!("replay.js");

/// Where the script finds its data.
const DATA_ID: &str = "replay-data";

/// What the policy allows to run.
pub(super) fn source() -> Value {
    Value::from_safe_string(format!("'sha256-{}'", STANDARD.encode(Sha256::digest(REPLAY))))
}

/// The script, as the hash covers it.
pub(super) fn element() -> Value {
    Value::from_safe_string(format!("<script>{REPLAY}</script>"))
}

/// Data for the script.
pub(super) fn data(data: &impl Serialize) -> Value {
    let mut json = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut json, HtmlSafeFormatter);
    data.serialize(&mut serializer).expect("what the page is given has only keys that are strings");
    let mut element = format!("<script type=\"application/json\" id=\"{DATA_ID}\">");
    let _ = write!(element, "{}</script>", String::from_utf8_lossy(&json));
    // Safe: nothing in it can be taken for markup.
    Value::from_safe_string(element)
}

/// JSON in which strings hold no character that means something in HTML, or ends a line to JavaScript.
struct HtmlSafeFormatter;

impl Formatter for HtmlSafeFormatter {
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        for c in fragment.chars() {
            match c {
                '<' | '>' | '&' | '\'' | '\u{2028}' | '\u{2029}' => write!(writer, "\\u{:04x}", u32::from(c))?,
                c => write!(writer, "{c}")?,
            }
        }
        Ok(())
    }

    fn write_char_escape<W: ?Sized + io::Write>(&mut self, writer: &mut W, escape: CharEscape) -> io::Result<()> {
        match escape {
            CharEscape::Quote => writer.write_all(b"\\u0022"),
            escape => CompactFormatter.write_char_escape(writer, escape),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn json_in(element: &str) -> &str {
        let inside = element.split_once('>').expect("a tag").1;
        inside.strip_suffix("</script>").expect("its end")
    }

    #[test]
    fn the_script_is_plain_small_and_cannot_end_its_element() {
        assert!(REPLAY.len() < 25_000, "{} bytes", REPLAY.len());
        for word in
            ["</script", "<!--", "<script", "innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval("]
        {
            assert!(!REPLAY.contains(word), "{word}");
        }
        for word in
            ["fetch(", "XMLHttpRequest", "WebSocket", "import(", "new Function", "localStorage", "http:", "https:"]
        {
            assert!(!REPLAY.contains(word) || word.starts_with("http") && only_names_a_namespace(), "{word}");
        }
        assert!(!REPLAY.contains('\r') && !REPLAY.contains('\t'), "browsers hash what they read");
    }

    /// SVG elements are made by the name of their namespace, which is no address that anybody asks.
    fn only_names_a_namespace() -> bool {
        REPLAY.matches("http").count() == 1 && REPLAY.contains("\"http://www.w3.org/2000/svg\"")
    }

    #[test]
    fn the_policy_names_the_hash_of_the_element() {
        let source = source().to_string();
        assert!(source.starts_with("'sha256-") && source.ends_with("='") && source.len() == 53, "{source}");
    }

    proptest! {
        #[test]
        fn data_come_back_as_they_were_and_hold_no_markup(texts in prop::collection::vec(any::<String>(), 0..5)) {
            let mut texts = texts;
            texts.push("</script><script>\"'&\u{2028}\u{2029}\\\" <!--".to_owned());
            let element = data(&texts).to_string();
            let json = json_in(&element);
            let markup = ['<', '>', '&', '\'', '\u{2028}', '\u{2029}'];
            prop_assert!(!json.contains(markup));
            prop_assert_eq!(serde_json::from_str::<Vec<String>>(json).expect("JSON"), texts);
        }
    }
}
