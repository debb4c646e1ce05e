// network.rs - what networks have beside the C ABI's functions: data from slices, results as fractions, texts.
use crate::buffer::{Buffer, Core as BufferCore, Element};
use crate::context::{born, Context};
use crate::error::{check, Error, Name, Result, Status};
use crate::held::{hold_all, Held};
use crate::objects::{all_held, Data, Initialization, Network, NetworkCore, NetworkResult};
use crate::operations::Schedule;
use crate::shape::Steps;
use crate::values::{DType, Memory, Reset, Surrogate, Tape};
use std::fmt;
use std::os::raw::c_char;
use std::ptr::{null, null_mut};
use std::sync::Arc;
use synfire_sys as sys;

pub(crate) mod sealed {
    pub trait Sealed {}
}
/// A value for [`Network::set`]: a number, a flag, a constant such as [`Surrogate::Atan`], or a reference to a
/// [`LoadedSurrogate`](crate::LoadedSurrogate). Sealed.
pub trait StageValue: sealed::Sealed {
    #[doc(hidden)]
    fn number(self) -> f64;
}
macro_rules! stage_values {
    ($($of:ty: $value:ident => $number:expr;)*) => { $(
        impl sealed::Sealed for $of {}
        impl StageValue for $of {
            fn number(self) -> f64 {
                let $value = self;
                $number
            }
        }
    )* };
}
stage_values! {
    f64: value => value;
    f32: value => value.into();
    i32: value => value.into();
    bool: value => f64::from(u8::from(value));
    DType: value => value.to_raw().into();
    Reset: value => value.to_raw().into();
    Schedule: value => value.to_raw().into();
    Surrogate: value => value.to_raw().into();
    Tape: value => value.to_raw().into();
    Initialization: value => value.to_raw().into();
}

/// A value of a stage as [`Stage::set`] takes it: what [`StageValue`] is, or the name of a constant, such as `"mean"`.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number, a flag or a constant.
    Number(f64),
    /// A constant by its name, in lower case; a model or a surrogate by its own.
    Text(String),
}
impl<T: StageValue> From<T> for Value {
    fn from(value: T) -> Value {
        Value::Number(value.number())
    }
}
impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.into())
    }
}

/// A stage of any kind, all by names: [`Network::stage`] begins it, and [`Stage::add`] adds it.
#[derive(Clone, Debug)]
#[must_use]
pub struct Stage<'a> {
    network: &'a Network,
    kind: String,
    name: String,
    inputs: Vec<(String, Option<String>, i64)>,
    values: Vec<(String, Value)>,
}

impl Stage<'_> {
    /// Lets it read a stage that was added before. Without this, it reads the one that was added last.
    pub fn reads(mut self, stage: &str) -> Self {
        self.inputs.push((stage.into(), None, 0));
        self
    }
    /// Lets it read the spikes of neurons with a delay in steps: those of step t - delay. A synapse, a convolution or a
    /// scale may name neurons that are added later, which makes a cycle.
    pub fn reads_after(mut self, stage: &str, delay: i64) -> Self {
        self.inputs.push((stage.into(), None, delay));
        self
    }
    /// The same, at a port of neurons: `"spikes"` or `"v"`.
    pub fn reads_port(mut self, stage: &str, port: &str) -> Self {
        self.inputs.push((stage.into(), Some(port.into()), 0));
        self
    }
    /// Sets a value: `.set("n_outputs", 53.0)`, `.set("reduction", "mean")`.
    pub fn set(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.values.push((name.into(), value.into()));
        self
    }
    /// Adds it to the network.
    pub fn add(self) -> Result<()> {
        let (kind, name) = (Name::new(&self.kind)?, Name::new(&self.name)?);
        let named = |text: &Option<String>| text.as_deref().map(Name::new).transpose();
        let mut inputs = vec![];
        for (stage, port, delay) in &self.inputs {
            inputs.push((Name::new(stage)?, named(port)?, *delay));
        }
        let mut values = vec![];
        for (name, value) in &self.values {
            let (text, number) = match value {
                Value::Number(number) => (None, *number),
                Value::Text(text) => (Some(Name::new(text)?), 0.0),
            };
            values.push((Name::new(name)?, text, number));
        }
        let pointer = |text: &Option<Name>| text.as_ref().map_or(null(), Name::as_ptr);
        let inputs: Vec<_> = inputs
            .iter()
            .map(|(stage, port, delay)| sys::synfire_stage_input {
                stage: stage.as_ptr(),
                port: pointer(port),
                delay: *delay,
            })
            .collect();
        let values: Vec<_> = values
            .iter()
            .map(|(name, text, number)| sys::synfire_stage_value {
                name: name.as_ptr(),
                text: pointer(text),
                number: *number,
            })
            .collect();
        let desc = sys::synfire_stage_desc {
            struct_size: std::mem::size_of::<sys::synfire_stage_desc>() as u32,
            reserved: 0,
            kind: kind.as_ptr(),
            name: name.as_ptr(),
            inputs: inputs.as_ptr(),
            n_inputs: inputs.len() as u64,
            values: values.as_ptr(),
            n_values: values.len() as u64,
        };
        let core = &self.network.core;
        core.held.between_launches(|| {
            // SAFETY: a live handle; what is pointed to lives for the call.
            check(unsafe { sys::synfire_network_add_stage(core.raw, &desc) }).map(drop)
        })
    }
}

/// Arrays of rows for the stages of a network, for [`Network::set_arrays`] and [`Network::infer_arrays`]. Where one stage
/// takes an array of the kind, `None` may stand for its name.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Arrays<'a> {
    list: Vec<(Option<String>, i32, &'a BufferCore)>,
}

impl<'a> Arrays<'a> {
    /// No arrays.
    pub fn new() -> Self {
        Self::default()
    }
    /// The rows of an input.
    pub fn inputs<T: Element>(self, stage: Option<&str>, buffer: &'a Buffer<T>) -> Self {
        self.with(stage, sys::SYNFIRE_ARRAY_INPUTS, &buffer.core)
    }
    /// The labels of a loss.
    pub fn labels<T: Element>(self, stage: Option<&str>, buffer: &'a Buffer<T>) -> Self {
        self.with(stage, sys::SYNFIRE_ARRAY_LABELS, &buffer.core)
    }
    /// The targets of a loss.
    pub fn targets<T: Element>(self, stage: Option<&str>, buffer: &'a Buffer<T>) -> Self {
        self.with(stage, sys::SYNFIRE_ARRAY_TARGETS, &buffer.core)
    }
    /// How many steps of each row count.
    pub fn lengths<T: Element>(self, buffer: &'a Buffer<T>) -> Self {
        self.with(None, sys::SYNFIRE_ARRAY_LENGTHS, &buffer.core)
    }
    /// The weight of each row in the losses.
    pub fn sample_weights<T: Element>(self, buffer: &'a Buffer<T>) -> Self {
        self.with(None, sys::SYNFIRE_ARRAY_SAMPLE_WEIGHTS, &buffer.core)
    }
    /// Where inference writes what a stage gives.
    pub fn outputs<T: Element>(self, stage: Option<&str>, buffer: &'a Buffer<T>) -> Self {
        self.with(stage, sys::SYNFIRE_ARRAY_OUTPUTS, &buffer.core)
    }
    fn with(mut self, stage: Option<&str>, role: i32, core: &'a BufferCore) -> Self {
        self.list.push((stage.map(String::from), role, core));
        self
    }
    // Calls with the list while the network and its buffers are held.
    fn call(&self, network: &Network, call: impl FnOnce(*const sys::synfire_network_array, u64) -> i32) -> Result<()> {
        let mut names = vec![];
        for (stage, _, _) in &self.list {
            names.push(stage.as_deref().map(Name::new).transpose()?);
        }
        let list: Vec<_> = names
            .iter()
            .zip(&self.list)
            .map(|(stage, (_, role, core))| sys::synfire_network_array {
                stage: stage.as_ref().map_or(null(), Name::as_ptr),
                role: *role,
                reserved: 0,
                buffer: core.raw,
            })
            .collect();
        let mut held = all_held(&*network.core);
        held.extend(self.list.iter().map(|(_, _, core)| &core.held));
        let _held = hold_all(held)?;
        check(call(list.as_ptr(), list.len() as u64)).map(drop)
    }
}

/// Rows of an array for a stage, in memory of the program: [`Network::set_rows`].
#[derive(Clone, Copy, Debug)]
pub enum Rows<'a> {
    /// The inputs of an input, in f32.
    Inputs(&'a [f32]),
    /// The labels of a loss.
    Labels(&'a [u32]),
    /// The targets of a loss, in f32.
    Targets(&'a [f32]),
}

/// A data set of rows that stay in files, and that may be larger than memory: [`Network::open_data`]. The rows of several
/// files of an array follow each other. A path is that of an array of NumPy (`None` for the tensor), or that of a
/// safetensors file or of the index of its shards. `None` may stand for a stage as in [`Arrays`].
///
/// ```
/// use synfire::DataFiles;
/// let files = DataFiles::new().inputs(None, "rows.npy", None).labels(None, "rows.safetensors", Some("labels"));
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct DataFiles {
    list: Vec<(i32, Option<String>, String, Option<String>)>,
    n_readers: u32,
    block_rows: i64,
    window_blocks: i64,
}

impl DataFiles {
    /// No files.
    pub fn new() -> Self {
        Self::default()
    }
    /// Rows of an input.
    pub fn inputs(self, stage: Option<&str>, path: &str, tensor: Option<&str>) -> Self {
        self.with(sys::SYNFIRE_ARRAY_INPUTS, stage, path, tensor)
    }
    /// Labels of a loss.
    pub fn labels(self, stage: Option<&str>, path: &str, tensor: Option<&str>) -> Self {
        self.with(sys::SYNFIRE_ARRAY_LABELS, stage, path, tensor)
    }
    /// Targets of a loss.
    pub fn targets(self, stage: Option<&str>, path: &str, tensor: Option<&str>) -> Self {
        self.with(sys::SYNFIRE_ARRAY_TARGETS, stage, path, tensor)
    }
    /// How many steps of each row count.
    pub fn lengths(self, path: &str, tensor: Option<&str>) -> Self {
        self.with(sys::SYNFIRE_ARRAY_LENGTHS, None, path, tensor)
    }
    /// The weight of each row in the losses.
    pub fn sample_weights(self, path: &str, tensor: Option<&str>) -> Self {
        self.with(sys::SYNFIRE_ARRAY_SAMPLE_WEIGHTS, None, path, tensor)
    }
    /// Threads that read ahead. 0: the default.
    pub fn n_readers(mut self, n_readers: u32) -> Self {
        self.n_readers = n_readers;
        self
    }
    /// Rows of a block, which follow each other in the files. 0: the default.
    pub fn block_rows(mut self, block_rows: i64) -> Self {
        self.block_rows = block_rows;
        self
    }
    /// Blocks of a window, whose rows are permuted together. 0: the default.
    pub fn window_blocks(mut self, window_blocks: i64) -> Self {
        self.window_blocks = window_blocks;
        self
    }
    fn with(mut self, role: i32, stage: Option<&str>, path: &str, tensor: Option<&str>) -> Self {
        self.list.push((role, stage.map(String::from), path.into(), tensor.map(String::from)));
        self
    }
}

/// An array of a file for an array of a network: [`Network::load_arrays`]. A text stands for an array of the same name on
/// both sides, two texts for the name in the file and that in the network, and three for a layout too.
///
/// ```
/// use synfire::ArraySource;
/// let sources: [ArraySource; 2] = [("fc1.weight", "hidden.weights").into(), ("conv.weight", "conv.weights", "oihw").into()];
/// assert_eq!(sources[0], ArraySource::new("fc1.weight", "hidden.weights"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArraySource<'a> {
    theirs: &'a str,
    ours: &'a str,
    layout: Option<&'a str>,
}

impl<'a> ArraySource<'a> {
    /// The tensor `theirs` of the file for the array `ours` of the network.
    pub fn new(theirs: &'a str, ours: &'a str) -> Self {
        Self { theirs, ours, layout: None }
    }
    /// The order of the elements in the file: `"oi"`, `"oihw"`, `"iohw"` or `"chw-flatten"`, as PyTorch has them.
    pub fn layout(mut self, layout: &'a str) -> Self {
        self.layout = Some(layout);
        self
    }
}

impl<'a> From<&'a str> for ArraySource<'a> {
    fn from(name: &'a str) -> Self {
        Self::new(name, name)
    }
}
impl<'a> From<(&'a str, &'a str)> for ArraySource<'a> {
    fn from((theirs, ours): (&'a str, &'a str)) -> Self {
        Self::new(theirs, ours)
    }
}
impl<'a> From<(&'a str, &'a str, &'a str)> for ArraySource<'a> {
    fn from((theirs, ours, layout): (&'a str, &'a str, &'a str)) -> Self {
        Self::new(theirs, ours).layout(layout)
    }
}

/// The result of one loss: [`Network::train_stages`], [`Network::evaluate_stages`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StageResult {
    /// The name of the loss.
    pub stage: String,
    /// As [`NetworkResult::loss`], of this loss, without its value `"weight"`.
    pub loss: f64,
    /// As [`NetworkResult::n_counted`].
    pub n_counted: u64,
    /// As [`NetworkResult::n_correct`].
    pub n_correct: u64,
}

impl NetworkResult {
    /// The part of the samples that were predicted right, from 0 to 1; 0 if no sample counted.
    pub fn accuracy(&self) -> f64 {
        if self.n_counted == 0 {
            return 0.0;
        }
        self.n_correct as f64 / self.n_counted as f64
    }
}

/// Settings of a network from a file that replace those of the file. Each is that of the file by default.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct NetworkFile {
    inference: bool,
    replace_nonfinite: bool,
    continues: bool,
    keep: Option<String>,
    n_steps: i64,
    batch: i64,
    n_slots: u32,
}

impl NetworkFile {
    /// All as in the file.
    pub fn new() -> Self {
        Self::default()
    }
    /// Without the loss and the optimiser of the file, and without all that only training needs.
    pub fn inference(mut self, inference: bool) -> Self {
        self.inference = inference;
        self
    }
    /// The input has the value `"replace_nonfinite"`, even if the input of the file does not have it.
    pub fn replace_nonfinite(mut self, replace_nonfinite: bool) -> Self {
        self.replace_nonfinite = replace_nonfinite;
        self
    }
    /// Arrays to keep: the names of [`Network::keep`].
    pub fn keep(mut self, names: &str) -> Self {
        self.keep = Some(names.into());
        self
    }
    /// Every readout that is a sum, a mean or a maximum has the value `"continues"`, even if that of the file does not
    /// have it.
    pub fn continues(mut self, continues: bool) -> Self {
        self.continues = continues;
        self
    }
    /// Steps T of one replay.
    pub fn n_steps(mut self, n_steps: Steps) -> Self {
        self.n_steps = n_steps.0;
        self
    }
    /// Batch rows B.
    pub fn batch(mut self, batch: i64) -> Self {
        self.batch = batch;
        self
    }
    /// As [`NetworkBuilder::n_slots`](crate::NetworkBuilder::n_slots).
    pub fn n_slots(mut self, n_slots: u32) -> Self {
        self.n_slots = n_slots;
        self
    }
    /// Creates the network of a file that [`Network::save`] has written.
    pub fn load(self, context: &Context, path: &str) -> Result<Network> {
        let path = Name::new(path)?;
        self.create(context, |raw, desc, made| {
            // SAFETY: live handles; what is pointed to lives for the call.
            unsafe { sys::synfire_network_create_from_file(raw, path.as_ptr(), desc, made) }
        })
    }
    /// Creates the network of what [`Network::save_to_memory`] has returned.
    pub fn load_from_memory(self, context: &Context, file: &[u8]) -> Result<Network> {
        self.create(context, |raw, desc, made| {
            // SAFETY: live handles; what is pointed to lives for the call.
            unsafe {
                let data = file.as_ptr().cast();
                sys::synfire_network_create_from_memory(raw, data, file.len() as u64, desc, made)
            }
        })
    }
    fn create(
        self,
        context: &Context,
        create: impl FnOnce(sys::synfire_context, &sys::synfire_network_file_desc, *mut sys::synfire_network) -> i32,
    ) -> Result<Network> {
        let keep = self.keep.as_deref().map(Name::new).transpose()?;
        let desc = sys::synfire_network_file_desc {
            struct_size: std::mem::size_of::<sys::synfire_network_file_desc>() as u32,
            inference: self.inference.into(),
            n_steps: self.n_steps,
            batch: self.batch,
            n_slots: self.n_slots,
            replace_nonfinite: self.replace_nonfinite.into(),
            keep: keep.as_ref().map_or(null(), Name::as_ptr),
            continues: self.continues.into(),
            reserved: 0,
        };
        let mut raw = null_mut();
        check(create(context.raw, &desc, &mut raw))?;
        born();
        let (held, context, on_host) = (Held::default(), context.handle.clone(), context.on_host);
        Ok(Network { core: Arc::new(NetworkCore { raw, held, context, on_host, objects: vec![] }) })
    }
}

/// The parts of a network, such as [`Network::synapse`] and [`Network::buffer`] give them, live on without it. They are
/// held together: while one of them is mapped, used by a call, or by a replay in flight, calls of the others that would
/// meet it are refused ([`Status::Busy`](crate::Status::Busy)).
///
/// A part's memory is mapped with its own type of elements, and a number of steps has its name:
///
/// ```compile_fail,E0308
/// let network = synfire::Network::builder(20);
/// ```
impl fmt::Display for NetworkResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "loss {:.9}, accuracy {:.4}", self.loss, self.accuracy())?;
        if self.n_skipped != 0 {
            write!(f, ", {} of {} batches skipped", self.n_skipped, self.n_batches)?;
        }
        Ok(())
    }
}

impl Network {
    /// Sets a value of a stage: `network.set("hidden", "surrogate", Surrogate::Atan)`. The same as
    /// [`Network::set_value`], for all types that values have.
    pub fn set(&self, stage: &str, name: &str, value: impl StageValue) -> Result<()> {
        self.set_value(stage, name, value.number())
    }
    /// Begins a stage of any kind; the functions that add one kind of stage say which values there are.
    ///
    /// ```no_run
    /// # fn add(network: &synfire::Network) -> synfire::Result<()> {
    /// network.stage("synapse", "second").reads("hidden").set("n_outputs", 3).set("initialization", "normal").add()
    /// # }
    /// ```
    pub fn stage<'a>(&'a self, kind: &str, name: &str) -> Stage<'a> {
        Stage { network: self, kind: kind.into(), name: name.into(), inputs: vec![], values: vec![] }
    }
    /// Sets a data set of rows with an array of its own for each stage that needs one. All are taken, or none.
    pub fn set_arrays(&self, set: Data, n_rows: i64, arrays: &Arrays<'_>) -> Result<()> {
        // SAFETY: live handles; what is pointed to lives for the call.
        arrays.call(self, |list, n| unsafe {
            sys::synfire_network_set_arrays(self.core.raw, set.to_raw(), n_rows, list, n)
        })
    }
    /// Sets a data set of rows that stay in files. Training and evaluation read them as they need them.
    pub fn open_data(&self, set: Data, files: &DataFiles) -> Result<()> {
        let mut names = vec![];
        for (_, stage, path, tensor) in &files.list {
            let stage = stage.as_deref().map(Name::new).transpose()?;
            names.push((stage, Name::new(path)?, tensor.as_deref().map(Name::new).transpose()?));
        }
        let list: Vec<_> = names
            .iter()
            .zip(&files.list)
            .map(|((stage, path, tensor), (role, _, _, _))| sys::synfire_data_file {
                path: path.as_ptr(),
                tensor: tensor.as_ref().map_or(null(), Name::as_ptr),
                stage: stage.as_ref().map_or(null(), Name::as_ptr),
                role: *role,
                reserved: 0,
            })
            .collect();
        let desc = sys::synfire_network_data_desc {
            struct_size: std::mem::size_of::<sys::synfire_network_data_desc>() as u32,
            n_readers: files.n_readers,
            block_rows: files.block_rows,
            window_blocks: files.window_blocks,
        };
        let (raw, n) = (self.core.raw, list.len() as u64);
        self.core.held.between_launches(|| {
            // SAFETY: a live handle; what is pointed to lives for the call.
            check(unsafe { sys::synfire_network_open_data(raw, set.to_raw(), list.as_ptr(), n, &desc) }).map(drop)
        })
    }
    /// Computes outputs for rows of inputs, as [`Network::infer`], with an array for each input and for any outputs.
    pub fn infer_arrays(&self, n_rows: i64, arrays: &Arrays<'_>) -> Result<()> {
        // SAFETY: live handles; what is pointed to lives for the call.
        arrays.call(self, |list, n| unsafe { sys::synfire_network_infer_arrays(self.core.raw, n_rows, list, n) })
    }
    /// Sets a data set from memory of the program, with an array of its own for each stage that needs one. All are copied,
    /// or none.
    pub fn set_rows(&self, set: Data, n_rows: i64, arrays: &[(&str, Rows<'_>)]) -> Result<()> {
        let (handle, on_host) = (self.core.context.clone(), self.core.on_host);
        let context = Context { raw: handle.0, handle, on_host };
        let numbers = |all: &[f32]| Buffer::<f32>::builder(all.len()).memory(Memory::Host).create_from(&context, all);
        let (mut floats, mut labels) = (vec![], vec![]);
        for (stage, rows) in arrays {
            match rows {
                Rows::Inputs(all) => floats.push((*stage, sys::SYNFIRE_ARRAY_INPUTS, numbers(all)?)),
                Rows::Targets(all) => floats.push((*stage, sys::SYNFIRE_ARRAY_TARGETS, numbers(all)?)),
                Rows::Labels(all) => {
                    let builder = Buffer::<u32>::builder(all.len()).memory(Memory::Host).dtype(DType::U32);
                    labels.push((*stage, builder.create_from(&context, all)?));
                }
            }
        }
        let given = floats.iter().fold(Arrays::new(), |all, (stage, role, it)| all.with(Some(stage), *role, &it.core));
        let given = labels.iter().fold(given, |all, (stage, it)| all.labels(Some(stage), it));
        self.set_arrays(set, n_rows, &given)
    }
    /// Trains as many batches, 0 standing for the rest of the epoch, and returns the sums over all losses of the network
    /// and the results of these losses.
    pub fn train_stages(&self, n_batches: i64, losses: &[&str]) -> Result<(NetworkResult, Vec<StageResult>)> {
        self.results_of(losses, |list, n, result| {
            // SAFETY: a live handle; what is pointed to lives for the call.
            unsafe { sys::synfire_network_train_stages(self.core.raw, n_batches, list, n, result) }
        })
    }
    /// Evaluates, and returns the sums over all losses of the network and the results of these losses.
    pub fn evaluate_stages(&self, losses: &[&str]) -> Result<(NetworkResult, Vec<StageResult>)> {
        self.results_of(losses, |list, n, result| {
            // SAFETY: a live handle; what is pointed to lives for the call.
            unsafe { sys::synfire_network_evaluate_stages(self.core.raw, list, n, result) }
        })
    }
    fn results_of(
        &self,
        losses: &[&str],
        call: impl FnOnce(*mut sys::synfire_stage_result, u64, *mut sys::synfire_network_result) -> i32,
    ) -> Result<(NetworkResult, Vec<StageResult>)> {
        let names = losses.iter().map(|loss| Name::new(loss)).collect::<Result<Vec<_>>>()?;
        let mut list: Vec<_> = names
            .iter()
            .map(|name| sys::synfire_stage_result { stage: name.as_ptr(), loss: 0.0, n_counted: 0, n_correct: 0 })
            .collect();
        // SAFETY: zeros plus the size is how C initialises it.
        let mut result: sys::synfire_network_result = unsafe { std::mem::zeroed() };
        result.struct_size = std::mem::size_of_val(&result) as u32;
        self.core.held.between_launches(|| check(call(list.as_mut_ptr(), list.len() as u64, &mut result)))?;
        let of_stages = losses.iter().zip(&list).map(|(loss, one)| StageResult {
            stage: loss.to_string(),
            loss: one.loss,
            n_counted: one.n_counted,
            n_correct: one.n_correct,
        });
        Ok((NetworkResult::from_c(&result), of_stages.collect()))
    }
    /// The network of a file that [`Network::save`] has written: built, and with all that the file has.
    /// [`NetworkFile`] can change the numbers of steps, rows and slots.
    pub fn from_file(context: &Context, path: &str) -> Result<Network> {
        NetworkFile::new().load(context, path)
    }
    /// The bytes of the file that [`Network::save`] writes.
    pub fn save_to_memory(&self) -> Result<Vec<u8>> {
        self.core.held.between_launches(|| {
            let mut bytes = 0;
            // SAFETY: a live handle; null asks for the size, then the file has this many bytes.
            unsafe {
                check(sys::synfire_network_save_to_memory(self.core.raw, null_mut(), &mut bytes))?;
                let mut file = vec![0u8; bytes as usize];
                check(sys::synfire_network_save_to_memory(self.core.raw, file.as_mut_ptr().cast(), &mut bytes))?;
                Ok(file)
            }
        })
    }
    /// Loads what [`Network::save_to_memory`] has returned into a network with the same stages.
    pub fn load_from_memory(&self, file: &[u8]) -> Result<()> {
        self.core.held.between_launches(|| {
            // SAFETY: a live handle; the file lives for the call.
            let raw = self.core.raw;
            check(unsafe { sys::synfire_network_load_from_memory(raw, file.as_ptr().cast(), file.len() as u64) })
                .map(drop)
        })
    }
    /// Loads arrays of any safetensors file by their names, such as weights from another tool, or those of another network
    /// of which this one has a part. All others stay as they are. Everything is checked before anything changes. With
    /// `leave_out`, tensors that the file does not have, or has in another shape, are left out; returns the names of the
    /// arrays of the network that they were for.
    pub fn load_arrays(&self, path: &str, sources: &[ArraySource<'_>], leave_out: bool) -> Result<Vec<String>> {
        let path = Name::new(path)?;
        self.take_arrays(sources, |raw, list, n| {
            // SAFETY: a live handle; what is pointed to lives for the call.
            unsafe { sys::synfire_network_load_arrays(raw, path.as_ptr(), list, n, leave_out.into()) }
        })
    }
    /// Loads arrays of a safetensors file in memory, such as what [`Network::save_to_memory`] of another network has
    /// returned; as [`Network::load_arrays`].
    pub fn load_arrays_from_memory(
        &self,
        file: &[u8],
        sources: &[ArraySource<'_>],
        leave_out: bool,
    ) -> Result<Vec<String>> {
        self.take_arrays(sources, |raw, list, n| {
            let (data, bytes) = (file.as_ptr().cast(), file.len() as u64);
            // SAFETY: a live handle; what is pointed to lives for the call.
            unsafe { sys::synfire_network_load_arrays_from_memory(raw, data, bytes, list, n, leave_out.into()) }
        })
    }
    fn take_arrays(
        &self,
        sources: &[ArraySource<'_>],
        call: impl FnOnce(sys::synfire_network, *mut sys::synfire_array_source, u64) -> i32,
    ) -> Result<Vec<String>> {
        let mut names = vec![];
        for one in sources {
            names.push((Name::new(one.theirs)?, Name::new(one.ours)?, one.layout.map(Name::new).transpose()?));
        }
        let mut list: Vec<_> = names
            .iter()
            .map(|(theirs, ours, layout)| sys::synfire_array_source {
                theirs: theirs.as_ptr(),
                ours: ours.as_ptr(),
                layout: layout.as_ref().map_or(null(), |word| word.as_ptr()),
                is_loaded: 0,
                reserved: 0,
            })
            .collect();
        self.core.held.between_launches(|| check(call(self.core.raw, list.as_mut_ptr(), list.len() as u64)))?;
        Ok(sources
            .iter()
            .zip(&list)
            .filter(|(_, one)| one.is_loaded == 0)
            .map(|(one, _)| one.ours.to_string())
            .collect())
    }
    /// Trains for the rest of the epoch: [`Network::train`] with 0 batches.
    pub fn train_epoch(&self) -> Result<NetworkResult> {
        self.train(0)
    }
    /// Sets a data set of rows, one after the other in `inputs`, with one label each. Both are copied. `u32` stands for
    /// packed spikes ([`DType::Bits`]); [`Network::set_data`] takes all other data. There must be exactly as many rows as
    /// labels, which are 0 to C - 1.
    pub fn set_labelled_data<T: Element>(&self, set: Data, inputs: &[T], labels: &[u32]) -> Result<()> {
        let (handle, on_host) = (self.core.context.clone(), self.core.on_host);
        let context = Context { raw: handle.0, handle, on_host };
        let (dtype, row) = self.input_row()?;
        let wanted = labels.len() * row;
        // Values of another type are left to the library, which names the type.
        if T::DTYPES.contains(&dtype) && inputs.len() != wanted {
            let (n_inputs, n_labels) = (inputs.len(), labels.len());
            let text = format!(
                "inputs has {n_inputs} elements and labels {n_labels}; as many rows of {row} elements are {wanted}"
            );
            return Err(Error::new(Status::InvalidArgument, "SYN-NETWORK-DATA", text));
        }
        let inputs = Buffer::<T>::builder(inputs.len()).memory(Memory::Host).create_from(&context, inputs)?;
        let labels =
            Buffer::builder(labels.len()).memory(Memory::Host).dtype(DType::U32).create_from(&context, labels)?;
        let none = None::<&Buffer<u32>>;
        self.set_data(set, labels.len() as i64, &inputs, Some(&labels), none, none, none)
    }
    /// Evaluates rows with one label each, which become the evaluation data: [`Network::set_labelled_data`], then
    /// [`Network::evaluate`].
    pub fn evaluate_rows<T: Element>(&self, inputs: &[T], labels: &[u32]) -> Result<NetworkResult> {
        self.set_labelled_data(Data::Evaluation, inputs, labels)?;
        self.evaluate()
    }
    /// Computes the output for rows of inputs, one after the other, as [`Network::infer`], and returns the outputs of all
    /// rows: `f32`, `f64` of an f64 network, or `u32` of packed spikes. `inputs` are whole rows, at least one.
    pub fn infer_rows<T: Element, R: Element + Default>(&self, inputs: &[T]) -> Result<Vec<R>> {
        let (handle, on_host) = (self.core.context.clone(), self.core.on_host);
        let context = Context { raw: handle.0, handle, on_host };
        let ((dtype, row), (_, row_out)) = (self.input_row()?, self.row_of(b"output\0")?);
        // Values of another type are left to the library, which names the type.
        if T::DTYPES.contains(&dtype) && (inputs.len() < row || inputs.len() % row != 0) {
            let text = format!("inputs has {} elements; whole rows of {row} elements are needed", inputs.len());
            return Err(Error::new(Status::InvalidArgument, "SYN-NETWORK-DATA", text));
        }
        let n_rows = inputs.len() / row;
        let rows = Buffer::<T>::builder(inputs.len()).memory(Memory::Host).create_from(&context, inputs)?;
        let outputs = Buffer::<R>::builder(n_rows * row_out).memory(Memory::Host).create(&context)?;
        self.infer(&rows, n_rows as i64, &outputs)?;
        let mut results = vec![R::default(); n_rows * row_out];
        outputs.download(0, &mut results)?;
        Ok(results)
    }
    /// The type of inputs, and the elements of one row as they are stored: of packed spikes, words.
    fn input_row(&self) -> Result<(DType, usize)> {
        self.row_of(b"input\0")
    }
    fn row_of(&self, name: &[u8]) -> Result<(DType, usize)> {
        self.core.held.between_launches(|| {
            let mut input = null_mut();
            // SAFETY: a live handle; the text ends with a null, zeros plus the size is how C initialises a descriptor,
            // and the handle of the buffer is this function's own.
            unsafe {
                check(sys::synfire_network_get_buffer(self.core.raw, name.as_ptr().cast(), &mut input))?;
                let mut desc: sys::synfire_buffer_desc = std::mem::zeroed();
                desc.struct_size = std::mem::size_of_val(&desc) as u32;
                let got = check(sys::synfire_buffer_get_desc(input, &mut desc));
                sys::synfire_buffer_destroy(input);
                got?;
                // [T, B, K], rates [1, B, K].
                Ok((DType::from_raw(desc.dtype), (desc.shape[0] * desc.shape[2]) as usize))
            }
        })
    }
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
