// pass.rs - what no mark of the header says about a forward and a backward: the tape between them.
use crate::buffer::{Buffer, Element};
use crate::error::Result;
use crate::graph::{Graph, Operation};
use crate::held::{Held, Left, Object};
use crate::layer::Layer;
use crate::objects::{all_held, Synapse};
use crate::operations::{Backward, Forward};
use crate::values::Tape;
use std::sync::Arc;

impl<'a> Forward<'a> {
    /// Writes the H that the tape stores over X. No gradients of parameters can follow.
    pub fn in_place(mut self) -> Self {
        self.in_place = true;
        self
    }
    /// Appends it to a graph, as [`Graph::forward`].
    pub fn record(self, graph: &mut Graph, layer: &Layer) -> Result<Operation> {
        graph.forward(layer, self)
    }
    /// Runs it now and waits for it, as [`Layer::forward`].
    pub fn run(self, layer: &Layer) -> Result<()> {
        layer.forward(self)
    }
    /// Returns the inputs that it leaves to its backward: none for inference.
    pub(crate) fn left(&self) -> Option<Left> {
        // After a synapse, gradients of weights read the input.
        let always = self.tape == Tape::Recompute || self.in_place || self.synapse.is_some();
        let input = self.x.or(self.synapse_input).filter(|_| self.tape != Tape::None)?;
        let object = |synapse: &Synapse| synapse.core.clone() as Arc<dyn Object>;
        let (synapse, recurrent) = (self.synapse.map(object), self.other_recurrent().map(object));
        Some(Left { input: input.clone(), always, synapse, n_active: self.n_active.cloned(), recurrent })
    }
    /// Returns all that a call holds while it records it or runs it.
    pub(crate) fn held(&self) -> Vec<&Held> {
        self.synapses().flat_map(|synapse| all_held(&*synapse.core)).collect()
    }
    /// Returns its synapses, each once.
    pub(crate) fn synapses(&self) -> impl Iterator<Item = &'a Synapse> {
        self.synapse.into_iter().chain(self.other_recurrent())
    }
    // The recurrent synapse, unless it is the other one too.
    fn other_recurrent(&self) -> Option<&'a Synapse> {
        let same = |one: &Synapse| matches!(self.synapse, Some(other) if Arc::ptr_eq(&one.core, &other.core));
        self.recurrent_synapse.filter(|one| !same(one))
    }
}

impl<'a> Backward<'a> {
    /// Allows `grad_x_seq` to be the same memory as `grad_spike_seq`, of the same type and pitch.
    pub fn in_place(mut self) -> Self {
        self.in_place = true;
        self
    }
    /// Uses the tape of this forward of the layer in the same graph; without it, that of the newest.
    pub fn of(mut self, forward: Operation) -> Self {
        self.forward = (forward.0 as u32).wrapping_add(1);
        self
    }
    /// Adds gradients of parameters to what their buffers hold; without it they replace that.
    pub fn add_parameters(mut self) -> Self {
        self.add_parameter_gradients = true;
        self
    }
    /// dL/d(parameter), written: one element, or one per neuron.
    pub fn grad_parameter<T: Element>(mut self, name: &str, gradient: &'a Buffer<T>) -> Self {
        self.parameter_gradients.push((name.into(), &gradient.core));
        self
    }
    /// Appends it to a graph, as [`Graph::backward`].
    pub fn record(self, graph: &mut Graph, layer: &Layer) -> Result<Operation> {
        graph.backward(layer, &self)
    }
    /// Runs it now and waits for it, as [`Layer::backward`].
    pub fn run(self, layer: &Layer) -> Result<()> {
        layer.backward(&self)
    }
    /// True if it needs X although the forward stored H.
    pub(crate) fn needs_more_than_h(&self) -> bool {
        !self.parameter_gradients.is_empty()
    }
}
