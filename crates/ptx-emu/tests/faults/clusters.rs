//! Clusters that cannot be launched.

use insta::assert_snapshot;

use crate::common::launch;

#[test]
fn clusters_that_cannot_be_launched() {
    let fault = |grid: u32, cluster: u32| launch("").grid(grid).cluster(cluster).fault();
    assert_snapshot!(fault(6, 4), @"launch of `k`: grid [6, 1, 1] is not a multiple of cluster [4, 1, 1]; round it up to a multiple of 4 blocks in x, and return early in the extra blocks");
    assert_snapshot!(fault(34, 17), @"launch of `k`: a cluster of [17, 1, 1] has 17 blocks; 16 is the most");
    assert_snapshot!(fault(4, 0), @"launch of `k`: the cluster is [0, 1, 1]: no dimension may be 0");
    let asked = |directive: &str, cluster: u32| {
        let mut launch = launch("").grid(4).cluster(cluster);
        launch.directive = directive.to_owned();
        launch
    };
    assert_snapshot!(asked(".reqnctapercluster 2, 1, 1", 4).fault(), @"launch of `k`: the kernel was compiled for clusters of [2, 1, 1] blocks (`.reqnctapercluster`) and nothing else, not [4, 1, 1]");
    assert_snapshot!(asked(".maxclusterrank 2", 4).fault(), @"launch of `k`: a cluster of [4, 1, 1] has 4 blocks, but the kernel was compiled for at most 2 (`.maxclusterrank`)");
    asked(".explicitcluster .maxclusterrank 4", 4).report();
    // Without a cluster in the launch, that of the kernel counts.
    let mut own = asked(".reqnctapercluster 4", 1);
    own.body = "mov.u32 %r5, %cluster_nctarank;\nst.global.u32 [%rd3], %r5;".to_owned();
    own.out_words = 128;
    assert_eq!(own.out(), [4; 128]);
}
