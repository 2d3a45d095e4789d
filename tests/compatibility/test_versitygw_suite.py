"""Each test of the suite passes, or is in `left_out.toml` with the reason why it does not."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import program
from suite import LeftOut, Outcome, all_tests, chosen, run_all

LEFT_OUT = LeftOut.read()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "name" in metafunc.fixturenames:
        metafunc.parametrize("name", chosen(program("AMELES_TEST_VERSITYGW"), LEFT_OUT))


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Outcome]]:
    """All tests, run once, side by side."""
    versitygw, ameles = program("AMELES_TEST_VERSITYGW"), program("AMELES_BIN")
    folder: Path = tmp_path_factory.mktemp("compatibility")
    yield run_all(versitygw, ameles, folder, chosen(versitygw, LEFT_OUT))


def test_what_is_left_out_is_in_the_suite() -> None:
    names = all_tests(program("AMELES_TEST_VERSITYGW"))
    run = set(chosen(program("AMELES_TEST_VERSITYGW"), LEFT_OUT))
    assert len(run) > 400, "the suite has shrunk"
    assert not set(LEFT_OUT.fails) - run, "these are not among the tests that are run"
    for pattern in LEFT_OUT.not_run:
        assert fnmatch.filter(names, pattern), f"{pattern} fits no test"


def test_suite(name: str, outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes[name]
    if name in LEFT_OUT.fails:
        assert not outcome.passed, f"{name} passes: take it off left_out.toml"
        pytest.xfail(LEFT_OUT.fails[name])
    assert outcome.passed, outcome.said
