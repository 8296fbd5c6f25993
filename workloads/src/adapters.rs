//! The shipped adapters: programs that take part in elections with recipes of other libraries. Each is a few lines
//! beside a helper per language. Their user writes these files out; a new one needs a file there and an entry here.

use hustings_record::{Declaration, FanOut, StepDown};

use crate::recipes::LeadKind;

/// A file of the adapters' folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File {
    pub name: &'static str,
    pub text: &'static str,
}

/// Names and texts of files of the folder.
macro_rules! files {
    ($($name:literal),+ $(,)?) => {
        &[$(File { name: $name, text: include_str!(concat!("../adapters/", $name)) }),+]
    };
}

/// The protocol that adapters and other programs speak, for their authors.
pub const PROTOCOL_DOCUMENT: &str = include_str!("../adapters/PROTOCOL.md");

/// All files that adapters need.
pub const FILES: &[File] = files![
    "CuratorClient.java",
    "CuratorLatch.java",
    "CuratorSelector.java",
    "HustingsCandidate.java",
    "go_zookeeper.go",
    "hustings_candidate.c",
    "hustings_candidate.go",
    "hustings_candidate.h",
    "hustings_candidate.py",
    "java.sh",
    "kazoo_recipe.py",
    "native.sh",
    "plain_sleep.c",
    "zoo_election.c",
];

/// An adapter that ships.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adapter {
    pub name: &'static str,
    /// What it enrols, and caveats about that.
    pub about: &'static str,
    /// Debian packages that it needs.
    pub packages: &'static [&'static str],
    /// As [`ResolvedProgram::command`](crate::scenario::ResolvedProgram).
    pub command: &'static [&'static str],
    pub lead: LeadKind,
    /// What its library's documentation declares about that recipe.
    pub declared: Declaration,
}

const NEXT_IN_LINE: Declaration = Declaration {
    leader_wakes: FanOut::One,
    follower_wakes: FanOut::One,
    requests_per_wake_max: Some(4),
    watches_max: None,
};

/// Debian's Python, for which Debian packages kazoo.
const PYTHON: &str = "/usr/bin/python3";
const CURATOR: &[&str] = &["libcurator-recipes-java", "default-jdk-headless"];
const KAZOO: &[&str] = &["python3-kazoo"];

/// All shipped adapters.
pub const ADAPTERS: &[Adapter] = &[
    Adapter {
        name: "curator-latch",
        about: "Curator's LeaderLatch (Java): leads between isLeader and notLeader",
        packages: CURATOR,
        command: &["{adapters}/java.sh", "CuratorLatch"],
        lead: LeadKind::Queue,
        declared: NEXT_IN_LINE,
    },
    Adapter {
        name: "curator-selector",
        about: "Curator's LeaderSelector (Java): leads within takeLeadership, requeued",
        packages: CURATOR,
        command: &["{adapters}/java.sh", "CuratorSelector"],
        lead: LeadKind::Queue,
        declared: NEXT_IN_LINE,
    },
    Adapter {
        name: "kazoo-election",
        about: "kazoo's Election (Python), with a listener that ends the work when in doubt",
        packages: KAZOO,
        command: &[PYTHON, "-B", "{adapters}/kazoo_recipe.py", "election"],
        lead: LeadKind::Queue,
        declared: NEXT_IN_LINE,
    },
    Adapter {
        name: "kazoo-lock",
        about: "kazoo's Lock (Python), with a listener that ends the work when in doubt",
        packages: KAZOO,
        command: &[PYTHON, "-B", "{adapters}/kazoo_recipe.py", "lock"],
        lead: LeadKind::Queue,
        declared: NEXT_IN_LINE,
    },
    Adapter {
        name: "zoo-election",
        about: "an election written out on ZooKeeper's C client",
        packages: &["libzookeeper-mt-dev", "gcc", "libc6-dev"],
        command: &["{adapters}/native.sh", "zoo_election.c"],
        lead: LeadKind::Queue,
        declared: NEXT_IN_LINE,
    },
    Adapter {
        name: "go-zookeeper-lock",
        about: "go-zookeeper's Lock (Go)",
        packages: &["golang-go", "golang-github-samuel-go-zookeeper-dev"],
        command: &["{adapters}/native.sh", "go_zookeeper.go"],
        lead: LeadKind::Queue,
        declared: NEXT_IN_LINE,
    },
];

impl Adapter {
    /// The default of all adapters: they step down as soon as they notice that the connection is lost.
    pub const STEP_DOWN: StepDown = StepDown::OnDisconnect;

    /// The adapter of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        ADAPTERS.iter().find(|adapter| adapter.name == name)
    }

    /// The adapter with this command.
    #[must_use]
    pub fn of(command: &[String]) -> Option<&'static Self> {
        ADAPTERS.iter().find(|adapter| adapter.command.iter().eq(command))
    }
}
