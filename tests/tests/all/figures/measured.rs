//! What the committed measurements and counts say.

use serde_json::Value as Json;

use super::expression::Value;
use super::root;

/// The committed documents: measurements of two cards, and counts of the emulated device.
pub struct Measured {
    cards: Vec<(&'static str, Json)>,
    counts: Json,
}

/// The file of the counts.
pub const COUNTS: &str = "docs/results/counts.json";

fn document(name: &str) -> Json {
    let text = std::fs::read_to_string(root().join(name));
    let text = text.unwrap_or_else(|error| panic!("{name}: {error}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A number of a document, or what is wrong.
fn number(json: &Json, path: &str) -> Result<f64, String> {
    json.pointer(path)
        .and_then(Json::as_f64)
        .ok_or_else(|| format!("no number at {path}"))
}

/// A figure and half of its interval.
fn with_interval(json: &Json, [figure, interval]: [&str; 2], scale: f64) -> Result<Value, String> {
    let end = |at: u32| number(json, &format!("{interval}/{at}"));
    Ok(Value {
        value: number(json, figure)? * scale,
        half: Some((end(1)? - end(0)?).abs() / 2.0 * scale),
    })
}

/// The rows of a case on the GPU.
fn rows<'j>(card: &'j Json, lab: &str, case: &str) -> Result<Vec<&'j Json>, String> {
    // `8_per_thread` is a part of a label, `512^3` one of its words.
    let case = case.replace('_', " ");
    let of_case = |one: &&Json| {
        let label = format!(" {} ", one["case"].as_str().unwrap_or_default()).replace(',', " ");
        one["lab"] == lab && label.contains(&format!(" {case} "))
    };
    let found: Vec<&Json> = card["cases"]
        .as_array()
        .unwrap()
        .iter()
        .filter(of_case)
        .collect();
    let [found] = found[..] else {
        return Err(format!("{} cases of {lab} are called {case}", found.len()));
    };
    let rows = found["rows"].as_array().unwrap().iter();
    Ok(rows.filter(|row| row["device"] == "cuda").collect())
}

/// The time of a variant in CUDA C++ / its time in Rust, of builds with and without fused
/// multiply-adds that of the faster one.
fn peer(rows: &[&Json], variant: &str) -> Result<Value, String> {
    let peers = rows.iter().filter(|row| {
        let language = row["language"].as_str();
        row["variant"] == variant && language.is_some_and(|it| it.starts_with("CUDA C++"))
    });
    let ratio = |row: &Json| row["vs_variant"]["estimate"].as_f64().unwrap();
    let fastest = peers.max_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    let row = fastest.ok_or_else(|| format!("{variant} has no CUDA C++"))?;
    let end = |at: usize| 1.0 / row["vs_variant"]["interval"][at].as_f64().unwrap();
    Ok(Value {
        value: 1.0 / ratio(row),
        half: Some((end(0) - end(1)).abs() / 2.0),
    })
}

impl Measured {
    pub fn committed() -> Self {
        Self {
            cards: ["h100", "h200"]
                .map(|card| (card, document(&format!("docs/results/{card}.json"))))
                .into(),
            counts: document(COUNTS),
        }
    }

    fn card(&self, name: &str) -> Result<&Json, String> {
        let card = self.cards.iter().find(|(card, _)| *card == name);
        card.map(|(_, json)| json)
            .ok_or_else(|| format!("there is no card `{name}`"))
    }

    /// A figure by its function and words, or None if there is no such function.
    pub fn figure(&self, function: &str, words: &[&str]) -> Option<Result<Value, String>> {
        let plain = |value| Value { value, half: None };
        Some(match function {
            // What a device gives per second: copy, read, write, l2, shared, fp32, fp64.
            "limit" => self.device(words, "limits").map(plain),
            // What the driver says of a device: l2_bytes, multiprocessors.
            "device" => self.device(words, "info").map(plain),
            "count" => self.count(words).map(plain),
            "took" => match words {
                [card] => self
                    .card(card)
                    .and_then(|it| number(it, "/wall_s"))
                    .map(plain),
                _ => Err("`took` has a card".to_owned()),
            },
            "cpu" => self.cpu(words).map(plain),
            "peers" => self.peers(words).map(plain),
            "time" | "width" | "rate" | "share" | "own" | "bytes" | "flops" | "peer" => {
                self.of_row(function, words)
            }
            _ => return None,
        })
    }

    fn device(&self, words: &[&str], part: &str) -> Result<f64, String> {
        let [card, name] = words else {
            return Err("a card, and what of it".to_owned());
        };
        let devices = self.card(card)?["devices"].as_array().unwrap();
        let gpu = devices
            .iter()
            .find(|device| device["device"] == "cuda")
            .unwrap();
        match part {
            "limits" => number(gpu, &format!("/limits/{name}/median_per_s")),
            _ => number(gpu, &format!("/{part}/{name}")),
        }
    }

    /// The size of a lab's case with most work in a timestep, which the ladder shows.
    pub fn largest(&self, card: &str, lab: &str) -> Option<&str> {
        let cases = self.card(card).ok()?["cases"].as_array()?.iter();
        let work = |case: &&Json| {
            let steps = case["timesteps"].as_u64().unwrap_or(1);
            case["rows"][0]["updates"].as_u64().unwrap_or(0) / steps
        };
        let largest = cases.filter(|case| case["lab"] == lab).max_by_key(work)?;
        largest["case"].as_str()?.split(',').next()
    }

    /// Of all variants in all cases, the least or the largest time in CUDA C++ / time in Rust.
    fn peers(&self, words: &[&str]) -> Result<f64, String> {
        let [card, which] = words else {
            return Err("`peers` has a card, and min or max".to_owned());
        };
        let mut ratios = Vec::new();
        for case in self.card(card)?["cases"].as_array().unwrap() {
            let rows: Vec<&Json> = case["rows"].as_array().unwrap().iter().collect();
            for row in rows
                .iter()
                .filter(|row| row["device"] == "cuda" && row["language"].is_null())
            {
                let variant = row["variant"].as_str().unwrap_or_default();
                ratios.extend(peer(&rows, variant).map(|it| it.value));
            }
        }
        let fold = if *which == "min" { f64::min } else { f64::max };
        ratios
            .into_iter()
            .reduce(fold)
            .ok_or_else(|| "no peer".to_owned())
    }

    /// Updates per second of the CPU reference.
    fn cpu(&self, words: &[&str]) -> Result<f64, String> {
        let [card, lab, variant] = words else {
            return Err("`cpu` has a card, a lab, and serial or parallel".to_owned());
        };
        let references = self.card(card)?["references"].as_array().unwrap();
        let row = references
            .iter()
            .find(|row| row["lab"] == **lab && row["variant"] == **variant);
        number(row.ok_or("no such reference")?, "/updates_per_s")
    }

    fn count(&self, words: &[&str]) -> Result<f64, String> {
        let [profile, what] = words else {
            return Err("`count` has a profile, and what of it".to_owned());
        };
        number(&self.counts, &format!("/{profile}/{what}"))
    }

    fn of_row(&self, function: &str, words: &[&str]) -> Result<Value, String> {
        let [card, lab, case, variant] = words else {
            return Err(format!(
                "`{function}` has a card, a lab, a case and a variant"
            ));
        };
        let rows = rows(self.card(card)?, lab, case)?;
        if function == "peer" {
            return peer(&rows, variant);
        }
        let row = rows
            .iter()
            .find(|row| row["variant"] == **variant && row["language"].is_null());
        let row = row.ok_or_else(|| format!("{lab}, {case}: no {variant}"))?;
        let plain = |value| Value { value, half: None };
        match function {
            "time" => {
                let steps = row["timesteps"].as_f64().unwrap_or(1.0);
                with_interval(row, ["/run/median_s", "/run/interval_s"], 1.0 / steps)
            }
            // The width of the interval, as a share of the time.
            "width" => {
                let time = with_interval(row, ["/run/median_s", "/run/interval_s"], 1.0)?;
                Ok(plain(2.0 * time.half.unwrap_or(0.0) / time.value))
            }
            "rate" => number(row, "/updates_per_s").map(plain),
            "share" => number(row, "/bound/share").map(plain),
            "own" => number(row, "/own_limit/share").map(plain),
            // What an update must move, or compute.
            _ => Ok(plain(
                number(row, &format!("/{function}"))? / number(row, "/updates")?,
            )),
        }
    }
}
