//! Reads a scenario and the arguments of `--set` and its like. Errors of the schema are turned into errors with the
//! line and the nearest known key.

use std::ops::Range;

use hustings_record::words::as_typed;
use serde::Deserialize;
use toml::{Table, Value};

use super::error::{ScenarioError, UnknownWord, nearest};
use super::program::ForeignSpec;
use super::schema::Scenario;

/// The largest scenario that is accepted, in bytes.
const TEXT_MAX: usize = 1 << 20;
/// The longest text of a file or of the parser that an error shows in full.
const SHOWN_CHARS_MAX: usize = 1_200;
/// The quoted keys of an argument contain no more signs `=` than this.
const KEY_SIGNS_MAX: usize = 16;
/// The parser accepts no more keys, lists and tables inside one another than this.
const DEPTH_MAX: usize = 80;
/// The beginnings of the parser's messages about deeper ones. It names no place for the first, which is about keys.
const TOO_DEEP: [&str; 2] = ["recursion limit", "cannot recurse further"];
/// Makes a value of the command line a line of TOML.
const BEFORE_VALUE: &str = "value = ";

/// Arguments that change a scenario, `dotted.key=value` each.
#[derive(Clone, Copy, Debug)]
pub struct Overrides<'a> {
    /// The option that they were given by, for errors.
    pub option: &'a str,
    pub sets: &'a [String],
}

pub(super) fn load(text: &str, origin: &str, overrides: &[Overrides<'_>]) -> Result<Scenario, ScenarioError> {
    if text.len() > TEXT_MAX {
        let message = format!("longer than {TEXT_MAX} bytes; is this a scenario?");
        return Err(ScenarioError::Syntax { origin: origin.to_owned(), line: None, message });
    }
    let mut scenario: Scenario = toml::from_str(text).map_err(|error| refusal(&error, origin, Some(text)))?;
    if overrides.iter().all(|overrides| overrides.sets.is_empty()) {
        return Ok(scenario);
    }
    let mut table: Table = text.parse().map_err(|error| refusal(&error, origin, Some(text)))?;
    for (option, set) in overrides.iter().flat_map(|from| from.sets.iter().map(move |set| (from.option, set))) {
        let origin = format!("{option} {}", as_typed(set));
        let Setting { path, value, not_toml } = split(set, &origin, "election.groups=10")?;
        overridden(&scenario, &path, &origin)?;
        put(&mut table, &path, value, &origin)?;
        scenario = Scenario::deserialize(table.clone()).map_err(|error| refused_set(&error, &origin, not_toml))?;
    }
    Ok(scenario)
}

/// A program with this command, given by the command line's `option`. Its declarations are given as in
/// `leader_wakes=one`, with the keys of `[foreign.<name>]`.
///
/// # Errors
/// An unknown key, or an invalid value for it.
pub fn declared_program(option: &str, command: Vec<String>, sets: &[String]) -> Result<ForeignSpec, ScenarioError> {
    let mut spec = ForeignSpec { command, ..ForeignSpec::default() };
    let mut table = Table::try_from(&spec).map_err(|error| syntax(option, error.to_string()))?;
    for set in sets {
        let origin = format!("{option}-set {}", as_typed(set));
        let Setting { path, value, not_toml } = split(set, &origin, "leader_wakes=one")?;
        put(&mut table, &path, value, &origin)?;
        spec = ForeignSpec::deserialize(table.clone()).map_err(|error| refused_set(&error, &origin, not_toml))?;
    }
    Ok(spec)
}

fn syntax(origin: &str, message: impl Into<String>) -> ScenarioError {
    ScenarioError::Syntax { origin: origin.to_owned(), line: None, message: message.into() }
}

/// One argument of `--set` and its like.
struct Setting {
    /// The keys from the outermost to the innermost.
    path: Vec<String>,
    value: Value,
    /// Why a value that begins as a table or a list is neither, and was taken for text.
    not_toml: Option<String>,
}

/// `a.b=value`: the keys, and the value.
fn split(set: &str, origin: &str, example: &str) -> Result<Setting, ScenarioError> {
    let Some((first, rest)) = set.split_once('=') else {
        return Err(syntax(origin, format!("no `=` in it; write it as key=value, for example {example}")));
    };
    let signs = set.match_indices('=').take(KEY_SIGNS_MAX);
    let parsed = signs.map(|(at, _)| at).find_map(|at| Some((keys(&set[..at])?, &set[at + 1..])));
    let is_open = parsed.is_none() && first.contains(['"', '\'']);
    // A key that is not TOML is told as an unknown one.
    let (path, text) = parsed.unwrap_or_else(|| (first.trim().split('.').map(str::to_owned).collect(), rest));
    if path.iter().any(String::is_empty) {
        if is_open {
            let told = "not a key of TOML; quote a name with dots as a whole, for example faults.\"a.b\".repeat=2";
            return Err(syntax(origin, told));
        }
        return Err(syntax(origin, format!("an empty key; write it as key=value, for example {example}")));
    }
    if path.len() > DEPTH_MAX {
        return Err(syntax(origin, too_deep()));
    }
    // TOML has integers of 64 bits: a longer number would be taken for text.
    if is_integer(text) && text.trim().parse::<i64>().is_err() {
        // Only the command line's own option has room for all seeds.
        let told = match path.as_slice() {
            [key] if key == "seed" => {
                format!("a whole number from 0 to {} is expected; --seed takes larger ones", i64::MAX)
            }
            _ => integer_expected(),
        };
        return Err(syntax(origin, told));
    }
    let not_toml = if text.trim_start().starts_with(['{', '[']) { not_toml(text) } else { None };
    Ok(Setting { path, value: value(text), not_toml })
}

/// The keys of a dotted key, as TOML parses it: quoted ones may contain any character.
fn keys(path: &str) -> Option<Vec<String>> {
    if path.contains(['\n', '\r']) {
        return None;
    }
    let mut table = format!("{path} = 0").parse::<Table>().ok()?;
    let mut keys = Vec::new();
    loop {
        let (key, value) = table.into_iter().next()?;
        keys.push(key);
        match value {
            Value::Table(inner) => table = inner,
            _ => return Some(keys),
        }
    }
}

fn is_integer(text: &str) -> bool {
    let digits = text.trim().trim_start_matches(['+', '-']);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn integer_expected() -> String {
    format!("a whole number from {} to {} is expected", i64::MIN, i64::MAX)
}

/// Why this value is not TOML, and where. None: it is.
fn not_toml(text: &str) -> Option<String> {
    let error = format!("{BEFORE_VALUE}{text}").parse::<Table>().err()?;
    let span = error.span().unwrap_or_default();
    let [start, end] = [span.start, span.end].map(|at| at.saturating_sub(BEFORE_VALUE.len()));
    let given = text.get(start..end).unwrap_or_default();
    let reason = if is_integer(given) { integer_expected() } else { in_words(error.message().trim_end()) };
    let character = text.get(..start).map_or(0, |before| before.chars().count()) + 1;
    let given = if given.is_empty() { String::new() } else { format!(", `{}`", shortened(given)) };
    Some(format!("{reason} (at character {character} of the value{given})"))
}

/// A value on the command line: TOML if it parses, else a string.
#[must_use]
pub fn value(text: &str) -> Value {
    let parsed = format!("{BEFORE_VALUE}{text}").parse::<Table>().ok().filter(|table| table.len() == 1);
    parsed.and_then(|mut table| table.remove("value")).unwrap_or_else(|| Value::String(text.to_owned()))
}

/// Rejects a value of `[election]` that would have no effect because the matrix varies it.
fn overridden(scenario: &Scenario, path: &[String], origin: &str) -> Result<(), ScenarioError> {
    let [section, key] = path else { return Ok(()) };
    // It would still apply to a matrix that does not vary it.
    let varies = |matrix| Table::try_from(matrix).is_ok_and(|matrix| matrix.contains_key(key));
    if section == "election" && scenario.matrices().all(varies) {
        let message = format!("the matrix varies {key}, so this would have no effect; set matrix.{key} instead");
        return Err(syntax(origin, message));
    }
    Ok(())
}

fn put(table: &mut Table, path: &[String], value: Value, origin: &str) -> Result<(), ScenarioError> {
    let Some((last, sections)) = path.split_last() else { return Ok(()) };
    let mut at = table;
    for (depth, section) in sections.iter().enumerate() {
        // Faults have names of the user's choice: a misspelt name must not create a new one.
        if depth == 1 && sections[0] == "faults" && !at.contains_key(section) {
            let known: Vec<String> = at.keys().cloned().collect();
            let nearest = nearest(section, &known);
            let given = section.clone();
            let word = UnknownWord { origin: origin.into(), line: None, what: "key", given, nearest, known };
            return Err(ScenarioError::Unknown(Box::new(word)));
        }
        let entry = at.entry(section.clone()).or_insert_with(|| Value::Table(Table::new()));
        at = entry.as_table_mut().ok_or_else(|| syntax(origin, format!("`{section}` has no keys of its own")))?;
    }
    at.insert(last.clone(), value);
    Ok(())
}

/// As [`refusal`], for an argument. It states why a value that begins as a table or a list is neither.
fn refused_set(error: &toml::de::Error, origin: &str, not_toml: Option<String>) -> ScenarioError {
    match (refusal(error, origin, None), not_toml) {
        (ScenarioError::Unknown(word), _) if word.what == "key" => ScenarioError::Unknown(word),
        (_, Some(why)) => syntax(origin, why),
        (refusal, None) => refusal,
    }
}

/// Turns an error of the parser into one with the line and the nearest known word.
fn refusal(error: &toml::de::Error, origin: &str, text: Option<&str>) -> ScenarioError {
    let message = error.message();
    let line = text.and_then(|text| match error.span() {
        Some(span) => Some(line_of(text, &span)),
        None if is_too_deep(message) => too_deep_line(text),
        None => None,
    });
    let what = if message.starts_with("unknown field `") {
        Some("key")
    } else if message.starts_with("unknown variant `") {
        Some("value")
    } else {
        None
    };
    let mut quoted = message.split('`').skip(1).step_by(2).map(str::to_owned);
    match (what, quoted.next()) {
        (Some(what), Some(given)) => {
            let known: Vec<String> = quoted.collect();
            let nearest = nearest(&given, &known);
            ScenarioError::Unknown(Box::new(UnknownWord {
                origin: origin.to_owned(),
                line,
                what,
                given: shortened(&given),
                nearest,
                known,
            }))
        }
        _ => ScenarioError::Syntax { origin: origin.to_owned(), line, message: in_words(message.trim_end()) },
    }
}

/// The user-facing words for the parser's type names.
const PARSER_WORDS: [(&str, &str); 10] = [
    // Only an integer can be none.
    ("any valid TOML value", "a whole number from -9,223,372,036,854,775,808 to 9,223,372,036,854,775,807"),
    ("a sequence", "a list, as [\"a\", \"b\"]"),
    ("a map", "a table, as { key = value }"),
    ("a string", "text in quotes"),
    ("a boolean", "true or false"),
    ("u8", "a whole number from 0 to 255"),
    ("u16", "a whole number from 0 to 65,535"),
    ("u32", "a whole number from 0 to 4,294,967,295"),
    // TOML's integers end there.
    ("u64", "a whole number from 0 to 9,223,372,036,854,775,807"),
    ("f64", "a number"),
];

/// A text without its middle, if it is too long to be shown: a word of a file may be as long as the file.
#[must_use]
pub fn shortened(text: &str) -> String {
    let count = text.chars().count();
    if count <= SHOWN_CHARS_MAX {
        return text.to_owned();
    }
    let (head, tail) = (text.chars().take(SHOWN_CHARS_MAX / 4), text.chars().skip(count - SHOWN_CHARS_MAX / 2));
    head.chain(['…']).chain(tail).collect()
}

fn is_too_deep(message: &str) -> bool {
    TOO_DEEP.iter().any(|begin| message.starts_with(begin))
}

fn too_deep() -> String {
    format!("nests too deeply: at most {DEPTH_MAX} keys, lists and tables may be inside one another")
}

/// The first line whose key has too many parts. None: no line shows it alone, as inside a table of several lines.
fn too_deep_line(text: &str) -> Option<usize> {
    let refused = |toml: &str| toml.parse::<Table>().is_err_and(|error| is_too_deep(error.message()));
    let is_deep = |line: &str| {
        // Its value may go on in the next line.
        let key = line.split_once('=').map(|(key, _)| format!("{key} = 0"));
        line.matches('.').count() >= DEPTH_MAX && (refused(line) || key.is_some_and(|key| refused(&key)))
    };
    text.lines().position(is_deep).map(|before| before + 1)
}

/// An error of the parser without its type names, and no longer than it can be read.
#[must_use]
pub fn in_words(message: &str) -> String {
    if is_too_deep(message) {
        return too_deep();
    }
    let message = shortened(message);
    let parts = ["invalid type: ", "invalid value: "].iter().find_map(|begin| message.strip_prefix(begin));
    let Some((given, expected)) = parts.and_then(|parts| parts.rsplit_once(", expected ")) else {
        return message;
    };
    let given = match given {
        "map" => "a table",
        "sequence" => "a list",
        // `string "x"`, ``floating point `5.0` ``, ``integer `5` as i128``: the written value shows its type.
        other => other.find(['"', '`']).map_or(other, |at| &other[at..]).trim_end_matches(" as i128"),
    };
    let is_table = expected.starts_with("struct ") || expected.starts_with("internally tagged enum ");
    let expected = if is_table { "a map" } else { expected };
    let words = PARSER_WORDS.iter().find(|(name, _)| *name == expected).map_or(expected, |(_, words)| *words);
    format!("{given}: {words} is expected")
}

fn line_of(text: &str, span: &Range<usize>) -> usize {
    text.bytes().take(span.start).filter(|byte| *byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use crate::scenario::Scenario;

    #[test]
    fn a_seed_that_is_no_integer_of_toml_is_told_its_own_range() {
        let refusal =
            |set: &str| Scenario::parse("name = \"x\"\n", "x.toml", &[set.to_owned()]).unwrap_err().to_string();
        for (set, told) in [
            (
                "seed=9223372036854775808",
                "a whole number from 0 to 9223372036854775807 is expected; --seed takes larger ones",
            ),
            ("seed=-1", "`-1`: a whole number from 0 to 9,223,372,036,854,775,807 is expected"),
            (
                "repeat=9223372036854775808",
                "a whole number from -9223372036854775808 to 9223372036854775807 is expected",
            ),
        ] {
            assert_eq!(refusal(set), format!("--set {set}: {told}"));
        }
    }

    #[test]
    fn a_scenario_that_nests_too_deeply_is_told_the_line_and_the_limit() {
        let keys = |count: usize| vec!["a"; count].join(".");
        let told = "nests too deeply: at most 80 keys, lists and tables may be inside one another";
        for deep in [
            format!("{} = 1", keys(81)),
            format!("{} = [\n1]", keys(5_000)),
            format!("[{}]", keys(5_000)),
            format!("a = {}{}", "[".repeat(81), "]".repeat(81)),
            format!("a = {}1{}", "{a=".repeat(500), "}".repeat(500)),
        ] {
            let refused = Scenario::parse(&format!("name = \"x\"\n{deep}\n"), "x.toml", &[]).unwrap_err().to_string();
            assert_eq!(refused, format!("x.toml, line 2: {told}"));
        }
        let set = format!("{}=1", keys(5_000));
        let refused = Scenario::parse("name = \"x\"\n", "x.toml", &[set]).unwrap_err().to_string();
        assert!(refused.ends_with(&format!(": {told}")), "{refused}");
        let fits = Scenario::parse(&format!("name = \"x\"\n{} = 1\n", keys(80)), "x.toml", &[]).unwrap_err();
        assert!(fits.to_string().contains("unknown key `a`"), "{fits}");
    }

    const CUT: &str = "name = \"x\"\n[faults.cut]\nkind = \"resign\"\n";

    #[test]
    fn a_table_or_a_list_that_is_not_toml_is_told_why_and_where() {
        let refusal = |set: &str| Scenario::parse(CUT, "x.toml", &[set.to_owned()]).unwrap_err().to_string();
        let integer = "a whole number from -9223372036854775808 to 9223372036854775807 is expected";
        for (value, at, given) in [
            ("faults.cut={kind=\"resign\",repeat=99999999999999999999}", 23, "99999999999999999999"),
            ("faults.cut={kind=\"resign\",repeat=9223372036854775808}", 23, "9223372036854775808"),
            ("matrix.servers=[1, 99999999999999999999]", 5, "99999999999999999999"),
        ] {
            let told = refusal(value);
            assert!(told.ends_with(&format!(": {integer} (at character {at} of the value, `{given}`)")), "{told}");
        }
        let unfinished = refusal("faults.cut={kind=\"resign");
        assert!(unfinished.contains("(at character ") && !unfinished.contains("a table, as"), "{unfinished}");
        let key = refusal("faults.cut.repeats={a=}");
        assert!(key.contains("unknown key `repeats`"), "{key}");
    }

    #[test]
    fn quoted_keys_may_contain_dots_and_equal_signs() {
        let read = |set: &str| Scenario::parse(CUT, "x.toml", &[set.to_owned()]).map_err(|error| error.to_string());
        for name in ["a/../b", "a.b", "a=b", "a b"] {
            let scenario = read(&format!("faults.\"{name}\"={{kind=\"resign\",repeat=2}}")).unwrap();
            assert_eq!(scenario.faults.keys().collect::<Vec<_>>(), [name, "cut"], "{name}");
        }
        assert_eq!(read("faults . 'cut' . repeat = 7").unwrap().faults["cut"].repeat, 7);
        let told = read("faults.\"a..b={kind=\"resign\"}").unwrap_err();
        assert!(told.contains("not a key of TOML; quote a name with dots as a whole"), "{told}");
        for empty in ["faults..repeat=1", "=1", "faults.\"\".repeat=1"] {
            let told = read(empty).unwrap_err();
            assert!(told.contains("an empty key; write it as key=value"), "{told}");
        }
    }
}
