//! The page in a real browser: Chromium without a screen, where there is one.
//!
//! Debian's package is `chromium`. The page's own script runs under the page's policy in the first
//! test; the others add a script that uses the page, which that policy would not let run.

use std::path::Path;
use std::process::Command;

use super::*;

/// Names of the program.
const CHROMIUM: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// The document as Chromium has it once its scripts have run; `None`, which is said, where there is
/// no Chromium.
fn shown(html: &str, flags: &[&str]) -> Option<String> {
    let Some(program) = CHROMIUM.iter().find(|name| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
    }) else {
        eprintln!("skipped: no Chromium");
        return None;
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    std::fs::write(&file, html).unwrap();
    let ran = Command::new(program)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
        .arg("--virtual-time-budget=3000")
        .arg(format!("--user-data-dir={}", folder.path().display()))
        .args(flags)
        .arg(address(&file))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said}");
    Some(String::from_utf8(ran.stdout).unwrap())
}

fn address(file: &Path) -> String {
    format!("file://{}", file.display())
}

/// The value that `script` returns on the page.
fn asked(html: &str, flags: &[&str], script: &str) -> Option<serde_json::Value> {
    let policy = html.find("<meta http-equiv=").unwrap();
    let end = policy + html[policy..].find('>').unwrap() + 1;
    let probe = format!(
        "<script>addEventListener('load', () => {{ const answer = (() => {{ {script} }})(); \
         const all = document.createElement('pre'); all.id = 'answer'; \
         all.textContent = JSON.stringify(answer); document.body.append(all); }});</script>"
    );
    let html = format!("{}{}{probe}", &html[..policy], &html[end..]);
    let shown = shown(&html, flags)?;
    let (_, answer) = shown.split_once("<pre id=\"answer\">").expect(&shown);
    let (answer, _) = answer.split_once("</pre>").unwrap();
    let answer = answer
        .replace("&gt;", ">")
        .replace("&lt;", "<")
        .replace("&amp;", "&");
    Some(serde_json::from_str(&answer).unwrap())
}

/// The longest table, in its fold.
const TABLE: &str = "document.querySelectorAll('details').forEach((fold) => fold.open = true); \
    const tables = [...document.querySelectorAll('table')]; \
    tables.sort((a, b) => b.tBodies[0].rows.length - a.tBodies[0].rows.length); \
    const table = tables[0]; \
    const rows = () => [...table.tBodies[0].rows].filter((row) => row.offsetHeight > 0);";

#[test]
fn the_pages_own_script_runs_under_its_policy() {
    let html = of(&[PERF, MEMBENCH]);
    assert!(!html.contains("<button"));
    if let Some(shown) = shown(&html, &[]) {
        assert!(shown.contains("<th><button>") && shown.contains("type=\"search\""));
    }
}

#[test]
fn tables_are_sorted_and_filtered() {
    let script = format!(
        "{TABLE} const numbers = [...table.tHead.rows[0].cells]; \
         const column = numbers.findIndex((head) => head.classList.contains('n')); \
         const values = () => rows().filter((row) => row.cells.length > column) \
             .map((row) => parseFloat(row.cells[column].textContent.replaceAll(',', ''))) \
             .filter((value) => !isNaN(value)); \
         const groups = table.querySelectorAll('th.group').length; \
         const press = () => {{ numbers[column].querySelector('button').click(); return values(); }}; \
         const [up, down] = [press(), press()]; \
         const all = rows().length; \
         const field = table.parentElement.previousElementSibling; \
         const word = rows().find((row) => !row.querySelector('th.group')).cells[0].textContent; \
         field.value = word; field.dispatchEvent(new Event('input')); \
         const some = rows().map((row) => row.textContent); \
         field.value = 'no row has this'; field.dispatchEvent(new Event('input')); \
         return {{ groups, up, down, all, word, some, none: rows().length }};"
    );
    let Some(answer) = asked(&of(&[PERF, MEMBENCH]), &[], &script) else {
        return;
    };
    let numbers = |name: &str| -> Vec<f64> {
        let values = answer[name].as_array().unwrap().iter();
        values.map(|value| value.as_f64().unwrap()).collect()
    };
    let (up, down) = (numbers("up"), numbers("down"));
    assert!(up.len() > 4 && up.len() == down.len(), "{answer}");
    // Each group is sorted by itself.
    let groups = answer["groups"].as_u64().unwrap() as usize;
    let falls = |values: &[f64]| values.windows(2).filter(|pair| pair[0] > pair[1]).count();
    let rises = |values: &[f64]| values.windows(2).filter(|pair| pair[0] < pair[1]).count();
    assert!(
        falls(&up) < groups.max(1) && rises(&down) < groups.max(1),
        "{answer}"
    );
    assert_ne!(up, down, "{answer}");
    let some = answer["some"].as_array().unwrap();
    assert!(
        !some.is_empty() && some.len() < answer["all"].as_u64().unwrap() as usize,
        "{answer}"
    );
    assert_eq!(answer["none"], 0, "{answer}");
}

#[test]
fn a_phone_shows_the_page_without_scrolling_sideways() {
    // Chromium's window is at least 500 wide; a frame is as narrow as it is told to be.
    let script = format!(
        "{TABLE} document.body.style.width = '375px'; \
         const wide = [...document.querySelectorAll('main > *')] \
             .filter((part) => part.getBoundingClientRect().right > 376) \
             .map((part) => part.outerHTML.slice(0, 200)); return wide;"
    );
    let html = of(&[PERF, MEMBENCH]);
    if let Some(wide) = asked(&html, &["--window-size=500,800"], &script) {
        assert_eq!(wide, serde_json::json!([]));
    }
}

#[test]
fn a_dark_browser_gets_a_dark_page() {
    let script = "const of = (name) => getComputedStyle(document.body)[name] \
                  .match(/\\\\d+/g).slice(0, 3).reduce((sum, part) => sum + +part, 0); \
                  return [of('backgroundColor'), of('color')];"
        .replace("\\\\", "\\");
    let html = of(&[PERF, MEMBENCH]);
    let brightness = |scheme: u32| -> Option<[u64; 2]> {
        let flag = format!("--blink-settings=preferredColorScheme={scheme}");
        let answer = asked(&html, &[&flag], &script)?;
        Some([0, 1].map(|part| answer[part].as_u64().unwrap()))
    };
    if let (Some(dark), Some(light)) = (brightness(0), brightness(1)) {
        assert!(dark[0] < 200 && dark[1] > 500, "{dark:?}");
        assert!(light[0] > 700 && light[1] < 200, "{light:?}");
    }
}
