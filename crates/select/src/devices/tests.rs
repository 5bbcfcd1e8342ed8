use super::*;
use device::LaunchLimits;

fn with_gpu() -> Machine {
    Machine::new(vec![(DeviceKind::Cuda, Ok(vec![test_lab::device()]))])
}

fn without_gpu() -> Machine {
    Machine::new(vec![(DeviceKind::Cuda, Err(test_lab::no_device()))])
}

#[test]
fn names_are_read_and_written() {
    for name in ["cpu", "cuda", "cuda:3", "emulated"] {
        assert_eq!(name.parse::<Wanted>().unwrap().to_string(), name);
    }
    assert_eq!("cuda:0".parse(), Ok(Wanted::CUDA));
    let error = |text: &str| text.parse::<Wanted>().unwrap_err();
    insta::assert_snapshot!(error("cud"), @"unknown device `cud`; did you mean `cuda`?");
    insta::assert_snapshot!(error("cuda:x"), @"`x` is not a number of a GPU; write cuda:0, cuda:1");
}

#[test]
fn what_is_there_is_taken_and_the_rest_explained() {
    let machine = without_gpu();
    let chosen = machine.choose(&[]).unwrap();
    assert!(chosen.cpu && chosen.devices.is_empty());
    insta::assert_snapshot!(chosen.absent[0].reason, @"no CUDA device: libcuda.so.1 not found");

    let equipped = with_gpu();
    let on_gpu = equipped.choose(&[]).unwrap();
    assert!(on_gpu.cpu && on_gpu.devices.len() == 1 && on_gpu.absent.is_empty());
}

#[test]
fn the_emulated_device_stands_in_for_a_gpu() {
    let emulated = || {
        let device: Box<dyn Device> = Box::new(EmulatedDevice::default());
        (DeviceKind::Emulated, Ok(vec![device]))
    };
    let with_emulated = |Machine { mut found }: Machine| {
        found.push(emulated());
        Machine { found }
    };
    let names = |chosen: Chosen<'_>| -> Vec<DeviceName> {
        assert!(chosen.cpu);
        chosen.devices.iter().map(|named| named.name).collect()
    };
    let machine = with_emulated(with_gpu());
    assert_eq!(names(machine.choose(&[]).unwrap()), [DeviceName::Cuda(0)]);
    let both = [Wanted::EMULATED, Wanted::CUDA];
    assert_eq!(machine.choose(&both).unwrap().devices.len(), 2);

    let second = with_emulated(without_gpu());
    let chosen = second.choose(&[]).unwrap();
    assert_eq!(chosen.absent[0].name, Wanted::CUDA);
    assert_eq!(names(chosen), [DeviceName::Emulated]);
}

/// A GPU below compute capability 7.5 runs no kernel, so it is as good as none.
#[test]
fn a_gpu_that_runs_no_kernel_is_none() {
    let with = |gpus: &[(&str, (u32, u32))]| {
        let emulated: Box<dyn Device> = Box::new(EmulatedDevice::default());
        Machine::new(vec![
            (DeviceKind::Cuda, Ok(test_lab::gpus(gpus))),
            (DeviceKind::Emulated, Ok(vec![emulated])),
        ])
    };
    let machine = with(&[("Tesla V100", (7, 0))]);
    let chosen = machine.choose(&[]).unwrap();
    assert_eq!(chosen.devices[0].name, DeviceName::Emulated);
    insta::assert_snapshot!(chosen.absent[0].reason, @"Tesla V100 has compute capability 7.0, and the kernels need 7.5 or newer; `--device emulated` runs and tests them without a GPU");
    let refused = machine.choose_one(Some(Wanted::CUDA)).err().unwrap();
    assert!(matches!(refused, CommandError::Environment(_)), "{refused}");
    insta::assert_snapshot!(refused, @"--device cuda: Tesla V100 has compute capability 7.0, and the kernels need 7.5 or newer; `--device emulated` runs and tests them without a GPU; see `harness doctor`");
    let all_refused = Gpus::All.choose(&machine, None).unwrap_err();
    insta::assert_snapshot!(all_refused, @"--gpus all: Tesla V100 has compute capability 7.0, and the kernels need 7.5 or newer; `--device emulated` runs and tests them without a GPU; see `harness doctor`");

    // Beside one that runs them it is passed over.
    let mixed = with(&[("Tesla V100", (7, 0)), ("A100", (8, 0)), ("A100", (8, 0))]);
    let newer = mixed.choose(&[]).unwrap();
    assert!(newer.absent.is_empty());
    assert_eq!(newer.devices[0].name, DeviceName::Cuda(1));
    let all = Gpus::All.choose(&mixed, None);
    assert_eq!(all.unwrap(), [DeviceName::Cuda(1), DeviceName::Cuda(2)]);
    let two_refused = Gpus::Count(2).choose(&mixed, None).unwrap_err();
    assert!(
        two_refused.to_string().contains("Tesla V100"),
        "{two_refused}"
    );
}

#[test]
fn an_emulated_device_is_of_the_generation_that_is_asked_for() {
    let generation = GenerationArg {
        compute_capability: Some((7, 5)),
    };
    let emulated = [Wanted::EMULATED];
    let machine = Machine::discover_as(generation, &emulated, Sanitize::NONE).unwrap();
    let device = machine.choose(&emulated).unwrap().devices[0].device;
    assert_eq!(device.info().limits, LaunchLimits::of((7, 5)));
    let refused = Machine::discover_as(generation, &[], Sanitize::NONE)
        .err()
        .unwrap();
    insta::assert_snapshot!(refused, @"--compute-capability 7.5: only the emulated device can be of any; add --device emulated");
}

#[test]
fn what_is_asked_for_must_be_there() {
    let error = |machine: Machine, wanted| machine.choose(&[wanted]).err().unwrap();
    let failure = error(without_gpu(), Wanted::CUDA);
    insta::assert_snapshot!(failure, @"--device cuda: no CUDA device: libcuda.so.1 not found; see `harness doctor`");
    assert_eq!(failure.exit_code(), exit::codes::ENVIRONMENT);
    let third = error(with_gpu(), DeviceName::Cuda(2).into());
    insta::assert_snapshot!(third, @"--device cuda:2: this machine has 1, numbered from 0; see `harness doctor`");
}

#[test]
fn only_what_is_named_is_chosen() {
    let machine = with_gpu();
    let twice = [Wanted::CUDA; 2];
    let chosen = machine.choose(&twice).unwrap();
    assert!(!chosen.cpu && chosen.devices.len() == 1);
    let on_cpu = machine.choose(&[Wanted::Cpu]).unwrap();
    assert!(on_cpu.cpu && on_cpu.devices.is_empty());
}
