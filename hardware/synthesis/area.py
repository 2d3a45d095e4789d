"""Prints the area of the controller in an open tool: Yosys for Xilinx' 7 series, as `cargo xtask hardware report` does.

Each line is a configuration or a cell of it alone, synthesised flat. The last lines are the paper's controller: its authors' sources in the
same tool, and the paper's own figures, of its vendor's tool. Names of lines as arguments choose some. With `--read` Yosys reads the sources of
each configuration, and that is all: it finds what Verilator lets pass. With `--peer FOLDER` it synthesises the authors' sources, which have no
licence and are not here: `git clone https://github.com/ascend-secure-processor/oram FOLDER`, commit 18ece07.
"""

import collections
import glob
import os
import re
import sys
import tempfile

from pyosys import libyosys as ys

HARDWARE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# The choices of the paper, and of the bench. Cells that have a configuration as parameter get them.
CHOICES = {
    "scheme": "ameles_pkg::RawOram", "leaf_level": 20, "blocks_per_bucket": 5, "eviction_rate": 5, "stash_blocks": 64,
    "blocks": (1 << 20) + (1 << 15) + (1 << 10), "block_bytes": 64, "bus_bits": 512, "aes_lanes": 2, "aes_double": 1,
    "aes_rom_rounds": 0, "mask_beats": 256, "top_levels": 0, "level_blocks": "'0", "subtree_levels": 0, "scan_lanes": 1,
    "capacity": 1 << 20, "labels": 32, "label_bits": 14, "trusted": 1024, "look_aside": 128, "tag_bits": 0, "slot_cycles": 0,
    "stall_cycles": 0,
}


def choices(**changes):
    given = {**CHOICES, **changes}
    return "ameles_pkg::config_t'{" + ",".join(f"{name}:{value}" for name, value in given.items()) + "}"


WHOLE = "RAW ORAM with front end, one pipeline of AES at twice the clock"
AES = "  of which AES"
PARTS = {
    AES: ("ameles_aes_double", {}),
    "  the key schedule": ("ameles_aes_key", {}),
    "  the front end": ("front_end_alone", {"Cfg": choices()}),
}
NO_AES = "  the whole without AES, by difference"
REST = "  the backend without AES, by difference"
CONFIGURATIONS = {
    WHOLE: ("ameles_bench", {"Raw": "1'b1", "FrontEnd": "1'b1", "AesDouble": "1'b1"}),
    **PARTS,
    "the same with tags of 96 bits (PMMAC)": (
        "ameles_bench",
        {"Raw": "1'b1", "FrontEnd": "1'b1", "AesDouble": "1'b1", "TagBits": "96"},
    ),
    "  of which the tags' own cell": ("tags_alone", {"Cfg": choices(tag_bits=96)}),
    "the same with tags and a pacer": (
        "ameles_bench",
        {"Raw": "1'b1", "FrontEnd": "1'b1", "AesDouble": "1'b1", "TagBits": "96", "SlotCycles": "340"},
    ),
    "the same, S-boxes of two rounds in block RAM": (
        "ameles_bench",
        {"Raw": "1'b1", "FrontEnd": "1'b1", "AesDouble": "1'b1", "AesRomRounds": "2"},
    ),
    "RAW ORAM with front end, two lanes of AES": ("ameles_bench", {"Raw": "1'b1", "FrontEnd": "1'b1"}),
    "  of which a lane, twice": ("ameles_aes", {"StagesPerRound": "2"}),
    "RAW ORAM with front end, two lanes, eight levels on chip": (
        "ameles_bench",
        {"Raw": "1'b1", "FrontEnd": "1'b1", "TopLevels": "8"},
    ),
    "RAW ORAM, backend alone, two lanes": ("ameles_bench", {"Raw": "1'b1"}),
    "Path ORAM, backend alone, four lanes": (
        "ameles_bench",
        {"Raw": "1'b0", "BlocksPerBucket": "4", "StashBlocks": "78", "AesLanes": "4"},
    ),
}

# Look-up tables, look-up tables as memory, registers, block RAMs of both sizes and logic cells. RAW ORAM with front end, Z = 5, C = 64, L = 20.
PEERS = {
    "TinyORAMCore, the authors' RAW ORAM with front end, no tiny_aes": (8498, 1888, 11282, 53, 7, 6865),
    "  with tiny_aes, by an earlier run whose choices are not known": (35123, "", 18995, 48, 11, 29978),
    "the paper's RAW ORAM, Vivado 2013.4: 146 block RAMs of 36 kbit": (18381, "", 13298, "", 146, ""),
    "  without tiny_aes, of which 86 block RAMs": (18381 - 2865, "", 13298 - 3585, "", 146 - 86, ""),
}

# The choices for TinyORAMCore. All other values, such as a PLB of 8 KiB and a user of 64 bits, is the authors' default.
PEER_CHOICES = {"ORAMZ": 5, "ORAMC": 64, "ORAML": 20, "BEDWidth": 512, "EnableREW": 1, "EnableIV": 0}


def sources(top):
    packages = [f"{HARDWARE}/rtl/ameles_aes_pkg.sv", f"{HARDWARE}/rtl/ameles_pkg.sv"]
    cells = [path for path in sorted(glob.glob(f"{HARDWARE}/rtl/*.sv")) if path not in packages]
    own = {
        "ameles_bench": "tests/ameles_bench.sv", "ameles_axi": "examples/ameles_axi.sv",
        "front_end_alone": "synthesis/front_end_alone.sv", "tags_alone": "synthesis/tags_alone.sv",
    }
    return packages + cells + [f"{HARDWARE}/{path}" for name, path in own.items() if name == top]


def read(top, parameters):
    """Returns a configuration as Yosys reads it."""
    design = ys.Design()
    # Yosys reads a value without spaces as one word.
    given = " ".join(f"-G {name}={value}" for name, value in parameters.items())
    ys.run_pass(f"read_slang --top {top} {given} {' '.join(sources(top))}", design)
    return design


def synthesise(top, parameters):
    """Returns how many cells of each kind a configuration takes."""
    return map_cells(top, read(top, parameters))


def map_cells(top, design):
    """Maps a design to cells of the 7 series, and returns how many of each kind it takes."""
    with tempfile.TemporaryDirectory() as folder:
        table = f"{folder}/stat.txt"
        ys.run_pass(f"synth_xilinx -family xc7 -flatten -noiopad -noclkbuf -top {top}", design)
        ys.run_pass(f"tee -q -o {table} stat -tech xilinx", design)
        text = open(table, encoding="utf-8").read()
    counts = collections.Counter()
    for count, cell in re.findall(r"^\s+(\d+)\s+([A-Z][A-Z0-9_]+)\s*$", text, re.MULTILINE):
        counts[cell] += int(count)
    counts["LC"] = int(re.search(r"Estimated number of LCs:\s+(\d+)", text).group(1))
    return counts


def peer(folder, with_aes):
    """Returns how many cells of each kind the authors' core takes. A copy of their sources is changed in three places."""
    with tempfile.TemporaryDirectory() as made:
        # The choices are default values in a header. All modules get them from there.
        header = open(f"{folder}/include/PathORAM.vh", encoding="utf-8").read()
        for name, value in PEER_CHOICES.items():
            header = re.sub(rf"(\b{name}\s*=\s*)[0-9]+", rf"\g<1>{value}", header)
        open(f"{made}/PathORAM.vh", "w", encoding="utf-8").write(header)
        # RAW ORAM's AES reads from undeclared wires: without this most of the core is removed.
        backend = open(f"{folder}/backend/PathORAMBackend.v", encoding="utf-8").read()
        open(f"{made}/PathORAMBackend.v", "w", encoding="utf-8").write(re.sub(r"\(\s*PBF_(DRAMReadData(Valid)?)\)", r"(\1)", backend))
        of_no_use = re.compile("/(test|old|bench|integrity|sram_wrap)/|/(Dummy|TrafficGen|TinyORAMASIC|aes_inv|PrioritySelect|PathORAMBackend[.])")
        files = [path for path in sorted(glob.glob(f"{folder}/**/*.v", recursive=True)) if not of_no_use.search(path)]
        design = ys.Design()
        includes = f"-I {made} -I {folder}/include -I {folder}/encryption/basic/core_ip/rtl/verilog"
        ys.run_pass(f"read_verilog -defer -D FPGA_MEMORY {includes} {made}/PathORAMBackend.v {' '.join(files)}", design)
        ys.run_pass("hierarchy -top TinyORAMCore", design)
        if not with_aes:
            ys.run_pass("blackbox aes_128", design)
        # Tri-state multiplexers become ordinary ones.
        ys.run_pass("proc; flatten; tribuf -logic; opt_clean", design)
        return map_cells("TinyORAMCore", design)


def figures(cells):
    """Returns look-up tables, those that are memory, registers, block RAMs of both sizes and logic cells."""
    of = lambda *begin: sum(count for cell, count in cells.items() if cell.startswith(begin))
    # A RAM32M or RAM64M occupies four LUTs.
    return [of("LUT"), 4 * of("RAM32", "RAM64") + of("SRL"), of("FD"), of("RAMB18"), of("RAMB36"), cells["LC"]]


def main():
    if sys.argv[1:] == ["--read"]:
        for top, parameters in [*CONFIGURATIONS.values(), ("ameles_axi", {})]:
            read(top, parameters)
        return
    if sys.argv[1:2] == ["--peer"]:
        show({
            f"TinyORAMCore {'with' if with_aes else 'without'} tiny_aes": figures(peer(sys.argv[2], with_aes)) for with_aes in (False, True)
        })
        return
    wanted = sys.argv[1:] or list(CONFIGURATIONS)
    rows = {name: figures(synthesise(*CONFIGURATIONS[name])) for name in wanted}
    if all(name in rows for name in (WHOLE, *PARTS)):
        rows[REST] = [whole - sum(parts) for whole, *parts in zip(rows[WHOLE], *(rows[name] for name in PARTS))]
        rows[NO_AES] = [whole - aes for whole, aes in zip(rows[WHOLE], rows[AES])]
    show(rows | PEERS)


def show(rows):
    """Prints lines of figures."""
    print(f"\n{'':<66} {'LUT':>7} {'as RAM':>7} {'FF':>7} {'RAMB18':>7} {'RAMB36':>7} {'LC':>7}")
    for name, row in rows.items():
        print(f"{name:<66} " + " ".join(f"{figure:>7}" for figure in row))


if __name__ == "__main__":
    main()
