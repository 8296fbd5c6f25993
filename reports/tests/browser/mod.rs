//! A real browser, driven by tests. It opens a page by itself, or in a frame of a test page whose script acts like a
//! reader and returns the result.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use serde_json::Value;

/// The browser's console messages, and the addresses that it was asked for on behalf of the page.
pub(crate) struct RenderedPage {
    pub(crate) dom: String,
    pub(crate) console: Vec<String>,
    pub(crate) requests: Vec<String>,
}

/// The virtual time for timers, in milliseconds.
const BUDGET_MS: u32 = 60_000;

pub(crate) fn program() -> &'static str {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let found = std::env::var_os("PATH").and_then(|path| {
        let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
        names.into_iter().find(|name| folders.iter().any(|folder| folder.join(name).is_file()))
    });
    found.expect("no chromium on PATH, so the page cannot be tried in a browser; ci/setup.sh installs it")
}

/// Opens the page and runs its remaining timers. `browser`: the command that starts one.
pub(crate) fn visit(mut browser: Command, page: &Path) -> RenderedPage {
    let folder = tempfile::tempdir().expect("a folder for the browser");
    let file = |name: &str| folder.path().join(name);
    let create = |name: &str| std::fs::File::create(file(name)).expect("a file for the browser's words");
    let mut child = browser
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"])
        .args(["--disable-component-update", "--disable-sync", "--disable-extensions", "--enable-logging=stderr"])
        .args(["--timeout=60000", "--dump-dom", "--window-size=1300,900"])
        .arg(format!("--virtual-time-budget={BUDGET_MS}"))
        // Keeps the browser from contacting its vendor.
        .arg("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
        .arg(format!("--user-data-dir={}", file("profile").display()))
        .arg(format!("--log-net-log={}", file("net.json").display()))
        .arg(format!("file://{}", page.display()))
        .stdin(Stdio::null())
        .stdout(create("dom"))
        .stderr(create("errors"))
        .spawn()
        .expect("the browser starts");
    let ended = wait(&mut child);
    let read = |name: &str| String::from_utf8_lossy(&std::fs::read(file(name)).unwrap_or_default()).into_owned();
    let errors = read("errors");
    assert!(ended.is_some_and(|status| status.success()), "the browser ended with {ended:?}:\n{errors}");
    let net = read("net.json");
    assert!(net.contains("\"events\""), "the browser kept no log of the network, so nothing can be said of it");
    RenderedPage {
        dom: read("dom"),
        console: errors.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect(),
        requests: requests(&net),
    }
}

/// The result of `script`: the body of an async function with the page as `page` (its document) and `view` (its
/// window). The frame is this many pixels wide. The folder of `page` must be writable.
pub(crate) fn drive(mut browser: Command, page: &Path, width: u32, script: &str) -> (Value, RenderedPage) {
    const DRIVER: &str = r#"<!DOCTYPE html><meta charset="utf-8"><title>driver</title>
<iframe id="frame" width="WIDTH" height="900"></iframe><pre id="came"></pre>
<script>
const frame = document.getElementById("frame");
const settled = () => new Promise((done) => setTimeout(done, 50));
frame.onload = async () => {
  let came;
  try {
    const page = frame.contentDocument, view = frame.contentWindow;
    came = { came: await (async () => { SCRIPT })() };
  } catch (error) {
    came = { error: String(error && error.stack || error) };
  }
  const plain = JSON.stringify(came).replace(/[<>&\u007f-\uffff]/g, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
  document.getElementById("came").textContent = "came:" + plain + ":came";
};
frame.src = "PAGE";
</script>"#;
    let name = page.file_name().and_then(|name| name.to_str()).expect("a plain name");
    let driver = DRIVER.replace("WIDTH", &width.to_string()).replace("PAGE", name).replace("SCRIPT", script);
    let file = page.with_extension(format!("{width}.driver.html"));
    std::fs::write(&file, driver).expect("the driver is written");
    // Lets pages from files access each other.
    browser.arg("--allow-file-access-from-files");
    let visit = visit(browser, &file);
    let said = visit.dom.split("came:").nth(1).and_then(|rest| rest.split(":came").next());
    let said = said.unwrap_or_else(|| panic!("the script did not end; the console: {:?}", visit.console));
    let said: Value = serde_json::from_str(said).expect("JSON");
    assert!(said["error"].is_null(), "{}", said["error"].as_str().unwrap_or_default());
    (said["came"].clone(), visit)
}

/// Waits for the browser, three minutes at most; then ends it.
fn wait(child: &mut Child) -> Option<ExitStatus> {
    for _ in 0..3_600 {
        if let Some(status) = child.try_wait().expect("the browser can be waited for") {
            return Some(status);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    child.kill().expect("the browser can be ended");
    child.wait().expect("the browser can be waited for");
    None
}

/// Addresses requested by a page from a file, except files. The browser's own requests have no such site.
fn requests(net: &str) -> Vec<String> {
    net.lines()
        .filter(|line| line.contains("\"url\":\"") && line.contains("{site=file://"))
        .filter_map(|line| line.split("\"url\":\"").nth(1)?.split('"').next())
        .filter(|url| !url.starts_with("file://"))
        .map(str::to_owned)
        .collect()
}
