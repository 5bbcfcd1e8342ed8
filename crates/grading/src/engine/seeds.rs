//! Fresh inputs: a key for every sample, all from one secret number.
//!
//! The number has 64 bits, and comes from the operating system. Reports show it to instructors, so
//! that `--seed` gives the same inputs again. Keys follow by SHA-256: from the key of one sample
//! nothing follows about another, and a GPU that tries numbers one by one needs decades.

use lab::Seed;
use sha2::{Digest, Sha256};

use super::error::GradeError;

/// Where all seeds of a grade come from: equal ones give equal seeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seeds(pub u64);

impl Seeds {
    /// Seeds that cannot be known before: from the operating system's random numbers.
    pub fn secret() -> Result<Seeds, GradeError> {
        Ok(Seeds(
            getrandom::u64().map_err(GradeError::NoRandomNumbers)?,
        ))
    }

    /// The key of one sample's inputs. Other cases, purposes and samples have others.
    pub fn key(self, case: &str, purpose: &str, sample: u32) -> Seed {
        Seed::Key(self.digest("inputs", case, purpose, sample))
    }

    /// A number for one sample. Other cases, purposes and samples have others.
    pub fn number(self, case: &str, purpose: &str, sample: u32) -> u64 {
        let digest = self.digest("number", case, purpose, sample);
        let (first, _) = digest.split_first_chunk().expect("32 bytes are 8 and more");
        u64::from_le_bytes(*first)
    }

    fn digest(self, kind: &str, case: &str, purpose: &str, sample: u32) -> [u8; 32] {
        let mut hash = Sha256::new();
        for part in [kind, case, purpose] {
            hash.update(part);
            // No text has it: parts do not run together.
            hash.update([0xff]);
        }
        hash.update(self.0.to_le_bytes());
        hash.update(sample.to_le_bytes());
        hash.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_sample_has_its_own_key_and_number() {
        let mut seen = HashSet::new();
        for base in [0, 1] {
            let seeds = Seeds(base);
            for case in ["a", "ab", "b"] {
                for purpose in ["", "b", "time"] {
                    for sample in 0..300 {
                        let seed = seeds.key(case, purpose, sample).to_string();
                        assert!(seen.insert(seed), "{base} {case} {purpose} {sample}");
                        let number = seeds.number(case, purpose, sample).to_string();
                        assert!(seen.insert(number), "{base} {case} {purpose} {sample}");
                    }
                }
            }
        }
    }

    #[test]
    fn equal_bases_give_equal_seeds() {
        let seeds = Seeds::secret().unwrap();
        let again = Seeds(seeds.0);
        assert_eq!(seeds.key("case", "time", 3), again.key("case", "time", 3));
        assert_ne!(seeds, Seeds::secret().unwrap());
    }
}
