//! The libraries that take part in handling a fault. Their variables must never be absent: a fault would wait for
//! itself.
//!
//! They are this library and all that it needs: the C library with the loader, and the unwinder. A library that
//! replaces functions of theirs, by the order of symbol lookup, is one of them, with all that it needs.

use crate::loaded_objects::LoadedObject;
use std::ffi::CStr;

/// The role of an object in a fault.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// No role.
    None,
    /// The linkage table of the library contains functions of these libraries. It belongs to a program at fixed
    /// addresses, whose entries count as the functions' addresses everywhere.
    Links,
    /// The library's code may run.
    Serves,
}

/// The role of each object. `None` if a library that Ameles's own needs is not found by its name.
///
/// # Safety
/// The program has not begun.
pub(crate) unsafe fn roles(all: &[LoadedObject]) -> Option<Vec<Role>> {
    let mut roles = vec![Role::None; all.len()];
    let own = all.iter().position(|one| one.has_code_at(roles_address()))?;
    roles[own] = Role::Serves;
    let mut found = vec![own];
    while let Some(next) = found.pop() {
        let mut add = |roles: &mut Vec<Role>, one: usize| {
            if roles[one] != Role::Serves {
                roles[one] = Role::Serves;
                found.push(one);
            }
        };
        for name in all[next].needed() {
            add(&mut roles, all.iter().position(|one| one.is_called(name))?);
        }
        for name in all[next].imports() {
            let Some(one) = has_function(all, name) else { continue };
            if !all[one].imports().any(|its| its == name) {
                add(&mut roles, one);
            } else if roles[one] == Role::None {
                roles[one] = Role::Links;
            }
        }
    }
    // The program may query the error of its own lookups, and not of ours.
    // SAFETY: the result is not dereferenced.
    unsafe { libc::dlerror() };
    Some(roles)
}

fn roles_address() -> usize {
    roles as unsafe fn(&[LoadedObject]) -> Option<Vec<Role>> as usize
}

/// The object that contains the function of a name.
fn has_function(all: &[LoadedObject], name: &CStr) -> Option<usize> {
    // SAFETY: the name ends with zero.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) } as usize;
    all.iter().position(|one| one.has_code_at(address))
}
