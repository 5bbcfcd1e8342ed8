use super::*;

fn report(items: Vec<Item>) -> Report {
    Report::new(items, &test_lab::machine_without_gpu(), &test_lab::labs())
}

#[test]
fn a_gpu_is_described() {
    let items = devices(&test_lab::machine());
    insta::assert_snapshot!(render(&report(items), Look::PLAIN), @r"
    ok  CUDA driver  supports CUDA 13.0 and older
    ok  GPU          Adder 9000, compute capability 9.0, 132 multiprocessors, 80.0 GiB memory

    Ready: `harness test`, then `harness perf`.
    ");
}

#[test]
fn no_gpu_is_no_obstacle() {
    let items = devices(&test_lab::machine_without_gpu());
    insta::assert_snapshot!(render(&report(items), Look::PLAIN), @r"
    missing  GPU  no CUDA device: libcuda.so.1 not found
                  to use a GPU, install NVIDIA's driver; tests and pictures work without

    Ready: `harness test`, then `harness perf`.
    ");
}

#[test]
fn a_gpu_that_runs_no_kernel_counts_as_missing() {
    let machine = test_lab::machine_with(&[("Tesla V100", (7, 0)), ("A100", (8, 0))]);
    insta::assert_snapshot!(render(&report(devices(&machine)), Look::PLAIN), @r"
    ok       CUDA driver  supports CUDA 13.0 and older
    missing  GPU          Tesla V100, compute capability 7.0, 132 multiprocessors, 80.0 GiB memory
                          Tesla V100 has compute capability 7.0, and the kernels need 7.5 or newer;
                          `--device emulated` runs and tests them without a GPU
    ok       GPU          A100, compute capability 8.0, 132 multiprocessors, 80.0 GiB memory

    Ready: `harness test`, then `harness perf`.
    ");
}

#[test]
fn a_missing_compiler_has_a_remedy() {
    let lacking = cuda_builder::Error::NoToolchain {
        tried: vec!["distribution: no opt".to_owned()],
    };
    insta::assert_snapshot!(render(&report(vec![compiler(Err(lacking))]), Look::PLAIN), @r"
    missing  compiler for kernels  no toolchain can compile kernels
                                   run ./setup in the project's folder (needed to change kernels only)

    Ready: `harness test`, then `harness perf`.
    ");
}

#[test]
fn a_program_far_from_its_course_says_how_to_name_it() {
    let here = course(Ok("/home/ada/course".into()));
    let nowhere = course(Err(CommandError::Environment("not here".to_owned())));
    let wrong = "HARNESS_COURSE /home: is not a course: it has no folder crates/plan";
    let wrong = course(Err(CommandError::Input(wrong.to_owned())));
    insta::assert_snapshot!(render(&report(vec![here, nowhere, wrong]), Look::PLAIN), @r"
    ok       course's folder  /home/ada/course
    missing  course's folder  not here, not above, and not above this program
                              for kernels of your own (grade, watch, --submission): run this there, or
                              name it, HARNESS_COURSE=DIR before the command
    missing  course's folder  HARNESS_COURSE /home: is not a course: it has no folder crates/plan
                              correct the variable, or unset it

    Ready: `harness test`, then `harness perf`.
    ");
}

#[test]
fn what_the_sandbox_lacks_is_told() {
    let all = sandbox(Ok(InForce::ALL));
    let without = Layer::Network as u32 | Layer::Processes as u32;
    let part = sandbox(Ok(InForce::from_bits(!without)));
    insta::assert_snapshot!(render(&report(vec![all, part]), Look::PLAIN), @r"
    ok       sandbox for grading  all 7 protections
    missing  sandbox for grading  network, processes (this system allows no user namespaces)
                                  submissions of people whom you trust can be graded; each report says
                                  what was missing

    Ready: `harness test`, then `harness perf`.
    ");
}

#[test]
fn what_is_required_decides() {
    let broken = Item::missing("kernels", "they do not parse", "build again").required();
    assert!(!report(vec![terminal(Look::PLAIN), broken]).ready);
    assert!(report(vec![kernels(&test_lab::labs()).required()]).ready);
}

#[test]
fn shapes_of_other_kernels_are_told() {
    let entry = |gpu: &str, variant: &str| {
        format!(
            "[[tuned]]\ngpu = \"{gpu}\"\nlab = \"doubling\"\nvariant = \"{variant}\"\ncase = \"a\"\nunit = \"us\"\n\
             date = \"2026-11-22\"\ndriver = \"580\"\ncells = 7\nkernels = {{ twofold = \"0123456789abcdef\" }}\n"
        )
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tuned.toml");
    let entries = [
        entry("Adder 9000", "twofold"),
        entry("Adder 9000", "naive").replace("kernels", "# kernels"),
        entry("Adder 1", "late"),
    ];
    std::fs::write(&file, entries.concat()).unwrap();
    let of = |table| tuned(table, &test_lab::machine(), &test_lab::labs());
    insta::assert_snapshot!(render(&report(of(Table::read(&file))), Look::PLAIN), @r"
    outdated  tuned shapes  Adder 9000: doubling twofold: tuned.toml has times of other kernels than
                            this program's
                            `harness tune doubling --large` takes them again
    outdated  tuned shapes  Adder 9000: doubling naive: tuned.toml has times of unknown age, since it
                            names no kernels
                            `harness tune doubling --large` takes them again

    Ready: `harness test`, then `harness perf`.
    ");
    let damaged = CommandError::Input("tuned.toml:2: expected a string".to_owned());
    insta::assert_snapshot!(render(&report(of(Err(damaged))), Look::PLAIN), @r"
    missing  tuned shapes  tuned.toml:2: expected a string
                           until then, no command of GPUs knows a shape

    Ready: `harness test`, then `harness perf`.
    ");
}

#[test]
fn labs_without_shapes_for_a_gpu_are_told() {
    let of = |table| {
        let items = tuned(Ok(table), &test_lab::machine(), &test_lab::labs());
        render(&report(items), Look::PLAIN)
    };
    insta::assert_snapshot!(of(Table::default()), @r"
    missing  tuned shapes  Adder 9000: none for doubling
                           default shapes are in use there; `harness tune --large` finds the fastest

    Ready: `harness test`, then `harness perf`.
    ");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tuned.toml");
    let entry = "[[tuned]]\ngpu = \"Adder 9000\"\nlab = \"doubling\"\nvariant = \"naive\"\ncase = \"a\"\n\
                 unit = \"us\"\ndate = \"2026-11-22\"\ndriver = \"580\"\ncells = 7\n";
    std::fs::write(&file, entry).unwrap();
    assert!(!of(Table::read(&file).unwrap()).contains("none for doubling"));
}
