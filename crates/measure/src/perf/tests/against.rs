//! `--against`: results of the same GPU, earlier.

use super::*;
use stats::Summary;

/// Results as they were measured earlier, when a row took this share of its time now; and a row
/// that nothing times any more.
fn earlier(share: f64) -> Results {
    let mut results = small("naive,twofold").results.unwrap();
    let rows = &mut results.cases[0].rows;
    let figures = rows[1].figures_mut().unwrap();
    let now_s = figures.run.median_s;
    // Half of the interval is about 1 %.
    let samples = (0..12).map(|index| share * now_s * (1.0 + 0.002 * (f64::from(index) - 5.5)));
    figures.run = Summary::new(samples.collect());
    figures.on_device.batched = None;
    figures.on_device.kernel_digests = [("twofold".to_owned(), "0123".to_owned())].into();
    let mut gone = rows[0].clone();
    gone.variant = "gone".to_owned();
    rows.push(gone);
    results
}

fn against(old: &Results) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("card.json");
    std::fs::write(&file, old.to_json().unwrap()).unwrap();
    let file = format!("--against={}", file.display());
    let args = [&SMALL[..], &["--variant=naive,twofold", &file]].concat();
    let mut run = timed(&args, &test_lab::machine());
    let folder = format!("{}/", folder.path().display());
    if let Err(CommandError::Input(said)) = &mut run.ending {
        *said = said.replace(&folder, "");
    }
    run
}

#[test]
fn what_is_slower_by_more_than_both_intervals_ends_with_exit_code_1() {
    let slower = against(&earlier(0.9));
    assert_eq!(slower.ending, Ok(Ending::Wrong));
    assert_eq!(
        slower.ending.unwrap().exit_code(),
        exit::codes::WRONG_RESULT
    );
    let told = slower.text.split("only old").next().unwrap().trim_end();
    let told: Vec<&str> = told.lines().rev().take(3).collect();
    insta::assert_snapshot!(told[0], @"  cuda    twofold           4.50    5.00    1.111  1.103 to 1.119  slower");
    // A row without a counterpart is listed, and is not a failure. Neither is one within
    // the intervals.
    for share in [0.995, 1.0, 1.1] {
        let run = against(&earlier(share));
        assert_eq!(run.ending, Ok(Ending::Fine), "{share}");
        assert!(
            run.text
                .contains("only old: doubling 100000 numbers, 10 steps: gone on cuda")
        );
    }
}

#[test]
fn times_of_another_gpu_are_refused_before_anything_is_timed() {
    let mut other = earlier(1.0);
    other.devices[0].info.name = "Adder 1".to_owned();
    let run = against(&other);
    insta::assert_snapshot!(run.ending.unwrap_err(), @"--against card.json: has times of Adder 1, and cuda is Adder 9000; name results of Adder 9000, as `perf --json=FILE` writes them");
    assert_eq!(run.text, "");
    other.devices.clear();
    other.cases.clear();
    insta::assert_snapshot!(against(&other).ending.unwrap_err(), @"card.json and this run have no row in common: the first has 0 timed rows, the second 2 timed rows of doubling; time the same labs, variants and devices");
}
