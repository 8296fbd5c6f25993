//! External programs in a scenario: `[foreign.<name>]`, written `foreign:<name>` in place of a recipe.

use std::collections::BTreeMap;

use hustings_record::{Declaration, FanOut};
use serde::{Deserialize, Serialize};
use toml::Value;

use super::declared_step_down::DeclaredStepDown;
use super::error::meant;
use crate::adapters::Adapter;
use crate::recipes::{LeadKind, LeadNode};

/// The placeholder that marks a program without the protocol. A program whose command says where to write gets no other
/// information.
pub const RESOURCE_PLACEHOLDER: &str = "{resource}";
/// The placeholders that name its election to a program without the protocol.
const ELECTION_BY_COMMAND: [&str; 3] = [placeholder::CONNECT, placeholder::GROUP, placeholder::TIMEOUT_MS];
/// The placeholder for the cell's step-down policy in a command.
pub const POLICY_BY_COMMAND: &str = "{step_down}";

/// The other placeholders of a command.
pub mod placeholder {
    pub const CONNECT: &str = "{connect}";
    pub const GROUP: &str = "{group}";
    pub const TIMEOUT_MS: &str = "{timeout_ms}";
    pub const POLL_INTERVAL_MS: &str = "{poll_interval_ms}";
    pub const ADAPTERS: &str = "{adapters}";
    pub const HUSTINGS: &str = "{hustings}";
}

/// All placeholders of a command.
const PLACEHOLDERS: [&str; 8] = [
    placeholder::CONNECT,
    placeholder::GROUP,
    placeholder::TIMEOUT_MS,
    RESOURCE_PLACEHOLDER,
    POLICY_BY_COMMAND,
    placeholder::POLL_INTERVAL_MS,
    placeholder::ADAPTERS,
    placeholder::HUSTINGS,
];

/// Names the first word in braces that is no placeholder, and the known ones. A shell's `${name}` is left alone.
#[must_use]
pub fn unknown_placeholder(command: &[String]) -> Option<String> {
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let unknown = command
        .iter()
        .flat_map(|word| word.match_indices('{').map(move |(at, _)| word.split_at(at)))
        .filter_map(|(before, from)| {
            let (name, _) = from[1..].split_once('}')?;
            (is_name(name) && !before.ends_with('$')).then(|| format!("{{{name}}}"))
        })
        .find(|name| !PLACEHOLDERS.contains(&name.as_str()))?;
    let known = PLACEHOLDERS.map(str::to_owned);
    Some(format!("there is no placeholder {unknown}; known are {}{}", known.join(", "), meant(&unknown, &known)))
}

/// Whether a command is one of a program without the protocol: it contains placeholders for its election or its writes.
#[must_use]
pub fn uses_placeholders(command: &[String]) -> bool {
    let names = |word: &String| ELECTION_BY_COMMAND.iter().any(|name| word.contains(name));
    says_where_to_write(command) || command.iter().any(names)
}

/// Whether such a command says where to write, which is how its leads are known.
#[must_use]
pub fn says_where_to_write(command: &[String]) -> bool {
    command.iter().any(|word| word.contains(RESOURCE_PLACEHOLDER))
}

/// `[foreign.<name>]`: an external program that takes part in elections.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ForeignSpec {
    /// The shipped adapter that provides the program. Without it and without a command: the adapter of this name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adapter: Option<String>,
    /// The program and its arguments, run unchanged and without a shell. The placeholder `{adapters}` is the folder of
    /// the shipped adapters, `{hustings}` this program, `{step_down}` and `{poll_interval_ms}` the cell's values. A
    /// program without the protocol gets all it needs here: `{connect}`, `{group}`, `{timeout_ms}` and `{resource}`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// The znode of its lead: "queue" (the first created one among those that end in a sequence number), or "lock" (the
    /// one of a fixed name).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lead: Option<LeadKind>,
    /// The name of that one znode, if it is not "lock"; given alone, it implies a lock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock: Option<String>,
    /// Which others the loss of a leader, and that of a follower, wakes. Nothing is promised unless both are given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leader_wakes: Option<FanOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follower_wakes: Option<FanOut>,
    /// The most requests that one wake-up may cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_wake_max: Option<u32>,
    /// The most znodes of its group, besides its own, that a candidate watches at once. The default follows from the
    /// wake-ups that it declares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watches_max: Option<u32>,
    /// The step-down policy after it has lost its connection, or "as-told" if it keeps the policy given by `start` or
    /// by `{step_down}` in its command. Without it, nothing that depends on a policy is expected of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_down: Option<DeclaredStepDown>,
    /// Its own parameters, passed to the program unchanged.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub config: BTreeMap<String, Value>,
}

/// A program with everything resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResolvedProgram {
    /// Its name, without the prefix for foreign programs.
    pub name: String,
    /// As [`ForeignSpec::command`].
    pub command: Vec<String>,
    pub lead: LeadKind,
    /// The name of the lock znode; `None`: the default one.
    pub lock: Option<String>,
    /// Its declarations; `None`: nothing is promised.
    pub declared: Option<Declaration>,
    /// The step-down policy that it keeps; `None`: it declares none.
    #[serde(default)]
    pub step_down: Option<DeclaredStepDown>,
    pub config: BTreeMap<String, Value>,
}

impl ResolvedProgram {
    /// Whether it speaks the protocol. If not, its command contains all it needs, and it holds one slot.
    #[must_use]
    pub fn speaks(&self) -> bool {
        !says_where_to_write(&self.command)
    }

    /// The znodes on which its lead can rest.
    #[must_use]
    pub fn lead_node(&self) -> LeadNode {
        match (self.lead, &self.lock) {
            (LeadKind::Queue, _) => LeadNode::AnyQueue,
            (LeadKind::Lock, None) => LeadNode::LOCK,
            (LeadKind::Lock, Some(name)) => LeadNode::Lock(name.clone().into()),
        }
    }

    /// The program of this name: the scenario's entry, else the shipped adapter. `None`: there is neither, or no
    /// command to start.
    #[must_use]
    pub fn find(specs: &BTreeMap<String, ForeignSpec>, name: &str) -> Option<Self> {
        let blank = ForeignSpec::default();
        let spec = specs.get(name).unwrap_or(&blank);
        let adapter = match &spec.adapter {
            Some(adapter) => Some(Adapter::find(adapter)?),
            None if spec.command.is_empty() => Some(Adapter::find(name)?),
            None => None,
        };
        let named = spec.lock.as_ref().map(|_| LeadKind::Lock);
        let shipped = |adapter: &Adapter| adapter.command.iter().map(|&word| word.to_owned()).collect();
        Some(Self {
            name: name.to_owned(),
            command: if spec.command.is_empty() { adapter.map(shipped)? } else { spec.command.clone() },
            lead: spec.lead.or(named).or(adapter.map(|adapter| adapter.lead)).unwrap_or(LeadKind::Queue),
            lock: spec.lock.clone(),
            declared: spec.declared().or(adapter.map(|adapter| adapter.declared)),
            step_down: spec.step_down.or_else(|| {
                let told = spec.command.iter().any(|word| word.contains(POLICY_BY_COMMAND));
                // With parameters of its own, its policy may differ from the adapter's.
                let of_adapter = adapter.filter(|_| spec.config.is_empty()).map(|_| Adapter::STEP_DOWN);
                if told { Some(DeclaredStepDown::AsTold) } else { of_adapter.map(DeclaredStepDown::Always) }
            }),
            config: spec.config.clone(),
        })
    }
}

impl ForeignSpec {
    /// Its promises; `None`: there are none.
    pub(super) fn declared(&self) -> Option<Declaration> {
        Some(Declaration {
            leader_wakes: self.leader_wakes?,
            follower_wakes: self.follower_wakes?,
            requests_per_wake_max: self.requests_per_wake_max,
            watches_max: self.watches_max,
        })
    }
}

#[cfg(test)]
mod tests {
    use hustings_record::StepDown;

    use super::*;

    fn specs(text: &str) -> BTreeMap<String, ForeignSpec> {
        toml::from_str(text).expect("specs")
    }

    #[test]
    fn a_program_is_the_scenario_s_or_the_adapter_that_ships() {
        let specs = specs(
            "[mine]\ncommand = [\"./mine\"]\n[session-latch]\nadapter = \"curator-latch\"\nconfig = { policy = \"session\" }\n[elector]\ncommand = [\"./elect\"]\n\
             lock = \"ActiveLock\"\n",
        );
        let mine = ResolvedProgram::find(&specs, "mine").unwrap();
        assert_eq!(mine.lead_node(), LeadNode::AnyQueue);
        assert_eq!((mine.command, mine.lead, mine.declared), (vec!["./mine".to_owned()], LeadKind::Queue, None));
        let named = ResolvedProgram::find(&specs, "elector").unwrap().lead_node();
        assert!(named.takes("ActiveLock") && !named.takes("lock") && !named.is_queue());
        let latch = ResolvedProgram::find(&specs, "session-latch").unwrap();
        assert!(latch.command.contains(&"CuratorLatch".to_owned()) && latch.declared.is_some());
        assert_eq!(latch.config["policy"].as_str(), Some("session"));
        assert!(ResolvedProgram::find(&specs, "kazoo-lock").unwrap().speaks());
        assert_eq!(ResolvedProgram::find(&specs, "nobody"), None);
    }

    #[test]
    fn a_program_keeps_the_policy_that_it_declares_or_is_told_and_else_none_is_known() {
        let specs = specs(
            "[mute]\ncommand = [\"./mine\"]\n[late]\ncommand = [\"./mine\"]\nstep_down = \"on-expiry\"\n[told]\n\
             command = [\"./mine\", \"{step_down}\"]\n[latch]\nadapter = \"curator-latch\"\nconfig = { policy = \"session\" }\n\
             [as-told]\ncommand = [\"./mine\"]\nstep_down = \"as-told\"\n",
        );
        let kept = |name| {
            ResolvedProgram::find(&specs, name).unwrap().step_down.map(|kept| kept.in_cell(StepDown::After(0.4)))
        };
        assert_eq!(kept("mute"), None);
        assert_eq!(kept("late"), Some(StepDown::OnExpiry));
        assert_eq!((kept("told"), kept("as-told")), (Some(StepDown::After(0.4)), Some(StepDown::After(0.4))));
        assert_eq!((kept("kazoo-lock"), kept("latch")), (Some(StepDown::OnDisconnect), None));
        assert!(toml::from_str::<ForeignSpec>("command = [\"x\"]\nstep_down = \"never\"").is_err());
    }

    #[test]
    fn a_program_that_is_told_where_to_write_by_its_command_does_not_speak() {
        let specs = specs("[mute]\ncommand = [\"./mute\", \"--to={resource}\", \"--zk={connect}\"]\n");
        let mute = ResolvedProgram::find(&specs, "mute").unwrap();
        assert!(!mute.speaks() && uses_placeholders(&mute.command));
        assert!(uses_placeholders(&["./mute".to_owned(), "{group}".to_owned()]));
        assert!(!uses_placeholders(&["./mine".to_owned(), "{step_down}".to_owned()]));
    }

    #[test]
    fn a_placeholder_that_is_none_is_named_with_the_known_ones() {
        let of = |words: &[&str]| unknown_placeholder(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["sh", "-c", "${home} {} {a:1} { print } {A}", "{step_down}{adapters}/x", "{\"a\": 1}"]), None);
        let told = of(&["./mine", "--zk={conect}"]).expect("none of ours");
        assert!(told.starts_with("there is no placeholder {conect}; known are {connect}, "), "{told}");
        assert!(told.ends_with("; did you mean `{connect}`?"), "{told}");
        assert!(PLACEHOLDERS.iter().all(|name| told.contains(name)), "{told}");
    }
}
