use super::*;
use crate::test_command::{parse, printed};

/// The ending of `harness run matadd` with these arguments, and the text that it prints.
fn shown(args: &[&str]) -> (Result<Ending, CommandError>, String) {
    let machine = Machine::discover(&[Wanted::EMULATED], Sanitize::ALL);
    printed(|out| run_on(&parse(args), Submitted::NONE, &machine, out))
}

#[test]
fn blocks_of_two_dimensions_tile_the_matrix() {
    let (ending, text) = shown(&["--check-index=grid2d_block2d_8x32", "--shape=10,3"]);
    assert_eq!(ending, Ok(Ending::Fine));
    insta::assert_snapshot!(text, @r"
matadd  10x3, grid2d_block2d_8x32 on emulated
  2 blocks of 8 x 32 threads; in each element blockIdx.x:threadIdx.x,threadIdx.y

  y \ x      0      1      2      3      4      5      6      7      8      9
  ---------------------------------------------------------------------------
      0  0:0,0  0:1,0  0:2,0  0:3,0  0:4,0  0:5,0  0:6,0  0:7,0  1:0,0  1:1,0
      1  0:0,1  0:1,1  0:2,1  0:3,1  0:4,1  0:5,1  0:6,1  0:7,1  1:0,1  1:1,1
      2  0:0,2  0:1,2  0:2,2  0:3,2  0:4,2  0:5,2  0:6,2  0:7,2  1:0,2  1:1,2
");
}

#[test]
fn blocks_of_one_dimension_take_columns() {
    let (ending, text) = shown(&["--check-index=grid1d_block1d_32", "--shape=4,2"]);
    assert_eq!(ending, Ok(Ending::Fine));
    insta::assert_snapshot!(text, @r"
matadd  4x2, grid1d_block1d_32 on emulated
  1 block of 32 threads; in each element blockIdx.x:threadIdx.x

  y \ x    0    1    2    3
  -------------------------
      0  0:0  0:1  0:2  0:3
      1  0:0  0:1  0:2  0:3
");
}

#[test]
fn in_json_every_element_has_its_owner() {
    let (ending, text) = shown(&["--check-index=grid_stride_256", "--shape=3,2", "--json"]);
    assert_eq!(ending, Ok(Ending::Fine));
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["elements"].as_array().unwrap().len(), 6);
    assert_eq!(json["elements"][4]["element"], serde_json::json!([1, 1]));
    assert_eq!(json["elements"][4]["thread_idx"], serde_json::json!([4, 0]));
}

#[test]
fn every_variant_stores_what_its_mapping_says() {
    let machine = Machine::discover(&[Wanted::EMULATED], Sanitize::ALL);
    let Named { device, .. } = machine.choose_one(None).unwrap();
    let (n_x, n_y) = (37, 5);
    // A thread of the vector variant stores four elements, and no mapping says that.
    let stated = |variant: &&Variant| !variant.name.contains("vector");
    for variant in LAB.variants.iter().filter(stated) {
        let Stores { configs, owners } = stores(variant, n_x, n_y).unwrap();
        let map = check_index(device, variant, n_x, n_y).unwrap();
        assert_eq!(configs, [map.config], "{}", variant.name);
        assert_eq!(owners.len(), map.threads.len());
        for (i, owner) in owners.into_iter().enumerate() {
            assert_eq!(owner, Some(map.owner(i)), "{}", variant.name);
        }
    }
}

#[test]
fn several_launches_and_what_nobody_stores() {
    let owner = |x: u32, launch: usize, block: u32, thread: u32| Owner {
        element: [x, 0],
        launch,
        block_idx: [block, 0],
        thread_idx: [thread, 0],
        block,
        thread: 4 * block + thread,
    };
    let config = |blocks: u32| LaunchConfig::new(blocks, 4);
    let owners = vec![Some(owner(0, 0, 1, 3)), None, Some(owner(2, 1, 0, 0))];
    let report = Report::new(
        "mine",
        "emulated".to_owned(),
        &[config(2), config(1)],
        owners,
    );
    insta::assert_snapshot!(render(&report, 3, Look::PLAIN), @r"
      2 blocks of 4 threads, 1 block of 4 threads; in each element launch/blockIdx.x:threadIdx.x
      - no thread stores this element

      y \ x      0  1      2
      ----------------------
          0  0/1:3  -  1/0:0
    ");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let refused = |args: &[&str]| {
        let (ending, text) = shown(args);
        assert_eq!(text, "");
        ending.unwrap_err()
    };
    insta::assert_snapshot!(refused(&["--check-index=grid_stride"]), @"--check-index: unknown variant `grid_stride`; did you mean `grid_stride_256`?");
    insta::assert_snapshot!(refused(&["--check-index=grid_stride_256", "--device=cpu"]), @"--device cpu: it has no grid of threads; name cuda or emulated");
    insta::assert_snapshot!(refused(&["--check-index=grid_stride_256", "--device=cuda"]), @"--device cuda: this build has no cuda device; see `harness doctor`");
    let shape = |text: &str| printable_shape(text).unwrap_err();
    insta::assert_snapshot!(shape("8"), @"write 2 numbers: 64,64");
    insta::assert_snapshot!(shape("0,3"), @"a matrix has at least 1 element along each axis");
    insta::assert_snapshot!(shape("33,3"), @"too large to print; at most 32 columns and 128 rows");
    insta::assert_snapshot!(shape("32,129"), @"too large to print; at most 32 columns and 128 rows");
}
