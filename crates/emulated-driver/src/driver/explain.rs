//! Words about a fault beside its message: which argument of the kernel a buffer is, and how a
//! program comes by the lines of its source.

use ptx_emu::{ProgramFault, parameter_types, short_name};

use super::Driver;
use crate::machine_code::Origin;
use crate::objects::launch::Launch;
use crate::report;

impl Launch {
    /// More lines of a fault's message: the arguments that are its buffer. They point into it, and
    /// the program knows them by their names or positions, and not by the number of an allocation.
    pub(crate) fn arguments_of(&self, driver: &Driver, fault: &ProgramFault) -> String {
        let Some(buffer) = fault.kind.buffer() else {
            return String::new();
        };
        let program = self.module.program();
        let Some(kernel) = program.kernel(&self.kernel) else {
            return String::new();
        };
        let mut named = Vec::new();
        for (index, parameter) in kernel.params.iter().enumerate() {
            let start = parameter.offset as usize;
            let value = self.parameters[start..]
                .first_chunk()
                .filter(|_| parameter.size() == 8);
            let address = value.map(|bytes| u64::from_le_bytes(*bytes));
            if address.and_then(|address| driver.machine.buffer_at(address)) == Some(buffer) {
                named.push(argument(program, kernel, index));
            }
        }
        match named.as_slice() {
            [] => String::new(),
            [one] => format!("\n  buffer `{buffer}` is the kernel's {one}"),
            several => format!(
                "\n  buffer `{buffer}` is the kernel's {}",
                several.join(" and ")
            ),
        }
    }
}

/// One of a kernel's parameters, by what its author knows it by.
fn argument(program: &ptx::Program, kernel: &ptx::Function, index: usize) -> String {
    if let Some(source) = kernel.source_param(index) {
        return format!("parameter `{}`", source.name);
    }
    let written = &kernel.params[index].name;
    if *written != made_name(kernel, index) {
        return format!("parameter `{written}`");
    }
    let parameters = kernel.params.len();
    let types = parameter_types(&kernel.name).unwrap_or_default();
    // Of a kernel whose name tells no types, each parameter is one of the source.
    let ends: Vec<usize> = match types.as_slice() {
        [] => (1..=parameters).collect(),
        types => ends(types).collect(),
    };
    let position = ends.iter().position(|&end| index < end);
    let position = position.filter(|_| ends.last() == Some(&parameters));
    let names = debug_names::arguments(program, &kernel.name).unwrap_or_default();
    let name = position
        .filter(|_| names.len() == ends.len())
        .map(|position| &names[position]);
    match (name, position) {
        (Some(name), _) if !name.is_empty() => format!("parameter `{name}`"),
        (_, Some(position)) if !types.is_empty() => {
            format!("argument {} (`{}`)", position + 1, types[position])
        }
        _ => format!("parameter {} in PTX", index + 1),
    }
}

/// For each argument of the source, by its type, the number of PTX's parameters up to it.
fn ends(types: &[String]) -> impl Iterator<Item = usize> {
    types.iter().scan(0, |filled, ty| {
        *filled += parameters_of(ty);
        Some(*filled)
    })
}

/// The name that NVIDIA's and LLVM's compilers give to a parameter.
fn made_name(kernel: &ptx::Function, index: usize) -> String {
    format!("{}_param_{index}", kernel.name)
}

/// Whether a compiler has made a kernel, as far as its names tell.
fn is_of_a_compiler(kernel: &ptx::Function) -> bool {
    let first = kernel.params.first();
    parameter_types(&kernel.name).is_some()
        || first.is_some_and(|param| param.name == made_name(kernel, 0))
}

/// How many parameters of PTX a parameter of this type is. Numba passes an array as seven of one
/// dimension (its owner, their parent, its elements, the bytes of one, the data, an extent and a
/// stride), and two more for each other one.
fn parameters_of(ty: &str) -> usize {
    let array = ty
        .strip_prefix("Array<")
        .and_then(|rest| rest.strip_suffix('>'));
    let mut parts = array.into_iter().flat_map(|rest| rest.rsplit(", "));
    // The options stand behind the number of dimensions, and the type of an element before it.
    let dimensions = parts.find_map(|part| part.parse::<usize>().ok());
    dimensions.map_or(1, |number| 5 + 2 * number)
}

impl Driver {
    /// Notes, once, how the lines of the source come into messages, if a kernel has none.
    pub(crate) fn tell_how_to_have_lines(&mut self, launch: &Launch, fault: &ProgramFault) {
        let program = launch.module.program();
        // Of PTX that somebody has written, the lines are known.
        let is_made = program.kernel(&fault.kernel).is_some_and(is_of_a_compiler);
        if !program.files.is_empty() || !is_made {
            return;
        }
        if !self.told.insert((String::new(), "lines", 0)) {
            return;
        }
        let kernel = short_name(&fault.kernel);
        let remedy = if Origin::of(std::ptr::null()).has_python() {
            "Numba has them by `@cuda.jit(lineinfo=True)`, CuPy by `options=(\"-lineinfo\",)`, cuda.core by \
             `ProgramOptions(lineinfo=True)`, Warp by `wp.config.lineinfo = True`"
        } else {
            "compile it with `nvcc -lineinfo`, or `-lineinfo` among NVRTC's options"
        };
        report::note(&format!(
            "the PTX of `{kernel}` does not say which lines of its source it was made of; {remedy}"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel of eight-byte parameters that have these names.
    fn program(kernel: &str, parameters: &[String]) -> ptx::Program {
        let parameters: Vec<_> = parameters
            .iter()
            .map(|name| format!(".param .u64 {name}"))
            .collect();
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry {kernel}({}) {{ ret; }}\n",
            parameters.join(", ")
        );
        ptx::Program::read(&text, |_| Ok(())).unwrap()
    }

    /// Each buffer's argument, of a kernel whose parameters have a compiler's names.
    fn arguments(kernel: &str, count: usize) -> Vec<String> {
        let names: Vec<_> = (0..count)
            .map(|index| format!("{kernel}_param_{index}"))
            .collect();
        let program = program(kernel, &names);
        let kernel = program.kernel(kernel).unwrap();
        (0..count)
            .map(|index| argument(&program, kernel, index))
            .collect()
    }

    #[test]
    fn arguments_are_counted_as_in_the_source() {
        assert_eq!(
            arguments("_Z5scaleIfEvPT_PKS0_m", 3)[1],
            "argument 2 (`float const*`)"
        );
        let numbas = "_ZN8__main__5scaleB2v1E5ArrayIfLi1E1A7mutable7alignedE5ArrayIfLi2E1C7mutable7alignedEx";
        let named = arguments(numbas, 7 + 9 + 1);
        assert_eq!(
            named[4],
            "argument 1 (`Array<float, 1, A, mutable, aligned>`)"
        );
        assert_eq!(
            named[11],
            "argument 2 (`Array<float, 2, C, mutable, aligned>`)"
        );
        assert_eq!(named[16], "argument 3 (`long long`)");
        // Other numbers than the name says, and a name that says none.
        assert_eq!(arguments("_Z5scalePf", 2)[1], "parameter 2 in PTX");
        assert_eq!(arguments("add", 1)[0], "parameter 1 in PTX");
    }

    #[test]
    fn the_way_to_lines_is_for_what_a_compiler_has_made() {
        let program_own = program("scale", &["values".to_owned()]);
        let own = program_own.kernel("scale").unwrap();
        assert_eq!(argument(&program_own, own, 0), "parameter `values`");
        assert!(!is_of_a_compiler(own));
        for (kernel, parameter) in [("_Z5scalePf", "values"), ("scale", "scale_param_0")] {
            let made = program(kernel, &[parameter.to_owned()]);
            assert!(is_of_a_compiler(made.kernel(kernel).unwrap()), "{kernel}");
        }
    }
}
