//! A shard of a class: which submissions one process of several grades.

use std::fmt::{self, Display};
use std::ops::Range;
use std::str::FromStr;

/// Shard I of N of a class, as `--shard` has it: every N-th submission, from the I-th on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Which, from 1.
    number: u32,
    /// Of how many.
    of: u32,
}

impl Shard {
    /// More than there are jobs in an array.
    pub const MAX: u32 = 10_000;

    /// Which submissions of a class of this size belong to it.
    pub fn members(self, class: usize) -> std::iter::StepBy<Range<usize>> {
        let first = (self.number as usize - 1).min(class);
        (first..class).step_by(self.of as usize)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let numbers = text
            .split_once('/')
            .map(|(number, of)| (number.parse(), of.parse()));
        match numbers {
            Some((Ok::<u32, _>(_), Ok(of))) if of > Shard::MAX => {
                Err(format!("a class has at most {} shards", Shard::MAX))
            }
            Some((Ok(number), Ok(of))) if number >= 1 && number <= of => Ok(Shard { number, of }),
            Some((Ok::<u32, _>(_), Ok(of @ 1..))) => {
                Err(format!("shards are numbered from 1/{of} to {of}/{of}"))
            }
            _ => Err("write which shard of how many, as in 1/8".to_owned()),
        }
    }
}

impl Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_read_and_written() {
        for text in ["1/1", "2/8", "8/8"] {
            assert_eq!(text.parse::<Shard>().unwrap().to_string(), text);
        }
        let error = |text: &str| text.parse::<Shard>().unwrap_err();
        for text in [
            "", "2", "/", "1/", "/3", "a/b", "1/3/3", "-1/3", "0/0", "1/0",
        ] {
            assert_eq!(
                error(text),
                "write which shard of how many, as in 1/8",
                "{text}"
            );
        }
        for text in ["0/3", "4/3"] {
            assert_eq!(error(text), "shards are numbered from 1/3 to 3/3");
        }
        assert_eq!("1/10000".parse::<Shard>().unwrap().of, Shard::MAX);
        for text in ["1/10001", "1/4294967295"] {
            assert_eq!(error(text), "a class has at most 10000 shards");
        }
    }

    #[test]
    fn each_submission_is_in_one_shard() {
        for class in [1, 2, 7, 300] {
            for of in [1, 2, 3, 8, 301] {
                let shards = (1..=of).map(|number| Shard { number, of });
                let members: Vec<Vec<usize>> =
                    shards.map(|shard| shard.members(class).collect()).collect();
                let sizes: Vec<usize> = members.iter().map(Vec::len).collect();
                let mut all = members.concat();
                assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
                all.sort_unstable();
                assert!(all.into_iter().eq(0..class), "{class} in {of}");
            }
        }
        let second: Shard = "2/3".parse().unwrap();
        assert!(second.members(8).eq([1, 4, 7]));
    }
}
