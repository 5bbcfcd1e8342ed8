//! Which protections a program ran under.

/// A protection; the [crate]'s documentation says what each does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Layer {
    /// `limits`
    Limits = 1,
    /// `deadline`
    Deadline = 2,
    /// `privileges`
    Privileges = 4,
    /// `files`
    Files = 8,
    /// `system calls`
    SystemCalls = 16,
    /// `network`
    Network = 32,
    /// `processes`
    Processes = 64,
}

impl Layer {
    /// All of them.
    pub const ALL: [Layer; 7] = [
        Layer::Limits,
        Layer::Deadline,
        Layer::Privileges,
        Layer::Files,
        Layer::SystemCalls,
        Layer::Network,
        Layer::Processes,
    ];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Layer::Limits => "limits",
            Layer::Deadline => "deadline",
            Layer::Privileges => "privileges",
            Layer::Files => "files",
            Layer::SystemCalls => "system calls",
            Layer::Network => "network",
            Layer::Processes => "processes",
        }
    }

    /// Its effect where it is in force.
    pub const fn effect(self) -> &'static str {
        match self {
            Layer::Limits => "CPU time, memory, file size and open files are bounded",
            Layer::Deadline => "time and output are bounded, and the whole process group is killed",
            Layer::Privileges => "no capabilities, and no way to get any",
            Layer::Files => "Landlock: only the toolchain to read, only its own folder to write",
            Layer::SystemCalls => "seccomp: no sockets, no ptrace; the recorder starts no process",
            Layer::Network => "a network namespace with nothing in it",
            Layer::Processes => "a PID namespace: all processes end with the first",
        }
    }

    /// Why it is not in force where it is not.
    pub const fn absence(self) -> &'static str {
        match self {
            _ if !crate::HAS_ISOLATION => "that needs Linux",
            Layer::Limits | Layer::Deadline | Layer::Privileges => "left out",
            Layer::Files => {
                "the kernel has no Landlock (Linux 5.13 or newer, with `landlock` among its LSMs)"
            }
            Layer::SystemCalls => "the kernel has no seccomp filters",
            Layer::Network | Layer::Processes => "this system allows no user namespaces",
        }
    }
}

/// Which protections a program ran under, as the kernel confirmed them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InForce(u32);

impl InForce {
    /// All of them: what holds before anything ran.
    pub const ALL: InForce = InForce(u32::MAX);

    /// From the bits of [`Layer`]s.
    pub fn from_bits(bits: u32) -> InForce {
        InForce(bits)
    }

    /// Whether this one was in force.
    pub fn has(self, layer: Layer) -> bool {
        self.0 & layer as u32 != 0
    }

    /// Those in force in both.
    pub fn and(self, other: InForce) -> InForce {
        InForce(self.0 & other.0)
    }
}
