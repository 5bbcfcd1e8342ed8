//! How often a grade meets what programs are wrong at: simulated draws of the labs' own files, as
//! the page on ranges states them. With `BLESS=1` the page is written.

use std::fmt::Write;

use super::draw::{Range, TILES};
use super::{CaseSpec, Group, LabSpec, embedded, embedded_files};

/// Draws of each lab.
const DRAWS: u64 = 1000;

/// A property of a drawn case, by its lab and parameters.
struct Property {
    /// As the page names it.
    name: &'static str,
    /// Whether a lab can have it, as it and its file are.
    applies: fn(&lab::Lab, &LabSpec) -> bool,
    /// The least share of grades that have it in some case, in percent.
    least: u64,
    has: fn(&Drawn) -> bool,
}

/// A drawn case.
struct Drawn {
    lab: &'static lab::Lab,
    spec: CaseSpec,
}

impl Drawn {
    fn number(&self, name: &str) -> Option<u64> {
        self.spec.params.get(name)?.parse().ok()
    }

    fn extents(&self) -> Vec<u64> {
        let names = self.lab.extents.iter();
        names.filter_map(|name| self.number(name)).collect()
    }

    fn steps(&self) -> u64 {
        self.number(self.lab.steps_parameter().unwrap_or_default())
            .unwrap_or(0)
    }

    /// Whether some extent is one more than a multiple of a warp's lanes, where a last block has
    /// one column.
    fn is_beyond_a_block(&self) -> bool {
        self.extents().iter().any(|n| *n > 32 && n % 32 == 1)
    }

    fn is_beside_a_tile(&self) -> bool {
        self.extents().iter().any(|n| {
            let is_beside = |tile: &u64| *n >= tile - 1 && (n + 1) % tile <= 2;
            TILES.iter().any(is_beside)
        })
    }

    /// Whether each extent is a multiple of a warp's lanes: plain blocks fit without a rest.
    fn has_whole_warps(&self) -> bool {
        let extents = self.extents();
        extents.iter().all(|n| *n > 0 && n % 32 == 0)
    }

    fn elements(&self) -> u64 {
        let extents = self.extents();
        // Lab poisson's one extent is that of each axis of a cube.
        let axes = if extents.len() == 1 && self.lab.name == "poisson" {
            3
        } else {
            1
        };
        extents.iter().product::<u64>().pow(axes)
    }

    fn scale(&self) -> i32 {
        let name = self.lab.scale_parameter().unwrap_or_default();
        let scale = self.spec.params.get(name);
        scale.map_or(0, |scale| scale.parse().unwrap())
    }

    fn k(&self) -> f64 {
        let k = self.spec.params.get("k");
        k.map_or(0.25, |k| k.parse().unwrap())
    }

    /// Whether the number of a timestep goes beyond 32 bits.
    fn wraps(&self) -> bool {
        self.number("first_step").unwrap_or(0) + self.steps() > 1 << 32
    }

    fn has_equal_extents(&self) -> bool {
        let extents = self.extents();
        extents.len() > 1 && extents.iter().all(|n| *n == extents[0])
    }

    /// Whether each axis has more than one block of a plain launch, for many steps: a warp's lanes
    /// along one axis, at most 8 threads along the others.
    fn is_long_in_several_blocks(&self) -> bool {
        let extents = self.extents();
        let has_blocks = extents.iter().all(|n| *n > 8) && extents.iter().any(|n| *n > 32);
        self.steps() > 25 && has_blocks
    }
}

fn has_steps(lab: &lab::Lab, _: &LabSpec) -> bool {
    lab.steps_parameter().is_some()
}

/// Whether the file draws this parameter, from a range that reaches this value.
fn reaches(spec: &LabSpec, name: &str, far: u64) -> bool {
    let ranges = spec.cases.iter().filter_map(|case| case.ranges.as_ref());
    let mut own = ranges
        .flat_map(|ranges| &ranges.of)
        .filter(|of| of.0 == name);
    own.any(|(_, range)| match range {
        Range::Whole { to, .. } => *to >= far,
        Range::Real { to, .. } => *to >= far as f64,
        _ => false,
    })
}

/// The first number of a timestep that is near the end of 32 bits.
const LATE: u64 = (1 << 32) - 100_000;

const PROPERTIES: &[Property] = &[
    Property {
        name: "an extent at or beside a multiple of 8, 32, 64, 128 or 256",
        applies: |_, _| true,
        least: 95,
        has: Drawn::is_beside_a_tile,
    },
    Property {
        name: "an extent of one more than a multiple of 32",
        applies: |_, _| true,
        least: 20,
        has: Drawn::is_beyond_a_block,
    },
    Property {
        name: "all extents multiples of 32",
        applies: |lab, _| lab.extents.len() > 1,
        least: 40,
        has: Drawn::has_whole_warps,
    },
    Property {
        name: "an extent that is a multiple of 128",
        applies: |_, _| true,
        least: 85,
        has: |drawn| drawn.extents().iter().any(|n| *n > 0 && n % 128 == 0),
    },
    Property {
        name: "an extent that is a power of two",
        applies: |_, _| true,
        least: 60,
        has: |drawn| drawn.extents().iter().any(|n| n.is_power_of_two()),
    },
    Property {
        name: "over 800,000 elements",
        applies: |_, _| true,
        least: 99,
        has: |drawn| drawn.elements() > 800_000,
    },
    Property {
        name: "inputs of over a thousand million",
        applies: |lab, _| lab.scale_parameter().is_some(),
        least: 100,
        has: |drawn| drawn.scale() >= 30,
    },
    Property {
        name: "inputs of less than a thousand millionth",
        applies: |lab, _| lab.scale_parameter().is_some(),
        least: 100,
        has: |drawn| drawn.scale() <= -30,
    },
    Property {
        name: "equal extents",
        applies: |lab, _| lab.extents.len() > 1,
        least: 40,
        has: Drawn::has_equal_extents,
    },
    Property {
        name: "no steps at all",
        applies: has_steps,
        least: 10,
        has: |drawn| drawn.steps() == 0,
    },
    Property {
        name: "over 200 steps",
        applies: has_steps,
        least: 100,
        has: |drawn| drawn.steps() > 200,
    },
    Property {
        name: "over 200 steps beyond 100 elements along an axis",
        applies: |lab, spec| {
            has_steps(lab, spec) && reaches(spec, lab.steps_parameter().unwrap(), 1000)
        },
        least: 99,
        has: |drawn| drawn.steps() > 200 && drawn.extents().iter().any(|n| *n > 100),
    },
    Property {
        name: "over 25 steps with several blocks along each axis",
        applies: has_steps,
        least: 100,
        has: Drawn::is_long_in_several_blocks,
    },
    Property {
        name: "a `first_step` less than 100,000 below 2^32",
        applies: |_, spec| reaches(spec, "first_step", LATE),
        least: 100,
        has: |drawn| drawn.number("first_step").unwrap_or(0) > LATE,
    },
    Property {
        name: "a timestep's number that goes on at 0 after 2^32 - 1",
        applies: |_, spec| reaches(spec, "first_step", LATE),
        least: 50,
        has: Drawn::wraps,
    },
    Property {
        name: "`k` at an end of its range",
        applies: |_, spec| reaches(spec, "k", 0),
        least: 99,
        has: |drawn| drawn.k() == 0.0001 || drawn.k() == 0.5,
    },
    Property {
        name: "`k` below 0.05",
        applies: |_, spec| reaches(spec, "k", 0),
        least: 99,
        has: |drawn| drawn.k() < 0.05,
    },
    Property {
        name: "more than 65,535 rows",
        applies: |_, spec| reaches(spec, "n_y", 65_536),
        least: 100,
        has: |drawn| drawn.number("n_y").unwrap_or(0) > 65_535,
    },
    Property {
        name: "over 200 iterations beyond `n` = 16",
        applies: |lab, spec| has_steps(lab, spec) && reaches(spec, "n", 17),
        least: 100,
        has: |drawn| drawn.steps() > 200 && drawn.number("n").unwrap_or(0) > 16,
    },
];

/// The drawn cases of simulated grades.
fn grades(name: &str) -> Vec<Vec<Drawn>> {
    let lab = host::find_lab(name).unwrap();
    let lab_spec = embedded(name).unwrap();
    let of_grade = |draw| {
        let cases = lab_spec.drawn(draw).cases.into_iter();
        let drawn = cases.filter(|spec| spec.ranges.is_some());
        drawn.map(|spec| Drawn { lab, spec }).collect()
    };
    (0..DRAWS).map(of_grade).collect()
}

/// How far the cases of the labs' files go that have points without a GPU.
fn reach() -> String {
    let mut table = String::from(
        "| lab | greatest extents | steps | updates of a case |\n|---|---|---:|---:|\n",
    );
    for (name, ..) in embedded_files() {
        let lab = host::find_lab(name).unwrap();
        let cases = embedded(name).unwrap().cases.iter();
        let cases: Vec<&CaseSpec> = cases.filter(|spec| spec.group != Group::Large).collect();
        let greatest = |parameter: &str| -> u64 {
            let of_case = |spec: &&CaseSpec| {
                let mut ranges = spec.ranges.iter().flat_map(|ranges| &ranges.of);
                match ranges.find(|(of, _)| of == parameter) {
                    Some((_, Range::Whole { to, .. })) => Some(*to),
                    _ => spec.params.get(parameter)?.parse().ok(),
                }
            };
            cases.iter().filter_map(of_case).max().unwrap_or(0)
        };
        let extents = lab.extents.iter();
        let extents: Vec<String> = extents
            .map(|extent| format!("`{extent}` {}", greatest(extent)))
            .collect();
        let steps = lab.steps_parameter().map(greatest);
        let steps = steps.map_or(String::new(), |steps| steps.to_string());
        let ranges = cases.iter().filter_map(|spec| spec.ranges.as_ref());
        let updates = ranges.map(|ranges| ranges.most_updates).max().unwrap();
        let _ = writeln!(
            table,
            "| {name} | {} | {steps} | {updates} |",
            extents.join(", ")
        );
    }
    table
}

#[test]
fn grades_reach_where_programs_are_wrong() {
    let labs: Vec<&str> = embedded_files().map(|(lab, ..)| lab).collect();
    let drawn: Vec<_> = labs.iter().map(|lab| grades(lab)).collect();
    let mut table = format!("| share of grades in % | {} |\n", labs.join(" | "));
    let _ = writeln!(table, "|---|{}", "---:|".repeat(labs.len()));
    let mut rare = Vec::new();
    for property in PROPERTIES {
        let _ = write!(table, "| {} |", property.name);
        for (lab, grades) in labs.iter().zip(&drawn) {
            if !(property.applies)(host::find_lab(lab).unwrap(), embedded(lab).unwrap()) {
                table += " |";
                continue;
            }
            let meets = |grade: &&Vec<Drawn>| grade.iter().any(property.has);
            let share = grades.iter().filter(meets).count() as u64 * 100 / DRAWS;
            let (name, least) = (property.name, property.least);
            if share < least {
                rare.push(format!(
                    "{lab}: {name}: {share} % of grades, and not {least}"
                ));
            }
            let _ = write!(table, " {share} |");
        }
        table += "\n";
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/teach/ranges.md");
    let page = std::fs::read_to_string(file).unwrap();
    let made = with_table(&with_table(&page, &table), &reach());
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(file, made).unwrap();
    } else {
        assert_eq!(page, made, "run this test with BLESS=1");
    }
    assert!(rare.is_empty(), "{rare:#?}");
}

/// The page with this table instead of the one that begins with the same words.
fn with_table(page: &str, table: &str) -> String {
    let (head, _) = table.split_once('\n').unwrap();
    let words = head.split(" | ").next().unwrap();
    let words = if words == "| lab" { head } else { words };
    let begin = page.find(words).expect("the page has the table");
    let end = begin + page[begin..].find("\n\n").expect("a line after it") + 1;
    format!("{}{table}{}", &page[..begin], &page[end..])
}

/// Of all drawn extents about half are favoured, and half are as they come.
#[test]
fn extents_are_beside_tiles_and_elsewhere() {
    let lab = host::find_lab("wave2d").unwrap();
    let lab_spec = embedded("wave2d").unwrap();
    let (mut beside, mut all) = (0, 0);
    for draw in 0..200 {
        for spec in lab_spec.drawn(draw).cases {
            if spec.ranges.is_some() {
                let drawn = Drawn { lab, spec };
                all += 1;
                let n_x = drawn.number("n_x").unwrap();
                beside += u64::from(n_x > 6 && TILES[1..].iter().any(|tile| (n_x + 1) % tile <= 2));
            }
        }
    }
    // A tenth of those that come as they come are beside a multiple of 32 too.
    let share = 100 * beside / all;
    assert!((30..=65).contains(&share), "{share} %");
}
