//! The files that the reader accepts, and how it refuses the others.

use super::*;
use rand_chacha::ChaCha12Rng;
use rand_core::SeedableRng;

/// A workload with all that the format has.
const WHOLE: &str = r#"<?xml version="1.0" encoding="UTF-8" ?>
<workload name="whole" description="all of it" trigger="a.py" config="cprefix=w">
  <storage type="s3" config="accesskey=a;endpoint=http://127.0.0.1:1"/>
  <auth type="none"/>
  <workflow config="hashcheck=true">
    <workstage name="init">
      <work type="init" workers="2" config="containers=r(1,32)"/>
    </workstage>
    <workstage name="prepare" closuredelay="60">
      <work type="prepare" workers="4" config="containers=r(1,2);objects=r(1,50);sizes=u(1, 9)MB"/>
    </workstage>
    <workstage name="pause" closuredelay="5">
      <work name="pause" type="delay"><operation type="delay"/></work>
    </workstage>
    <workstage name="main">
      <auth type="swauth" config="username=u"/>
      <work name="main" workers="8" rampup="10" runtime="300" division="object" config="oprefix=o_">
        <storage type="swift"/>
        <operation type="read" ratio="70" config="containers=u(1,2);objects=h(1|10|3,11|50|1)" id="r"/>
        <operation type="write" ratio="10" config="containers=c(1);objects=s(51,60);sizes=c(64)KB"/>
        <operation type="filewrite" ratio="10" config="containers=c(2);fileselection=s;files=/tmp/A"/>
        <operation type="delete" ratio="10" config="containers=c(1);objects=1-9"/>
        <operation type="list" ratio="0" config="containers=c(1)"/>
      </work>
    </workstage>
    <workstage name="cleanup">
      <work type="cleanup" workers="1" config="containers=r(1,2);objects=r(1,50)"/>
    </workstage>
    <workstage name="dispose">
      <work type="dispose" workers="1" config="containers=r(1,32)"/>
    </workstage>
  </workflow>
</workload>
"#;

/// The error of the whole workload after a change of it.
fn refused(from: &str, to: &str) -> CosbenchError {
    assert!(WHOLE.contains(from), "{from}");
    Workload::parse(&WHOLE.replacen(from, to, 1)).unwrap_err()
}

#[test]
fn all_of_the_format_is_read() {
    let workload = Workload::parse(WHOLE).unwrap();
    assert_eq!((workload.name.as_str(), workload.stages.len()), ("whole", 6));
    assert_eq!(workload.storage.as_ref().unwrap().config.get("endpoint"), Some("http://127.0.0.1:1"));
    assert_eq!(workload.stages[1].closure_delay_seconds, 60);
    let main = &workload.stages[3].works[0];
    assert_eq!((main.workers, main.limit.runtime_seconds, main.division), (8, 300, Division::Object));
    assert_eq!(main.storage.as_ref().unwrap().kind, "swift");
    assert_eq!(workload.stages[3].auth.as_ref().unwrap().kind, "swauth");
    let kinds: Vec<OperationKind> = main.operations.iter().map(|operation| operation.kind).collect();
    let expected =
        [OperationKind::Read, OperationKind::Write, OperationKind::FileWrite, OperationKind::Delete];
    assert_eq!(kinds, expected, "an operation of ratio 0 is left out");
    let sizes = main.operations[1].sizes.as_ref().unwrap();
    assert_eq!((&sizes.selector, sizes.unit_bytes), (&Selector::Constant(64), 1000));
    assert_eq!(main.operations[2].files.as_deref(), Some("/tmp/A"));
    assert_eq!(main.operations[3].objects, Some(Selector::Range(1, 9)), "the old way to write a range");
}

#[test]
fn a_configuration_holds_for_all_that_stands_in_its_element() {
    let workload = Workload::parse(WHOLE).unwrap();
    let config = &workload.stages[3].works[0].operations[0].config;
    let inherited = ["cprefix", "hashcheck", "oprefix"].map(|key| config.get(key));
    assert_eq!(inherited, [Some("w"), Some("true"), Some("o_")]);
}

#[test]
fn a_work_that_is_one_operation_ends_when_each_worker_has_done_its_share() {
    let workload = Workload::parse(WHOLE).unwrap();
    let prepare = &workload.stages[1].works[0];
    assert_eq!((prepare.name.as_str(), prepare.limit.operations), ("prepare", 4));
    assert_eq!((prepare.division, prepare.operations[0].ratio), (Division::Object, 100));
}

#[test]
fn a_broken_file_is_refused_with_its_line_and_what_to_do() {
    let attribute = |line| format!("<operation type=\"{line}\"");
    for (from, to, line, parts) in [
        ("</workflow>", "</workflo>", 32, vec!["not XML"]),
        ("<storage type=\"s3\"", "<store type=\"s3\"", 3, vec!["<store>", "<storage>, <auth>, <workflow>"]),
        ("rampup=", "ramp=", 17, vec!["\"ramp\"", "rampup"]),
        ("workers=\"2\" ", "", 7, vec!["<work> has no workers"]),
        ("workers=\"4\"", "workers=\"four\"", 10, vec!["workers=\"four\"", "from 1"]),
        (&attribute("list"), &attribute("mend"), 23, vec!["type=\"mend\"", "filewrite"]),
        ("type=\"dispose\"", "type=\"dispel\"", 30, vec!["type=\"dispel\"", "normal, init"]),
        ("ratio=\"70\"", "ratio=\"71\"", 17, vec!["\"main\"", "101", "must add up to 100"]),
        ("runtime=\"300\" ", "", 17, vec!["no end", "totalOps"]),
        ("objects=s(51,60);", "", 20, vec!["write has no objects", "objects=u(1,50)"]),
        ("sizes=c(64)KB", "sizes=c(64)", 20, vec!["\"c(64)\" has no unit"]),
        ("sizes=c(64)KB", "sizes=d(64)KB", 20, vec!["\"d(64)\" is not a selector", "u(a,b)"]),
        ("u(1,2);objects=h", "u(2,1);objects=h", 19, vec!["containers", "ends before it begins"]),
        ("1|10|3", "1|10|0", 19, vec!["objects", "without weight"]),
        ("objects=1-9", "objets=1-9", 22, vec!["\"objets\" is unknown", "objects"]),
        ("fileselection=s", "fileselection=x", 21, vec!["fileselection=\"x\"", "s or u"]),
        ("containers=c(2);", "containers c(2);", 21, vec!["not key=value"]),
        ("division=\"object\"", "division=\"half\"", 17, vec!["division=\"half\"", "container"]),
    ] {
        let error = refused(from, to);
        let text = error.to_string();
        assert_eq!(error.line, line, "{from} -> {to}: {text}");
        for part in parts {
            assert!(text.contains(part), "{from} -> {to}: {part:?} is missing in {text:?}");
        }
    }
}

#[test]
fn a_file_of_something_else_is_no_workload() {
    let error = Workload::parse("<html/>").unwrap_err();
    assert!(error.to_string().contains("<html> is unknown in a file: write <workload>"), "{error}");
    assert!(Workload::parse("").is_err());
}

#[test]
fn a_selection_draws_as_its_selector_says() {
    let mut random = ChaCha12Rng::seed_from_u64(7);
    let mut drawn = |text: &str, times: usize| {
        let mut selection = Selection::new(text.parse().unwrap());
        (0..times).map(|_| selection.draw(&mut random)).collect::<Vec<u64>>()
    };
    assert_eq!(drawn("c(5)", 3), [5, 5, 5]);
    assert_eq!(drawn("s(3,5)", 5), [3, 4, 5, 3, 4]);
    assert_eq!(drawn("r(3,5)", 4), [3, 4, 5, 3]);
    let uniform = drawn("u(1,10)", 10_000);
    assert!((1..=10).all(|number| {
        let count = uniform.iter().filter(|drawn| **drawn == number).count();
        (850..1150).contains(&count)
    }));
    let bars = drawn("h(1|2|3,10||1)", 10_000);
    let low = bars.iter().filter(|drawn| **drawn <= 2).count();
    assert!((7200..7800).contains(&low), "{low}");
    assert!(bars.iter().all(|drawn| *drawn <= 2 || *drawn >= 10));
}
