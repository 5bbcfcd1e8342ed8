//! References, refusals.

use super::{LAB, MatAdd, sum};
use lab::{CaseParams, Cpu, LabCase};
use terminal::progress::NoProgress;

fn matrices(problem: &MatAdd) -> (Vec<f32>, Vec<f32>) {
    let inputs = problem.inputs().unwrap();
    let matrix = |i: usize| inputs[i].1.as_slice::<f32>().unwrap().to_vec();
    (matrix(0), matrix(1))
}

#[test]
fn the_sum_is_the_sum_and_parallel_is_serial() {
    for (n_x, n_y) in [(1, 1), (33, 7), (700, 301)] {
        let problem = MatAdd::new(n_x, n_y, 9).unwrap();
        let (a, b) = matrices(&problem);
        let c = sum(&a, &b, Cpu::Serial).unwrap();
        assert_eq!(c.len(), (n_x * n_y) as usize);
        for i in 0..c.len() {
            // An `f64` holds the exact sum or, for a subnormal number, the part that decides how it
            // is rounded: the sum is rounded once.
            let exact = f64::from(a[i]) + f64::from(b[i]);
            assert_eq!(c[i], exact as f32, "element {i}");
        }
        assert_eq!(c, sum(&a, &b, Cpu::Parallel).unwrap());
    }
}
#[test]
fn the_reference_is_at_most_half_a_unit_from_the_oracle() {
    let problem = MatAdd::new(700, 31, 9).unwrap();
    let inputs = problem.inputs().unwrap();
    let reference = problem
        .reference_from(&inputs, Cpu::Serial, &NoProgress)
        .unwrap();
    let oracle = problem.oracle_from(&inputs, &NoProgress).unwrap().unwrap();
    let (c, exact) = (
        reference[0].1.as_slice::<f32>().unwrap(),
        oracle[0].1.as_slice::<f64>().unwrap(),
    );
    assert_eq!((oracle[0].0.as_str(), exact.len()), ("c", c.len()));
    for (&rounded, &sum) in c.iter().zip(exact) {
        let ulp = f64::from(rounded.abs().next_up()) - f64::from(rounded.abs());
        assert!(
            (f64::from(rounded) - sum).abs() <= ulp / 2.0,
            "{rounded} for {sum}"
        );
    }
}
#[test]
fn matrices_are_random() {
    let problem = MatAdd::new(1000, 100, 1).unwrap();
    let (a, b) = matrices(&problem);
    for elements in [&a, &b] {
        assert!(elements.iter().all(|v| v.abs() < 256.0));
        let share = |is: fn(&f32) -> bool| {
            let count = elements.iter().filter(|v| is(v)).count();
            count as f64 / elements.len() as f64
        };
        // A share of 10^5 has a standard deviation of 0.0016 at most.
        assert!((share(|v| v.is_sign_negative()) - 0.5).abs() < 0.01);
        assert!((share(|v| v.abs() < 1.0) - 0.5).abs() < 0.01);
        assert!((share(|v| v.is_subnormal()) - 1.0 / 256.0).abs() < 0.002);
    }
    let equal = a.iter().zip(&b).filter(|(a, b)| a == b).count();
    assert!(equal < 10, "{equal} elements of A and B are equal");
    let (other, _) = matrices(&MatAdd::new(1000, 100, 2).unwrap());
    assert_ne!(a, other);
    assert_ne!(b, other);
}
fn refusal(pairs: &[&str]) -> String {
    let params = CaseParams::parse(pairs.iter().copied()).unwrap();
    LAB.case(&params).err().expect("refused").to_string()
}
#[test]
fn wrong_parameters_are_named() {
    insta::assert_snapshot!(refusal(&["n_x=0"]), @"parameter `n_x` = `0`: a matrix has at least 1 element along each axis");
    insta::assert_snapshot!(refusal(&["n_y=0"]), @"parameter `n_y` = `0`: a matrix has at least 1 element along each axis");
    insta::assert_snapshot!(refusal(&["n_y=500001"]), @"parameter `n_y` = `500001`: a matrix has at most 500000 rows: a grid has at most 65535 blocks along y");
    insta::assert_snapshot!(refusal(&["n_x=2147483648", "n_y=2"]), @"parameter `n_x * n_y` = `2147483648 * 2`: a matrix has at most 2147483647 elements");
    insta::assert_snapshot!(refusal(&["n_x=-1"]), @"parameter `n_x` = `-1`: write a whole number from 0 to 4294967295: elements of a row, at least 1");
    insta::assert_snapshot!(refusal(&["seed=x"]), @"parameter `seed` = `x`: write a whole number from 0 to 4294967295: seed of the random matrices, 0 to 2^32 - 1");
    insta::assert_snapshot!(refusal(&["block=32x32"]), @"unknown parameter `block`; there are: n_x, n_y, seed, scale");
}
