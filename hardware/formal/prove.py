"""Proves properties of cells for every input, with the SAT solver of Yosys. Ends with 0 only if all of them hold.

A proof whose property is broken on purpose must fail, and is tried first: a solver that proves everything proves nothing.
"""

import os

from pyosys import libyosys as ys

HERE = os.path.dirname(os.path.abspath(__file__))
RTL = os.path.join(HERE, "..", "rtl")


def prove(top, cells, parameters, how="-verify"):
    """Proves all assertions of a top. Ends the program if they do not hold; with `-falsify`, if they do."""
    design = ys.Design()
    given = " ".join(f"-G {name}={value}" for name, value in parameters.items())
    files = " ".join(f"{RTL}/{cell}.sv" for cell in cells) + f" {HERE}/{top}.sv"
    ys.run_pass(f"read_slang --top {top} {given} {files}", design)
    ys.run_pass(f"prep -flatten -top {top}; chformal -lower; opt", design)
    ys.run_pass(f"sat {how} -prove-asserts {top}", design)


def main():
    push_back = ["lethe_shared_levels", "lethe_deepest_room"]
    prove("push_back_proof", push_back, {"LeafLevel": 5, "Wrong": "1'b1"}, "-falsify")
    for leaf_level in range(21):
        prove("push_back_proof", push_back, {"LeafLevel": leaf_level})
    print("PushBack is what it should be for every path, leaf and filling, L = 0 to 20")


if __name__ == "__main__":
    main()
