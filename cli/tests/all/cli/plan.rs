//! `ameles plan`: what it ends with.

use super::harness::TestFolder;

/// The command that a plan ends with, without the name of the program.
fn command(plan: &str) -> &str {
    let line = plan.lines().find_map(|line| line.strip_prefix("  ameles "));
    line.unwrap_or_else(|| panic!("no command in\n{plan}"))
}

#[test]
fn the_command_at_the_end_of_a_plan_makes_the_vault_at_its_store() {
    let desk = TestFolder::new();
    std::fs::create_dir(desk.path("store")).expect("a folder");
    let store = format!("file://{}", desk.path("store").display());
    let plan = desk.succeed(&format!("plan --capacity 16MiB --trusted-memory 256MiB --store {store}"));
    let begin = format!("serve --store {store} --capacity 16MiB --block-size ");
    assert!(command(&plan).starts_with(&begin), "{plan}");
    let made = desk.succeed(&command(&plan).replacen("serve", "init", 1));
    assert!(made.contains("$"), "it says what it costs: {made}");
    assert!(std::fs::read_dir(desk.path("store")).expect("a folder").next().is_some(), "the vault is there");
}

#[test]
fn a_plan_has_all_providers_in_one_table_unless_some_are_named() {
    let desk = TestFolder::new();
    let plan = |more: &str| {
        desk.succeed(&format!("plan --capacity 16MiB --trusted-memory 256MiB --block 4KiB {more}"))
    };
    let names =
        |plan: &str| ["s3-standard", "r2-standard", "free"].map(|name| plan.contains(&format!("| {name} ")));
    assert_eq!(names(&plan("")), [true, true, false]);
    assert_eq!(names(&plan("--prices free,s3-standard,free")), [true, false, true]);
    let error = desk.fail("plan --capacity 16MiB --prices s3-standard,nonsense", 2);
    assert!(error.contains("--prices nonsense: "), "{error}");
}
