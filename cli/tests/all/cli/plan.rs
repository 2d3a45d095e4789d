//! `ameles plan`: the command at its end, and its table of providers.

use super::harness::TestFolder;

/// Returns the command at the end of a plan, without the name of the program.
fn command(plan: &str) -> &str {
    let line = plan.lines().find_map(|line| line.strip_prefix("  ameles "));
    line.unwrap_or_else(|| panic!("no command in\n{plan}"))
}

#[test]
fn the_command_at_the_end_of_a_plan_creates_the_vault_in_its_store() {
    let folder = TestFolder::new();
    std::fs::create_dir(folder.path("store")).expect("a folder");
    let store = format!("file://{}", folder.path("store").display());
    let plan = folder.succeed(&format!("plan --capacity 16MiB --trusted-memory 256MiB --store {store}"));
    let start = format!("serve --store {store} --capacity 16MiB --block-size ");
    assert!(command(&plan).starts_with(&start), "{plan}");
    let created = folder.succeed(&command(&plan).replacen("serve", "init", 1));
    assert!(created.contains("$"), "it prints the cost: {created}");
    assert!(std::fs::read_dir(folder.path("store")).expect("a folder").next().is_some(), "the vault exists");
}

#[test]
fn a_plan_lists_all_providers_in_one_table_unless_the_user_chooses() {
    let folder = TestFolder::new();
    let plan = |more: &str| {
        folder.succeed(&format!("plan --capacity 16MiB --trusted-memory 256MiB --block 4KiB {more}"))
    };
    let names =
        |plan: &str| ["s3-standard", "r2-standard", "free"].map(|name| plan.contains(&format!("| {name} ")));
    assert_eq!(names(&plan("")), [true, true, false]);
    assert_eq!(names(&plan("--prices free,s3-standard,free")), [true, false, true]);
    let error = folder.fail("plan --capacity 16MiB --prices s3-standard,nonsense", 2);
    assert!(error.contains("--prices nonsense: "), "{error}");
}
