"""Proves and refutes the assertions of cells, by Yosys and its companion ABC.

A design begins in reset, and registers without reset begin with arbitrary values. There are three ways to prove that no
assertion fails: for all time by induction over one cycle, for all time by a search for an invariant (property directed
reachability), and for a number of cycles after the reset. A refutation is a run from the reset, and not a failed proof.
"""

import glob
import os
import subprocess
import tempfile

import pyosys
from pyosys import libyosys as ys

HERE = os.path.dirname(os.path.abspath(__file__))
RTL = os.path.join(HERE, "..", "rtl")
ABC = os.path.join(os.path.dirname(pyosys.__file__), "yosys-abc")


def read(top, cells, configuration):
    """Returns a flat design of a proof and its cells, with one clock and plain registers."""
    design = ys.Design()
    given = " ".join(f"-G {name}={value}" for name, value in configuration.items())
    cells = [cell if "/" in cell else f"{RTL}/ameles_{cell}.sv" for cell in cells]
    helpers = [f"{HERE}/{helper}.sv" for helper in ("proof_pkg", "first_cycle_reset", "stays_until_ready")]
    interfaces = sorted(glob.glob(f"{RTL}/*_if.sv"))
    files = " ".join([f"{RTL}/ameles_pkg.sv", *interfaces, *helpers, *cells, f"{HERE}/{top}.sv"])
    ys.run_pass(f"read_slang --top {top} {given} -I {HERE} {files}", design)
    ys.run_pass(f"prep -flatten -top {top}; async2sync; chformal -lower; memory_map -formal; opt_clean", design)
    return design


def abc(design, commands):
    """Returns the output of ABC for commands about a design, whose assertions are combined into one output."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "proof.aig")
        ys.run_pass("formalff -clk2ff -ff2anyinit; setundef -undriven -anyseq; opt -full -keepdc", design)
        ys.run_pass("techmap; opt -fast -keepdc; dffunmap; aigmap; opt_clean", design)
        ys.run_pass(f"write_aiger -I -B -L -zinit {path}", design)
        script = f"read_aiger {path}; fold; strash; orpos; {commands}"
        return subprocess.run([ABC, "-c", script], capture_output=True, text=True, check=True).stdout


def by_induction(top, cells, configuration):
    """Proves for all time: for the first cycle, and for each cycle from the one before."""
    design = read(top, cells, configuration)
    # Yosys exits if this fails.
    ys.run_pass(f"sat -verify -tempinduct -prove-asserts -set-assumes -seq 1 -maxsteps 1 {top}", design)


def by_reachability(top, cells, configuration):
    """Proves for all time: ABC finds an invariant and verifies it."""
    said = abc(read(top, cells, configuration), "scleanup; pdr")
    if "Property proved." not in said:
        raise SystemExit(f"{top} {configuration} is not proven:\n{said}")


def within(cycles):
    """Returns a method that proves for a number of cycles, including that of the reset."""

    def bounded(top, cells, configuration):
        said = abc(read(top, cells, configuration), f"bmc3 -F {cycles}")
        if f"No output asserted in {cycles} frames" not in said:
            raise SystemExit(f"{top} {configuration} is not proven:\n{said}")

    bounded.__name__ = f"within {cycles} cycles"
    return bounded


def fails(top, cells, configuration, cycles):
    """Checks that a proof which is broken on purpose fails within this number of cycles."""
    said = abc(read(top, cells, {"Wrong": "1'b1"} | configuration), f"bmc3 -F {cycles}")
    if "was asserted in frame" not in said:
        raise SystemExit(f"{top} is broken on purpose and does not fail:\n{said}")
