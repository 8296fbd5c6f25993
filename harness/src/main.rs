//! Dispatch only.

fn main() {}
