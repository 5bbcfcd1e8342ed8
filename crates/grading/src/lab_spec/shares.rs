//! How often a grade meets what programs are wrong at: simulated draws of the labs' own files, as
//! the page on points states them. With `BLESS=1` the page is written.

use std::fmt::Write;

use super::draw::TILES;
use super::{CaseSpec, embedded, embedded_files};

/// Draws of each lab.
const DRAWS: u64 = 1000;

/// A property of a drawn case, by its lab and parameters.
struct Property {
    /// As the page names it.
    name: &'static str,
    /// The labs that can have it.
    labs: &'static [&'static str],
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
        let names = self.lab.extent_parameters();
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

    fn has_equal_extents(&self) -> bool {
        let extents = self.extents();
        extents.len() > 1 && extents.iter().all(|n| *n == extents[0])
    }

    /// Whether each axis has more than one block of the course's plain solution, for many steps.
    fn is_long_in_several_blocks(&self) -> bool {
        let block: &[u64] = match self.lab.name {
            "wave2d" => &[32, 8],
            "poisson" => &[32],
            // x, y, z.
            _ => &[2, 4, 32],
        };
        let extents = self.extents();
        self.steps() > 25 && extents.iter().zip(block).all(|(n, block)| n > block)
    }
}

const LABS: &[&str] = &[
    "matadd",
    "membench",
    "wave2d",
    "poisson",
    "wave3d",
    "stencil25",
];
const STEPPING: &[&str] = &["wave2d", "poisson", "wave3d", "stencil25"];

const PROPERTIES: &[Property] = &[
    Property {
        name: "an extent at or beside a multiple of 8, 32, 64, 128 or 256",
        labs: LABS,
        least: 95,
        has: Drawn::is_beside_a_tile,
    },
    Property {
        name: "an extent of one more than a multiple of 32",
        labs: LABS,
        least: 20,
        has: Drawn::is_beyond_a_block,
    },
    Property {
        name: "equal extents",
        labs: &["matadd", "wave2d", "wave3d", "stencil25"],
        least: 20,
        has: Drawn::has_equal_extents,
    },
    Property {
        name: "no steps at all",
        labs: STEPPING,
        least: 10,
        has: |drawn| drawn.steps() == 0,
    },
    Property {
        name: "over 200 steps",
        labs: STEPPING,
        least: 100,
        has: |drawn| drawn.steps() > 200,
    },
    Property {
        name: "over 25 steps with several blocks along each axis",
        labs: STEPPING,
        least: 100,
        has: Drawn::is_long_in_several_blocks,
    },
    Property {
        name: "a `first_step` less than 100,000 below 2^32",
        labs: &["wave2d"],
        least: 100,
        has: |drawn| drawn.number("first_step").unwrap_or(0) > (1 << 32) - 100_000,
    },
    Property {
        name: "`k` at or beside an end of its range",
        labs: &["wave2d"],
        least: 60,
        has: |drawn| {
            let k: f64 = drawn
                .spec
                .params
                .get("k")
                .unwrap_or("0.25")
                .parse()
                .unwrap();
            k <= 0.0505 || k >= 0.4995
        },
    },
    Property {
        name: "more than 65,535 rows",
        labs: &["matadd"],
        least: 100,
        has: |drawn| drawn.number("n_y").unwrap_or(0) > 65_535,
    },
    Property {
        name: "over 200 iterations beyond `n` = 16",
        labs: &["poisson"],
        least: 100,
        has: |drawn| drawn.steps() > 200 && drawn.number("n").unwrap_or(0) > 16,
    },
];

/// The share of a lab's grades with this property in some drawn case, in percent.
fn share(name: &str, property: &Property) -> u64 {
    let lab = host::find_lab(name).unwrap();
    let lab_spec = embedded(name).unwrap();
    let meets = |draw: &u64| {
        let drawn = lab_spec.drawn(*draw);
        let mut cases = drawn.cases.into_iter();
        cases.any(|spec| spec.ranges.is_some() && (property.has)(&Drawn { lab, spec }))
    };
    (0..DRAWS).filter(meets).count() as u64 * 100 / DRAWS
}

#[test]
fn grades_reach_where_programs_are_wrong() {
    let labs: Vec<&str> = embedded_files().map(|(lab, ..)| lab).collect();
    let mut table = format!("| share of grades in % | {} |\n", labs.join(" | "));
    let _ = writeln!(table, "|---|{}", "---:|".repeat(labs.len()));
    let mut rare = Vec::new();
    for property in PROPERTIES {
        let _ = write!(table, "| {} |", property.name);
        for lab in &labs {
            if !property.labs.contains(lab) {
                table += " |";
                continue;
            }
            let share = share(lab, property);
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
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/teach/points.md");
    let page = std::fs::read_to_string(file).unwrap();
    let begin = page
        .find("| share of grades")
        .expect("the page has the table");
    let end = begin + page[begin..].find("\n\n").expect("a line after it") + 1;
    if std::env::var_os("BLESS").is_some() {
        let page = format!("{}{table}{}", &page[..begin], &page[end..]);
        std::fs::write(file, page).unwrap();
    } else {
        assert_eq!(&page[begin..end], table, "run this test with BLESS=1");
    }
    assert!(rare.is_empty(), "{rare:#?}");
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
