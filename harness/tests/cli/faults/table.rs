//! The rows: every command, with what it reads and writes.

use std::path::Path;

use super::fixture;

/// A command line. `<NAME` is a file or folder of [`fixture`] that the command reads; `>NAME` is
/// one that it writes, with a `/` at its end for a folder. Both may follow a flag and `=`.
pub struct Row {
    pub line: &'static str,
    /// Whether the work behind it takes seconds, such as compiling a submission: then only what is
    /// refused before is tried, and signals.
    pub is_long: bool,
}

const fn short(line: &'static str) -> Row {
    Row {
        line,
        is_long: false,
    }
}

const fn long(line: &'static str) -> Row {
    Row {
        line,
        is_long: true,
    }
}

/// Every command is here, and every argument that is a path: a test asks clap which there are.
pub const TABLE: [Row; 38] = [
    short("list --json=>o.json"),
    long("doctor --json=>o.json"),
    short(
        "test matadd --device emulated --json=>o.json --sarif >s.sarif --junit >j.xml --replay >r.html",
    ),
    long("test matadd --device cpu --submission <sub --json=>o.json"),
    short(
        "perf matadd --device cpu --quick --param n_x=8 --param n_y=8 --json=>o.json --html >o.html",
    ),
    long(
        "perf matadd --device cpu --submission <sub --against <p.json --json=>o.json --html >o.html",
    ),
    long("tune wave2d single --device emulated --submission <sub --table >t.toml"),
    short("compare <p.json <q.json --json=>o.json"),
    short("profile matadd --variant grid2d_block2d_32x8 --json=>o.json"),
    long("profile matadd --submission <sub --json=>o.json"),
    short("counts <k.ptx --baseline >b.json --update"),
    short("counts <k.ptx --baseline <b.json"),
    long("counts matadd --submission <sub --baseline >b.json --update"),
    long(
        "grade <sub --lab matadd --lab-file <lab.toml -o >o.json --html >o.html --gradescope >g.json --student-report >s.json --heat-maps >maps/ --sarif >s.sarif --junit >j.xml --replay >r.html",
    ),
    long("grade --all <class --lab matadd --lab-file <lab.toml --canvas <grades.csv -o >results/"),
    long("watch <sub --lab matadd --once --replay >r.html"),
    long("progress --json=>o.json"),
    short("grade-worker pack <sub"),
    short("report <p.json -o >page.html --ladder >l.svg"),
    short("run poisson --n 9 --iterations 2 --device cpu --output npy --out >p/"),
    long(
        "run poisson --n 9 --iterations 2 --submission <sub --output npy --out >p/ --replay >r.html",
    ),
    short(
        "run stencil25 --model <m.npy --shell 4 --steps 4 --device cpu --out >f/ --gif >a.gif --receivers >r.npy",
    ),
    long("run stencil25 --shape 20,20,20 --submission <sub --out >f/ --replay >r.html"),
    short("run wave2d --shape 30,20 --steps 4 --device cpu --gif >a.gif --out >f/"),
    long("run wave2d --shape 30,20 --submission <sub --gif >a.gif --replay >r.html"),
    short("run wave3d --shape 16,16,16 --steps 4 --device cpu --out >f/"),
    long("run wave3d --shape 16,16,16 --submission <sub --out >f/ --replay >r.html"),
    long("run matadd --submission <sub"),
    short(
        "run matadd --check-index grid2d_block2d_32x8 --device emulated --shape 8,4 --json=>o.json",
    ),
    short("run membench --plot >m.svg --map >n.svg --json=>o.json"),
    long("check-course matadd --course <course"),
    short("new >own --path <course"),
    short("new-lab zz --course <course"),
    long("export --course <course --program <prog --out >copy/"),
    long(
        "pack <sub --lab matadd --lab-file <lab.toml --course <course --cache <cache -o >o.bundle",
    ),
    short("launch --processes 2 -- run wave2d --shape 30,20 --steps 4 --device cpu"),
    short(
        "emulate <k.ptx --kernel k --json=>o.json --sarif >s.sarif --junit >j.xml --replay >r.html u32[4]=7",
    ),
    short("emulate --suppress <known --json=>o.json --sarif >s.sarif --junit >j.xml -- <./prog ok"),
];

/// Rows that none of the faults concerns: they have no paths.
pub const PLAIN: [Row; 1] = [short("occupancy --registers 32 --threads 256 --gpu h100")];

/// A word of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word<'r> {
    Plain(&'r str),
    /// The flag with its `=`, or nothing, and the path.
    Input(&'r str, &'r str),
    Output(&'r str, &'r str),
}

impl Word<'_> {
    pub fn text(&self) -> String {
        match self {
            Word::Plain(text) => (*text).to_owned(),
            Word::Input(flag, path) | Word::Output(flag, path) => format!("{flag}{path}"),
        }
    }

    /// The word's text with this path instead of its own.
    pub fn with(&self, path: &str) -> String {
        match self {
            Word::Plain(text) => (*text).to_owned(),
            Word::Input(flag, _) | Word::Output(flag, _) => format!("{flag}{path}"),
        }
    }
}

impl Row {
    pub fn words(&self) -> Vec<Word<'static>> {
        let word = |word: &'static str| {
            let mark = word
                .find(['<', '>'])
                .filter(|_| !word.starts_with("--shape"));
            let Some(at) = mark else {
                return Word::Plain(word);
            };
            let (flag, path) = (&word[..at], &word[at + 1..]);
            match word.as_bytes()[at] {
                b'<' => Word::Input(flag, path),
                _ => Word::Output(flag, path),
            }
        };
        self.line.split(' ').map(word).collect()
    }

    /// The command line as it is meant.
    pub fn plain(&self) -> Vec<String> {
        self.words().iter().map(Word::text).collect()
    }

    /// Command lines in which one word has another path: `choose` says which.
    pub fn variations<'p>(
        &self,
        choose: impl Fn(Word<'static>) -> Vec<&'p str>,
    ) -> Vec<Vec<String>> {
        let (words, plain) = (self.words(), self.plain());
        let mut lines = Vec::new();
        for (at, word) in words.iter().enumerate() {
            for path in choose(*word) {
                let mut line = plain.clone();
                line[at] = word.with(path);
                lines.push(line);
            }
        }
        lines
    }
}

/// Every path of the rows that is read is in the fixture.
#[test]
fn the_fixture_has_every_input() {
    let folder = tempfile::tempdir().unwrap();
    fixture::make(folder.path());
    for row in TABLE {
        for word in row.words() {
            if let Word::Input(_, path) = word {
                assert!(folder.path().join(Path::new(path)).exists(), "{}", row.line);
            }
        }
    }
}
