"""Writes Ramulator 2.1's description of one controller of a memory, with the numbers of our file.

PYTHONPATH=RAMULATOR/python python3 configure.py NAME FILE.toml > NAME.yaml

Our numbers replace those of Ramulator's preset. Rules whose numbers our file lacks keep Ramulator's.
"""

import sys
import tomllib

import ramulator
from ramulator.export import dict_to_yaml

# Standard, organisation, speed, controller and the level that is our rank.
MEMORIES = {
    "ddr3": ("DDR3", "DDR3_4Gb_x8", "DDR3_1600K", "GenericDDR", "rank"),
    "ddr4": ("DDR4", "DDR4_8Gb_x8", "DDR4_3200AA", "GenericDDR", "rank"),
    "ddr5": ("DDR5", "DDR5_16Gb_x8", "DDR5_4800AN", "GenericDDR", "rank"),
    "lpddr5": ("LPDDR5", "LPDDR5_16Gb_x16", "LPDDR5_6400", "LPDDR5", "rank"),
    "hbm2": ("HBM2", "HBM2_8Gb", "HBM2_2000Mbps", "HBM12", None),
    "hbm3": ("HBM3", "HBM3_16Gb_8hi", "HBM3_6400Mbps", "HBM34", "sid"),
}

# Ramulator's names of our times, in the rank and in the bank group.
RANK = {
    "t_rcd": ("nRCD", "nRCDRD"),
    "t_rcd_write": ("nRCDWR",),
    "t_rp": ("nRP",),
    "t_cas": ("nCL",),
    "t_cwd": ("nCWL",),
    "t_rc": ("nRC",),
    "t_ras": ("nRAS",),
    "t_rrd": ("nRRD", "nRRDS"),
    "t_faw": ("nFAW",),
    "t_wr": ("nWR",),
    "t_wtr": ("nWTR", "nWTRS"),
    "t_rtp": ("nRTP", "nRTPL"),
    "t_ccd": ("nCCD", "nCCDS", "nCCDS_WR"),
    "t_rtw": ("nRTW",),
    "t_rtrs": ("nCS",),
}
GROUP = {
    "t_rrd": ("nRRDL",),
    "t_wtr": ("nWTRL",),
    "t_ccd": ("nCCDL", "nCCDL_WR"),
    "t_ccd_write": ("nCCDL_WR",),
}


def times(memory, known):
    """Returns our times under Ramulator's names, for the names that a standard knows."""
    ours = {"nRFC": memory["refresh"]["duration"], "nREFI": memory["refresh"]["interval"]}
    for section, names in (("timing", RANK), ("same_group", GROUP)):
        for name, theirs in names.items():
            if name in memory.get(section, {}):
                ours |= dict.fromkeys(theirs, memory[section][name])
    # Ours counts from the end of a burst, LPDDR5's from that of BL/n_max.
    if "nBL_max" in known:
        ours["nWTRL"] -= memory["same_group"]["t_ccd"] - memory["timing"]["burst"]
    return {name: cycles for name, cycles in ours.items() if name in known}


def main():
    name, path = sys.argv[1:]
    with open(path, "rb") as file:
        memory = tomllib.load(file)
    standard, organisation, speed, controller, rank = MEMORIES[name]
    standard = getattr(ramulator.dram, standard)
    levels = {"row": memory["geometry"]["rows"]}
    if rank is None:
        levels["row"] *= memory["geometry"]["ranks"]
    else:
        levels[rank] = memory["geometry"]["ranks"]
    queues = memory["queues"]
    controller = getattr(ramulator.controller, controller)(
        dram=standard(
            org_preset=organisation,
            timing_preset=speed,
            **levels,
            **times(memory, standard.timing_params),
        ),
        scheduler=ramulator.scheduler.FRFCFS(),
        refresh_manager=ramulator.refresh_manager.AllBank(),
        row_policy=ramulator.row_policy.Open(),
        addr_mapper=ramulator.addr_mapper.ChRaBaRoCo(),
        read_buffer_size=queues["read"],
        write_buffer_size=queues["write"],
        wr_high_watermark=queues["high"] / queues["write"],
        wr_low_watermark=queues["low"] / queues["write"],
    )
    memory_system = ramulator.memory_system.GenericDRAM(
        clock_ratio=1,
        controllers=[controller],
        channel_mapper=ramulator.channel_mapper.CacheLineInterleave(),
    )
    frontend = ramulator.frontend.External(clock_ratio=1)
    config = {"frontend": frontend.to_config(), "memory_system": memory_system.to_config()}
    print(dict_to_yaml(config))


if __name__ == "__main__":
    main()
