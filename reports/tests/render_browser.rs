//! The pages in a real browser: they must show without a word on its console, run nothing and ask the network for nothing.
//! A page that does ask is loaded first, to see that this test would notice.

mod render_sample;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use hustings_reports::render::html;
use render_sample::pools::repeated;
use render_sample::{empty, fenced_and_unfenced, herd, hostile, large, sample};

/// What the browser said on its console, and the addresses it was asked for on behalf of the page.
struct Visit {
    dom: String,
    console: Vec<String>,
    requests: Vec<String>,
}

fn browser() -> &'static str {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let found = std::env::var_os("PATH").and_then(|path| {
        let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
        names.into_iter().find(|name| folders.iter().any(|folder| folder.join(name).is_file()))
    });
    found.expect("no chromium on PATH, so the page cannot be tried in a browser; ci/setup.sh installs it")
}

#[expect(clippy::disallowed_methods, reason = "only a test of the page starts a browser")]
fn visit(page: &Path) -> Visit {
    let folder = tempfile::tempdir().expect("a folder for the browser");
    let file = |name: &str| folder.path().join(name);
    let create = |name: &str| std::fs::File::create(file(name)).expect("a file for the browser's words");
    let mut child = Command::new(browser())
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"])
        .args(["--disable-component-update", "--disable-sync", "--disable-extensions", "--enable-logging=stderr"])
        .args(["--timeout=20000", "--virtual-time-budget=2000", "--dump-dom"])
        // The browser is kept from calling home.
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
    Visit {
        dom: read("dom"),
        console: errors.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect(),
        requests: requests(&net),
    }
}

/// Waits for the browser, two minutes at most; then ends it.
fn wait(child: &mut Child) -> Option<ExitStatus> {
    for _ in 0..2_400 {
        if let Some(status) = child.try_wait().expect("the browser can be waited for") {
            return Some(status);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    child.kill().expect("the browser can be ended");
    child.wait().expect("the browser can be waited for");
    None
}

/// Addresses that were asked for by a page from a file. What the browser asks for itself belongs to no such site.
fn requests(net: &str) -> Vec<String> {
    net.lines()
        .filter(|line| line.contains("\"url\":\"") && line.contains("{site=file://"))
        .filter_map(|line| line.split("\"url\":\"").nth(1)?.split('"').next())
        .map(str::to_owned)
        .collect()
}

fn written(name: &str, page: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, page).expect("the page is written");
    path
}

#[test]
fn this_test_would_notice_a_request_and_a_breach_of_the_policy() {
    let asks = visit(&written("asks.html", "<!DOCTYPE html><img src='http://127.0.0.1:47123/x.png'>"));
    assert!(asks.requests.iter().any(|url| url.starts_with("http://127.0.0.1:47123/")), "{:?}", asks.requests);
    let page = html(&sample()).expect("the page is made");
    let page = page
        .replace("</main>", "<script>document.title = 'ran'</script><img src='http://127.0.0.1:47123/x.png'></main>");
    let breach = visit(&written("breach.html", &page));
    assert!(breach.console.len() >= 2, "the policy did not speak up: {:?}", breach.console);
    assert!(breach.requests.is_empty(), "the policy let through {:?}", breach.requests);
    assert!(!breach.dom.contains("<title>ran"), "the policy let a script run");
}

#[test]
fn no_page_says_a_word_on_the_console_or_asks_the_network() {
    let attack = "<script>document.title='ran'</script><img src=http://127.0.0.1:47123/x.png onerror=alert(1)>\"&'";
    let pages = [
        ("sample", sample()),
        ("repeated", repeated()),
        ("empty", empty()),
        ("fenced", fenced_and_unfenced()),
        ("herd", herd()),
        ("large", large(60)),
        ("hostile", hostile(attack)),
    ];
    for (name, summary) in pages {
        let page = html(&summary).expect("the page is made");
        let visit = visit(&written(&format!("{name}.html"), &page));
        assert!(visit.console.is_empty(), "{name}: {:?}", visit.console);
        assert!(visit.requests.is_empty(), "{name}: {:?}", visit.requests);
        assert!(visit.dom.contains("How to read it"), "{name}: the page did not come through");
        assert_eq!(visit.dom.matches("<script").count(), 0, "{name}");
        assert_eq!(visit.dom.matches("<svg").count(), page.matches("<svg").count(), "{name}");
    }
}
