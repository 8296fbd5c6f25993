//! Placeholders in the words of a command.

use hustings_workloads::scenario::{RESOURCE_PLACEHOLDER, placeholder};

/// The values for a program that gets them only by its command.
pub(crate) struct CommandValues {
    pub(crate) connect: String,
    pub(crate) group: String,
    pub(crate) resource: String,
    pub(crate) timeout_ms: u64,
}

impl CommandValues {
    /// The command with the placeholders filled in.
    pub(crate) fn put_into(self, command: &[String]) -> Vec<String> {
        let Self { connect, group, resource, timeout_ms } = self;
        let timeout = timeout_ms.to_string();
        fill(
            command,
            &[
                (placeholder::CONNECT, connect),
                (placeholder::GROUP, group),
                (RESOURCE_PLACEHOLDER, resource),
                (placeholder::TIMEOUT_MS, timeout),
            ],
        )
    }
}

/// The command with each of these names replaced, in turn.
pub(crate) fn fill(command: &[String], known: &[(&str, String)]) -> Vec<String> {
    let word = |word: &String| known.iter().fold(word.clone(), |word, (name, value)| word.replace(name, value));
    command.iter().map(word).collect()
}
