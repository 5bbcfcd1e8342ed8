//! Lab 0, done as its page says: the reader's two files after each change, and what the program
//! answers.

use std::fs;
use std::path::Path;

use crate::book::{ROOT, typed, workplace};
use crate::run::describe;

/// The page's blocks of this language.
fn blocks<'p>(page: &'p str, language: &str) -> Vec<&'p str> {
    let begins = format!("```{language}\n");
    let rest = page.split(begins.as_str()).skip(1);
    rest.map(|rest| rest.split("```").next().unwrap()).collect()
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The kernel with this body.
fn with_body(kernels: &str, body: &str) -> String {
    let (before, _) = kernels.split_once("    println!").unwrap();
    format!("{before}{body}}}\n")
}

#[test]
fn lab_0_shows_what_the_program_says() {
    let page = fs::read_to_string(Path::new(ROOT).join("docs/first-kernel.md")).unwrap();
    let rust = blocks(&page, "rust");
    let said = blocks(&page, "text");
    let [
        hello,
        launch,
        in_block,
        config,
        in_grid,
        guard,
        exchange,
        ..,
    ] = rust[..]
    else {
        panic!("{} blocks", rust.len());
    };
    let of = |threads: &str| {
        launch.replace(
            "LaunchConfig::new(1, 1)",
            &format!("LaunchConfig::new({threads})"),
        )
    };
    let many = launch.replace("let config = LaunchConfig::new(1, 1);", config.trim());
    let index = in_grid.lines().next().unwrap();
    let guarded = format!("{index}\n{guard}");
    let barrier = "thread::sync_threads();";
    let ordered = exchange.replace("let t = 255", &format!("{barrier}\n        let t = 255"));
    let store = "*b.add(first + t);\n";
    let in_branch = exchange.replacen(store, &format!("{store}            {barrier}\n"), 1);
    let body = |body: &str| with_body(hello, body);

    // In the order of the page: kernels, launch, elements, and the block of text that shows what
    // is said.
    let steps = [
        (hello.to_owned(), of("1, 1"), 1, said[0]),
        (hello.to_owned(), of("1, 1"), 4, said[1]),
        (hello.to_owned(), of("1, 4"), 4, said[2]),
        (body(in_block), of("1, 256"), 256, said[3]),
        (body(in_block), of("1, 1025"), 1025, said[4]),
        (body(in_block), many.clone(), 1000, "wrong in 744 of 1000"),
        (body(in_grid), many.clone(), 1024, "1024x1 ok"),
        (body(in_grid), many.clone(), 1000, said[5]),
        (body(&guarded), many.clone(), 1000, said[6]),
        (body(exchange), many.clone(), 1000, said[7]),
        (body(&ordered), many.clone(), 1000, said[8]),
        (body(&in_branch), many, 1000, said[9]),
    ];
    let (folder, search) = workplace();
    let course = folder.path().join("course");
    fs::create_dir(course.join("first")).unwrap();
    for (kernels, host, n, shown) in steps {
        fs::write(course.join("first/kernels.rs"), &kernels).unwrap();
        fs::write(course.join("first/launch.rs"), host).unwrap();
        let command = format!(
            "harness test matadd --submission first --device emulated --param n_x={n} --param n_y=1"
        );
        let output = typed(&command, &course, &search);
        let both = [&output.stdout[..], &output.stderr].concat();
        let answer = flat(&String::from_utf8_lossy(&both));
        let shown = flat(shown);
        assert!(
            answer.contains(&shown),
            "{n} elements, not said: {shown}\n{kernels}\n{}",
            describe(&output)
        );
    }
}
