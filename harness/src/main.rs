//! Dispatch only.

use std::process::ExitCode;

fn main() -> ExitCode {
    hustings::cmd::main().into()
}
