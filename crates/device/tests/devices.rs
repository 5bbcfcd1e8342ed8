//! The suite of `suite/mod.rs` on each device.

#[cfg(target_os = "linux")]
mod gpu;
mod suite;

macro_rules! on_every_device {
    ($($test:ident,)*) => {
        mod on_emulated {
            use device::EmulatedDevice;

            $(#[test]
            fn $test() {
                super::suite::$test(&EmulatedDevice::default());
            })*
        }

        #[cfg(target_os = "linux")]
        mod on_cuda {
            $(#[test]
            fn $test() {
                if let Some(device) = super::gpu::device() {
                    super::suite::$test(device);
                }
            })*
        }
    };
}

#[cfg(target_os = "linux")]
#[test]
fn cuda_devices_on_the_emulated_driver() {
    // That one launches 33,000 kernels of 100,000 elements.
    let chosen = [
        "on_cuda::",
        "--skip=a_long_plan_with_independent_commands_repeats",
    ];
    test_support::on_emulated_driver(&chosen, 1);
}

on_every_device! {
    runs_a_grid_with_a_tail,
    a_slice_of_part_of_a_buffer_is_that_part,
    passes_arguments_of_every_type,
    shares_memory_in_a_block,
    shares_memory_among_the_blocks_of_a_cluster,
    runs_clusters_by_stream_and_graph,
    runs_large_clusters_where_they_are_allowed,
    copies_and_fills_in_order,
    keeps_buffers_between_runs,
    sessions_that_share_memory_restore_their_inputs,
    parts_of_a_run_are_timed,
    runs_many_times_by_stream_and_graph,
    captures_no_plan_that_is_empty_or_long_without_repeating,
    replays_the_repetitions_of_a_long_plan,
    independent_commands_run_between_those_around_them,
    a_long_plan_with_independent_commands_repeats,
    copies_large_buffers_whole,
    digests_tell_buffers_apart,
    flushes_its_cache_and_nothing_else,
    runs_an_empty_plan,
    launches_kernels_without_parameters,
    runs_thousands_of_launches,
    knows_its_kernels,
    refuses_what_no_kernel_can_take,
    refuses_more_memory_than_there_is,
    refuses_buffers_of_another_shape,
    isolated_sessions_start_afresh,
    isolated_sessions_see_strays,
}
