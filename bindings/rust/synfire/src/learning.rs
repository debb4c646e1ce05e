// learning.rs - what synapses and optimisers do beside being recorded: arrays read and written by name, and the memory of
// a synapse.
use crate::buffer::Element;
use crate::error::{check, loaded, Name, Result};
use crate::held::hold_all;
use crate::objects::{all_held, Optimizer, Synapse, SynapseBuilder};
use std::mem::{size_of, size_of_val, zeroed};
use synfire_sys as sys;

/// Bytes of device memory that a synapse will take.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SynapseMemory {
    /// Weights, bias and mask.
    pub weight_bytes: u64,
    /// Memory that products use: the weights on their grid, in the orders of both directions.
    pub derived_bytes: u64,
    /// Gradients of weights and bias; added with the first backward that needs them.
    pub gradient_bytes: u64,
}

impl SynapseBuilder<'_> {
    /// Bytes it will take.
    pub fn query_memory(&self) -> Result<SynapseMemory> {
        loaded()?;
        // SAFETY: zeros plus the size is how C initialises it.
        let mut memory: sys::synfire_synapse_memory = unsafe { zeroed() };
        memory.struct_size = size_of::<sys::synfire_synapse_memory>() as u32;
        // SAFETY: the descriptor and what it points to live for the call.
        check(unsafe { sys::synfire_synapse_query_memory(&self.desc(), &mut memory) })?;
        Ok(SynapseMemory {
            weight_bytes: memory.weight_bytes,
            derived_bytes: memory.derived_bytes,
            gradient_bytes: memory.gradient_bytes,
        })
    }
}

impl Synapse {
    /// Reads `"weight"` or `"weight_gradient"` `[N, K]`, or `"bias"` or `"bias_gradient"` `[N]`, in f32 (f64 in an f64
    /// synapse), after every replay that was launched before.
    pub fn read<T: Element>(&self, name: &str, values: &mut [T]) -> Result<()> {
        let name = Name::new(name)?;
        let _held = hold_all(all_held(&*self.core))?;
        // SAFETY: live handles; the slice is as long as is said, and any bits are a value of its elements.
        check(unsafe {
            sys::synfire_synapse_read(
                self.core.raw,
                name.as_ptr(),
                values.as_mut_ptr().cast(),
                size_of_val(values) as u64,
            )
        })
        .map(drop)
    }
    /// Writes what [`Synapse::read`] reads. Values must be finite.
    pub fn write<T: Element>(&self, name: &str, values: &[T]) -> Result<()> {
        let name = Name::new(name)?;
        let _held = hold_all(all_held(&*self.core))?;
        // SAFETY: live handles; the slice is as long as is said.
        check(unsafe {
            sys::synfire_synapse_write(self.core.raw, name.as_ptr(), values.as_ptr().cast(), size_of_val(values) as u64)
        })
        .map(drop)
    }
}

impl Optimizer {
    /// Reads a number of the optimiser (`member` is `None`): `"step_count"` or `"skipped"` (u64), `"beta1_power"`,
    /// `"beta2_power"` or `"gradient_norm"` (f64); or an array of a member: `"momentum"`, `"moment1"` or `"moment2"`.
    pub fn read<T: Element>(&self, member: Option<u32>, name: &str, values: &mut [T]) -> Result<()> {
        let name = Name::new(name)?;
        let _held = hold_all(all_held(&*self.core))?;
        // SAFETY: live handles; the slice is as long as is said, and any bits are a value of its elements.
        check(unsafe {
            sys::synfire_optimizer_read(
                self.core.raw,
                number(member),
                name.as_ptr(),
                values.as_mut_ptr().cast(),
                size_of_val(values) as u64,
            )
        })
        .map(drop)
    }
    /// Writes what [`Optimizer::read`] reads, so that training continues where it stopped, with the same bits.
    pub fn write<T: Element>(&self, member: Option<u32>, name: &str, values: &[T]) -> Result<()> {
        let name = Name::new(name)?;
        let _held = hold_all(all_held(&*self.core))?;
        // SAFETY: live handles; the slice is as long as is said.
        check(unsafe {
            sys::synfire_optimizer_write(
                self.core.raw,
                number(member),
                name.as_ptr(),
                values.as_ptr().cast(),
                size_of_val(values) as u64,
            )
        })
        .map(drop)
    }
}

// -1 stands for the optimiser itself.
fn number(member: Option<u32>) -> i32 {
    member.map_or(-1, |member| i32::try_from(member).unwrap_or(i32::MAX))
}
