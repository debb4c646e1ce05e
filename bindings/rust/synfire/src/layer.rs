// layer.rs - layers: a neuron model of a fixed shape, its parameters and its state.
use crate::buffer::{Buffer, Element};
use crate::context::{born, gone, Context, ContextHandle};
use crate::error::{check, loaded, Error, Name, Result, Status};
use crate::held::{hold_all, Held, Object, PartOf, Tapes, Used};
use crate::operations::{Backward, Forward};
use crate::shape::{Neurons, Steps};
use crate::values::{DType, Memory, Model, Reset, Surrogate};
use std::fmt;
use std::sync::Arc;
use synfire_sys as sys;

pub(crate) struct Core {
    pub(crate) raw: sys::synfire_layer,
    pub(crate) held: Held,
    pub(crate) tapes: Tapes,
    // True if its backward may need X beside H. Only models that were added to the library or loaded do.
    pub(crate) slope_reads_x: bool,
}
// SAFETY: the C library wants one call at a time per layer, which `held` sees to.
unsafe impl Send for Core {}
unsafe impl Sync for Core {}
impl Object for Core {
    fn held(&self) -> &Held {
        &self.held
    }
}
impl Drop for Core {
    fn drop(&mut self) {
        // SAFETY: our own handle, destroyed once.
        unsafe { sys::synfire_layer_destroy(self.raw) };
        gone();
    }
}

/// A layer of neurons. Graphs that use it keep it alive. It keeps the X of its latest forward, or the synapse in its place and
/// what that read, as long as that forward left a tape.
pub struct Layer {
    pub(crate) core: Arc<Core>,
    context: Arc<ContextHandle>,
    on_host: bool,
    desc: sys::synfire_layer_desc,
}
impl fmt::Debug for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (steps, neurons, batch) = (self.n_steps(), self.n_neurons(), self.batch());
        write!(f, "Layer of {steps} steps, {batch} rows of {neurons} neurons, {:?}", self.dtype())
    }
}
// SAFETY: as Core.
unsafe impl Send for Layer {}
unsafe impl Sync for Layer {}

/// Options for a layer; each has the library's default.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct LayerBuilder(sys::synfire_layer_desc);

/// Bytes a layer will take.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct LayerMemory {
    /// Steps between two checkpoints of V on the tape.
    pub checkpoint_interval: u32,
    /// The state.
    pub state_bytes: u64,
    /// The parameter block, with every parameter one number.
    pub parameter_bytes: u64,
    /// Added once, with the first parameter that becomes one number per neuron.
    pub per_neuron_parameter_bytes: u64,
    /// The tape; never for inference.
    pub tape_bytes: u64,
    /// Added with the first gradient of a parameter.
    pub gradient_bytes: u64,
    /// Added once, when gradients of parameters are asked for and parameters are one number per neuron.
    pub per_neuron_gradient_bytes: u64,
    /// H of [`Tape::Store`](crate::Tape::Store).
    pub stored_tape_bytes: u64,
    /// H of [`Tape::StoreNarrow`](crate::Tape::StoreNarrow).
    pub narrow_tape_bytes: u64,
    /// Spikes beside the H of [`Tape::StoreNarrow`](crate::Tape::StoreNarrow).
    pub narrow_tape_spike_bytes: u64,
    /// Values; added with each parameter that becomes one number per neuron.
    pub per_neuron_value_bytes: u64,
    /// X of a synapse; added to the tape of a forward with a synapse and [`Tape::Recompute`](crate::Tape::Recompute).
    pub synapse_tape_bytes: u64,
    /// V, X and spikes of all steps: the tape of a forward with a recurrent synapse, in place of `tape_bytes` and
    /// `synapse_tape_bytes`. 0 without a history.
    pub recurrent_tape_bytes: u64,
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
    /// Neuron model: [`Model::Lif`], or a reference to a [`LoadedModel`](crate::LoadedModel).
    pub fn model(mut self, model: impl Into<Model>) -> Self {
        self.0.model = Model::to_raw(model.into());
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
    /// The effect of a spike on V.
    pub fn reset(mut self, reset: Reset) -> Self {
        self.0.reset = reset.to_raw();
        self
    }
    /// Surrogate derivative: [`Surrogate::Atan`], or a reference to a [`LoadedSurrogate`](crate::LoadedSurrogate).
    pub fn surrogate(mut self, surrogate: impl Into<Surrogate>) -> Self {
        self.0.surrogate = Surrogate::to_raw(surrogate.into());
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
    /// A neuron fires above its threshold, not at it.
    pub fn strict_threshold(mut self, strict: bool) -> Self {
        self.0.strict_threshold = strict.into();
        self
    }
    /// Steps after a spike in which V stays as the reset left it, and nothing fires.
    pub fn refractory_steps(mut self, steps: i32) -> Self {
        self.0.refractory_steps = steps;
        self
    }
    /// Steps of its own spikes that the layer keeps as a part of its state, for a recurrent synapse.
    pub fn history_steps(mut self, steps: i64) -> Self {
        self.0.history_steps = steps;
        self
    }
    /// CUDA threads of one block of its kernels, to measure with: 32, 64, 96 or 128; 0: as was measured best. Changes no
    /// result.
    pub fn threads_per_block(mut self, threads: u32) -> Self {
        self.0.threads_per_block = threads;
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
            per_neuron_value_bytes: m.per_neuron_value_bytes,
            synapse_tape_bytes: m.synapse_tape_bytes,
            recurrent_tape_bytes: m.recurrent_tape_bytes,
        })
    }
    /// Creates the layer.
    pub fn create(self, context: &Context) -> Result<Layer> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: both pointers are valid.
        check(unsafe { sys::synfire_layer_create(context.raw, &self.0, &mut raw) })?;
        born();
        let slope_reads_x = self.0.model > sys::SYNFIRE_MODEL_LI;
        Ok(Layer {
            core: Arc::new(Core { raw, held: Held::default(), tapes: Tapes::default(), slope_reads_x }),
            context: context.handle.clone(),
            on_host: context.on_host,
            desc: self.0,
        })
    }
}

impl Layer {
    /// A layer `[T, N]`: `Layer::builder(Steps(20), Neurons(64))`.
    ///
    /// Two numbers without their names are refused, in either order:
    ///
    /// ```compile_fail,E0308
    /// let layer = synfire::Layer::builder(20, 64);
    /// ```
    ///
    /// ```compile_fail,E0308
    /// use synfire::{Layer, Neurons, Steps};
    /// let layer = Layer::builder(Neurons(64), Steps(20));
    /// ```
    pub fn builder(n_steps: Steps, n_neurons: Neurons) -> LayerBuilder {
        // SAFETY: zero is the default of every field.
        let mut desc: sys::synfire_layer_desc = unsafe { std::mem::zeroed() };
        desc.struct_size = std::mem::size_of_val(&desc) as u32;
        desc.n_steps = n_steps.0;
        desc.n_neurons = n_neurons.0;
        LayerBuilder(desc)
    }
    // Takes over a handle that another object gave.
    pub(crate) fn from_part(raw: sys::synfire_layer, of: PartOf<'_>) -> Result<Self> {
        born();
        let mut core = Core { raw, held: of.held.clone(), tapes: Tapes::default(), slope_reads_x: false };
        // SAFETY: zeros plus the size is how C initialises it.
        let mut desc: sys::synfire_layer_desc = unsafe { std::mem::zeroed() };
        desc.struct_size = std::mem::size_of_val(&desc) as u32;
        // SAFETY: a live handle.
        check(unsafe { sys::synfire_layer_get_desc(raw, &mut desc) })?;
        core.slope_reads_x = desc.model > sys::SYNFIRE_MODEL_LI;
        Ok(Layer { core: Arc::new(core), context: of.context.clone(), on_host: of.on_host, desc })
    }
    /// Steps T of one forward.
    pub fn n_steps(&self) -> i64 {
        self.desc.n_steps
    }
    /// Neurons N of one batch row.
    pub fn n_neurons(&self) -> i64 {
        self.desc.n_neurons
    }
    /// Batch rows B.
    pub fn batch(&self) -> i64 {
        self.desc.batch.max(1)
    }
    /// Storage type of the sequences.
    pub fn dtype(&self) -> DType {
        DType::from_raw(self.desc.dtype)
    }
    /// The C handle, for [`sys`](crate::sys); it is good for as long as the layer is.
    pub fn as_raw(&self) -> sys::synfire_layer {
        self.core.raw
    }
    // The context that it was created on, which it keeps.
    fn context(&self) -> Context {
        Context { raw: self.context.0, handle: self.context.clone(), on_host: self.on_host }
    }
    // [first, (B,) last]: the batch is left out when there is one row.
    fn with_batch(&self, first: Option<i64>, last: i64) -> Vec<usize> {
        let batch = Some(self.batch()).filter(|batch| *batch > 1);
        first.into_iter().chain(batch).chain([last]).map(|length| length as usize).collect()
    }
    /// A buffer of the layer's context, `[T, N]`, or `[T, B, N]`: X, potentials, gradients, dense spikes.
    pub fn sequence<T: Element>(&self, memory: Memory) -> Result<Buffer<T>> {
        Buffer::zeros(&self.context(), memory, self.with_batch(Some(self.n_steps()), self.n_neurons()))
    }
    /// A buffer `[N]`, or `[B, N]`: a state, or its gradient.
    pub fn state<T: Element>(&self, memory: Memory) -> Result<Buffer<T>> {
        Buffer::zeros(&self.context(), memory, self.with_batch(None, self.n_neurons()))
    }
    /// A buffer for spikes, 32 neurons a word: `[T, ceil(N/32)]`, or `[T, B, ceil(N/32)]`.
    pub fn spikes(&self, memory: Memory) -> Result<Buffer<u32>> {
        Buffer::zeros(&self.context(), memory, self.with_batch(Some(self.n_steps()), (self.n_neurons() + 31) / 32))
    }
    /// A buffer for spikes, 32 steps a word: `[ceil(T/32), N]`, or `[ceil(T/32), B, N]`.
    pub fn time_packed_spikes(&self, memory: Memory) -> Result<Buffer<u32>> {
        let shape = self.with_batch(Some((self.n_steps() + 31) / 32), self.n_neurons());
        Buffer::with_dtype(&self.context(), memory, DType::TimeBits, shape)
    }
    /// Sets a parameter: one value, or one per neuron. The next launch sees it, replays in flight do not.
    pub fn set_parameter(&self, name: &str, values: &[f64]) -> Result<()> {
        let name = Name::new(name)?;
        // SAFETY: the slice has this many values.
        self.core.held.between_launches(|| {
            check(unsafe {
                sys::synfire_layer_set_parameter(self.core.raw, name.as_ptr(), values.as_ptr(), values.len() as u64)
            })
            .map(drop)
        })
    }
    /// Chooses how many of the batch rows are active: the first ones, 0 to B. The next launch sees it. The state of the others
    /// is kept, and their part of every output untouched.
    pub fn set_n_active(&self, n_rows: i64) -> Result<()> {
        // SAFETY: a live handle.
        self.core
            .held
            .between_launches(|| check(unsafe { sys::synfire_layer_set_n_active(self.core.raw, n_rows) }).map(drop))
    }
    /// All parameters, in the model's documented order, the surrogate's last.
    pub fn parameters(&self) -> Result<Vec<ParameterInfo>> {
        let mut all = Vec::new();
        loop {
            match self.parameter_info(all.len() as u32) {
                Ok(info) => all.push(info),
                Err(error) if error.status == Status::InvalidArgument && !all.is_empty() => return Ok(all),
                Err(error) => return Err(error),
            }
        }
    }
    /// Reads a parameter: one value, or one per neuron.
    pub fn parameter(&self, name: &str, values: &mut [f64]) -> Result<()> {
        let name = Name::new(name)?;
        // SAFETY: the slice has this many values.
        self.core.held.between_launches(|| {
            check(unsafe {
                sys::synfire_layer_get_parameter(self.core.raw, name.as_ptr(), values.as_mut_ptr(), values.len() as u64)
            })
            .map(drop)
        })
    }
    /// Parameter number `index`; an error after the last.
    pub fn parameter_info(&self, index: u32) -> Result<ParameterInfo> {
        // SAFETY: zeros plus the size; the name is a constant string.
        self.core.held.between_launches(|| unsafe {
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
        let wanted = if self.dtype() == DType::F64 { DType::F64 } else { DType::F32 };
        if T::DTYPES[0] == wanted {
            return Ok(());
        }
        Err(Error::new(
            Status::InvalidArgument,
            "SYN-RUST-DTYPE",
            format!("the state is {wanted:?}, not {}", std::any::type_name::<T>()),
        ))
    }
    /// Reads the state `"v"` or `"w"`: B·N values.
    pub fn read_state<T: Element>(&self, name: &str, values: &mut [T]) -> Result<()> {
        self.state_type::<T>()?;
        let name = Name::new(name)?;
        let bytes = std::mem::size_of_val(values) as u64;
        // SAFETY: the slice has this many bytes.
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
        let name = Name::new(name)?;
        let bytes = std::mem::size_of_val(values) as u64;
        // SAFETY: the slice has this many bytes.
        self.core.held.during(|| {
            check(unsafe {
                sys::synfire_layer_write_state(self.core.raw, name.as_ptr(), values.as_ptr().cast(), bytes)
            })
            .map(drop)
        })
    }
    pub(crate) fn now<'h>(&self, held: impl AsRef<[&'h Held]>, call: impl FnOnce() -> i32) -> Result<()> {
        let _held = hold_all(held)?;
        check(call())?;
        if self.on_host {
            return Ok(());
        }
        // SAFETY: the layer keeps the context's handle alive.
        check(unsafe { sys::synfire_context_synchronize(self.context.0) }).map(drop)
    }
    /// Runs one forward now and waits for it.
    pub fn forward(&self, forward: Forward<'_>) -> Result<()> {
        let mut held = forward.held();
        held.push(&self.core.held);
        held.extend(forward.buffers().map(|core| &core.held));
        let left = forward.left();
        let (_init_names, init) = forward.state_init_list()?;
        let (_final_names, last) = forward.state_final_list()?;
        let (_seq_names, seq) = forward.state_seq_list()?;
        let desc = forward.desc(&init, &last, &seq);
        self.now(held, || {
            // SAFETY: live handles, held for the call, as are names and lists.
            let status = unsafe { sys::synfire_layer_forward(self.core.raw, &desc, std::ptr::null_mut()) };
            if status >= 0 {
                let tapes = &self.core.tapes;
                if left.is_some() {
                    tapes.eager.set(left.as_ref());
                }
                tapes.ran(left.as_ref().map(|_| &tapes.eager));
            }
            status
        })
    }
    /// Runs one backward now and waits for it. It reads the X of the forward again, unless that stored H, or uses its synapse
    /// and what that read: where something holds these it is refused, as if they were named here.
    pub fn backward(&self, backward: &Backward<'_>) -> Result<()> {
        let _layer = hold_all([&self.core.held])?;
        let more = backward.needs_more_than_h() || self.core.slope_reads_x;
        let used = self.core.tapes.left.get().map_or_else(Used::default, |tape| tape.used_by(more));
        let mut held = used.held();
        held.extend(backward.buffers().map(|core| &core.held));
        let (_names, gradients) = backward.parameter_gradients_list()?;
        let (_seq_names, seq) = backward.grad_state_seq_list()?;
        let (_final_names, last) = backward.grad_state_final_list()?;
        let (_init_names, init) = backward.grad_state_init_list()?;
        let desc = backward.desc(&gradients, &seq, &last, &init);
        // SAFETY: live handles, held for the call, as are names and lists.
        self.now(held, || unsafe { sys::synfire_layer_backward(self.core.raw, &desc, std::ptr::null_mut()) })
    }
    /// Closes it now; dropping does the same.
    pub fn close(self) {}
}
