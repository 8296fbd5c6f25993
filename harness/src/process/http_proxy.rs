//! HTTP proxies that the environment names. Nothing that is sent to this machine may go there.

use std::env;
use std::ffi::OsString;

/// The variables that name a proxy for plain HTTP.
const PROXY_VARIABLES: [&str; 4] = ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"];
/// The variables that list hosts to reach without a proxy. Libraries differ in which one they prefer.
const DIRECT_VARIABLES: [&str; 2] = ["no_proxy", "NO_PROXY"];
const LOOPBACK: &str = "localhost,127.0.0.1,::1";

/// Whether the environment names a proxy for plain HTTP.
pub(crate) fn is_named() -> bool {
    PROXY_VARIABLES.iter().any(|name| env::var_os(name).is_some_and(|proxy| !proxy.is_empty()))
}

/// The variables by which a child process reaches this machine without a proxy. Its other proxies stay as they are.
pub(crate) fn direct_to_loopback() -> [(&'static str, OsString); 2] {
    let [lower, upper] = DIRECT_VARIABLES.map(env::var_os);
    let of_lower = with_loopback(lower.clone().or_else(|| upper.clone()));
    let of_upper = with_loopback(upper.or(lower));
    [(DIRECT_VARIABLES[0], of_lower), (DIRECT_VARIABLES[1], of_upper)]
}

/// A list of hosts, and this machine.
fn with_loopback(listed: Option<OsString>) -> OsString {
    match listed.filter(|listed| !listed.is_empty()) {
        None => LOOPBACK.into(),
        // Every host. Libraries take the asterisk only where it is alone.
        Some(all) if all == "*" => all,
        Some(mut listed) => {
            listed.push(",");
            listed.push(LOOPBACK);
            listed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_that_are_reached_without_a_proxy_stay_and_this_machine_is_one_more() {
        for (listed, with) in [
            (None, LOOPBACK),
            (Some(""), LOOPBACK),
            (Some("*"), "*"),
            (Some("zk1,.lan"), "zk1,.lan,localhost,127.0.0.1,::1"),
        ] {
            assert_eq!(with_loopback(listed.map(OsString::from)), with, "{listed:?}");
        }
    }
}
