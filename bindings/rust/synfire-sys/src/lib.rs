//! The C ABI of Synfire, under its own names. What each function does is said in `synfire.h`; a program wants the crate
//! `synfire` instead, which needs no `unsafe`.
//!
//! Feature `load-dynamic`: the library is opened when a function is first called, or by [`load`], which answers where it
//! looked when there is none.
//!
//! SPDX-License-Identifier: MIT
#![allow(non_camel_case_types)]

#[allow(clippy::all, dead_code, missing_docs, rustdoc::all, deref_nullptr)]
#[rustfmt::skip]
mod bindings;
pub use bindings::*;

#[cfg(feature = "load-dynamic")]
#[rustfmt::skip]
mod dynamic;
#[cfg(feature = "load-dynamic")]
pub use dynamic::*;

mod load;
pub use load::{library_path, load};

#[cfg(test)]
mod tests {
    /// Every constant of the recorded layout is one of ours, with its value; bindgen's own tests compare the structures.
    #[test]
    fn constants_are_those_of_c() {
        let ours: String = include_str!("bindings.rs").split_whitespace().collect();
        let record = include_str!("../../../../tests/abi/layout.tsv");
        let mut compared = 0;
        for line in record.lines().filter(|line| line.starts_with("constant\tSYNFIRE_")) {
            let mut columns = line.split('\t').skip(1);
            let (name, value) = (columns.next().unwrap(), columns.next().unwrap());
            let known = ["i32", "u32"].iter().any(|kind| ours.contains(&format!("pubconst{name}:{kind}={value};")));
            assert!(known || name == "SYNFIRE_ABI_VERSION", "{line}");
            compared += 1;
        }
        assert!(compared > 50);
    }
}
