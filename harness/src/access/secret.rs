//! A user and a password. They are read from files or the environment and sent to hosts over their own connection. They
//! never appear on a command line, which every user can read, nor in a record.

use std::fmt;

use serde::{Deserialize, Serialize};

/// User and password of the scheme `digest`, if no file is given.
pub const AUTH_VARIABLE: &str = "HUSTINGS_AUTH";
/// The same for SASL.
pub const SASL_VARIABLE: &str = "HUSTINGS_SASL";

/// No password is longer. A server reads at most a megabyte of a client, and closes the connection without a word.
const SECRET_BYTES_MAX: usize = 64 << 10;

/// `user:password`. Only [`Secret::text`], [`Secret::parts`] and serialisation reveal it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Parses a secret. A trailing newline is not part of it.
    ///
    /// # Errors
    /// The reason. It does not contain the text itself.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let line = text.strip_suffix('\n').unwrap_or(text);
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.len() > SECRET_BYTES_MAX {
            return Err("it is longer than 64 KiB, and no user with a password is");
        }
        if line.contains('\0') {
            return Err("it has a NUL character");
        }
        if line.contains(['\n', '\r']) {
            return Err("it has more than one line");
        }
        match line.split_once(':') {
            Some((user, password)) if !user.is_empty() && !password.is_empty() => Ok(Self(line.to_owned())),
            _ => Err("it is not of the form user:password"),
        }
    }

    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }

    /// User and password.
    #[must_use]
    pub fn parts(&self) -> (&str, &str) {
        self.0.split_once(':').unwrap_or((&self.0, ""))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::{SECRET_BYTES_MAX, Secret};

    #[test]
    fn a_secret_is_a_user_and_a_password_on_one_line() {
        for (text, parts) in [("a:b", ("a", "b")), ("a:b:c\n", ("a", "b:c")), ("a: b \r\n", ("a", " b "))] {
            assert_eq!(Secret::parse(text).expect("a secret").parts(), parts);
        }
        for text in ["", "\n", "a", ":b", "a:", "a:b\nc", "a:b\n\n"] {
            let why = Secret::parse(text).expect_err(text);
            assert!(why.starts_with("it "), "{why}");
        }
    }

    #[test]
    fn what_no_secret_can_hold_is_told_by_its_name() {
        let longest = format!("a:{}", "b".repeat(SECRET_BYTES_MAX - 2));
        assert!(Secret::parse(&format!("{longest}\n")).is_ok());
        for (text, told) in [
            (format!("{longest}b"), "longer than 64 KiB"),
            ("a:b\0".to_owned(), "a NUL character"),
            ("a:b\nc".to_owned(), "more than one line"),
        ] {
            let why = Secret::parse(&text).expect_err(told);
            assert!(why.contains(told), "{why}");
        }
    }

    #[test]
    fn who_prints_a_secret_learns_nothing() {
        let secret = Secret::parse("scott:tiger").expect("a secret");
        assert_eq!(format!("{secret:?}"), "Secret");
    }
}
