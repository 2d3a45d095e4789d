//! The device tree of the machine: its parts, and the memory that each hart may access.
//!
//! OpenSBI groups the harts into two domains and sets up physical memory protection for them. The enclave's harts,
//! which come first, can access private and untrusted memory. The host's hart, the last one, can access only untrusted
//! memory. No hart can access the firmware or a device.

use ameles_enclave_boundary::map::{PRIVATE_BYTES, PRIVATE_START, RUNTIME_START, UNTRUSTED_START};
use std::ops::Range;
use vm_fdt::{Error, FdtWriter, FdtWriterNode};

// The rights on a region, with the numbers of OpenSBI 1.1.
const READ: u32 = 1;
const WRITE: u32 = 2;
const EXECUTE: u32 = 4;
/// The mode in which a domain starts.
const SUPERVISOR: u32 = 1;

// The handles by which nodes refer to each other.
const RESET: u32 = 1;
const PRIVATE: u32 = 2;
const UNTRUSTED: u32 = 3;
const ENCLAVE: u32 = 4;
const HOST: u32 = 5;

/// Returns the handle of a hart.
fn handle(hart: u32) -> u32 {
    6 + 2 * hart
}

/// Returns the handle of a hart's interrupts.
fn interrupts(hart: u32) -> u32 {
    7 + 2 * hart
}

/// The address of this blob in private memory, for the runtime.
///
/// The first hart that starts the firmware passes the emulator's own copy only to its own domain.
pub(super) const TREE_START: u64 = PRIVATE_START + 0x800_0000;
/// The address of the launch package, after the blob.
pub(super) const PACKAGE_START: u64 = TREE_START + 0x20_0000;
/// The maximum size of a launch package: half of the private memory after its start.
pub(super) const MAX_PACKAGE_BYTES: u64 = (PRIVATE_START + PRIVATE_BYTES - PACKAGE_START) / 2;

/// The sizes and addresses that differ between runs.
pub(super) struct MachineLayout {
    /// The number of harts of the enclave. The host's hart comes after them.
    pub(super) harts: u32,
    /// The number of bytes of untrusted memory. The region has the next power of two.
    pub(super) untrusted_bytes: u64,
    /// The address at which the host's hart starts.
    pub(super) host: u64,
    /// The number of bytes of the launch package.
    pub(super) package_bytes: u64,
}

/// Builds the blob.
pub(super) fn blob(layout: &MachineLayout) -> Result<Vec<u8>, Error> {
    let mut tree = FdtWriter::new()?;
    let root = tree.begin_node("")?;
    cells(&mut tree, 2, 2)?;
    tree.property_string("compatible", "riscv-virtio")?;
    tree.property_string("model", "riscv-virtio,qemu")?;
    memory(&mut tree, PRIVATE_START, PRIVATE_BYTES)?;
    memory(&mut tree, UNTRUSTED_START, layout.untrusted_bytes)?;
    harts(&mut tree, layout.harts)?;
    devices(&mut tree, layout.harts)?;
    let chosen = tree.begin_node("chosen")?;
    tree.property_string("stdout-path", "/soc/serial@10000000")?;
    tree.property_u64("linux,initrd-start", PACKAGE_START)?;
    tree.property_u64("linux,initrd-end", PACKAGE_START + layout.package_bytes)?;
    domains(&mut tree, layout)?;
    tree.end_node(chosen)?;
    tree.end_node(root)?;
    tree.finish()
}

fn cells(tree: &mut FdtWriter, address: u32, size: u32) -> Result<(), Error> {
    tree.property_u32("#address-cells", address)?;
    tree.property_u32("#size-cells", size)
}

fn compatible(tree: &mut FdtWriter, values: &[&str]) -> Result<(), Error> {
    tree.property_string_list("compatible", values.iter().map(ToString::to_string).collect())
}

fn memory(tree: &mut FdtWriter, start: u64, bytes: u64) -> Result<(), Error> {
    let node = tree.begin_node(&format!("memory@{start:x}"))?;
    tree.property_string("device_type", "memory")?;
    tree.property_array_u64("reg", &[start, bytes])?;
    tree.end_node(node)
}

fn harts(tree: &mut FdtWriter, enclave_harts: u32) -> Result<(), Error> {
    let node = tree.begin_node("cpus")?;
    cells(tree, 1, 0)?;
    tree.property_u32("timebase-frequency", 10_000_000)?;
    for number in 0..=enclave_harts {
        let cpu = tree.begin_node(&format!("cpu@{number}"))?;
        tree.property_phandle(handle(number))?;
        tree.property_string("device_type", "cpu")?;
        tree.property_u32("reg", number)?;
        tree.property_string("status", "okay")?;
        compatible(tree, &["riscv"])?;
        tree.property_string("riscv,isa", "rv64imafdc")?;
        tree.property_string("mmu-type", "riscv,sv48")?;
        tree.property_u32("opensbi-domain", if number < enclave_harts { ENCLAVE } else { HOST })?;
        let controller = tree.begin_node("interrupt-controller")?;
        cells(tree, 0, 0)?;
        tree.property_u32("#interrupt-cells", 1)?;
        tree.property_null("interrupt-controller")?;
        compatible(tree, &["riscv,cpu-intc"])?;
        tree.property_phandle(interrupts(number))?;
        tree.end_node(controller)?;
        tree.end_node(cpu)?;
    }
    tree.end_node(node)
}

/// Adds the devices that the firmware needs: a console, a power switch and timers, at the addresses of the emulator's
/// board.
fn devices(tree: &mut FdtWriter, enclave_harts: u32) -> Result<(), Error> {
    let soc = tree.begin_node("soc")?;
    cells(tree, 2, 2)?;
    compatible(tree, &["simple-bus"])?;
    tree.property_null("ranges")?;
    let serial = tree.begin_node("serial@10000000")?;
    compatible(tree, &["ns16550a"])?;
    tree.property_array_u64("reg", &[0x1000_0000, 0x100])?;
    tree.property_u32("clock-frequency", 3_686_400)?;
    tree.end_node(serial)?;
    let reset = tree.begin_node("test@100000")?;
    tree.property_phandle(RESET)?;
    compatible(tree, &["sifive,test1", "sifive,test0", "syscon"])?;
    tree.property_array_u64("reg", &[0x10_0000, 0x1000])?;
    tree.end_node(reset)?;
    // The emulator's board has one timer for the harts of each memory node.
    for (number, harts) in (0..).zip([0..enclave_harts, enclave_harts..enclave_harts + 1]) {
        let start = 0x200_0000 + 0x1_0000 * number;
        let timer = tree.begin_node(&format!("clint@{start:x}"))?;
        compatible(tree, &["sifive,clint0", "riscv,clint0"])?;
        tree.property_array_u64("reg", &[start, 0x1_0000])?;
        let lines: Vec<u32> = harts.flat_map(|hart| [interrupts(hart), 3, interrupts(hart), 7]).collect();
        tree.property_array_u32("interrupts-extended", &lines)?;
        tree.end_node(timer)?;
    }
    tree.end_node(soc)
}

fn domains(tree: &mut FdtWriter, layout: &MachineLayout) -> Result<(), Error> {
    let domains = tree.begin_node("opensbi-domains")?;
    compatible(tree, &["opensbi,domain,config"])?;
    region(tree, "private", PRIVATE, PRIVATE_START, PRIVATE_BYTES)?;
    region(tree, "untrusted", UNTRUSTED, UNTRUSTED_START, layout.untrusted_bytes)?;
    let enclave_regions = [PRIVATE, READ | WRITE | EXECUTE, UNTRUSTED, READ | WRITE];
    let node = domain(tree, "enclave", ENCLAVE, 0..layout.harts, &enclave_regions, RUNTIME_START)?;
    tree.property_u64("next-arg1", TREE_START)?;
    tree.property_null("system-reset-allowed")?;
    tree.end_node(node)?;
    let host_regions = [UNTRUSTED, READ | WRITE | EXECUTE];
    let node = domain(tree, "host", HOST, layout.harts..layout.harts + 1, &host_regions, layout.host)?;
    tree.end_node(node)?;
    tree.end_node(domains)
}

fn region(tree: &mut FdtWriter, name: &str, handle: u32, start: u64, bytes: u64) -> Result<(), Error> {
    let node = tree.begin_node(name)?;
    compatible(tree, &["opensbi,domain,memregion"])?;
    tree.property_phandle(handle)?;
    tree.property_u64("base", start)?;
    tree.property_u32("order", bytes.next_power_of_two().trailing_zeros())?;
    tree.end_node(node)
}

/// Begins the node of a domain whose first hart starts at `start`.
fn domain(
    tree: &mut FdtWriter,
    name: &str,
    domain: u32,
    harts: Range<u32>,
    regions: &[u32],
    start: u64,
) -> Result<FdtWriterNode, Error> {
    let node = tree.begin_node(name)?;
    compatible(tree, &["opensbi,domain,instance"])?;
    tree.property_phandle(domain)?;
    let possible: Vec<u32> = harts.clone().map(handle).collect();
    tree.property_array_u32("possible-harts", &possible)?;
    tree.property_array_u32("regions", regions)?;
    tree.property_u32("boot-hart", handle(harts.start))?;
    tree.property_u64("next-addr", start)?;
    tree.property_u32("next-mode", SUPERVISOR)?;
    Ok(node)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns true if the blob contains these words, the value of a property.
    fn contains(blob: &[u8], words: &[u32]) -> bool {
        let words: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        blob.windows(words.len()).any(|window| window == words)
    }

    fn tree(untrusted_bytes: u64) -> Vec<u8> {
        blob(&MachineLayout { harts: 3, untrusted_bytes, host: UNTRUSTED_START, package_bytes: 10 }).unwrap()
    }

    #[test]
    fn the_hosts_domain_has_only_untrusted_memory() {
        let blob = tree(64 << 20);
        assert_eq!(&blob[..4], &[0xd0, 0x0d, 0xfe, 0xed]);
        assert!(contains(&blob, &[PRIVATE, 7, UNTRUSTED, 3]), "the enclave's regions");
        // A property of eight bytes: the host's regions are one handle with its rights.
        let mut host_regions = vec![3, 8];
        let names = blob.windows(8).position(|window| window == b"regions\0").unwrap();
        let strings = u32::from_be_bytes(blob[12..16].try_into().unwrap()) as usize;
        host_regions.extend([(names - strings) as u32, UNTRUSTED, READ | WRITE | EXECUTE]);
        assert!(contains(&blob, &host_regions), "the host's regions");
    }

    #[test]
    fn a_region_reaches_as_far_as_its_memory() {
        assert!(contains(&tree(64 << 20), &[26]));
        assert!(contains(&tree(66 << 20), &[27]));
    }
}
