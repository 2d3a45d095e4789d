//! Tests of the Git recording: its sums, its ranges, and its errors.

use super::*;
use crate::thesis::job::{ObjectPart, Step};

const SMALL: &str = "\
# A recording.
# sum push-repository 2 requests 40000 up 0 down
# sum clone 4 requests 0 up 24478 down
# sum push-commit 1 requests 7 up 0 down
# sum pull-commit 1 requests 0 up 7 down
step,verb,object,size,together,ranges
push-repository,PUT,0,40000,1,0+40000
push-repository,HEAD,0,40000,1,0+0
clone,GET,,0,1,0+0
clone,GET,0,40000,3,0+12229 12229@AB 39980+20
push-commit,PUT,1,7,1,0+7
pull-commit,GET,1,7,1,0+7
";

#[test]
fn the_bytes_of_each_step_are_those_of_the_head() {
    for text in [SMALL, RECORDING] {
        let trace = Trace::parse(text).unwrap();
        assert_eq!(trace.traffic_by_step, trace.stated);
        assert!(trace.traffic_by_step.iter().all(|traffic| traffic.requests > 0));
        assert!(trace.job.timed_steps.is_sorted());
        assert_eq!(trace.job.timed_steps.last(), Some(&trace.job.steps.len()));
    }
}

#[test]
fn a_broken_line_gets_an_error_that_names_it() {
    for (before, after, line, why) in [
        ("clone,GET,,0,1,0+0", "clones,GET,,0,1,0+0", 9, "the step \"clones\" is unknown"),
        ("clone,GET,,0,1,0+0", "clone,GOT,,0,1,0+0", 9, "the verb \"GOT\""),
        ("clone,GET,,0,1,0+0", "clone,GET,,0", 9, "six fields"),
        ("39980+20", "39980+21", 10, "ends after the 40000 bytes"),
        ("39980+20", "39980-20", 10, "not first+bytes"),
        ("push-commit,PUT,1", "push-commit,PUT,2", 11, "object 2 comes before object 1"),
        ("pull-commit,GET", "clone,GET", 12, "clone comes after push-commit"),
        ("step,verb", "stage,verb", 6, "write \"step,verb,object,size,together,ranges\" here"),
    ] {
        let error = Trace::parse(&SMALL.replacen(before, after, 1)).unwrap_err().to_string();
        assert!(error.contains(&format!("line {line}:")) && error.contains(why), "{error}");
    }
}

#[test]
fn an_object_that_is_written_over_moves_its_new_size() {
    let again = SMALL.replace("push-commit,PUT,1,7,1,0+7", "push-commit,PUT,0,7,1,0+7");
    let again = again.replace("pull-commit,GET,1,7,1,0+7", "pull-commit,GET,0,7,1,0+7");
    let job = Trace::parse(&again).unwrap().job;
    let bytes = |step: usize| job.steps[step].bytes(&job.sizes);
    assert_eq!(
        (job.sizes.as_slice(), bytes(0), bytes(job.steps.len() - 2)),
        ([40_000].as_slice(), 40_000, 7)
    );
}

#[test]
fn a_range_is_in_the_blocks_that_hold_its_bytes() {
    let of = |first, bytes| {
        let part = Some(ObjectPart { first, bytes });
        Step { part, ..Step::whole(false, 0) }.blocks(&(7..12), 1000)
    };
    assert_eq!(of(0, 1), 7..8);
    assert_eq!(of(999, 1), 7..8);
    assert_eq!(of(999, 2), 7..9);
    assert_eq!(of(1000, 1000), 8..9);
    assert_eq!(of(2500, 2499), 9..12);
    assert!(of(0, 0).is_empty() && of(3000, 0).is_empty());
    assert_eq!(Step::whole(true, 0).blocks(&(7..12), 1000), 7..12);
}

#[test]
fn a_page_that_is_cut_off_gets_an_error() {
    let error = Trace::parse(&SMALL.replace("@AB", "@ABC")).unwrap_err().to_string();
    assert!(error.contains("line 10:") && error.contains("two digits"), "{error}");
}

#[test]
fn requests_of_one_group_share_a_block_and_the_others_do_not() {
    let trace = Trace::parse(SMALL).unwrap();
    let groups: Vec<usize> = trace.job.groups().map(|(group, _)| group.len()).collect();
    assert_eq!(groups, [1, 1, 1, 3, 1, 1]);
    let options = Options::standard();
    let accesses = |name: &str, kib| {
        let scheme = SCHEMES.iter().find(|scheme| scheme.name == name).unwrap();
        let model = options.model();
        let result = run_scheme(&options, &trace, scheme, Some(kib), model).unwrap();
        assert!(result.step_times.is_sorted() && result.step_times[3] <= result.runtime, "{name}");
        result.accesses
    };
    // Blocks of 64 KiB: each object has one, and the three ranges share it.
    assert_eq!(accesses("path", 64), 4);
    // Blocks of 16 KiB: three for the first object; the ranges are in the first and in the last.
    assert_eq!(accesses("path", 16), 7);
    // Without an ORAM each range is a separate request.
    assert_eq!(accesses(BASELINE, 1), 8);
}
