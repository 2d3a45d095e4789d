//! DRAMsim3's description of a memory of ours.

use ameles_dram::{Place, SameGroup, Specification};

/// The bits of a place in DRAMsim3's addresses, from the highest: row, rank, bank, bank group, channel and column.
const MAPPING: &str = "rorababgchco";

/// The description. DRAMsim3 knows neither DDR5 nor LPDDR5 nor HBM3: it gets their times under the name of a standard
/// with the same rules. HBM has one command bus: with two, DRAMsim3 loses a read that can be issued in the cycle of a
/// write to another rank.
pub(crate) fn ini(specification: &Specification) -> String {
    let Specification { timing, geometry, refresh, .. } = specification;
    let SameGroup { t_rrd, t_wtr, t_ccd, .. } = same_group(specification);
    let is_hbm = timing.t_rcd_write.is_some();
    let protocol = if is_hbm { "HBM" } else { "DDR4" };
    let beats = timing.burst.0 * 2;
    let bus_width = burst_bytes(specification) * 8 / beats;
    // DRAMsim3 doubles the columns of HBM.
    let columns = u64::from(geometry.columns * geometry.bursts) * beats / if is_hbm { 2 } else { 1 };
    let megabytes = (geometry.bytes().0 / u64::from(geometry.channels)) >> 20;
    format!(
        "[dram_structure]\nprotocol = {protocol}\nbankgroups = {}\nbanks_per_group = {}\nrows = {}\n\
         columns = {columns}\ndevice_width = {bus_width}\nBL = {beats}\nhbm_dual_cmd = false\n[timing]\ntCK = {}\nAL = 0\nCL = {}\nCWL = {}\n\
         tRCD = {}\ntRCDRD = {}\ntRCDWR = {}\ntRP = {}\ntRAS = {}\ntRFC = {}\ntREFI = {}\nREFI = {}\ntRPRE = 0\n\
         tWPRE = 0\ntRRD_S = {}\ntRRD_L = {}\ntWTR_S = {}\ntWTR_L = {}\ntFAW = {}\ntWR = {}\ntRTP = {}\ntCCD_S = {}\n\
         tCCD_L = {}\ntRTRS = {}\n[system]\nchannel_size = {megabytes}\nchannels = {}\nbus_width = {bus_width}\n\
         address_mapping = {MAPPING}\nqueue_structure = PER_BANK\nrefresh_policy = RANK_LEVEL_STAGGERED\n\
         row_buf_policy = OPEN_PAGE\ncmd_queue_size = 16\ntrans_queue_size = {}\n[other]\nepoch_period = 100000000\n\
         output_level = 0\n",
        geometry.groups,
        geometry.banks / geometry.groups,
        geometry.rows,
        1000.0 / f64::from(specification.clock.mhz),
        timing.t_cas.0,
        timing.t_cwd.0,
        timing.t_rcd.0,
        timing.t_rcd.0,
        timing.t_rcd_write.unwrap_or(timing.t_rcd).0,
        timing.t_rp.0,
        timing.t_ras.0,
        refresh.duration.0,
        refresh.interval.0,
        refresh.interval.0,
        timing.t_rrd.0,
        t_rrd.0,
        timing.t_wtr.0,
        t_wtr.0,
        timing.t_faw.0,
        timing.t_wr.0,
        timing.t_rtp.0,
        timing.t_ccd.0,
        t_ccd.0,
        timing.t_rtrs.0,
        geometry.channels,
        specification.queues.read,
    )
}

/// The times in one bank group.
pub(crate) fn same_group(specification: &Specification) -> SameGroup {
    let timing = &specification.timing;
    let (t_rrd, t_wtr, t_ccd) = (timing.t_rrd, timing.t_wtr, timing.t_ccd);
    specification.same_group.clone().unwrap_or(SameGroup { t_rrd, t_wtr, t_ccd, t_ccd_write: None })
}

fn burst_bytes(specification: &Specification) -> u64 {
    specification.geometry.block_bytes.0 / u64::from(specification.geometry.bursts)
}

/// The addresses of a block's bursts, in the order of [`MAPPING`].
pub(crate) fn addresses(specification: &Specification, place: Place) -> impl Iterator<Item = u64> + use<> {
    let geometry = &specification.geometry;
    let Place { channel, rank, bank, row, column } = place;
    let groups = geometry.groups;
    let fields = [
        (row, geometry.rows),
        (rank, geometry.ranks),
        (bank / groups, geometry.banks / groups),
        (bank % groups, groups),
        (channel, geometry.channels),
        (column, geometry.columns),
    ];
    let block = fields.iter().fold(0, |address, (value, of)| address * u64::from(*of) + u64::from(*value));
    let (bursts, bytes) = (u64::from(geometry.bursts), burst_bytes(specification));
    (block * bursts..(block + 1) * bursts).map(move |burst| burst * bytes)
}
