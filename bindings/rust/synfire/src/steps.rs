// steps.rs - arithmetic inside a replay: fills, sums, gradient descent on parameters, and the numbers that they use.
use crate::buffer::{Buffer, Core as BufferCore, Element};
use crate::context::Context;
use crate::error::{check, Name, Result};
use crate::graph::{Graph, Operation};
use crate::layer::Layer;
use std::fmt;
use std::sync::Arc;
use synfire_sys as sys;

/// One step of gradient descent on a parameter: p = clamp(p - learning_rate * gradient), for [`Graph::update_parameter`].
#[derive(Clone, Copy)]
#[must_use]
pub struct Update<'a> {
    name: &'a str,
    gradient: &'a Arc<BufferCore>,
    learning_rate: f64,
    lower: Option<f64>,
    upper: Option<f64>,
}
impl fmt::Debug for Update<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Update of {:?} at {}, from {:?} to {:?}", self.name, self.learning_rate, self.lower, self.upper)
    }
}
impl<'a> Update<'a> {
    /// Of a parameter, along its gradient: one element, or one per neuron as the parameter has.
    pub fn new<T: Element>(name: &'a str, gradient: &'a Buffer<T>, learning_rate: f64) -> Self {
        Update { name, gradient: &gradient.core, learning_rate, lower: None, upper: None }
    }
    /// The smallest value that the parameter may take, beside its own range.
    pub fn lower(mut self, lower: f64) -> Self {
        self.lower = Some(lower);
        self
    }
    /// The largest value that the parameter may take, beside its own range.
    pub fn upper(mut self, upper: f64) -> Self {
        self.upper = Some(upper);
        self
    }
}

fn scale_add_desc(scale: f64, source: &BufferCore, keep: f64, destination: &BufferCore) -> sys::synfire_scale_add_desc {
    sys::synfire_scale_add_desc {
        struct_size: std::mem::size_of::<sys::synfire_scale_add_desc>() as u32,
        reserved: 0,
        source: source.raw,
        destination: destination.raw,
        scale,
        keep,
    }
}

impl Context {
    /// Computes destination = keep * destination + scale * source now, and waits for it.
    pub fn scale_add<S: Element, D: Element>(
        &self,
        scale: f64,
        source: &Buffer<S>,
        keep: f64,
        destination: &Buffer<D>,
    ) -> Result<()> {
        let desc = scale_add_desc(scale, &source.core, keep, &destination.core);
        // SAFETY: live handles, held for the call.
        self.now([&source.core, &destination.core], || unsafe {
            sys::synfire_scale_add(self.raw, &desc, std::ptr::null_mut())
        })
    }
}

impl Graph {
    /// Appends a fill. Its number `"value"` can be changed between replays.
    pub fn fill<T: Element>(&mut self, buffer: &Buffer<T>, value: f64) -> Result<Operation> {
        let desc = sys::synfire_fill_desc {
            struct_size: std::mem::size_of::<sys::synfire_fill_desc>() as u32,
            reserved: 0,
            buffer: buffer.core.raw,
            value,
        };
        // SAFETY: a live handle.
        check(unsafe { sys::synfire_graph_record_fill(self.as_raw(), &desc) })?;
        self.keep(&buffer.core);
        self.appended()
    }
    /// Appends destination = keep * destination + scale * source. Its numbers `"scale"` and `"keep"` can be changed between
    /// replays.
    pub fn scale_add<S: Element, D: Element>(
        &mut self,
        scale: f64,
        source: &Buffer<S>,
        keep: f64,
        destination: &Buffer<D>,
    ) -> Result<Operation> {
        let desc = scale_add_desc(scale, &source.core, keep, &destination.core);
        // SAFETY: live handles.
        check(unsafe { sys::synfire_graph_record_scale_add(self.as_raw(), &desc) })?;
        self.keep(&source.core);
        self.keep(&destination.core);
        self.appended()
    }
    /// Appends one step of gradient descent on a parameter of a layer. Its number `"learning_rate"` can be changed between
    /// replays. Operations after it see the new value; [`Layer::parameter`] reads it.
    pub fn update_parameter(&mut self, layer: &Layer, update: Update<'_>) -> Result<Operation> {
        let name = Name::new(update.name)?;
        let bound = |given: Option<f64>, bound: i32| if given.is_some() { bound as u32 } else { 0 };
        let desc = sys::synfire_update_parameter_desc {
            struct_size: std::mem::size_of::<sys::synfire_update_parameter_desc>() as u32,
            bounds: bound(update.lower, sys::SYNFIRE_BOUND_LOWER) | bound(update.upper, sys::SYNFIRE_BOUND_UPPER),
            name: name.as_ptr(),
            gradient: update.gradient.raw,
            learning_rate: update.learning_rate,
            lower: update.lower.unwrap_or(0.0),
            upper: update.upper.unwrap_or(0.0),
        };
        // SAFETY: live handles; the name lives for the call.
        layer.core.held.during(|| {
            check(unsafe { sys::synfire_graph_record_update_parameter(self.as_raw(), layer.core.raw, &desc) })
        })?;
        self.keep_layer(layer);
        self.keep(update.gradient);
        self.appended()
    }
    /// Changes a number that an operation uses: `"value"` of a fill, `"scale"` or `"keep"` of a sum, `"learning_rate"` of an
    /// update, `"seed"` or `"offset"` of an encoding (whole numbers from 0 to 2^53). The next launch sees it, together with
    /// everything else that was set since the launch before.
    pub fn set_value(&mut self, operation: Operation, name: &str, value: f64) -> Result<()> {
        let name = Name::new(name)?;
        // SAFETY: a live handle and a null-terminated name.
        check(unsafe { sys::synfire_graph_set_value(self.as_raw(), operation.0, name.as_ptr(), value) }).map(drop)
    }
}

impl Layer {
    /// Sets several parameters, each to one value or one per neuron: all of them or, when one is refused, none. The next
    /// launch sees all of them together.
    pub fn set_parameters(&self, parameters: &[(&str, &[f64])]) -> Result<()> {
        let names = parameters.iter().map(|(name, _)| Name::new(name)).collect::<Result<Vec<_>>>()?;
        let list: Vec<_> = names
            .iter()
            .zip(parameters)
            .map(|(name, (_, values))| sys::synfire_parameter_values {
                name: name.as_ptr(),
                values: values.as_ptr(),
                count: values.len() as u64,
            })
            .collect();
        // SAFETY: names and slices live for the call.
        self.core.held.between_launches(|| {
            check(unsafe { sys::synfire_layer_set_parameters(self.core.raw, list.as_ptr(), list.len() as u64) })
                .map(drop)
        })
    }
}
