// shape.rs - shapes of any rank: numbers of elements, Rust's own nested arrays, and named lengths.
use crate::buffer::{sealed::Sealed, Element};

/// The lengths of a buffer's dimensions: a number, or an array, slice or vector of numbers.
pub trait Shape {
    /// The length of each dimension, the contiguous one last.
    fn lengths(&self) -> Vec<usize>;
}
impl Shape for usize {
    fn lengths(&self) -> Vec<usize> {
        vec![*self]
    }
}
impl<const R: usize> Shape for [usize; R] {
    fn lengths(&self) -> Vec<usize> {
        self.to_vec()
    }
}
impl Shape for &[usize] {
    fn lengths(&self) -> Vec<usize> {
        self.to_vec()
    }
}
impl Shape for Vec<usize> {
    fn lengths(&self) -> Vec<usize> {
        self.clone()
    }
}

/// A number of time steps T, such as `Steps(20)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Steps(pub i64);
/// A number of neurons N of one batch row, such as `Neurons(64)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Neurons(pub i64);

/// Arrays of arrays of elements, of any rank. Sealed: it is said of every array of [`Element`]s, and of nothing else.
pub trait Nested: Sealed {
    /// Values that a shape is made from.
    type Element: Element;
    #[doc(hidden)]
    fn lengths(shape: &mut Vec<usize>);
    #[doc(hidden)]
    fn elements(&self) -> &[Self::Element];
    #[doc(hidden)]
    fn elements_mut(&mut self) -> &mut [Self::Element];
}
impl<A: Nested, const N: usize> Sealed for [A; N] {}
impl<A: Nested, const N: usize> Nested for [A; N] {
    type Element = A::Element;
    fn lengths(shape: &mut Vec<usize>) {
        shape.push(N);
        A::lengths(shape);
    }
    fn elements(&self) -> &[A::Element] {
        let count = std::mem::size_of_val(self) / std::mem::size_of::<A::Element>();
        // SAFETY: an array of arrays of elements is its elements, without padding.
        unsafe { std::slice::from_raw_parts(self.as_ptr().cast(), count) }
    }
    fn elements_mut(&mut self) -> &mut [A::Element] {
        let count = std::mem::size_of_val(self) / std::mem::size_of::<A::Element>();
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.as_mut_ptr().cast(), count) }
    }
}
