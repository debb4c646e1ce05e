// pass.rs - what a forward and a backward read and write.
use crate::buffer::{Buffer, Core as BufferCore, Element};
use crate::error::{Name, Result};
use crate::graph::Operation;
use crate::held::Left;
use crate::values::Tape;
use std::fmt;
use std::sync::Arc;
use synfire_sys as sys;

macro_rules! pass {
    ($name:ident { $($(#[$doc:meta])* $field:ident),* }) => {
        impl<'a> $name<'a> {
            $($(#[$doc])* pub fn $field<T: Element>(mut self, buffer: &'a Buffer<T>) -> Self {
                self.$field = Some(&buffer.core);
                self
            })*
            /// Allows in and out to be the same memory, as the C header says.
            pub fn in_place(mut self) -> Self {
                self.in_place = true;
                self
            }
        }
    };
}
fn raw(core: Option<&Arc<BufferCore>>) -> sys::synfire_buffer {
    core.map_or(std::ptr::null_mut(), |core| core.raw)
}

/// What a forward reads and writes.
#[derive(Clone, Copy)]
#[must_use]
pub struct Forward<'a> {
    x: &'a Arc<BufferCore>,
    tape: Tape,
    in_place: bool,
    spikes: Option<&'a Arc<BufferCore>>,
    v_init: Option<&'a Arc<BufferCore>>,
    v_final: Option<&'a Arc<BufferCore>>,
    v_seq: Option<&'a Arc<BufferCore>>,
    h_seq: Option<&'a Arc<BufferCore>>,
    w_init: Option<&'a Arc<BufferCore>>,
    w_final: Option<&'a Arc<BufferCore>>,
    w_seq: Option<&'a Arc<BufferCore>>,
}
pass!(Forward {
    /// S, written.
    spikes,
    /// V before the first step, read; without it the layer's state continues.
    v_init,
    /// V after the last step, written.
    v_final,
    /// V of every step, written.
    v_seq,
    /// H of every step, written.
    h_seq,
    /// W before the first step, read.
    w_init,
    /// W after the last step, written.
    w_final,
    /// W of every step, written.
    w_seq
});
impl<'a> Forward<'a> {
    /// Reads X `[T, B, N]`.
    pub fn new<T: Element>(x: &'a Buffer<T>) -> Self {
        Forward {
            x: &x.core,
            tape: Tape::Recompute,
            in_place: false,
            spikes: None,
            v_init: None,
            v_final: None,
            v_seq: None,
            h_seq: None,
            w_init: None,
            w_final: None,
            w_seq: None,
        }
    }
    /// What it leaves for backward.
    pub fn tape(mut self, tape: Tape) -> Self {
        self.tape = tape;
        self
    }
    /// What it leaves of X.
    pub(crate) fn left(&self) -> Left<'a> {
        let always = self.tape == Tape::Recompute || self.in_place;
        Some((self.x, always)).filter(|_| self.tape != Tape::None)
    }
    pub(crate) fn each(&self, mut f: impl FnMut(&'a Arc<BufferCore>)) {
        f(self.x);
        [self.spikes, self.v_init, self.v_final, self.v_seq, self.h_seq, self.w_init, self.w_final, self.w_seq]
            .iter()
            .flatten()
            .for_each(|core| f(core));
    }
    pub(crate) fn desc(&self) -> sys::synfire_forward_desc {
        sys::synfire_forward_desc {
            struct_size: std::mem::size_of::<sys::synfire_forward_desc>() as u32,
            tape: self.tape.to_raw(),
            x: self.x.raw,
            spikes: raw(self.spikes),
            v_init: raw(self.v_init),
            v_final: raw(self.v_final),
            v_seq: raw(self.v_seq),
            h_seq: raw(self.h_seq),
            w_init: raw(self.w_init),
            w_final: raw(self.w_final),
            w_seq: raw(self.w_seq),
            in_place: self.in_place.into(),
            reserved: 0,
        }
    }
}

/// What a backward reads and writes.
#[derive(Clone, Default)]
#[must_use]
pub struct Backward<'a> {
    in_place: bool,
    add_parameters: bool,
    of: u32,
    grad_spike_seq: Option<&'a Arc<BufferCore>>,
    grad_v_seq: Option<&'a Arc<BufferCore>>,
    grad_v_final: Option<&'a Arc<BufferCore>>,
    grad_x_seq: Option<&'a Arc<BufferCore>>,
    grad_v_init: Option<&'a Arc<BufferCore>>,
    grad_w_seq: Option<&'a Arc<BufferCore>>,
    grad_w_final: Option<&'a Arc<BufferCore>>,
    grad_w_init: Option<&'a Arc<BufferCore>>,
    of_parameters: Vec<(String, &'a Arc<BufferCore>)>,
}
pass!(Backward {
    /// dL/dS, read.
    grad_spike_seq,
    /// dL/dV of every step, read.
    grad_v_seq,
    /// dL/dV of the final state, read.
    grad_v_final,
    /// dL/dX, written.
    grad_x_seq,
    /// dL/dV_init, written.
    grad_v_init,
    /// dL/dW of every step, read.
    grad_w_seq,
    /// dL/dW of the final state, read.
    grad_w_final,
    /// dL/dW_init, written.
    grad_w_init
});
impl<'a> Backward<'a> {
    /// Nothing yet; an output at least is needed.
    pub fn new() -> Self {
        Self::default()
    }
    /// Of this forward of the layer in the same graph; without it, of the newest.
    pub fn of(mut self, forward: Operation) -> Self {
        self.of = (forward.0 as u32).wrapping_add(1);
        self
    }
    /// Adds gradients of parameters to what their buffers hold; without it they replace that.
    pub fn add_parameters(mut self) -> Self {
        self.add_parameters = true;
        self
    }
    /// dL/d(parameter), written: one element, or one per neuron.
    pub fn grad_parameter<T: Element>(mut self, name: &str, gradient: &'a Buffer<T>) -> Self {
        self.of_parameters.push((name.into(), &gradient.core));
        self
    }
    /// Whether it needs X although the forward stored H.
    pub(crate) fn needs_more_than_h(&self) -> bool {
        !self.of_parameters.is_empty()
    }
    pub(crate) fn each(&self, mut f: impl FnMut(&'a Arc<BufferCore>)) {
        [
            self.grad_spike_seq,
            self.grad_v_seq,
            self.grad_v_final,
            self.grad_x_seq,
            self.grad_v_init,
            self.grad_w_seq,
            self.grad_w_final,
            self.grad_w_init,
        ]
        .iter()
        .flatten()
        .for_each(|core| f(core));
        self.of_parameters.iter().for_each(|(_, core)| f(core));
    }
    /// The names must live as long as the descriptions that point to them.
    pub(crate) fn parameters(&self) -> Result<(Vec<Name>, Vec<sys::synfire_parameter_gradient>)> {
        let names = self.of_parameters.iter().map(|(name, _)| Name::new(name)).collect::<Result<Vec<_>>>()?;
        let all = names
            .iter()
            .zip(&self.of_parameters)
            .map(|(name, (_, core))| sys::synfire_parameter_gradient { name: name.as_ptr(), gradient: core.raw })
            .collect();
        Ok((names, all))
    }
    pub(crate) fn desc(&self, parameters: &[sys::synfire_parameter_gradient]) -> sys::synfire_backward_desc {
        sys::synfire_backward_desc {
            struct_size: std::mem::size_of::<sys::synfire_backward_desc>() as u32,
            in_place: self.in_place.into(),
            grad_spike_seq: raw(self.grad_spike_seq),
            grad_v_seq: raw(self.grad_v_seq),
            grad_v_final: raw(self.grad_v_final),
            grad_x_seq: raw(self.grad_x_seq),
            grad_v_init: raw(self.grad_v_init),
            grad_w_seq: raw(self.grad_w_seq),
            grad_w_final: raw(self.grad_w_final),
            grad_w_init: raw(self.grad_w_init),
            parameter_gradients: if parameters.is_empty() { std::ptr::null() } else { parameters.as_ptr() },
            n_parameter_gradients: parameters.len() as u64,
            forward: self.of,
            add_parameter_gradients: self.add_parameters.into(),
        }
    }
}

impl fmt::Debug for Forward<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Forward").field("tape", &self.tape).field("in_place", &self.in_place).finish_non_exhaustive()
    }
}
impl fmt::Debug for Backward<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Backward").field("in_place", &self.in_place).finish_non_exhaustive()
    }
}
