//! Source positions, each stored once.

use std::collections::HashMap;

use crate::program::{SourceFile, SourceLoc, SourceLocId};
use crate::syntax::{FilePos, Loc};

/// The table under construction.
pub(super) struct Locs<'a> {
    files: Vec<SourceFile>,
    /// The places in `files` of numbers: the first of each.
    places: HashMap<u32, usize>,
    /// A number above all of them.
    next_number: u32,
    locs: Vec<SourceLoc>,
    ids: HashMap<SourceLoc, SourceLocId>,
    /// File numbers of paths in comments.
    paths: HashMap<&'a str, u32>,
    /// The latest position of the running function at each file, line, column: what `inlined_at`
    /// refers to.
    latest: HashMap<FilePos, SourceLocId>,
}

impl<'a> Locs<'a> {
    pub fn new(files: Vec<SourceFile>) -> Self {
        let mut locs = Locs {
            files: Vec::new(),
            places: HashMap::new(),
            next_number: 1,
            locs: Vec::new(),
            ids: HashMap::new(),
            paths: HashMap::new(),
            latest: HashMap::new(),
        };
        files.into_iter().for_each(|file| locs.add_file(file));
        locs
    }

    fn add_file(&mut self, file: SourceFile) {
        self.next_number = self.next_number.max(file.number.saturating_add(1));
        self.places.entry(file.number).or_insert(self.files.len());
        self.files.push(file);
    }

    /// The files, their places by number, and the positions.
    pub fn into_parts(self) -> (Vec<SourceFile>, HashMap<u32, usize>, Vec<SourceLoc>) {
        (self.files, self.places, self.locs)
    }

    /// Forgets the positions of the function before.
    pub fn enter_function(&mut self) {
        self.latest.clear();
    }

    /// The id of a `.loc`.
    pub fn id(&mut self, loc: &Loc<'a>) -> SourceLocId {
        let inlined_at = match loc.inlined_at {
            Some(at) => Some(match self.latest.get(&at) {
                Some(id) => *id,
                None => self.intern(at, None),
            }),
            None => self.callers(loc),
        };
        let id = self.intern(loc.at, inlined_at);
        self.latest.insert(loc.at, id);
        id
    }

    fn intern(
        &mut self,
        (file, line, column): FilePos,
        inlined_at: Option<SourceLocId>,
    ) -> SourceLocId {
        let loc = SourceLoc {
            file,
            line,
            column,
            inlined_at,
        };
        if let Some(id) = self.ids.get(&loc) {
            return *id;
        }
        let id = SourceLocId(self.locs.len() as u32);
        self.locs.push(loc.clone());
        self.ids.insert(loc, id);
        id
    }

    /// The positions that a comment gives, from the innermost caller out; the id of the innermost.
    fn callers(&mut self, loc: &Loc<'a>) -> Option<SourceLocId> {
        let mut directory = match (self.path(loc.at.0), loc.comment_path) {
            (Some(path), Some(end)) => directory(path, end),
            _ => String::new(),
        };
        let mut callers = Vec::with_capacity(loc.comment_chain.len());
        for &(path, line, column) in &loc.comment_chain {
            let file = self.file_number(path, &directory);
            directory = self.directory(file, path);
            callers.push((file, line, column));
        }
        callers
            .into_iter()
            .rev()
            .fold(None, |outer, at| Some(self.intern(at, outer)))
    }

    fn path(&self, number: u32) -> Option<&str> {
        let place = *self.places.get(&number)?;
        Some(&self.files[place].path)
    }

    fn directory(&self, number: u32, end: &str) -> String {
        self.path(number)
            .map_or_else(String::new, |path| directory(path, end))
    }

    /// The number of a path that a comment gives. Comments give the path without the directory that
    /// the file table has before it. A path that the table lacks gets a number of its own, and the
    /// directory of the code that is inlined there: most likely, that is of the same crate.
    fn file_number(&mut self, path: &'a str, inner: &str) -> u32 {
        if let Some(number) = self.paths.get(path) {
            return *number;
        }
        let matches = |file: &&SourceFile| {
            file.path
                .strip_suffix(path)
                .is_some_and(|head| head.is_empty() || head.ends_with('/'))
        };
        let number = match self.files.iter().find(matches) {
            Some(file) => file.number,
            None => {
                let number = self.next_number;
                let path = format!("{inner}{path}");
                self.add_file(SourceFile { number, path });
                number
            }
        };
        self.paths.insert(path, number);
        number
    }
}

/// The part of `path` before `end`.
fn directory(path: &str, end: &str) -> String {
    path.strip_suffix(end).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_the_table_lacks_is_of_the_crate_that_is_inlined_there() {
        let table = [
            (1, "lab/src/k.rs"),
            (2, "/rust/library/core/src/ptr/mod.rs"),
        ];
        let files = table.map(|(number, path)| SourceFile {
            number,
            path: path.to_owned(),
        });
        let mut locs = Locs::new(files.to_vec());
        locs.id(&Loc {
            at: (2, 1733, 9),
            inlined_at: None,
            comment_chain: vec![("src/mem/mod.rs", 1088, 18), ("lab/src/k.rs", 7, 5)],
            comment_path: Some("src/ptr/mod.rs"),
        });
        let (listed, _, locs) = locs.into_parts();
        let path = |loc: &SourceLoc| {
            let file = listed.iter().find(|file| file.number == loc.file);
            file.map(|file| file.path.as_str())
        };
        let paths: Vec<_> = locs.iter().map(path).collect();
        assert_eq!(
            paths,
            [
                Some("lab/src/k.rs"),
                Some("/rust/library/core/src/mem/mod.rs"),
                Some("/rust/library/core/src/ptr/mod.rs")
            ]
        );
    }
}
