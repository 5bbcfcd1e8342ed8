//! The table of one lab's tests: a row for each case, a column for each variant on each device.
//! Where that is too wide for the terminal, a device's variants share a column.

use terminal::look::Look;

use super::report::{Status, TestResult};
use super::suite::Column;

/// Where the cells of a row are.
pub struct Grid<'c> {
    lab: &'c str,
    look: Look,
    /// Columns of the terminal that the case takes.
    first_width: usize,
    groups: Vec<Group>,
}

/// Columns that are shown as one.
struct Group {
    device: String,
    /// The names of their variants.
    variants: Vec<&'static str>,
    /// The name of the column.
    heading: String,
    /// The name of the column before a list of the variants.
    many: String,
    /// Columns of the terminal, with a gap.
    width: usize,
}

impl Group {
    /// `heading` and `many` are for more than one column.
    fn new(columns: &[Column<'_>], heading: &str, many: &str) -> Group {
        let device = columns[0].name.to_string();
        let variants: Vec<_> = columns.iter().map(Column::variant_name).collect();
        let number = variants.len().to_string();
        let [heading, many] = match variants[..] {
            [one] => [one, one].map(str::to_owned),
            _ => [heading, many].map(|text| text.replace('N', &number)),
        };
        // Room for a device, a variant, and the longest status.
        let status = "lacking".len();
        let width = device.len().max(heading.len()).max(status) + 2;
        Group {
            device,
            variants,
            heading,
            many,
            width,
        }
    }
}

impl<'c> Grid<'c> {
    /// The table of a lab for cases with these labels.
    pub fn new(lab: &'c str, labels: &[String], columns: &[Column<'_>], look: Look) -> Grid<'c> {
        let longest = labels.iter().map(String::len).max().unwrap_or(0);
        let on_request = |a: &Column<'_>, b: &Column<'_>| {
            a.is_one_of_many && b.is_one_of_many && a.name == b.name
        };
        let groups = columns.chunk_by(on_request);
        let mut grid = Grid {
            lab,
            look,
            first_width: longest.max(lab.len()) + 2,
            groups: groups
                .map(|group| Group::new(group, "N on request", "N on request"))
                .collect(),
        };
        let width: usize = grid.groups.iter().map(|group| group.width).sum();
        if grid.first_width + width - 2 > look.columns {
            let devices = columns.chunk_by(|a, b| a.name == b.name);
            grid.groups = devices
                .map(|group| Group::new(group, "all N", "N variants"))
                .collect();
        }
        grid
    }

    /// Devices and variants, and the names of those that share a column.
    pub fn header(&self) -> String {
        let first_width = self.first_width;
        let mut devices = format!("{:first_width$}", self.lab);
        let mut variants = " ".repeat(first_width);
        let mut last = None;
        for group in &self.groups {
            let Group {
                device,
                heading,
                width,
                ..
            } = group;
            let is_same = last.replace(device) == Some(device);
            devices += &format!("{:width$}", if is_same { "" } else { device });
            variants += &format!("{heading:width$}");
        }
        let title = |text: &str| self.look.title(text.trim_end());
        let mut lines = vec![title(&devices), title(&variants)];
        // The same variants run on each device.
        if let Some(many) = self.groups.iter().find(|group| group.variants.len() > 1) {
            let names = format!("{}: {}", many.many, many.variants.join(", "));
            let names = self.look.wrapped(&names, 2);
            lines.extend(names.lines().map(|line| self.look.faint(line)));
        }
        lines.join("\n")
    }

    /// A case with the worst of each column's results, and how many of several are as bad.
    pub fn row(&self, label: &str, results: &[TestResult]) -> String {
        let first_width = self.first_width;
        let mut line = format!("{label:first_width$}");
        for (group, of_group) in self.groups.iter().zip(self.split(results)) {
            let worst = of_group
                .iter()
                .map(|result| result.status)
                .max()
                .unwrap_or(Status::Ok);
            let as_bad = of_group.iter().filter(|result| result.status == worst);
            let count = match as_bad.count() {
                all if all == of_group.len() => String::new(),
                some => format!("{some} "),
            };
            let width = group.width.saturating_sub(count.len());
            line += &format!("{count}{}", worst.render(self.look, width));
        }
        line.trim_end().to_owned()
    }

    /// Why results are not right. One reason why a device is too old is enough.
    pub fn messages(&self, results: &[TestResult]) -> Vec<String> {
        let mut messages = Vec::new();
        for of_group in self.split(results) {
            let mut was_skipped = false;
            for result in of_group {
                let is_skipped = result.status == Status::Skipped;
                if is_skipped && std::mem::replace(&mut was_skipped, true) {
                    continue;
                }
                if let Some(message) = &result.message {
                    messages.push(format!("{} {}: {message}", result.device, result.variant));
                }
            }
        }
        messages
    }

    /// The results of each group.
    fn split<'r>(&self, mut results: &'r [TestResult]) -> Vec<&'r [TestResult]> {
        let mut parts = Vec::new();
        for group in &self.groups {
            let (part, rest) = results.split_at(group.variants.len());
            parts.push(part);
            results = rest;
        }
        parts
    }
}
