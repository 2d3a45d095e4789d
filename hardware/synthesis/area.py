"""Prints the area of the controller in an open tool: Yosys for Xilinx' 7 series, as `cargo xtask hardware report` does.

Each line is a configuration, synthesised flat. The last lines are the paper's controller, TinyORAMCore, in the same tool.
"""

import collections
import glob
import os
import re
import sys
import tempfile

from pyosys import libyosys as ys

HARDWARE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

CONFIGURATIONS = {
    "RAW ORAM with front end, two lanes of AES": ("lethe_bench", {"Raw": "1'b1", "FrontEnd": "1'b1"}),
    "the same, eight levels on chip": ("lethe_bench", {"Raw": "1'b1", "FrontEnd": "1'b1", "TopLevels": "8"}),
    "RAW ORAM, backend alone": ("lethe_bench", {"Raw": "1'b1"}),
    "Path ORAM, backend alone, four lanes": (
        "lethe_bench",
        {"Raw": "1'b0", "BlocksPerBucket": "4", "StashBlocks": "78", "AesLanes": "4"},
    ),
    "one lane of AES": ("lethe_aes", {"StagesPerRound": "2"}),
    "the key schedule": ("lethe_aes_key", {}),
}

# Yosys without synthesis scripts of a vendor, the whole core with tiny_aes (docs/how-to/hardware.md).
PEER = ("TinyORAMCore, the authors' RAW ORAM with front end and tiny_aes", 35123, 18995, 48, 11)


def sources(top):
    packages = [f"{HARDWARE}/rtl/lethe_aes_pkg.sv", f"{HARDWARE}/rtl/lethe_pkg.sv"]
    cells = [path for path in sorted(glob.glob(f"{HARDWARE}/rtl/*.sv")) if path not in packages]
    bench = [f"{HARDWARE}/tests/lethe_bench.sv"] if top == "lethe_bench" else []
    return packages + cells + bench


def synthesise(top, parameters):
    """Returns how many cells of each kind a configuration takes."""
    design = ys.Design()
    given = " ".join(f"-G {name}={value}" for name, value in parameters.items())
    with tempfile.TemporaryDirectory() as folder:
        table = f"{folder}/stat.txt"
        ys.run_pass(f"read_slang --top {top} {given} {' '.join(sources(top))}", design)
        ys.run_pass(f"synth_xilinx -family xc7 -flatten -noiopad -noclkbuf -top {top}", design)
        ys.run_pass(f"tee -q -o {table} stat -tech xilinx", design)
        text = open(table, encoding="utf-8").read()
    counts = collections.Counter()
    for count, cell in re.findall(r"^\s+(\d+)\s+([A-Z][A-Z0-9_]+)\s*$", text, re.MULTILINE):
        counts[cell] += int(count)
    counts["LC"] = int(re.search(r"Estimated number of LCs:\s+(\d+)", text).group(1))
    return counts


def main():
    wanted = sys.argv[1:] or list(CONFIGURATIONS)
    rows = []
    for name in wanted:
        cells = synthesise(*CONFIGURATIONS[name])
        of = lambda *begin: sum(count for cell, count in cells.items() if cell.startswith(begin))
        # A RAM32M or RAM64M takes the place of four LUTs.
        rows.append((name, of("LUT"), 4 * of("RAM32", "RAM64") + of("SRL"), of("FD"), of("RAMB18"), of("RAMB36"), cells["LC"]))
    rows.append((PEER[0], PEER[1], "", PEER[2], PEER[3], PEER[4], 29978))
    print(f"\n{'':<66} {'LUT':>7} {'as RAM':>7} {'FF':>7} {'RAMB18':>7} {'RAMB36':>7} {'LC':>7}")
    for name, *figures in rows:
        print(f"{name:<66} " + " ".join(f"{figure:>7}" for figure in figures))


if __name__ == "__main__":
    main()
