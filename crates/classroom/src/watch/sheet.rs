//! Text whose parts have ranks, and as much of it as a window has room for: the order on the page
//! is the reader's, and the rank decides what goes first where room is short.

/// How much a reader needs a part. The first of these stays longest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// The event.
    Event,
    /// Where it was: each side of it.
    Place,
    /// The user asked for it by a key.
    Asked,
    /// The way out: a pattern, a compiler's suggestion, the next step.
    Remedy,
    /// The points.
    Verdict,
    /// More about the event.
    Detail,
    /// Source lines around those that are meant.
    Around,
    /// Commands that show more.
    Command,
    /// Empty lines.
    Blank,
}

/// Lines that stay or go together.
struct Part {
    rank: Rank,
    lines: Vec<String>,
}

/// Ranked text.
#[derive(Default)]
pub struct Sheet {
    parts: Vec<Part>,
}

impl Sheet {
    /// Adds lines that stay or go together.
    pub fn add(&mut self, rank: Rank, lines: Vec<String>) {
        if !lines.is_empty() {
            self.parts.push(Part { rank, lines });
        }
    }

    /// Adds an empty line, unless the text begins here or there is one already.
    pub fn blank(&mut self) {
        let is_blank = |part: &Part| part.rank == Rank::Blank;
        if !self.parts.last().is_none_or(is_blank) {
            self.add(Rank::Blank, vec![String::new()]);
        }
    }

    /// How many lines it has.
    pub fn height(&self) -> usize {
        self.parts.iter().map(|part| part.lines.len()).sum()
    }

    /// All of it.
    pub fn lines(mut self) -> Vec<String> {
        while let Some(Part {
            rank: Rank::Blank, ..
        }) = self.parts.last()
        {
            self.parts.pop();
        }
        self.parts.into_iter().flat_map(|part| part.lines).collect()
    }

    /// As much as fits into `room` lines, at least one. `more` says how many lines are left out,
    /// empty ones not counted.
    pub fn within(mut self, room: usize, more: impl Fn(usize) -> String) -> Vec<String> {
        let room = room.max(1);
        let mut left_out = 0;
        // A line that says what is left out takes room too.
        while self.height() + usize::from(left_out > 0) > room {
            let Some(at) = self.least() else { break };
            let part = self.parts.remove(at);
            if part.rank != Rank::Blank {
                left_out += part.lines.len();
            }
        }
        let mut lines = self.lines();
        if lines.len() + usize::from(left_out > 0) > room {
            let kept = room - 1;
            left_out += lines.len() - kept;
            lines.truncate(kept);
        }
        if left_out > 0 {
            lines.push(more(left_out));
        }
        lines
    }

    /// The part that goes next: of the last rank the one that is farthest down, except that the
    /// empty lines at the top go first. The event and its place stay.
    fn least(&self) -> Option<usize> {
        let ranks = || self.parts.iter().map(|part| part.rank);
        let least = ranks().max().filter(|rank| *rank > Rank::Asked)?;
        let mut places = ranks().enumerate().filter(|(_, rank)| *rank == least);
        let place = if least == Rank::Blank {
            places.next()
        } else {
            places.next_back()
        };
        place.map(|(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(room: usize) -> String {
        let mut sheet = Sheet::default();
        let mut add = |rank, text: &str| {
            let lines = text.split('/').map(str::to_owned).collect();
            sheet.add(rank, lines);
        };
        add(Rank::Verdict, "points");
        add(Rank::Blank, "");
        add(Rank::Event, "event");
        add(Rank::Around, "around 1");
        add(Rank::Place, "place");
        add(Rank::Around, "around 2");
        add(Rank::Blank, "");
        add(Rank::Remedy, "next/next");
        add(Rank::Command, "command");
        let lines = sheet.within(room, |left_out| format!("+{left_out}"));
        assert!(lines.len() <= room);
        lines.join(" ")
    }

    #[test]
    fn what_matters_least_goes_first() {
        let all = "points  event around 1 place around 2  next next command";
        assert_eq!(fitted(10), all);
        // The upper of the empty lines.
        let below = "points event around 1 place around 2  next next command";
        assert_eq!(fitted(9), below);
        assert_eq!(
            fitted(8),
            "points event around 1 place around 2 next next command"
        );
        // The line that says so takes the room of one more.
        assert_eq!(fitted(7), "points event around 1 place next next +2");
        assert_eq!(fitted(6), "points event place next next +3");
        assert_eq!(fitted(5), "event place next next +4");
        assert_eq!(fitted(4), "event place +6");
        assert_eq!(fitted(2), "event +7");
        assert_eq!(fitted(1), "+8");
    }

    #[test]
    fn empty_lines_do_not_pile_up() {
        let mut sheet = Sheet::default();
        sheet.blank();
        sheet.add(Rank::Event, vec!["a".to_owned()]);
        sheet.blank();
        sheet.add(Rank::Detail, Vec::new());
        sheet.blank();
        assert_eq!((sheet.height(), sheet.lines()), (2, vec!["a".to_owned()]));
    }
}
