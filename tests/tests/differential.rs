//! Tests every instruction that the emulated device executes against Rust and, if there is one, a
//! GPU.
//!
//! `tests/differential.sh` builds this program for a machine with a GPU. It needs no file beside
//! it.
//!
//! - `DIFFERENTIAL_PTX_DIR`: a folder to write every form's PTX to;
//! - `DIFFERENTIAL_THOROUGH`: if set, the number of cases is the same without a GPU as with one.

use std::path::Path;
use std::sync::Mutex;

use course_tests::differential::{Amount, Form, Report, all, module_text, run_form};
use cuda::CudaDevice;
use device::{Device, DeviceError, EmulatedDevice};
use rayon::prelude::*;
use test_support::{Need, skip};

/// The first GPU, or `None` if there is none. A GPU that cannot be opened is a failure.
fn gpu() -> Option<CudaDevice> {
    match CudaDevice::open(0) {
        Ok(device) => Some(device),
        Err(DeviceError::NoDevice { .. }) => None,
        Err(error) => panic!("{error}"),
    }
}

/// Every module as a file, to be assembled without a GPU.
fn write_modules(forms: &[Form], folder: &Path) {
    std::fs::create_dir_all(folder).expect("a folder");
    for (i, form) in forms.iter().enumerate() {
        std::fs::write(folder.join(format!("{i:04}.ptx")), module_text(form)).expect("a file");
    }
}

#[test]
fn instructions_give_the_same_bits_on_every_device() {
    let forms = all();
    if let Some(folder) = std::env::var_os("DIFFERENTIAL_PTX_DIR") {
        write_modules(&forms, Path::new(&folder));
    }
    let emulated = EmulatedDevice::default();
    let cuda = gpu();
    let thorough = cuda.is_some() || std::env::var_os("DIFFERENTIAL_THOROUGH").is_some();
    let amount = if thorough {
        Amount::THOROUGH
    } else {
        Amount::QUICK
    };
    let cuda = cuda
        .as_ref()
        .map(|device| Mutex::new(device as &dyn Device));
    let outcomes = forms
        .par_iter()
        .map(|form| run_form(form, &emulated, cuda.as_ref(), amount))
        .collect();
    let report = Report::new(outcomes);
    println!("{report}");
    if cuda.is_none() {
        skip(Need::Gpu, "no CUDA device");
    }
    assert!(report.holds(), "{}", report.summary());
}

#[test]
fn forms_have_names_of_their_own() {
    let mut seen = std::collections::HashSet::new();
    for form in all() {
        assert!(seen.insert(form.name.clone()), "{} twice", form.name);
    }
}
