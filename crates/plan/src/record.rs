//! Recording a plan.

use std::ops::Range;

use crate::command::Stored;
use crate::independent;
use crate::limits::{MAX_ARGS, MAX_ARGS_TOGETHER, MAX_COMMANDS, MAX_NAME_BYTES};
use crate::{
    Arg, Buffer, BufferId, Command, Copy, Element, Fill, LaunchConfig, Plan, PlanError, Role,
};

/// White space that ends a line or a paragraph, beside ASCII's.
const ENDS_OF_LINES: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];

/// Whether a terminal obeys this character, or it is not seen, or changes the order in which a line
/// is read: one that `Debug` of a text escapes behind a letter, but no kind of space.
fn is_control(character: char) -> bool {
    let behind_a_letter = || format!("a{character}").escape_debug().nth(1);
    let is_space = character.is_whitespace() && !ENDS_OF_LINES.contains(&character);
    if character.is_ascii() {
        character.is_ascii_control()
    } else {
        !is_space && behind_a_letter() != Some(character)
    }
}

impl Plan {
    /// Declares a buffer that the caller writes before a run and reads after it.
    ///
    /// Its name must be unique and its length at least 1, which [`Plan::check`] sees to.
    pub fn buffer(&mut self, name: impl Into<String>, element: Element, len: usize) -> BufferId {
        self.declare(Buffer {
            name: name.into(),
            element,
            len: len as u64,
            role: Role::Io,
            device: 0,
        })
    }

    /// Declares a buffer whose contents are undefined before a run.
    pub fn scratch(&mut self, name: impl Into<String>, element: Element, len: usize) -> BufferId {
        self.scratch_on(0, name, element, len)
    }

    /// As [`Plan::scratch`], on this device.
    pub fn scratch_on(
        &mut self,
        device: u32,
        name: impl Into<String>,
        element: Element,
        len: usize,
    ) -> BufferId {
        self.declare(Buffer {
            name: name.into(),
            element,
            len: len as u64,
            role: Role::Scratch,
            device,
        })
    }

    /// Declares that after a run this buffer holds the result of this name.
    pub fn output(&mut self, name: impl Into<String>, id: BufferId) {
        self.outputs.push((name.into(), id));
    }

    /// Records a launch.
    ///
    /// # Errors
    ///
    /// [`PlanError`]: an empty grid, block or cluster, a buffer of another plan, an offset past a
    /// buffer's end, more launches than a plan may have, a longer name than kernels have.
    pub fn launch(
        &mut self,
        kernel: &str,
        config: LaunchConfig,
        args: impl IntoIterator<Item = Arg>,
    ) -> Result<(), PlanError> {
        self.check_name("a kernel", kernel)?;
        let place = || self.place(self.commands.len(), format_args!("launch of `{kernel}`"));
        for (what, extents) in [
            ("grid", config.grid),
            ("block", config.block),
            ("cluster", config.cluster),
        ] {
            if extents.contains(&0) {
                return Err(PlanError::EmptyLaunch {
                    place: place(),
                    what,
                    extents,
                });
            }
        }
        self.has_room()?;
        let start = self.args.len();
        self.args.extend(args.into_iter().take(MAX_ARGS + 1));
        if self.args.len() - start > MAX_ARGS {
            self.args.truncate(start);
            return Err(self.too_large("arguments of a launch", MAX_ARGS));
        }
        if let Err(error) = self.check_args(start, kernel) {
            self.args.truncate(start);
            return Err(error);
        }
        let end = u32::try_from(self.args.len()).expect("fewer than 2^32 arguments");
        let kernel = self.intern(kernel);
        self.commands.push(Stored::Launch {
            kernel,
            config,
            args: start as u32..end,
        });
        Ok(())
    }

    fn check_args(&self, start: usize, kernel: &str) -> Result<(), PlanError> {
        for (position, arg) in self.args[start..].iter().enumerate() {
            let Some(id) = arg.buffer() else { continue };
            let place = || self.place(self.commands.len(), format_args!("launch of `{kernel}`"));
            let role = || format!("argument {position}");
            let buffer = self.own_in_memory(id, place, role)?;
            match *arg {
                Arg::BufferAt { offset, .. } if offset > buffer.len => {
                    return Err(PlanError::OffsetOutOfBounds {
                        place: place(),
                        role: role(),
                        buffer: buffer.name.clone(),
                        offset,
                        len: buffer.len,
                    });
                }
                Arg::SliceAt { offset, len, .. }
                | Arg::BufferRange { offset, len, .. }
                | Arg::Within { offset, len, .. }
                    if offset.checked_add(len).is_none_or(|end| end > buffer.len) =>
                {
                    return Err(PlanError::SliceOutOfBounds {
                        place: place(),
                        role: role(),
                        buffer: buffer.name.clone(),
                        start: offset,
                        len,
                        buffer_len: buffer.len,
                    });
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn intern(&mut self, kernel: &str) -> u32 {
        if let Some(&index) = self.kernel_index.get(kernel) {
            return index;
        }
        let index = u32::try_from(self.kernels.len()).expect("fewer than 2^32 kernels");
        self.kernels.push(kernel.to_owned());
        self.kernel_index.insert(kernel.to_owned(), index);
        index
    }

    /// Records a copy of a whole buffer to another of the same type and size.
    ///
    /// # Errors
    ///
    /// [`PlanError`]: types or sizes that differ, a buffer of another plan, a copy onto itself.
    pub fn copy(&mut self, src: BufferId, dst: BufferId) -> Result<(), PlanError> {
        let place = || self.place(self.commands.len(), format_args!("copy"));
        let from = self.own(src, place, || "the source".to_owned())?;
        let to = self.own(dst, place, || "the destination".to_owned())?;
        if from.element == to.element && from.len != to.len {
            return Err(PlanError::CopySize {
                place: place(),
                src: from.name.clone(),
                src_len: from.len,
                dst: to.name.clone(),
                dst_len: to.len,
            });
        }
        let len = from.len;
        self.copy_range(src, 0, dst, 0, len)
    }

    /// Records a copy of `len` elements from element `src_start` of one buffer to element
    /// `dst_start` of another, or of the same one if the two ranges do not overlap. A copy of 0
    /// elements records nothing.
    ///
    /// # Errors
    ///
    /// [`PlanError`]: types that differ, ranges past a buffer's end or overlapping, a buffer of
    /// another plan.
    pub fn copy_range(
        &mut self,
        src: BufferId,
        src_start: u64,
        dst: BufferId,
        dst_start: u64,
        len: u64,
    ) -> Result<(), PlanError> {
        let place = || self.place(self.commands.len(), format_args!("copy"));
        let from = self.own_in_memory(src, place, || "the source".to_owned())?;
        let to = self.own_in_memory(dst, place, || "the destination".to_owned())?;
        if from.element != to.element {
            return Err(PlanError::CopyElement {
                place: place(),
                src: from.name.clone(),
                src_element: from.element,
                dst: to.name.clone(),
                dst_element: to.element,
            });
        }
        for (buffer, start) in [(from, src_start), (to, dst_start)] {
            if start.checked_add(len).is_none_or(|end| end > buffer.len) {
                return Err(PlanError::CopyOutOfBounds {
                    place: place(),
                    buffer: buffer.name.clone(),
                    start,
                    len,
                    buffer_len: buffer.len,
                });
            }
        }
        if len == 0 {
            return Ok(());
        }
        if src == dst && src_start.abs_diff(dst_start) < len {
            return Err(PlanError::CopyOverlap {
                place: place(),
                buffer: from.name.clone(),
                src_start,
                dst_start,
                len,
            });
        }
        self.has_room()?;
        self.commands.push(Stored::Copy(Copy {
            src,
            src_start,
            dst,
            dst_start,
            len,
        }));
        Ok(())
    }

    /// Records that every byte of a buffer is set to `byte`.
    ///
    /// # Errors
    ///
    /// [`PlanError::ForeignBuffer`].
    pub fn fill(&mut self, dst: BufferId, byte: u8) -> Result<(), PlanError> {
        let place = || self.place(self.commands.len(), format_args!("fill"));
        self.own_in_memory(dst, place, || "the destination".to_owned())?;
        self.has_room()?;
        self.commands.push(Stored::Fill(Fill { dst, byte }));
        Ok(())
    }

    /// Records commands that are independent of each other: they may run at once and in any order.
    /// None of them writes an element that another reads or writes; the emulated device checks
    /// that. What is recorded before has finished when they begin, and what is recorded after
    /// begins when all of them have finished. On one GPU, a launch's blocks start when those of the
    /// launches before it have, as long as there are few of them.
    ///
    /// A call within a call adds to the outer one's commands.
    ///
    /// ```
    /// # use plan::{Element, LaunchConfig, Plan, args};
    /// # let mut plan = Plan::new("doc");
    /// # let u = plan.buffer("u", Element::F32, 1 << 20);
    /// # let (inside, border) = (LaunchConfig::new(99, 256), LaunchConfig::new(1, 256));
    /// plan.independent(|plan| {
    ///     plan.launch("inside", inside, args![u])?;
    ///     plan.launch("border", border, args![u])
    /// })?;
    /// assert_eq!(plan.groups(), [0..2]);
    /// # Ok::<(), plan::PlanError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of `record`; [`PlanError::Dependent`] if copies and fills among the commands cannot be
    /// independent.
    pub fn independent(
        &mut self,
        record: impl FnOnce(&mut Plan) -> Result<(), PlanError>,
    ) -> Result<(), PlanError> {
        if self.group_start.is_some() {
            return record(self);
        }
        let start = self.commands.len();
        self.group_start = Some(start);
        let recorded = record(self);
        self.group_start = None;
        recorded?;
        self.group(start..self.commands.len())
    }

    /// Notes that the last commands, from here on, are independent.
    pub(crate) fn group(&mut self, range: Range<usize>) -> Result<(), PlanError> {
        independent::check(self, range.clone())?;
        if range.len() > 1 {
            self.groups.push(range);
        }
        Ok(())
    }

    /// Records a command, as [`Plan::launch`], [`Plan::copy_range`] or [`Plan::fill`] would. It may
    /// come from another plan with the same buffers: a clone, or one made by [`Plan::map`].
    ///
    /// # Errors
    ///
    /// Those of the three.
    pub fn push(&mut self, command: Command<'_>) -> Result<(), PlanError> {
        match command {
            Command::Launch(launch) => {
                self.launch(launch.kernel, launch.config, launch.args.iter().cloned())
            }
            Command::Copy(copy) => {
                self.copy_range(copy.src, copy.src_start, copy.dst, copy.dst_start, copy.len)
            }
            Command::Fill(fill) => self.fill(fill.dst, fill.byte),
        }
    }

    /// A plan of the same buffers and outputs, under the same ids, and of the commands that
    /// `record` records instead of each command.
    ///
    /// `record` gets the new plan, and each command of this one in turn. It may keep the command
    /// ([`Plan::push`]), record another or several instead, declare more buffers, or leave the
    /// command out by doing nothing. Its commands are checked like any recording. Commands that
    /// are independent stay so if each of them is kept, replaced by one, or left out. The new plan
    /// can be renamed ([`Plan::rename`]) and can get other outputs ([`Plan::set_outputs`]).
    ///
    /// ```
    /// # use plan::{Command, Element, LaunchConfig, Plan, args};
    /// # let mut plan = Plan::new("doc");
    /// # let u = plan.buffer("u", Element::F32, 8);
    /// # plan.launch("step", LaunchConfig::new(1, 8), args![u])?;
    /// // The same launches of another kernel; copies and fills are left out.
    /// let other = plan.map(|new, command| match command {
    ///     Command::Launch(launch) => new.launch("other", launch.config, launch.args.to_vec()),
    ///     Command::Copy(_) | Command::Fill(_) => Ok(()),
    /// })?;
    /// assert_eq!(other.kernels(), ["other"]);
    /// # Ok::<(), plan::PlanError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The first one of `record`.
    pub fn map(
        &self,
        mut record: impl FnMut(&mut Plan, Command<'_>) -> Result<(), PlanError>,
    ) -> Result<Plan, PlanError> {
        let mut new = Plan {
            tag: self.tag,
            buffers: self.buffers.clone(),
            outputs: self.outputs.clone(),
            target: self.target,
            scattered: self.scattered.clone(),
            ..Plan::new(self.name.clone())
        };
        let mut groups = self.groups.iter().peekable();
        // Where the commands of a group begin in the new plan, and whether each of them became one
        // at most.
        let (mut start, mut is_whole) = (0, true);
        for (position, command) in self.commands().enumerate() {
            let before = new.commands.len();
            if groups.peek().is_some_and(|group| group.start == position) {
                (start, is_whole) = (before, true);
            }
            record(&mut new, command)?;
            is_whole &= new.commands.len() <= before + 1;
            if groups.next_if(|group| group.end == position + 1).is_some() && is_whole {
                new.group(start..new.commands.len())?;
            }
        }
        Ok(new)
    }

    /// Gives the plan another name.
    pub fn rename(&mut self, name: impl Into<String>) {
        self.name = name.into();
    }

    /// Replaces the outputs.
    pub fn set_outputs(&mut self, outputs: Vec<(String, BufferId)>) {
        self.outputs = outputs;
    }

    pub(crate) fn check_name(&self, what: &'static str, name: &str) -> Result<(), PlanError> {
        let (plan, named) = (self.name.clone(), name.to_owned());
        if name.len() > MAX_NAME_BYTES {
            return Err(PlanError::LongName {
                plan,
                what,
                name: named,
            });
        }
        if name.chars().any(is_control) {
            return Err(PlanError::ControlInName {
                plan,
                what,
                name: named,
            });
        }
        Ok(())
    }

    /// Whether one more command fits.
    fn has_room(&self) -> Result<(), PlanError> {
        if self.commands.len() >= MAX_COMMANDS {
            return Err(self.too_large("launches, copies and fills", MAX_COMMANDS));
        }
        if self.args.len() > MAX_ARGS_TOGETHER {
            return Err(self.too_large("arguments of all launches together", MAX_ARGS_TOGETHER));
        }
        Ok(())
    }

    fn too_large(&self, what: &'static str, limit: usize) -> PlanError {
        PlanError::TooLarge {
            plan: self.name.clone(),
            what,
            limit,
        }
    }

    /// The buffer, if it is this plan's and has memory that commands can name.
    fn own_in_memory(
        &self,
        id: BufferId,
        place: impl Fn() -> String,
        role: impl Fn() -> String,
    ) -> Result<&Buffer, PlanError> {
        let buffer = self.own(id, &place, &role)?;
        if self.scattered(id).is_some() {
            return Err(PlanError::ScatteredBuffer {
                place: place(),
                role: role(),
                buffer: buffer.name.clone(),
            });
        }
        Ok(buffer)
    }
}
