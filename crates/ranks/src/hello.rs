//! A rank's facts about itself, and the check that they do not differ between ranks.

use std::fs;

use serde::{Deserialize, Serialize};

use super::error::RanksError;

/// The facts that a rank tells rank 0 about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The version of the program. The same in all ranks.
    pub version: String,
    /// Other facts that must be the same in all ranks, by name: problem, size, fingerprint of the
    /// plan.
    pub facts: Vec<(String, String)>,
    /// The GPUs that it uses: PCI bus ids or UUIDs. No other rank may use them.
    pub gpus: Vec<String>,
    /// The host's name, for messages.
    pub host: String,
    /// Tells machines apart whose names are equal.
    pub machine: String,
}

impl Hello {
    /// The facts of this process; the host tells its own name.
    pub fn new(version: &str, facts: Vec<(String, String)>, gpus: Vec<String>) -> Hello {
        let host = read("/proc/sys/kernel/hostname")
            .or_else(|| std::env::var("HOSTNAME").ok())
            .unwrap_or_else(|| "this machine".to_owned());
        Hello {
            version: version.to_owned(),
            facts,
            gpus,
            machine: read("/proc/sys/kernel/random/boot_id").unwrap_or_else(|| host.clone()),
            host,
        }
    }

    /// Adds a fact.
    #[must_use]
    pub fn fact(mut self, name: &str, value: impl ToString) -> Hello {
        self.facts.push((name.to_owned(), value.to_string()));
        self
    }

    fn value(&self, name: &str) -> Option<&str> {
        let fact = self.facts.iter().find(|(other, _)| other == name);
        fact.map(|(_, value)| value.as_str())
    }
}

fn read(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// Whether ranks that said this, by number, may work together.
///
/// # Errors
///
/// [`RanksError::Differ`] with every fact that differs and who says what, or with the GPU that
/// several use.
pub fn compare(hellos: &[Hello]) -> Result<(), RanksError> {
    let versions = hellos.iter().map(|hello| Some(hello.version.as_str()));
    let mut differing: Vec<String> = difference("version of the program", versions)
        .into_iter()
        .collect();
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in hellos.iter().flat_map(|hello| &hello.facts) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    for name in names {
        differing.extend(difference(
            name,
            hellos.iter().map(|hello| hello.value(name)),
        ));
    }
    if !differing.is_empty() {
        return Err(RanksError::Differ(format!(
            "the ranks do not run the same: {}; start all with the same program and arguments",
            differing.join("; "),
        )));
    }
    compare_gpus(hellos)
}

/// `lab: poisson in ranks 0 and 2, wave3d in rank 1`; `None` if all say the same.
fn difference<'h>(name: &str, values: impl Iterator<Item = Option<&'h str>>) -> Option<String> {
    let mut groups: Vec<(Option<&str>, Vec<usize>)> = Vec::new();
    for (rank, value) in values.enumerate() {
        match groups.iter_mut().find(|(other, _)| *other == value) {
            Some((_, ranks)) => ranks.push(rank),
            None => groups.push((value, vec![rank])),
        }
    }
    if groups.len() < 2 {
        return None;
    }
    let parts: Vec<String> = groups
        .iter()
        .map(|(value, ranks)| format!("{} in {}", value.unwrap_or("not given"), name_ranks(ranks)))
        .collect();
    Some(format!("{name}: {}", parts.join(", ")))
}

fn compare_gpus(hellos: &[Hello]) -> Result<(), RanksError> {
    let users = |machine: &str, gpu: &String| -> Vec<usize> {
        let uses = |hello: &Hello| hello.machine == machine && hello.gpus.contains(gpu);
        (0..hellos.len())
            .filter(|rank| uses(&hellos[*rank]))
            .collect()
    };
    for hello in hellos {
        for gpu in &hello.gpus {
            let users = users(&hello.machine, gpu);
            if users.len() > 1 {
                return Err(RanksError::Differ(format!(
                    "{} use the same GPU, {gpu} of {}; start at most as many ranks there as it has GPUs, or show each \
                     rank its own with CUDA_VISIBLE_DEVICES",
                    name_ranks(&users),
                    hello.host,
                )));
            }
        }
    }
    Ok(())
}

/// `rank 3`, `ranks 0 and 2`, `ranks 0 to 3 and 7`. The numbers ascend.
pub fn name_ranks(ranks: &[usize]) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &rank in ranks {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == rank => *last = rank,
            _ => runs.push((rank, rank)),
        }
    }
    let mut parts: Vec<String> = Vec::new();
    for (first, last) in runs {
        match last - first {
            0 => parts.push(first.to_string()),
            1 => parts.extend([first.to_string(), last.to_string()]),
            _ => parts.push(format!("{first} to {last}")),
        }
    }
    let word = if ranks.len() == 1 { "rank" } else { "ranks" };
    match parts.pop() {
        Some(last) if parts.is_empty() => format!("{word} {last}"),
        Some(last) => format!("{word} {} and {last}", parts.join(", ")),
        None => "no rank".to_owned(),
    }
}
