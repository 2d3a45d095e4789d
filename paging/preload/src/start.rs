//! The work before the program's `main`: makes the region that `ameles page run` has requested.

use crate::after_fault::after_fault;
use crate::region_pages::pages;
use crate::report::FaultWindow;
use crate::stderr::{format_size, write_line};
use crate::{
    fork, inherited, meters, own_threads, private_heap, region_pages, report, robust_mutexes, static_data,
};
use ameles_pager::fault::policy::Policy;
use ameles_pager::options::{Handler, HandlerProcessor, Options};
use ameles_pager::region::Region;
use ameles_pager::watch::FaultReporter;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

/// The variable that `ameles page run` sets; see [`options`].
const VARIABLE: &str = "AMELES_PAGE";

/// The variable of preloaded libraries: this one, then those of the user.
const PRELOADED: &str = "LD_PRELOAD";

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

extern "C" fn start() {
    let Ok(text) = std::env::var(VARIABLE) else { return };
    fork::register();
    // Programs that this one starts are not paged.
    // SAFETY: the program's main has not begun; there is one thread.
    unsafe {
        std::env::remove_var(VARIABLE);
        match others(&std::env::var_os(PRELOADED).unwrap_or_default()) {
            Some(others) => std::env::set_var(PRELOADED, others),
            None => std::env::remove_var(PRELOADED),
        }
    }
    // SAFETY: requests a signal for the end of the process that started the program.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) };
    if let Err(why) = make_region(&text) {
        write_line(&[&why]);
        report::set_refused();
        // SAFETY: there is nothing to clean up: the program has not begun.
        unsafe { libc::syscall(libc::SYS_exit_group, 2) };
    }
}

/// The libraries that are preloaded after this one.
fn others(preloaded: &OsStr) -> Option<&OsStr> {
    let end = preloaded.as_bytes().iter().position(|byte| *byte == b':')?;
    Some(OsStr::from_bytes(&preloaded.as_bytes()[end + 1..]))
}

fn make_region(text: &str) -> Result<(), String> {
    let mut extras = Extras::default();
    let mut options = options(text, &mut extras)?;
    let Extras { window, watcher } = extras;
    options.listeners.after_fault = after_fault(watcher.clone(), window);
    let untrusted = format_size(options.untrusted_bytes);
    // SAFETY: the program has not begun.
    let variables = unsafe { static_data::find() };
    let region = Region::new(options).map_err(|error| error.to_string())?;
    if !region.is_locked() {
        private_heap::warn_unlocked();
    }
    report::on_region_ready(&region, window);
    if let Some(watcher) = watcher {
        watcher.on_region_ready(&region).map_err(|error| error.to_string())?;
    }
    own_threads::record().map_err(|error| format!("/proc/self/task: {error}"))?;
    robust_mutexes::watch_this_thread();
    region_pages::begin(region, untrusted).map_err(|error| error.to_string())?;
    // SAFETY: the program has not begun. No other thread reads its variables.
    pages()
        .map_or(Ok(()), |pages| unsafe { static_data::page(pages.region(), variables) })
        .map_err(|error| error.to_string())
}

/// Requests besides the region.
#[derive(Default)]
struct Extras {
    window: FaultWindow,
    watcher: Option<Arc<FaultReporter>>,
}

/// Reads the options of the region: `name=value`, joined by commas. Options that are not named have the values of
/// [`Options::new`]. The region has as many pages as fit the untrusted memory. `warm` and `faults` choose the faults
/// that are counted. With `meter`, ciphers and copies are timed. `report` is the descriptor of the page for the
/// figures. `watch` is the descriptor of a watcher's socket.
fn options(text: &str, extras: &mut Extras) -> Result<Options, String> {
    let mut options = Options::new(0);
    // `ameles` keeps the other ends open as long as the program runs.
    options.resident_sizing.estimates = true;
    options.handler = Handler { processor: HandlerProcessor::Together, own_descriptors: true };
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let wrong = |why: &dyn std::fmt::Display| format!("{VARIABLE}: {name}={value}: {why}");
        let number = || value.parse::<u64>().map_err(|error| wrong(&error));
        match name {
            "resident" => options.resident = number()? as usize,
            "follow" => options.resident_sizing.grows = number()? != 0,
            "untrusted" => options.untrusted_bytes = number()?,
            "scheme" => options.scheme = value.parse().map_err(|error| wrong(&error))?,
            "k" => options.ratio = number()?,
            "cipher" => options.cipher = value.parse().map_err(|error| wrong(&error))?,
            "second-chance" => options.policy = Policy::SecondChance { unmapped: number()? as usize },
            "threads" => options.threads = Some(number()? as usize),
            "second-process" => options.second_process = number()? != 0,
            "warm" => extras.window.warm_up_faults = number()?,
            "faults" => extras.window.faults = Some(number()?.max(1)),
            "meter" => options.listeners.meters = Some(meters::make().map_err(|error| wrong(&error))?),
            "report" => report::map_report_page(value.parse().map_err(|error| wrong(&error))?),
            "watch" => {
                extras.watcher = inherited::take(number()?).map(|socket| Arc::new(FaultReporter::new(socket)))
            }
            _ => return Err(wrong(&"no such option")),
        }
    }
    options.pages = options.scheme.max_pages(options.untrusted_bytes, options.ratio, options.cipher);
    if options.pages == 0 {
        let Options { scheme, ratio, cipher, untrusted_bytes, .. } = options;
        let min = scheme.untrusted_bytes(1, ratio, cipher).map_err(|error| error.to_string())?;
        return Err(format!(
            "{} of untrusted memory hold no page under {scheme}; give --untrusted at least {}",
            format_size(untrusted_bytes),
            format_size(min)
        ));
    }
    options.resident = options.resident.min(options.pages as usize);
    Ok(options)
}
