//! Places of calls in a program of Python: its interpreter's own lines.
#![cfg(target_os = "linux")]

mod common;

use std::fs;
use std::process::Command;

/// Writes in one stream what another reads: at module level, in a method that another thread runs,
/// and by way of a package.
const PROGRAM: &str = r#"import ctypes, sys, threading
sys.path.insert(0, sys.argv[3] + "/site-packages")
from package import call, driver

context, module = ctypes.c_void_p(), ctypes.c_void_p()
call("cuInit", 0)
call("cuCtxCreate_v2", ctypes.byref(context), 0, 0)
call("cuModuleLoadData", ctypes.byref(module), open(sys.argv[2], "rb").read() + b"\0")
first, second, data = (ctypes.c_void_p() for _ in range(3))
call("cuMemAlloc_v2", ctypes.byref(data), ctypes.c_size_t(4096))
for stream in first, second:
    call("cuStreamCreate", ctypes.byref(stream), 1)


def launch(kernel, stream):
    function = ctypes.c_void_p()
    call("cuModuleGetFunction", ctypes.byref(function), module, kernel)
    word = ctypes.c_uint64(data.value)
    arguments = (ctypes.c_void_p * 1)(ctypes.addressof(word))
    driver.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, arguments, None)  # launches


class Reader:
    def read(self):
        into = (ctypes.c_uint32 * 32)()
        call("cuMemcpyDtoHAsync_v2", into, data, ctypes.c_size_t(128), second)  # reads


launch(b"produce", first)
thread = threading.Thread(target=Reader().read)
call("cuCtxGetCurrent", ctypes.byref(context))
thread.start()
thread.join()
call("cuCtxSynchronize")
launch(b"produce", first)
call("cuMemsetD8Async", data, 0, ctypes.c_size_t(128), second)  # fills
"#;

const PACKAGE: &str = r#"import ctypes, sys
driver = ctypes.CDLL(sys.argv[1])
def call(name, *arguments):
    context = ctypes.c_void_p()
    if name.startswith("cuMemcpy"):  # a thread of its own has no context
        driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
        driver.cuCtxSetCurrent(context)
    code = getattr(driver, name)(*arguments)
    assert code == 0, (name, code)
"#;

#[test]
fn a_call_of_python_has_its_file_and_line() {
    if Command::new("python3").arg("-V").output().is_err() {
        eprintln!("there is no python3 here, so that no places of Python are looked at");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("site-packages")).unwrap();
    fs::write(at("site-packages/package.py"), PACKAGE).unwrap();
    fs::write(at("program.py"), PROGRAM).unwrap();
    fs::write(at("kernels.ptx"), include_str!("between/kernels.ptx")).unwrap();
    let ended = Command::new("python3")
        .arg("-B")
        .arg(at("program.py"))
        .args([common::path(), at("kernels.ptx"), folder.path().to_owned()])
        .env("EMULATED_DRIVER_REPORT", at("report"))
        .output()
        .unwrap();
    assert!(ended.status.success(), "{ended:?}");
    let report = fs::read_to_string(at("report")).unwrap();
    let line_of = |mark: &str| {
        let index = PROGRAM.lines().position(|line| line.ends_with(mark));
        index.unwrap() + 1
    };
    for (mark, function) in [
        ("# launches", ", in launch"),
        (
            "# reads",
            if report.contains("Reader.read") {
                ", in Reader.read"
            } else {
                ", in read"
            },
        ),
        ("# fills", "\\n"),
    ] {
        let place = format!("program.py:{}{function}", line_of(mark));
        assert!(report.contains(&place), "{place} is not in\n{report}");
    }
}
