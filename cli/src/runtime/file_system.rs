//! The kind of a folder's file system.

use std::path::Path;

/// The magic numbers of file systems that another machine or another program serves: NFS, SMB (three), CIFS by
/// the older name, 9p, FUSE (sshfs, virtiofs and others), Ceph, AFS, Coda, NCP, Lustre, GFS2, OCFS2, vboxsf.
const NETWORK_FILE_SYSTEMS: [u64; 14] = [
    0x6969,
    0x517b,
    0xfe53_4d42,
    0xff53_4d42,
    0x0102_1997,
    0x6573_5546,
    0x00c3_6400,
    0x5346_414f,
    0x7375_7245,
    0x564c,
    0x0bd0_0bd0,
    0x0116_1970,
    0x7461_636f,
    0x786f_4256,
];

/// Returns true if a folder is on a file system with one of these Linux magic numbers. Returns false on other systems,
/// and if the kind is unknown.
pub fn is_one_of(folder: &Path, magic_numbers: &[u64]) -> bool {
    #[cfg(target_os = "linux")]
    {
        rustix::fs::statfs(folder)
            .is_ok_and(|stat| magic_numbers.contains(&(stat.f_type as u64 & 0xffff_ffff)))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (folder, magic_numbers);
        false
    }
}

/// Returns true if a folder is on a network file system. If the kind is unknown, the owner is responsible.
pub fn is_on_network(folder: &Path) -> bool {
    is_one_of(folder, &NETWORK_FILE_SYSTEMS)
}
