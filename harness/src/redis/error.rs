//! Why Redis servers could not be started, or be acted on.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum RedisGroupError {
    #[error("there is no program {program:?} here: install Debian's package redis-tools or redis-server")]
    NotInstalled { program: String },
    #[error("there are no ports for {servers} Redis servers: {source}")]
    NoPorts { servers: u16, source: io::Error },
    #[error("cannot {what} {path}: {source}")]
    Io { what: &'static str, path: PathBuf, source: io::Error },
    #[error("Redis server {server} does not serve: {why}; its last output:\n{log}")]
    NotServing { server: u16, why: String, log: String },
    #[error("Redis server {server} cannot be {what}: {why}")]
    Control { server: u16, what: &'static str, why: String },
}
