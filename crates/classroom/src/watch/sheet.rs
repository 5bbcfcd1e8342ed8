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
    pub fn within(self, room: usize, more: impl Fn(usize) -> String) -> Vec<String> {
        let room = room.max(1);
        let mut is_kept = vec![true; self.parts.len()];
        while !self.fits(&is_kept, room) {
            let Some(at) = self.least(&is_kept) else {
                break;
            };
            is_kept[at] = false;
        }
        // A large part may have left room for smaller ones that went before it.
        let mut gone: Vec<usize> = (0..is_kept.len()).filter(|&at| !is_kept[at]).collect();
        gone.sort_by_key(|&at| self.parts[at].rank);
        for at in gone {
            is_kept[at] = true;
            is_kept[at] = self.fits(&is_kept, room);
        }
        let mut left_out = self.left_out(&is_kept);
        let mut lines = self.kept(&is_kept);
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

    /// Whether these parts fit, with the line that says how much is left out.
    fn fits(&self, is_kept: &[bool], room: usize) -> bool {
        self.kept(is_kept).len() + usize::from(self.left_out(is_kept) > 0) <= room
    }

    /// How many lines that are not empty are in the other parts.
    fn left_out(&self, is_kept: &[bool]) -> usize {
        let others = self.parts.iter().zip(is_kept).filter(|(_, kept)| !**kept);
        let told = others.filter(|(part, _)| part.rank != Rank::Blank);
        told.map(|(part, _)| part.lines.len()).sum()
    }

    /// The lines of these parts. Where a part between two empty lines is left out, one remains.
    fn kept(&self, is_kept: &[bool]) -> Vec<String> {
        let mut sheet = Sheet::default();
        for (part, _) in self.parts.iter().zip(is_kept).filter(|(_, kept)| **kept) {
            match part.rank {
                Rank::Blank if part.lines[0].is_empty() => sheet.blank(),
                rank => sheet.add(rank, part.lines.clone()),
            }
        }
        sheet.lines()
    }

    /// The part that goes next: of the last rank the one that is farthest down, except that the
    /// empty lines at the top go first. The event and its place stay.
    fn least(&self, is_kept: &[bool]) -> Option<usize> {
        let ranks = || {
            let parts = self.parts.iter().zip(is_kept).enumerate();
            parts.filter_map(|(at, (part, kept))| kept.then_some((at, part.rank)))
        };
        let last = ranks().map(|(_, rank)| rank).max();
        let least = last.filter(|rank| *rank > Rank::Asked)?;
        let mut places = ranks().filter(|(_, rank)| *rank == least);
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
        // The next step has two lines, and no room; the points have.
        assert_eq!(fitted(4), "points event place +5");
        assert_eq!(fitted(2), "event +7");
        assert_eq!(fitted(1), "+8");
    }

    #[test]
    fn a_large_part_leaves_room_for_small_ones() {
        let mut sheet = Sheet::default();
        let lines = |text: &str| text.split('/').map(str::to_owned).collect();
        sheet.add(Rank::Event, lines("event"));
        sheet.blank();
        sheet.add(Rank::Detail, lines("1/2/3/4/5/6"));
        sheet.blank();
        sheet.add(Rank::Remedy, lines("next"));
        sheet.add(Rank::Command, lines("command"));
        let fitted = sheet.within(5, |left_out| format!("+{left_out}"));
        assert_eq!(fitted, ["event", "", "next", "command", "+6"]);
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
