//! Panics of kernels that were compiled to say which they are. As kernels are compiled, all of them
//! are a `trap` at the same place: see `endings`.

use insta::assert_snapshot;
use plan::{BufferId, LaunchConfig, args};

use crate::message::{fault, redact};
use crate::scene::{Scene, WITH_MESSAGES, squares};

/// The message of the panic of a kernel, which `launch` launches.
fn panic(launch: impl Fn(&mut Scene) -> BufferId) -> String {
    let run = |mut scene: Scene| {
        let out = launch(&mut scene);
        scene.run::<f32>(out)
    };
    let message = run(Scene::of(&WITH_MESSAGES)).unwrap_err().to_string();
    let trap = fault(run(Scene::new()));
    let message = redact(&message, "(PTX line ", ")");
    // The same place, of the same thread.
    assert_eq!(message.lines().last(), trap.lines().last());
    message
}

fn on_squares(kernel: &'static str) -> impl Fn(&mut Scene) -> BufferId {
    move |scene| {
        let x: Vec<f32> = squares(64).iter().map(|x| 1000.0 - x).collect();
        let x = scene.input("x", &x);
        let out = scene.input("out", &[0f32; 64]);
        scene.launch(kernel, LaunchConfig::new(2, 32), args![x.slice(), out]);
        out
    }
}

fn on_numbers(kernel: &'static str) -> impl Fn(&mut Scene) -> BufferId {
    move |scene| {
        let a = scene.input("a", &[10u32, 20, 30, 0]);
        let b = scene.input("b", &[10u32, 30, 0, 40]);
        let out = scene.input("out", &[0u32; 4]);
        let args = args![a.slice(), b.slice(), out];
        scene.launch(kernel, LaunchConfig::new(1, 4), args);
        out
    }
}

#[test]
fn an_index_out_of_a_slice() {
    assert_snapshot!(panic(on_squares("slope")), @r"
    plan `demo`, command 0 (launch of `slope`)
    panic: index out of bounds: the len is 64 but the index is 64
      in kernel `slope` at tests/bad-kernels/src/endings.rs:11 (PTX line _), block (1, 0, 0), thread (31, 0, 0)
    ");
}

#[test]
fn a_message_with_values() {
    assert_snapshot!(panic(on_squares("roots")), @r"
    plan `demo`, command 0 (launch of `roots`)
    panic: x[32] is -24
      in kernel `roots` at tests/bad-kernels/src/endings.rs:197 (PTX line _), block (1, 0, 0), thread (0, 0, 0)
    ");
}

#[test]
fn a_division_by_zero() {
    assert_snapshot!(panic(on_numbers("means")), @r"
    plan `demo`, command 0 (launch of `means`)
    panic: attempt to divide by zero
      in kernel `means` at tests/bad-kernels/src/endings.rs:29 (PTX line _), block (0, 0, 0), thread (2, 0, 0)
    ");
}

#[test]
fn a_value_that_is_not_there() {
    assert_snapshot!(panic(on_numbers("places")), @r"
    plan `demo`, command 0 (launch of `places`)
    panic: called `Option::unwrap()` on a `None` value
      in kernel `places` at tests/bad-kernels/src/endings.rs:214 (PTX line _), block (0, 0, 0), thread (3, 0, 0)
    ");
}
