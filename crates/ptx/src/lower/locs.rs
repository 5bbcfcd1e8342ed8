//! Source positions, each stored once.

use std::collections::HashMap;

use crate::ast::{FilePos, Loc};
use crate::program::{SourceFile, SourceLoc, SourceLocId};

/// The table under construction.
pub(super) struct Locs<'a> {
    files: Vec<SourceFile>,
    locs: Vec<SourceLoc>,
    ids: HashMap<SourceLoc, SourceLocId>,
    /// File numbers of paths in comments.
    paths: HashMap<&'a str, u32>,
    /// The latest position of the running function at each file, line, column: what `inlined_at` refers to.
    latest: HashMap<FilePos, SourceLocId>,
}

impl<'a> Locs<'a> {
    pub fn new(files: Vec<SourceFile>) -> Self {
        Locs {
            files,
            locs: Vec::new(),
            ids: HashMap::new(),
            paths: HashMap::new(),
            latest: HashMap::new(),
        }
    }

    pub fn into_parts(self) -> (Vec<SourceFile>, Vec<SourceLoc>) {
        (self.files, self.locs)
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
            None => {
                let mut outer = None;
                for (path, line, column) in loc.comment_chain.iter().rev() {
                    let file = self.file_number(path);
                    outer = Some(self.intern((file, *line, *column), outer));
                }
                outer
            }
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

    /// The number of a path that a comment gives. Comments give the path without the directory that the file
    /// table has before it; a path that the table lacks gets a number of its own.
    fn file_number(&mut self, path: &'a str) -> u32 {
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
                let number = self
                    .files
                    .iter()
                    .map(|f| f.number)
                    .max()
                    .unwrap_or(0)
                    .saturating_add(1);
                self.files.push(SourceFile {
                    number,
                    path: path.to_string(),
                });
                number
            }
        };
        self.paths.insert(path, number);
        number
    }
}
