//! Finds Java and ZooKeeper: the Debian packages' layout (all jars in one folder), or an unpacked release (`lib/`).

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::super::EnsembleError;

/// Jars that a server needs to start, by Debian's names. slf4j-simple does the logging.
const DEBIAN_NEEDED: [&str; 6] =
    ["zookeeper.jar", "zookeeper-jute.jar", "slf4j-api.jar", "slf4j-simple.jar", "metrics-core.jar", "snappy-java.jar"];
/// Jars that some versions or settings (TLS, tools) need: used if present.
const DEBIAN_WANTED: [&str; 8] = [
    "commons-cli.jar",
    "commons-io.jar",
    "netty-buffer.jar",
    "netty-codec.jar",
    "netty-common.jar",
    "netty-handler.jar",
    "netty-resolver.jar",
    "netty-transport.jar",
];

/// Search locations. A value, so that a test need not change the environment of its process.
#[derive(Clone, Debug, Default)]
pub struct InstallLocations {
    /// `JAVA_HOME`: if set, it must contain `bin/java`.
    pub java_home: Option<PathBuf>,
    /// `PATH`.
    pub path: OsString,
    /// `--zookeeper-home` or `ZOOKEEPER_HOME`: if set, it must be a release directory.
    pub zookeeper_home: Option<PathBuf>,
    /// The folder of the packages' jars.
    pub packaged_jars: PathBuf,
}

impl InstallLocations {
    /// The locations from this process's environment.
    #[must_use]
    pub fn from_env() -> Self {
        let given = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        Self {
            java_home: given("JAVA_HOME"),
            path: std::env::var_os("PATH").unwrap_or_default(),
            zookeeper_home: given("ZOOKEEPER_HOME"),
            packaged_jars: PathBuf::from("/usr/share/java"),
        }
    }

    /// The `java` to run.
    ///
    /// # Errors
    /// [`EnsembleError::NoJava`], with the locations searched.
    pub fn java(&self) -> Result<PathBuf, EnsembleError> {
        if let Some(home) = &self.java_home {
            let java = home.join("bin/java");
            let looked = format!("JAVA_HOME is {} and has no executable bin/java", home.display());
            return if is_executable(&java) { Ok(absolute(java)) } else { Err(EnsembleError::NoJava { looked }) };
        }
        let looked = || "JAVA_HOME is not set and no folder of PATH has an executable java".to_owned();
        let mut found = std::env::split_paths(&self.path).map(|folder| folder.join("java"));
        found.find(|java| is_executable(java)).map(absolute).ok_or_else(|| EnsembleError::NoJava { looked: looked() })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// All jars in one folder, as in Debian's packages.
    Packaged,
    /// An unpacked release.
    Release,
}

/// The Java and ZooKeeper for starting a server.
#[derive(Clone, Debug)]
pub struct Install {
    pub java: PathBuf,
    pub layout: Layout,
    /// The release directory, or the folder of the jars.
    pub home: PathBuf,
    pub jars: Vec<PathBuf>,
    /// From the name of ZooKeeper's jar.
    pub version: Option<String>,
}

impl Install {
    /// Finds Java, then ZooKeeper: the release directory if one is given, else the packaged jars.
    ///
    /// # Errors
    /// What is missing, where, and the remedy.
    pub fn find(places: &InstallLocations) -> Result<Self, EnsembleError> {
        let java = places.java()?;
        match &places.zookeeper_home {
            Some(home) => Self::release(java, home),
            None => Self::packaged(java, &places.packaged_jars),
        }
    }

    fn packaged(java: PathBuf, folder: &Path) -> Result<Self, EnsembleError> {
        let missing: Vec<String> =
            DEBIAN_NEEDED.iter().filter(|jar| !folder.join(jar).is_file()).map(ToString::to_string).collect();
        if !missing.is_empty() {
            return Err(EnsembleError::NoZooKeeper { place: folder.to_owned(), missing });
        }
        let wanted = DEBIAN_NEEDED.iter().chain(&DEBIAN_WANTED).map(|jar| folder.join(jar));
        let jars = wanted.filter(|jar| jar.is_file()).collect();
        let version = jar_names(folder).iter().find_map(|name| version_of(name));
        Ok(Self { java, layout: Layout::Packaged, home: folder.to_owned(), jars, version })
    }

    fn release(java: PathBuf, home: &Path) -> Result<Self, EnsembleError> {
        let bad = |missing: Vec<String>| EnsembleError::BadHome { home: home.to_owned(), missing };
        let lib = home.join("lib");
        if !home.is_dir() {
            return Err(bad(vec!["everything: there is no such folder".to_owned()]));
        }
        if !lib.is_dir() {
            return Err(bad(vec!["lib/".to_owned()]));
        }
        let names = jar_names(&lib);
        let needed = [
            ("lib/zookeeper-<version>.jar", names.iter().any(|n| version_of(n).is_some())),
            ("lib/zookeeper-jute-<version>.jar", names.iter().any(|n| n.starts_with("zookeeper-jute-"))),
            ("lib/slf4j-api-<version>.jar", names.iter().any(|n| n.starts_with("slf4j-api"))),
        ];
        let missing: Vec<String> = needed.iter().filter(|(_, there)| !there).map(|(n, _)| (*n).to_owned()).collect();
        if !missing.is_empty() {
            return Err(bad(missing));
        }
        // Absolute, because servers run in folders of their own.
        let home = home.canonicalize().map_err(|e| bad(vec![e.to_string()]))?;
        let version = names.iter().find_map(|name| version_of(name));
        let jars = names.iter().map(|name| home.join("lib").join(name)).collect();
        Ok(Self { java, layout: Layout::Release, home, jars, version })
    }

    /// The origin of the installation, for people.
    #[must_use]
    pub fn describe(&self) -> String {
        match self.layout {
            Layout::Packaged => format!("from the packages' jars in {}", self.home.display()),
            Layout::Release => format!("from the release in {}", self.home.display()),
        }
    }
}

/// Names of the jars in a folder, sorted.
fn jar_names(folder: &Path) -> Vec<String> {
    let entries =
        fs::read_dir(folder).into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = entries.filter(|name| name.ends_with(".jar")).collect();
    names.sort();
    names
}

/// `3.8.0` of `zookeeper-3.8.0.jar`; None for other jars, such as `zookeeper-jute-3.8.0.jar`.
fn version_of(jar: &str) -> Option<String> {
    let version = jar.strip_prefix("zookeeper-")?.strip_suffix(".jar")?;
    version.starts_with(|c: char| c.is_ascii_digit()).then(|| version.to_owned())
}

/// Servers run in folders of their own, where a relative path would mean another file.
fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::version_of;

    #[test]
    fn only_the_server_jar_names_the_version() {
        assert_eq!(version_of("zookeeper-3.8.0.jar").as_deref(), Some("3.8.0"));
        assert_eq!(version_of("zookeeper-3.9.2-beta.jar").as_deref(), Some("3.9.2-beta"));
        for other in ["zookeeper-jute-3.8.0.jar", "zookeeper.jar", "netty-3.8.0.jar", "zookeeper-3.8.0.pom"] {
            assert_eq!(version_of(other), None, "{other}");
        }
    }
}
