//! Invalid options are refused with one sentence that says what to do.

use ameles_pager::error::Error;
use ameles_pager::fault::policy::Policy;
use ameles_pager::fault_handling::{FaultHandling, UnknownFaultHandling};
use ameles_pager::options::{Handler, HandlerProcessor, Options};
use ameles_pager::region::Region;
use ameles_pager::scheme::{Scheme, UnknownScheme};
use ameles_pager::scheme_error::SchemeError;
use ameles_seal::pages::PageCipher;

fn refusal(options: Options) -> String {
    Region::new(options).expect_err("that is refused").to_string()
}

#[test]
fn too_little_untrusted_memory_is_refused_with_the_limit_and_the_most_pages() {
    for scheme in Scheme::ALL {
        let limit = 1 << 20;
        let max = scheme.max_pages(limit, 3, PageCipher::Aes256Gcm);
        assert!(max > 20, "{scheme}");
        let options = |pages| Options { scheme, untrusted_bytes: limit, resident: 2, ..Options::new(pages) };
        let error = Region::new(options(max + 1)).unwrap_err();
        let needed = scheme.untrusted_bytes(max + 1, 3, PageCipher::Aes256Gcm).unwrap();
        assert!(
            matches!(error, Error::Scheme(SchemeError::UntrustedMemory { max: named, .. }) if named == max),
            "{error}"
        );
        let expected = format!(
            "{} pages under {scheme} need {needed} bytes of untrusted memory, and the limit is {limit}: raise the \
             limit, or choose at most {max} pages",
            max + 1
        );
        assert_eq!(error.to_string(), expected);
        let mut region = Region::new(options(max)).unwrap();
        region.as_mut_slice().fill(1);
    }
    assert_eq!(Scheme::Plain.max_pages(4096, 3, PageCipher::Aes256Gcm), 0);
}

#[test]
fn parameters_out_of_range_are_refused_by_name() {
    assert!(refusal(Options::new(0)).contains("capacity"));
    assert!(refusal(Options { scheme: Scheme::Plain, ..Options::new(0) }).contains("capacity"));
    assert!(refusal(Options { resident: 0, ..Options::new(10) }).contains("0 resident pages"));
    let policy = Policy::SecondChance { unmapped: 64 };
    assert!(refusal(Options { policy, ..Options::new(100) }).contains("from 1 to 63"));
    let none = Options { scheme: Scheme::Parallel, threads: Some(0), ..Options::new(10) };
    assert!(refusal(none).contains("threads"));
    let none = Options { scheme: Scheme::Eager, step_pages: Some(0), ..Options::new(10) };
    assert!(refusal(none).contains("step_pages"));
    for processor in [1023, 100_000] {
        assert!(
            refusal(Options {
                handler: Handler { processor: HandlerProcessor::Bound(processor), ..Handler::default() },
                ..Options::new(10)
            })
            .contains("processor")
        );
    }
}

#[test]
fn schemes_and_traps_are_found_by_their_names() {
    for scheme in Scheme::ALL {
        assert_eq!(scheme.to_string().to_uppercase().parse(), Ok(scheme));
    }
    for fault_handling in FaultHandling::ALL {
        assert_eq!(fault_handling.to_string().parse(), Ok(fault_handling));
    }
    assert_eq!("ring".parse::<Scheme>(), Err(UnknownScheme));
    assert_eq!("signal".parse::<FaultHandling>(), Err(UnknownFaultHandling));
}
