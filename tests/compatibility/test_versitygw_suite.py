"""Each test of the suite passes, or `exclusions.toml` lists it with the reason why it does not."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import program
from suite import Exclusions, Outcome, all_tests, run_all, selected_tests

EXCLUSIONS = Exclusions.read()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "name" in metafunc.fixturenames:
        metafunc.parametrize("name", selected_tests(program("AMELES_TEST_VERSITYGW"), EXCLUSIONS))


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Outcome]]:
    """The outcomes of all tests, which run once, in parallel."""
    versitygw, ameles = program("AMELES_TEST_VERSITYGW"), program("AMELES_BIN")
    folder: Path = tmp_path_factory.mktemp("compatibility")
    yield run_all(versitygw, ameles, folder, selected_tests(versitygw, EXCLUSIONS))


def test_exclusions_match_tests_of_the_suite() -> None:
    names = all_tests(program("AMELES_TEST_VERSITYGW"))
    run = set(selected_tests(program("AMELES_TEST_VERSITYGW"), EXCLUSIONS))
    assert len(run) > 400, "the suite has shrunk"
    assert not set(EXCLUSIONS.fails) - run, "these tests do not run"
    for pattern in EXCLUSIONS.not_run:
        assert fnmatch.filter(names, pattern), f"{pattern} matches no test"


def test_suite(name: str, outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes[name]
    if name in EXCLUSIONS.fails:
        assert not outcome.passed, f"{name} passes: remove it from exclusions.toml"
        pytest.xfail(EXCLUSIONS.fails[name])
    assert outcome.passed, outcome.output
