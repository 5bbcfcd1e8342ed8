//! A kernel `k(out, in, n)` made from a body of PTX, and what became of its launch.

#![allow(dead_code, reason = "each test binary uses its part")]

use ptx_emu::{
    DeviceLimits, Executable, Fault, LaunchConfig, LaunchReport, LoadedModule, Machine, Options,
    Sanitize, Schedule,
};

/// A launch of `k`. Registers of every class are declared; the body starts with
/// `%rd1` = out, `%rd2` = in, `%r1` = n, `%r2` = thread in x, `%r3` = thread in the grid,
/// `%rd3` = &out[%r3], `%rd4` = &in[%r3] (4-byte elements).
pub struct Launch {
    pub module_scope: String,
    /// Performance directives of `k`.
    pub directive: String,
    pub body: String,
    pub config: LaunchConfig,
    pub options: Options,
    pub limits: DeviceLimits,
    pub input: Vec<u32>,
    pub out_words: usize,
    /// Words of `out` that the host writes (zeros) before the launch.
    pub out_written: bool,
    pub n: u32,
}

/// Loads a text that must be valid.
pub fn load(machine: &mut Machine, text: &str) -> LoadedModule {
    let program = Executable::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    machine.load(program).expect("the module fits")
}

/// One block of this many threads, without dynamic shared memory.
pub fn one_block(threads: u32) -> LaunchConfig {
    LaunchConfig {
        grid: [1; 3],
        block: [threads, 1, 1],
        shared_mem_bytes: 0,
        cluster: [1; 3],
    }
}

/// The outcome of a launch.
pub struct Outcome {
    pub result: Result<LaunchReport, Fault>,
    pub out: Vec<u32>,
}

/// A launch of one block of 32 threads with all checks, 64 words in (0, 1, 2, ..), 64 words out.
pub fn launch(body: &str) -> Launch {
    Launch {
        module_scope: String::new(),
        directive: String::new(),
        body: body.to_owned(),
        config: one_block(32),
        options: Options {
            threads: 1,
            ..Options::default()
        },
        limits: DeviceLimits::default(),
        input: (0..64).collect(),
        out_words: 64,
        out_written: true,
        n: 64,
    }
}

impl Launch {
    pub fn module_scope(mut self, text: &str) -> Self {
        self.module_scope = text.to_owned();
        self
    }

    pub fn grid(mut self, x: u32) -> Self {
        self.config.grid = [x, 1, 1];
        self
    }

    pub fn block(mut self, x: u32) -> Self {
        self.config.block = [x, 1, 1];
        self
    }

    /// A cluster of `x` blocks in x.
    pub fn cluster(mut self, x: u32) -> Self {
        self.config.cluster = [x, 1, 1];
        self
    }

    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.options.schedule = schedule;
        self
    }

    pub fn shared(mut self, bytes: u32) -> Self {
        self.config.shared_mem_bytes = bytes;
        self
    }

    pub fn input(mut self, words: impl IntoIterator<Item = u32>) -> Self {
        self.input = words.into_iter().collect();
        self
    }

    pub fn out_words(mut self, words: usize) -> Self {
        self.out_words = words;
        self
    }

    pub fn out_unwritten(mut self) -> Self {
        self.out_written = false;
        self
    }

    pub fn sanitize(mut self, sanitize: Sanitize) -> Self {
        self.options.sanitize = sanitize;
        self
    }

    pub fn text(&self) -> String {
        format!(
            r#".version 8.0
.target sm_90
.address_size 64
.file 1 "src/lab.rs"
{}
.visible .entry k(.param .u64 out, .param .u64 in, .param .u32 n)
{}{{
.reg .pred %p<16>;
.reg .b16 %h<16>;
.reg .b32 %r<64>;
.reg .f32 %f<16>;
.reg .f64 %d<16>;
.reg .b64 %rd<64>;
ld.param.u64 %rd1, [out];
ld.param.u64 %rd2, [in];
ld.param.u32 %r1, [n];
mov.u32 %r2, %tid.x;
mov.u32 %r3, %ctaid.x;
mov.u32 %r4, %ntid.x;
mad.lo.u32 %r3, %r3, %r4, %r2;
mul.wide.u32 %rd3, %r3, 4;
add.u64 %rd4, %rd2, %rd3;
add.u64 %rd3, %rd1, %rd3;
.loc 1 1 1
{}
ret;
}}
"#,
            self.module_scope, self.directive, self.body
        )
    }

    pub fn run(&self) -> Outcome {
        self.run_on(&mut Machine::new(self.limits.clone(), self.options.clone()))
    }

    pub fn run_on(&self, machine: &mut Machine) -> Outcome {
        let text = self.text();
        let module = load(machine, &text);
        let input: Vec<u8> = self
            .input
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        let out_bytes = 4 * self.out_words;
        let input_at = machine.allocate(input.len() as u64, "in").expect("it fits");
        let out_at = machine.allocate(out_bytes as u64, "out").expect("it fits");
        machine.write(input_at, &input).expect("in bounds");
        if self.out_written {
            machine
                .write(out_at, &vec![0; out_bytes])
                .expect("in bounds");
        }
        let params = [
            &out_at.to_le_bytes()[..],
            &input_at.to_le_bytes(),
            &self.n.to_le_bytes(),
        ]
        .concat();
        let result = machine.launch(&module, "k", &self.config, params);
        let mut out = vec![0; out_bytes];
        machine.read(out_at, &mut out).expect("in bounds");
        let out = out
            .chunks_exact(4)
            .map(|w| u32::from_le_bytes(w.try_into().unwrap()))
            .collect();
        Outcome { result, out }
    }

    /// The words that the launch stored; it must not fail.
    pub fn out(&self) -> Vec<u32> {
        let Outcome { result, out } = self.run();
        if let Err(fault) = result {
            panic!("{fault}\n{}", self.text());
        }
        out
    }

    /// The report of a launch that must not fail.
    pub fn report(&self) -> LaunchReport {
        self.run()
            .result
            .unwrap_or_else(|fault| panic!("{fault}\n{}", self.text()))
    }

    /// The message of a launch that must fail.
    pub fn fault(&self) -> String {
        match self.run().result {
            Ok(_) => panic!("no fault:\n{}", self.text()),
            Err(fault) => fault.to_string(),
        }
    }
}
