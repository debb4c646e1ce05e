// network.rs - texts about networks.
use crate::error::{check, Result};
use crate::objects::Network;
use std::os::raw::c_char;
use std::ptr::null_mut;
use synfire_sys as sys;

/// What the C ABI has beside these methods: the handles of a network's parts, with [`Network::as_raw`] and
/// `sys::synfire_network_get_synapse`, `sys::synfire_network_get_layer`, `sys::synfire_network_get_optimizer`,
/// `sys::synfire_network_get_buffer` and `sys::synfire_network_get_graph`.
impl Network {
    /// A table of the stages, and the bytes that the parts of the network take.
    pub fn summary(&self) -> Result<String> {
        self.text(|raw, text, bytes| {
            // SAFETY: a live handle; the text is as long as is said, or null.
            unsafe { sys::synfire_network_write_summary(raw, text, bytes) }
        })
    }
    /// The stages as text in the DOT language of Graphviz.
    pub fn to_dot(&self) -> Result<String> {
        self.text(|raw, text, bytes| {
            // SAFETY: a live handle; the text is as long as is said, or null.
            unsafe { sys::synfire_network_write_dot(raw, text, bytes) }
        })
    }
    fn text(&self, write: impl Fn(sys::synfire_network, *mut c_char, &mut u64) -> i32) -> Result<String> {
        self.core.held.between_launches(|| {
            let mut bytes = 0;
            check(write(self.core.raw, null_mut(), &mut bytes))?;
            let mut text = vec![0; bytes as usize];
            check(write(self.core.raw, text.as_mut_ptr().cast(), &mut bytes))?;
            text.pop();
            Ok(String::from_utf8_lossy(&text).into_owned())
        })
    }
}
