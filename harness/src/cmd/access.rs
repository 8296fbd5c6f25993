//! Options for the credentials of clients on external servers. Secrets come from files or the environment: command
//! lines are readable by all users, and stored in the record.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use crate::access::{AUTH_VARIABLE, Access, SASL_VARIABLE, Secret, Tls, TlsError};
use crate::files::bounded;

#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "External ensemble")]
pub(super) struct AccessArgs {
    /// File with a digest `user:password`; only this user has access to the run's znodes [default: the environment's
    /// HUSTINGS_AUTH, if there is one]
    #[arg(long, value_name = "FILE")]
    auth_file: Option<PathBuf>,
    /// The same for SASL by DIGEST-MD5 [default: the environment's HUSTINGS_SASL, if there is one]
    #[arg(long, value_name = "FILE")]
    sasl_file: Option<PathBuf>,
    /// Speak TLS to the servers, which these certificates vouch for
    #[arg(long, value_name = "FILE.pem")]
    tls_ca: Option<PathBuf>,
    /// Certificate by which the servers know this client, with those between it and theirs
    #[arg(long, value_name = "FILE.pem")]
    tls_cert: Option<PathBuf>,
    /// Private key of that certificate, without a password
    #[arg(long, value_name = "FILE.pem")]
    tls_key: Option<PathBuf>,
    /// Take certificates for other names than those in --connect
    #[arg(long)]
    tls_no_hostname_check: bool,
}

impl AccessArgs {
    /// The first of these options that was given.
    pub(super) fn given(&self) -> Option<&'static str> {
        let options = [
            ("--auth-file", self.auth_file.is_some()),
            ("--sasl-file", self.sasl_file.is_some()),
            ("--tls-ca", self.tls_ca.is_some()),
            ("--tls-cert", self.tls_cert.is_some()),
            ("--tls-key", self.tls_key.is_some()),
            ("--tls-no-hostname-check", self.tls_no_hostname_check),
        ];
        options.into_iter().find_map(|(name, given)| given.then_some(name))
    }

    /// The files that these options read.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        [&self.auth_file, &self.sasl_file, &self.tls_ca, &self.tls_cert, &self.tls_key]
            .into_iter()
            .filter_map(Option::as_deref)
    }

    /// Whether clients use TLS.
    pub(super) fn speaks_tls(&self) -> bool {
        self.tls_ca.is_some()
    }

    /// Whether these options are consistent. Reads no files.
    ///
    /// # Errors
    /// The missing option.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        match (&self.tls_cert, &self.tls_key) {
            (Some(_), None) => anyhow::bail!("--tls-cert needs the key that goes with it: give it by --tls-key"),
            (None, Some(_)) => {
                anyhow::bail!("--tls-key needs the certificate that it goes with: give that by --tls-cert")
            }
            _ => {}
        }
        let alone = [("--tls-cert", self.tls_cert.is_some()), ("--tls-no-hostname-check", self.tls_no_hostname_check)];
        let alone = alone.iter().find_map(|(name, given)| given.then_some(*name)).filter(|_| !self.speaks_tls());
        ensure!(
            alone.is_none(),
            "{} is about TLS: name those who vouch for the servers by --tls-ca, or leave it out",
            alone.unwrap_or_default()
        );
        Ok(())
    }

    /// The credentials, with an empty chroot. Without a file, the environment variable is used.
    ///
    /// # Errors
    /// A file cannot be read or used, or options are missing.
    pub(super) fn access(&self) -> anyhow::Result<Access> {
        self.check()?;
        Ok(Access {
            chroot: String::new(),
            digest: secret(("--auth-file", self.auth_file.as_deref()), AUTH_VARIABLE)?,
            sasl: secret(("--sasl-file", self.sasl_file.as_deref()), SASL_VARIABLE)?,
            tls: self.tls_ca.as_deref().map(|ca| self.tls(ca)).transpose()?,
        })
    }

    fn tls(&self, ca: &Path) -> anyhow::Result<Tls> {
        let authorities = pem("--tls-ca", ca, Tls::certificates)?;
        let identity = match (&self.tls_cert, &self.tls_key) {
            (Some(certificate), Some(key)) => {
                Some((pem("--tls-cert", certificate, Tls::certificates)?, pem("--tls-key", key, Tls::key)?))
            }
            _ => None,
        };
        let told = |error: TlsError| match &error {
            TlsError::Identity(_) => anyhow::anyhow!("--tls-cert and --tls-key cannot be used: {error}"),
            _ => anyhow::anyhow!("--tls-ca {} cannot be used: {error}", ca.display()),
        };
        Tls::new(ca, authorities, identity, !self.tls_no_hostname_check).map_err(told)
    }
}

fn pem<T>(option: &str, path: &Path, read: impl FnOnce(&[u8]) -> Result<T, TlsError>) -> anyhow::Result<T> {
    let text =
        bounded::bytes(path, bounded::SMALL).with_context(|| format!("{option} {} cannot be read", path.display()))?;
    read(&text).with_context(|| format!("{option} {} cannot be used", path.display()))
}

/// The secret in the file, else in the environment. An empty variable counts as unset.
fn secret((option, file): (&str, Option<&Path>), variable: &str) -> anyhow::Result<Option<Secret>> {
    let (text, place) = match file {
        Some(path) => {
            let place = format!("{option} {}", path.display());
            (bounded::text(path, bounded::SMALL).with_context(|| format!("{place} cannot be read"))?, place)
        }
        None => match std::env::var(variable) {
            Ok(text) if !text.is_empty() => (text, variable.to_owned()),
            Err(std::env::VarError::NotUnicode(_)) => anyhow::bail!("{variable} cannot be read: it is no text"),
            _ => return Ok(None),
        },
    };
    let parsed = Secret::parse(&text)
        .map_err(|why| anyhow::anyhow!("{place} cannot be used: {why}; give one line user:password"));
    parsed.map(Some)
}
