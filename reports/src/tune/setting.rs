//! A session timeout with what else decides whether a pause outlasts it, and the model of that.

use serde::{Deserialize, Serialize};

/// A client library, by the times that it keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Client {
    /// The client that the candidates of this program have.
    Rust,
    /// ZooKeeper's own, and Curator.
    Java,
    /// kazoo.
    Python,
    /// go-zookeeper.
    Go,
    /// ZooKeeper's own in C.
    C,
}

impl Client {
    pub const ALL: [Self; 5] = [Self::Rust, Self::Java, Self::Python, Self::Go, Self::C];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Java => "java",
            Self::Python => "python",
            Self::Go => "go",
            Self::C => "c",
        }
    }

    /// The client of this name, or the one that the library of this name is built on.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        match name {
            "curator" => Some(Self::Java),
            "kazoo" => Some(Self::Python),
            "go-zookeeper" => Some(Self::Go),
            _ => Self::ALL.into_iter().find(|client| client.name() == name),
        }
    }

    /// How long an idle session is silent, as a part of T: from one ping to the next.
    #[must_use]
    pub fn ping_of_t(self) -> f64 {
        match self {
            Self::Rust => 3.0 / 20.0,
            Self::Java | Self::Python | Self::Go | Self::C => 1.0 / 3.0,
        }
    }

    /// After how long without a word from its server it gives the connection up, as a part of T.
    #[must_use]
    pub fn gives_up_at_t(self) -> f64 {
        match self {
            Self::Rust => 2.0 / 5.0,
            Self::Java | Self::Python | Self::Go | Self::C => 2.0 / 3.0,
        }
    }

    /// After how long without a server it takes its session for expired by itself, as a part of T; None: it waits to be told.
    #[must_use]
    pub fn own_expiry_of_t(self) -> Option<f64> {
        match self {
            Self::Rust => Some(7.0 / 5.0),
            Self::Java | Self::Python | Self::Go | Self::C => None,
        }
    }
}

/// What decides whether a pause expires a session. Times are milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExpirySettings {
    /// T: the negotiated session timeout.
    pub timeout_ms: f64,
    /// The servers' tick: expiry is rounded up to one.
    pub tick_ms: f64,
    /// g: the time between two signs of life of an idle session.
    pub ping_ms: f64,
    /// R: from the end of the pause until the servers have heard of the client again.
    pub reconnect_ms: f64,
}

impl ExpirySettings {
    #[must_use]
    pub fn of(client: Client, timeout_ms: f64, tick_ms: f64, reconnect_ms: f64) -> Self {
        Self { timeout_ms, tick_ms, ping_ms: client.ping_of_t() * timeout_ms, reconnect_ms }
    }

    /// The pause that expires every other session: `T + tick/2 − g/2 − R`.
    #[must_use]
    pub fn midpoint_ms(&self) -> f64 {
        self.timeout_ms + self.tick_ms / 2.0 - self.ping_ms / 2.0 - self.reconnect_ms
    }

    /// The standard deviation of the pause that just expires a session, over all phases: `√((g² + tick²)/12)`.
    #[must_use]
    pub fn spread_ms(&self) -> f64 {
        (self.ping_ms.mul_add(self.ping_ms, self.tick_ms * self.tick_ms) / 12.0).sqrt()
    }

    /// The longest pause that can expire none, and the shortest that expires all.
    #[must_use]
    pub fn limits_ms(&self) -> (f64, f64) {
        let heard = self.timeout_ms - self.reconnect_ms;
        (heard - self.ping_ms, heard + self.tick_ms)
    }

    /// The share of sessions that a pause of D at a random phase expires: `P(A + D + R > T + B)`, where the last sign of life is
    /// A ~ U(0, g) old when the pause begins, and the servers round expiry up by B ~ U(0, tick].
    #[must_use]
    pub fn expired_share(&self, pause_ms: f64) -> f64 {
        let (g, tick) = (self.ping_ms, self.tick_ms);
        let over = self.timeout_ms - self.reconnect_ms - pause_ms;
        // ∫₀ᵗ P(A > b + over) db, by the integral of a ramp.
        let ramp = |x: f64| x.max(0.0) * x.max(0.0) / 2.0;
        let area = (ramp(g - over) - ramp(g - over - tick)) - (ramp(-over) - ramp(-over - tick));
        (area / (g * tick)).clamp(0.0, 1.0)
    }

    /// From the death of a leader that was idle towards its servers until its session expires: on average
    /// `T − g/2 + tick/2 + tick/6`, at most `T + 3/2 tick`. Followers hand on what they heard every half tick, and have two
    /// of three sessions. A leader that sends requests all the time is detected later by up to `g/2` on average.
    #[must_use]
    pub fn detection_ms(&self) -> (f64, f64) {
        let handed_on = self.tick_ms / 4.0 * 2.0 / 3.0;
        let mean = self.timeout_ms - self.ping_ms / 2.0 + self.tick_ms / 2.0 + handed_on;
        (mean, self.timeout_ms + 1.5 * self.tick_ms)
    }

    /// The same client on the same servers, with another timeout.
    #[must_use]
    pub fn with_timeout(&self, timeout_ms: f64) -> Self {
        Self { timeout_ms, ping_ms: self.ping_ms / self.timeout_ms * timeout_ms, ..*self }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The share over a fine grid of phases.
    fn counted(setting: &ExpirySettings, pause_ms: f64) -> f64 {
        const STEPS: u32 = 400;
        let at = |i: u32, all: f64| (f64::from(i) + 0.5) / f64::from(STEPS) * all;
        let expired = (0..STEPS).flat_map(|i| (0..STEPS).map(move |j| (i, j))).filter(|&(i, j)| {
            let (age, rounded) = (at(i, setting.ping_ms), at(j, setting.tick_ms));
            age + pause_ms + setting.reconnect_ms > setting.timeout_ms + rounded
        });
        expired.count() as f64 / f64::from(STEPS * STEPS)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn the_model_is_what_counting_over_all_phases_gives(
            timeout in 500.0_f64..60_000.0, ticks in 2.0_f64..20.0, ping in 0.05_f64..0.5, reconnect in 0.0_f64..100.0, d in 0.3_f64..1.8,
        ) {
            let (tick_ms, ping_ms) = (timeout / ticks, timeout * ping);
            let setting = ExpirySettings { timeout_ms: timeout, tick_ms, ping_ms, reconnect_ms: reconnect };
            let pause = timeout * d;
            prop_assert!((setting.expired_share(pause) - counted(&setting, pause)).abs() < 0.01);
        }

        #[test]
        fn longer_pauses_never_expire_fewer(d in 0.0_f64..20_000.0, more in 0.0_f64..1_000.0) {
            let setting = ExpirySettings::of(Client::Java, 8_000.0, 2_000.0, 5.0);
            prop_assert!(setting.expired_share(d) <= setting.expired_share(d + more) + 1e-12);
        }
    }

    #[test]
    fn clients_are_found_by_their_names_and_by_those_of_the_libraries_that_are_built_on_them() {
        for client in Client::ALL {
            assert_eq!(Client::find(client.name()), Some(client));
        }
        let libraries = ["curator", "kazoo", "go-zookeeper", "perl"].map(Client::find);
        assert_eq!(libraries, [Some(Client::Java), Some(Client::Python), Some(Client::Go), None]);
    }

    #[test]
    fn the_middle_and_the_ends_are_where_they_are_said_to_be() {
        for client in Client::ALL {
            let setting = ExpirySettings::of(client, 10_000.0, 2_000.0, 20.0);
            assert!((setting.expired_share(setting.midpoint_ms()) - 0.5).abs() < 1e-9);
            let (none, all) = setting.limits_ms();
            assert_eq!((setting.expired_share(none), setting.expired_share(all)), (0.0, 1.0));
            assert!(setting.expired_share(none + 1.0) > 0.0 && setting.expired_share(all - 1.0) < 1.0);
            assert_eq!(setting.with_timeout(20_000.0), ExpirySettings::of(client, 20_000.0, 2_000.0, 20.0));
        }
    }
}
