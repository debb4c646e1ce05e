// layer.rs - layers: a neuron model of a fixed shape, its parameters and its state.
use crate::buffer::Element;
use crate::context::{born, gone, Context, ContextHandle};
use crate::error::{c_string, check, loaded, Error, Result, Status};
use crate::graph::{Backward, Forward};
use crate::held::Held;
use crate::values::{DType, Model, Reset, Surrogate};
use std::sync::Arc;
use synfire_sys as sys;

pub(crate) struct Core {
    pub(crate) raw: sys::synfire_layer,
    pub(crate) held: Held,
}
// SAFETY: the C library wants one call at a time per layer, which `held` sees to.
unsafe impl Send for Core {}
unsafe impl Sync for Core {}
impl Drop for Core {
    fn drop(&mut self) {
        // SAFETY: our own handle, destroyed once.
        unsafe { sys::synfire_layer_destroy(self.raw) };
        gone();
    }
}

/// A layer of neurons. Graphs that use it keep it alive.
pub struct Layer {
    pub(crate) core: Arc<Core>,
    context: Arc<ContextHandle>,
    on_host: bool,
    state_elements: u64,
    dtype: DType,
}
// SAFETY: as Core.
unsafe impl Send for Layer {}
unsafe impl Sync for Layer {}

/// What a layer shall be; nothing chosen means the library's defaults.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct LayerBuilder(sys::synfire_layer_desc);

/// Bytes a layer will take.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)] // the C header explains each
#[non_exhaustive]
pub struct LayerMemory {
    pub checkpoint_interval: u32,
    pub state_bytes: u64,
    pub parameter_bytes: u64,
    pub per_neuron_parameter_bytes: u64,
    pub tape_bytes: u64,
    pub gradient_bytes: u64,
    pub per_neuron_gradient_bytes: u64,
    pub stored_tape_bytes: u64,
    pub narrow_tape_bytes: u64,
    pub narrow_tape_spike_bytes: u64,
}

/// A parameter of a layer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ParameterInfo {
    /// Its name.
    pub name: String,
    /// Values held now: 1, or N.
    pub length: u64,
    /// The value of a fresh layer.
    pub default: f64,
    /// Smallest value allowed.
    pub minimum: f64,
    /// Largest value allowed.
    pub maximum: f64,
    /// The minimum itself is not allowed.
    pub open_range: bool,
}

impl LayerBuilder {
    /// Neuron model.
    pub fn model(mut self, model: Model) -> Self {
        self.0.model = model.to_raw();
        self
    }
    /// Rows of a batch.
    pub fn batch(mut self, batch: i64) -> Self {
        self.0.batch = batch;
        self
    }
    /// Storage type.
    pub fn dtype(mut self, dtype: DType) -> Self {
        self.0.dtype = dtype.to_raw();
        self
    }
    /// What a spike does to V.
    pub fn reset(mut self, reset: Reset) -> Self {
        self.0.reset = reset.to_raw();
        self
    }
    /// Surrogate derivative.
    pub fn surrogate(mut self, surrogate: Surrogate) -> Self {
        self.0.surrogate = surrogate.to_raw();
        self
    }
    /// No gradient through the reset.
    pub fn detach_reset(mut self, detach: bool) -> Self {
        self.0.detach_reset = detach.into();
        self
    }
    /// The input is not multiplied by 1/tau.
    pub fn undecayed_input(mut self, undecayed: bool) -> Self {
        self.0.undecayed_input = undecayed.into();
        self
    }
    /// Bytes it will take.
    pub fn query_memory(&self) -> Result<LayerMemory> {
        loaded()?;
        // SAFETY: zeros plus the size is how C initialises it.
        let mut m: sys::synfire_layer_memory = unsafe { std::mem::zeroed() };
        m.struct_size = std::mem::size_of_val(&m) as u32;
        check(unsafe { sys::synfire_layer_query_memory(&self.0, &mut m) })?;
        Ok(LayerMemory {
            checkpoint_interval: m.checkpoint_interval,
            state_bytes: m.state_bytes,
            parameter_bytes: m.parameter_bytes,
            per_neuron_parameter_bytes: m.per_neuron_parameter_bytes,
            tape_bytes: m.tape_bytes,
            gradient_bytes: m.gradient_bytes,
            per_neuron_gradient_bytes: m.per_neuron_gradient_bytes,
            stored_tape_bytes: m.stored_tape_bytes,
            narrow_tape_bytes: m.narrow_tape_bytes,
            narrow_tape_spike_bytes: m.narrow_tape_spike_bytes,
        })
    }
    /// Creates the layer.
    pub fn create(self, context: &Context) -> Result<Layer> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: both pointers are valid.
        check(unsafe { sys::synfire_layer_create(context.raw, &self.0, &mut raw) })?;
        born();
        Ok(Layer {
            core: Arc::new(Core { raw, held: Held::default() }),
            context: context.handle.clone(),
            on_host: context.on_host,
            state_elements: (self.0.n_neurons * self.0.batch.max(1)) as u64,
            dtype: DType::from_raw(self.0.dtype),
        })
    }
}

impl Layer {
    /// A layer `[n_steps, n_neurons]`.
    pub fn builder(n_steps: i64, n_neurons: i64) -> LayerBuilder {
        // SAFETY: zero is the default of every field.
        let mut desc: sys::synfire_layer_desc = unsafe { std::mem::zeroed() };
        desc.struct_size = std::mem::size_of_val(&desc) as u32;
        desc.n_steps = n_steps;
        desc.n_neurons = n_neurons;
        LayerBuilder(desc)
    }
    /// Sets a parameter: one value, or one per neuron.
    pub fn set_parameter(&self, name: &str, values: &[f64]) -> Result<()> {
        let name = c_string(name)?;
        // SAFETY: the slice has so many values.
        self.core.held.during(|| {
            check(unsafe {
                sys::synfire_layer_set_parameter(self.core.raw, name.as_ptr(), values.as_ptr(), values.len() as u64)
            })
            .map(drop)
        })
    }
    /// Reads a parameter: one value, or one per neuron.
    pub fn parameter(&self, name: &str, values: &mut [f64]) -> Result<()> {
        let name = c_string(name)?;
        // SAFETY: the slice has so many values.
        self.core.held.during(|| {
            check(unsafe {
                sys::synfire_layer_get_parameter(self.core.raw, name.as_ptr(), values.as_mut_ptr(), values.len() as u64)
            })
            .map(drop)
        })
    }
    /// Parameter number `index`; an error after the last.
    pub fn parameter_info(&self, index: u32) -> Result<ParameterInfo> {
        // SAFETY: zeros plus the size; the name is a constant string.
        self.core.held.during(|| unsafe {
            let mut p: sys::synfire_parameter_info = std::mem::zeroed();
            p.struct_size = std::mem::size_of_val(&p) as u32;
            check(sys::synfire_layer_get_parameter_info(self.core.raw, index, &mut p))?;
            Ok(ParameterInfo {
                name: std::ffi::CStr::from_ptr(p.name).to_string_lossy().into_owned(),
                length: p.length,
                default: p.default_value,
                minimum: p.minimum,
                maximum: p.maximum,
                open_range: p.open_range != 0,
            })
        })
    }
    /// Back to the resting state.
    pub fn reset_state(&self) -> Result<()> {
        // SAFETY: a live handle; the context's own stream.
        self.core
            .held
            .during(|| check(unsafe { sys::synfire_layer_reset_state(self.core.raw, std::ptr::null_mut()) }).map(drop))
    }
    fn state_type<T: Element>(&self) -> Result<()> {
        let wanted = if self.dtype == DType::F64 { DType::F64 } else { DType::F32 };
        if T::DTYPES[0] == wanted {
            return Ok(());
        }
        Err(Error::new(
            Status::InvalidArgument,
            "SYN-RUST-DTYPE",
            format!("the state is {wanted:?}, not {} ({} elements)", std::any::type_name::<T>(), self.state_elements),
        ))
    }
    /// Reads the state `"v"` or `"w"`: B·N values.
    pub fn read_state<T: Element>(&self, name: &str, values: &mut [T]) -> Result<()> {
        self.state_type::<T>()?;
        let name = c_string(name)?;
        let bytes = std::mem::size_of_val(values) as u64;
        // SAFETY: the slice has so many bytes.
        self.core.held.during(|| {
            check(unsafe {
                sys::synfire_layer_read_state(self.core.raw, name.as_ptr(), values.as_mut_ptr().cast(), bytes)
            })
            .map(drop)
        })
    }
    /// Writes the state `"v"` or `"w"`: B·N values.
    pub fn write_state<T: Element>(&self, name: &str, values: &[T]) -> Result<()> {
        self.state_type::<T>()?;
        let name = c_string(name)?;
        let bytes = std::mem::size_of_val(values) as u64;
        // SAFETY: the slice has so many bytes.
        self.core.held.during(|| {
            check(unsafe {
                sys::synfire_layer_write_state(self.core.raw, name.as_ptr(), values.as_ptr().cast(), bytes)
            })
            .map(drop)
        })
    }
    fn now(&self, held: &[&Held], call: impl FnOnce() -> i32) -> Result<()> {
        let mut taken = 0;
        let mut answer = Ok(());
        for one in held {
            match one.write() {
                Ok(()) => taken += 1,
                Err(error) => {
                    answer = Err(error);
                    break;
                }
            }
        }
        if answer.is_ok() {
            answer = check(call()).map(drop);
            if !self.on_host && answer.is_ok() {
                // SAFETY: the layer keeps the context's handle alive.
                answer = check(unsafe { sys::synfire_context_synchronize(self.context.0) }).map(drop);
            }
        }
        held[..taken].iter().for_each(|one| one.end_write());
        answer
    }
    /// Runs one forward now and waits for it.
    pub fn forward(&self, forward: Forward<'_>) -> Result<()> {
        let mut held = vec![&self.core.held];
        forward.each(|core| {
            if !held.iter().any(|h| std::ptr::eq(*h, &core.held)) {
                held.push(&core.held)
            }
        });
        // SAFETY: live handles, held for the call.
        self.now(&held, || unsafe { sys::synfire_layer_forward(self.core.raw, &forward.desc(), std::ptr::null_mut()) })
    }
    /// Runs one backward now and waits for it.
    pub fn backward(&self, backward: &Backward<'_>) -> Result<()> {
        let mut held = vec![&self.core.held];
        backward.each(|core| {
            if !held.iter().any(|h| std::ptr::eq(*h, &core.held)) {
                held.push(&core.held)
            }
        });
        let parameters = backward.parameters()?;
        // SAFETY: live handles, held for the call.
        self.now(&held, || unsafe {
            sys::synfire_layer_backward(self.core.raw, &backward.desc(&parameters.1), std::ptr::null_mut())
        })
    }
    /// Closes it now; dropping does the same.
    pub fn close(self) {}
}
