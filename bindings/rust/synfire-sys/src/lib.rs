//! The C ABI of Synfire, under its own names. What each function does is said in `synfire.h`; a program wants the crate
//! `synfire` instead, which needs no `unsafe`.
//!
//! Feature `load-dynamic`: the library is opened when a function is first called, or by [`load`], which returns where it
//! looked if there is none.
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
