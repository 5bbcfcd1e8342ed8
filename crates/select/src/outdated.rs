//! Entries of `tuned.toml` that are of other kernels than this program's.

use std::fmt;

use device::DeviceInfo;
use lab::{Lab, find_variant};

use crate::tuned::{NAME, Table};

/// Variants of a lab whose entries of a GPU are older than the kernels, or of unknown age.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outdated {
    /// The lab's name.
    pub lab: &'static str,
    /// The variants' names.
    pub variants: Vec<String>,
    /// The GPU's name.
    pub gpu: String,
    /// Whether the entries say which kernels were timed.
    pub is_known: bool,
}

impl Outdated {
    /// The finding, without the GPU's name.
    pub fn what(&self) -> String {
        let (lab, variants) = (self.lab, self.variants.join(", "));
        if self.is_known {
            format!("{lab} {variants}: {NAME} has times of other kernels than this program's")
        } else {
            format!("{lab} {variants}: {NAME} has times of unknown age, since it names no kernels")
        }
    }

    /// The command that helps.
    pub fn remedy(&self) -> String {
        format!("`harness tune {} --large` takes them again", self.lab)
    }
}

impl fmt::Display for Outdated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.gpu, self.what(), self.remedy())
    }
}

impl Table {
    /// The entries of a GPU like this one that are not of these labs' kernels, or do not say of
    /// which they are, lab by lab.
    pub fn outdated(&self, labs: &[&'static Lab], info: &DeviceInfo) -> Vec<Outdated> {
        let mut all = Vec::new();
        for lab in labs {
            let mut found = [true, false].map(|is_known| Outdated {
                lab: lab.name,
                variants: Vec::new(),
                gpu: info.name.clone(),
                is_known,
            });
            let is_own =
                |entry: &&crate::tuned::Entry| entry.gpu == info.name && entry.lab == lab.name;
            for entry in self.entries.iter().filter(is_own) {
                let Ok(variant) = find_variant(&lab.variants, &entry.variant) else {
                    continue;
                };
                let at = match entry.is_outdated(variant, info) {
                    Some(false) => continue,
                    Some(true) => 0,
                    None => 1,
                };
                if !found[at].variants.contains(&entry.variant) {
                    found[at].variants.push(entry.variant.clone());
                }
            }
            let [known, unknown] = &mut found;
            unknown
                .variants
                .retain(|name| !known.variants.contains(name));
            all.extend(found.into_iter().filter(|it| !it.variants.is_empty()));
        }
        all
    }
}
