//! The adapters that ship: programs that stand for election by recipes of other libraries, each of a few lines beside one helper a
//! language. They are files, which whoever runs them writes out; a new one is a file there and an entry here.

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
    /// What stands by it, and what is to be known of that.
    pub about: &'static str,
    /// Debian's packages that it needs.
    pub packages: &'static [&'static str],
    /// As [`ResolvedProgram::command`](crate::scenario::ResolvedProgram).
    pub command: &'static [&'static str],
    pub lead: LeadKind,
    /// What its library declares of that recipe, as its documentation has it.
    pub declared: Declaration,
}

const NEXT_IN_LINE: Declaration = Declaration {
    leader_wakes: FanOut::One,
    follower_wakes: FanOut::One,
    requests_per_wake_max: Some(4),
    watches_max: None,
};

/// Debian's Python, which has Debian's kazoo.
const PYTHON: &str = "/usr/bin/python3";
const CURATOR: &[&str] = &["libcurator-recipes-java", "default-jdk-headless"];
const KAZOO: &[&str] = &["python3-kazoo"];

/// All of them.
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
    /// What all of them do by default: they step down as soon as they see that the connection is lost.
    pub const STEP_DOWN: StepDown = StepDown::OnDisconnect;

    /// The one of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        ADAPTERS.iter().find(|adapter| adapter.name == name)
    }

    /// The one whose command this is.
    #[must_use]
    pub fn of(command: &[String]) -> Option<&'static Self> {
        ADAPTERS.iter().find(|adapter| adapter.command.iter().eq(command))
    }
}
