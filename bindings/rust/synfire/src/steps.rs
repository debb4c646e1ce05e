// steps.rs - arithmetic inside a replay: fills, sums, gradient descent on parameters, and the numbers that they use.
use crate::buffer::{Buffer, Element};
use crate::context::Context;
use crate::error::{check, Name, Result};
use crate::graph::{Graph, Operation};
use crate::layer::Layer;
use crate::operations::{Bounds, Fill, ScaleAdd, UpdateParameter};
use synfire_sys as sys;

/// One step of gradient descent on a parameter: p = clamp(p - learning_rate * gradient), for [`Graph::update_parameter`].
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Update<'a> {
    update: UpdateParameter<'a>,
    bounds: Bounds,
}
impl<'a> Update<'a> {
    /// An update of a parameter along its gradient: one element, or one per neuron as the parameter has.
    pub fn new<T: Element>(name: &'a str, gradient: &'a Buffer<T>, learning_rate: f64) -> Self {
        let update = UpdateParameter::new(name, gradient, learning_rate);
        Update { update, bounds: Bounds::default() }
    }
    /// The smallest value that the parameter may take, beside its own range.
    pub fn lower(self, lower: f64) -> Self {
        Update { update: self.update.lower(lower), bounds: self.bounds | Bounds::LOWER }
    }
    /// The largest value that the parameter may take, beside its own range.
    pub fn upper(self, upper: f64) -> Self {
        Update { update: self.update.upper(upper), bounds: self.bounds | Bounds::UPPER }
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
        ScaleAdd::new(source, destination, scale, keep).run(self)
    }
}

impl Graph {
    /// Appends a fill. Its number `"value"` can be changed between replays.
    pub fn fill<T: Element>(&mut self, buffer: &Buffer<T>, value: f64) -> Result<Operation> {
        Fill::new(buffer, value).record(self)
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
        ScaleAdd::new(source, destination, scale, keep).record(self)
    }
    /// Appends one step of gradient descent on a parameter of a layer. Its number `"learning_rate"` can be changed between
    /// replays. Operations after it see the new value; [`Layer::parameter`] reads it.
    pub fn update_parameter(&mut self, layer: &Layer, update: Update<'_>) -> Result<Operation> {
        update.update.bounds(update.bounds).record(self, layer)
    }
    /// Changes a number that an operation uses: `"value"` of a fill, `"scale"` or `"keep"` of a sum, `"learning_rate"` of an
    /// update, `"seed"` or `"offset"` of an encoding (integers from 0 to 2^53). The next launch sees it, together with
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
