//! The reports about a vault: banners, figures and warnings.

pub mod banner;
pub mod count;
pub mod full_disk_reads;
pub mod million_accesses;
pub mod page;
pub mod provider;
pub mod public_figures;
pub mod recovery_point;
pub mod status_file;
pub mod warnings;
