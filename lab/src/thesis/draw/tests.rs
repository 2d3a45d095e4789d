//! The jobs that are drawn from workloads: those of the thesis, and those of other users of COSBench.

use super::*;
use crate::thesis::options::Options;
use crate::thesis::{schemes, workload_runs, workloads};
use crate::virtual_time::LinkModel;
use std::time::Duration;

/// The pace of the thesis's link, without time of the application.
fn timing() -> StoreTiming {
    StoreTiming { model: Options::standard().model(), application_time: Duration::ZERO }
}

fn drawn(text: &str, seed: u64) -> Result<Job, ThesisError> {
    Job::draw(&Workload::parse(text).unwrap(), &workloads::folders(), seed, &timing())
}

fn job(letter: &str, seed: u64) -> Job {
    let workload = workloads::read(letter).unwrap().1;
    Job::draw(&workload, &workloads::folders(), seed, &timing()).unwrap()
}

/// A workload that prepares eight objects of 1 MB in each of two containers, and then does these works.
fn after_preparing(works: &str) -> String {
    format!(
        r#"<workload name="mine" description="">
<storage type="swift"/>
<workflow>
<workstage name="before">
<work type="prepare" workers="4" config="containers=r(1,2);objects=r(1,8);sizes=c(1)MB"/>
</workstage>
<workstage name="main">{works}</workstage>
</workflow>
</workload>"#
    )
}

/// A work of reads.
fn reads(workers: u64, end: &str, more: &str) -> String {
    format!(
        r#"<work name="reads" workers="{workers}" {end} {more}>
<operation type="read" config="containers=r(1,2);objects=u(1,8)"/></work>"#
    )
}

/// The groups after preparing.
fn groups(job: &Job) -> Vec<&[Step]> {
    job.groups().filter(|(_, steps)| steps.start >= job.prepared).map(|(group, _)| group).collect()
}

#[test]
fn the_same_seed_draws_the_same_job() {
    assert_eq!(job("A", 1), job("A", 1));
    assert_ne!(job("A", 1), job("A", 2));
}

#[test]
fn the_workloads_read_and_write_as_often_as_they_say() {
    for (letter, reads) in [("A", 40.0), ("B", 90.0), ("C", 10.0), ("D", 80.0), ("E", 59.0)] {
        let seeds = 0..40;
        let all: usize = seeds
            .map(|seed| {
                let job = job(letter, seed);
                assert_eq!((job.steps.len(), job.prepared), (110, 10));
                assert!(job.steps[..10].iter().all(|step| step.writes));
                job.steps.iter().filter(|step| !step.writes).count()
            })
            .sum();
        let mean = all as f64 / 40.0;
        assert!((mean - reads).abs() < 3.0, "{letter}: {mean}");
    }
}

#[test]
fn an_object_that_was_never_written_is_not_read() {
    let text = include_str!("../../../workloads/a.xml").replace("objects=u(1,10)", "objects=c(11)");
    let error = drawn(&text, 1).unwrap_err().to_string();
    assert!(error.contains("object 11 of container 1"), "{error}");
}

#[test]
fn workers_ask_together_and_share_the_operations() {
    let job = drawn(&after_preparing(&reads(3, r#"totalOps="10""#, "")), 1).unwrap();
    assert_eq!((job.prepared, job.sizes.as_slice()), (16, [1_000_000; 16].as_slice()));
    assert_eq!(job.groups().next().unwrap().0.len(), 4, "four workers prepare");
    let sizes: Vec<usize> = groups(&job).iter().map(|group| group.len()).collect();
    assert_eq!(sizes, [3, 3, 3, 1]);
}

#[test]
fn the_works_of_a_stage_are_done_at_the_same_time() {
    let works = reads(2, r#"totalOps="4""#, "")
        + r#"<work name="writes" workers="1" totalOps="3">
<operation type="write" config="containers=c(3);objects=s(1,9);sizes=c(5)KB"/></work>"#;
    let job = drawn(&after_preparing(&works), 1).unwrap();
    let writes = |group: &&[Step]| group.iter().map(|step| step.writes).collect::<Vec<_>>();
    let found: Vec<Vec<bool>> = groups(&job).iter().map(writes).collect();
    assert_eq!(found, [vec![false, false, true], vec![false, false, true], vec![true]]);
    assert_eq!(job.sizes[16..], [5000; 3]);
}

#[test]
fn workers_that_divide_objects_have_objects_of_their_own() {
    let text = after_preparing(&reads(4, r#"totalOps="400""#, r#"division="object""#));
    let job = drawn(&text, 1).unwrap();
    for group in groups(&job) {
        // Containers are shared: worker after worker gets the next one.
        let objects = group.iter().map(|step| step.object % 8 / 2).collect::<Vec<_>>();
        assert_eq!(objects, [0, 1, 2, 3]);
    }
    let many = text.replace(r#"workers="4" totalOps"#, r#"workers="9" totalOps"#);
    let error = drawn(&many, 1).unwrap_err().to_string();
    assert!(error.contains("divides its objects among 9 workers, and there are fewer"), "{error}");
}

#[test]
fn a_work_that_ends_by_seconds_has_as_many_operations_as_are_served_without_an_oram() {
    for workers in [1, 5] {
        let job = drawn(&after_preparing(&reads(workers, r#"runtime="10""#, "")), 1).unwrap();
        // 23.6 ms and 5 ms for each round, and 15.67 ms for each megabyte.
        let round = 0.0286 + workers as f64 * 8.0 / 510.4;
        assert_eq!(groups(&job).len(), (10.0 / round).ceil() as usize, "{workers} workers");
    }
}

/// A work of writes of 1 to 10 MB over ten objects, in turn, for 300 s.
const OVERWRITES: &str = r#"<work name="writes" workers="1" runtime="300">
<operation type="write" config="containers=c(3);objects=s(1,10);sizes=u(1,10)MB"/></work>"#;

#[test]
fn an_object_that_is_written_over_has_its_new_size_and_the_room_of_its_greatest() {
    let works = OVERWRITES.to_owned()
        + &reads(1, r#"totalOps="200""#, "").replace("u(1,2);objects=u(1,8)", "c(3);objects=u(1,10)");
    let job = drawn(&after_preparing(&works), 1).unwrap();
    let mut now = vec![0; job.sizes.len()];
    for step in &job.steps {
        let bytes = step.bytes(&job.sizes);
        assert!(step.writes || bytes == now[step.object], "what is read is what was written last");
        now[step.object] = bytes;
        assert!(bytes <= job.sizes[step.object]);
    }
    let writes: Vec<f64> = job.steps[job.prepared..]
        .iter()
        .filter(|step| step.writes)
        .map(|step| step.bytes(&job.sizes) as f64 / 1e6)
        .collect();
    let mean = writes.iter().sum::<f64>() / writes.len() as f64;
    assert!((mean - 5.5).abs() < 0.2, "{mean} MB in the mean of {} writes", writes.len());
}

#[test]
fn a_work_that_ends_by_seconds_takes_them_without_an_oram_though_it_writes_over() {
    let job = drawn(&after_preparing(OVERWRITES), 1).unwrap();
    let options = Options::standard();
    let trial = workload_runs::workload_trial(&options, "mine", &job, &schemes::SCHEMES[0], None);
    let runtime = (schemes::SCHEMES[0].run)(&trial).unwrap().runtime.as_secs_f64();
    assert!((300.0..300.5).contains(&runtime), "{runtime} s");
}

#[test]
fn a_work_that_ends_by_bytes_moves_them_and_no_whole_object_more() {
    let job = drawn(&after_preparing(&reads(1, r#"totalBytes="9500000""#, "")), 1).unwrap();
    assert_eq!(job.steps.len() - job.prepared, 10);
}

#[test]
fn a_deleted_object_is_asked_for_and_a_listing_moves_no_object() {
    let works = r#"<work name="deletes" workers="1" totalOps="8">
<operation type="delete" config="containers=c(1);objects=s(1,8)"/></work></workstage>
<workstage name="after"><work name="reads" workers="1" totalOps="40">
<operation type="read" ratio="50" config="containers=u(1,2);objects=u(1,8)"/>
<operation type="list" ratio="50" config="containers=c(2)"/></work>"#;
    let job = drawn(&after_preparing(works), 1).unwrap();
    let steps = &job.steps[job.prepared..];
    assert_eq!(steps.len(), 40, "what is deleted moves nothing");
    let is_whole = |step: &Step| step.part.is_none();
    assert!(steps.iter().all(|step| is_whole(step) == (step.object >= 8) || step.object == 8));
    assert!(steps.iter().any(is_whole) && steps.iter().any(|step| step.object < 8));
}

#[test]
fn the_files_of_a_folder_that_is_there_have_their_own_sizes() {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in [("b", 7), ("a", 5)] {
        std::fs::write(folder.path().join(name), vec![0; bytes]).unwrap();
    }
    let work = |path: &str| {
        after_preparing(&format!(
            r#"<work name="files" workers="1" totalOps="2">
<operation type="filewrite" config="containers=c(3);fileselection=s;files={path}"/></work>"#
        ))
    };
    let job = drawn(&work(folder.path().to_str().unwrap()), 1).unwrap();
    assert_eq!(job.sizes[16..], [5, 7]);
    let error = drawn(&work("/nowhere/at-all"), 1).unwrap_err().to_string();
    assert!(error.contains("no folder /nowhere/at-all on this machine"), "{error}");
}

#[test]
fn a_workload_that_moves_nothing_is_refused() {
    let text = r#"<workload name="mine" description=""><storage type="swift"/><workflow>
<workstage name="init"><work type="init" workers="1" config="containers=r(1,2)"/></workstage></workflow></workload>"#;
    let error = drawn(text, 1).unwrap_err().to_string();
    assert!(error.contains("reads and writes nothing"), "{error}");
}

#[test]
fn a_workload_without_an_end_in_reach_is_refused() {
    let refused = |text: &str, why: &str| {
        let error = drawn(text, 1).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    };
    refused(&after_preparing(&reads(1, r#"totalOps="2000000""#, "")), "more than 1000000 operations");
    refused(&after_preparing(&reads(20_000, r#"totalOps="20000""#, "")), "at most 10000");
    let huge = after_preparing(&reads(1, r#"totalOps="1""#, "")).replace("c(1)MB", "c(2000000000)GB");
    refused(&huge, "more than 1 PiB");
    // With a store that takes no time the seconds never pass.
    let workload = Workload::parse(&after_preparing(
        r#"<work name="deletes" workers="1" runtime="5">
<operation type="delete" config="containers=c(1);objects=s(1,8)"/></work>"#,
    ));
    let at_once = LinkModel {
        speed: ameles_store::LinkSpeed { round_trip: Duration::ZERO, ..timing().model.speed },
        server: Default::default(),
        ..timing().model
    };
    let timing = StoreTiming { model: at_once, ..timing() };
    let error = Job::draw(&workload.unwrap(), &workloads::folders(), 1, &timing).unwrap_err().to_string();
    assert!(error.contains("end its works earlier"), "{error}");
}
