//! What stands for something in the words of a command.

/// What a program is told that is told by its command alone.
pub(crate) struct ToldByCommand {
    pub(crate) connect: String,
    pub(crate) group: String,
    pub(crate) resource: String,
    pub(crate) timeout_ms: u64,
}

impl ToldByCommand {
    /// The command with what these stand for.
    pub(crate) fn put_into(self, command: &[String]) -> Vec<String> {
        let Self { connect, group, resource, timeout_ms } = self;
        let timeout = timeout_ms.to_string();
        fill(
            command,
            &[("{connect}", connect), ("{group}", group), ("{resource}", resource), ("{timeout_ms}", timeout)],
        )
    }
}

/// The command with each of these names replaced, in turn.
pub(crate) fn fill(command: &[String], known: &[(&str, String)]) -> Vec<String> {
    let word = |word: &String| known.iter().fold(word.clone(), |word, (name, value)| word.replace(name, value));
    command.iter().map(word).collect()
}
