//! Small scenarios: three servers, six groups on three hosts, T = 1 s. Each takes seconds.

/// A scenario with these lines in `[election]`, and these sections after the common ones.
pub(crate) fn scenario(election: &str, sections: &str) -> String {
    format!(
        r#"name = "small"
allow_broken = true

[ensemble]
servers = 3
tick_ms = 100
warm_up_ms = 500

[election]
groups = 6
hosts = 3
candidates_per_group = 3
session_timeout_ms = 1000
work_interval_ms = 20
rejoin_after_ms = 150
{election}

[phases]
enrol_max_ms = 30000
warm_up_ms = 200
drain_ms = 200
drain_max_ms = 20000

{sections}
"#
    )
}

/// No cell is failed for unsafe behaviour: for tests of other things, on machines that may be slow.
pub(crate) const LENIENT: &str = r#"
[[expect]]
overlap = "any"
stale_writes = "any"
unplanned = "any"
"#;

/// Options for embedded servers, which need no warm-up.
pub(crate) const EMBEDDED: [&str; 4] = ["--ensemble", "embedded", "--set", "ensemble.warm_up_ms=0"];

/// One server, no fault, half a second, and a session timeout that suits a slow machine: it passes.
pub(crate) fn calm() -> String {
    let calm = "[faults.calm]\nkind = \"none\"\nfor_ms = 500\n";
    patient(&scenario("", calm), 4) + LENIENT
}

/// With one server, for tests that do not depend on the number of servers: three start more slowly.
pub(crate) fn on_one_server(scenario: &str) -> String {
    scenario.replace("servers = 3", "servers = 1")
}

/// With one server, and with the tick and the session timeout multiplied by `times`.
pub(crate) fn patient(scenario: &str, times: u64) -> String {
    let longer =
        |text: &str, key: &str, ms: u64| text.replace(&format!("{key} = {ms}"), &format!("{key} = {}", ms * times));
    longer(&longer(&on_one_server(scenario), "\ntick_ms", 100), "\nsession_timeout_ms", 1_000)
}

/// One cell with a fault that lasts longer than any wait.
pub(crate) fn endless(kind: &str) -> String {
    scenario("", &format!("[faults.endless]\nkind = \"{kind}\"\nfor_ms = 600000\n")) + LENIENT
}
