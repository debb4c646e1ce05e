// values.rs - the enumerations of the C ABI. A value that this crate does not know is kept as Unknown(n).
use crate::error::{check, loaded, Name, Result};
use synfire_sys as sys;

macro_rules! values {
    ($(#[$doc:meta])* $name:ident { $($(#[$item_doc:meta])* $item:ident = $constant:ident),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$item_doc])* $item,)*
            /// A value that this crate does not know.
            Unknown(i32),
        }
        impl $name {
            /// The value as C writes it.
            pub fn to_raw(self) -> i32 {
                match self { $($name::$item => synfire_sys::$constant as i32,)* $name::Unknown(value) => value }
            }
            /// From a value of C.
            pub fn from_raw(value: i32) -> Self {
                $(if value == synfire_sys::$constant as i32 { return $name::$item; })*
                $name::Unknown(value)
            }
        }
    };
}
pub(crate) use values;

macro_rules! flags {
    ($(#[$doc:meta])* $name:ident { $($(#[$item_doc:meta])* $item:ident = $constant:ident),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub struct $name(u32);
        impl $name {
            $($(#[$item_doc])* pub const $item: Self = $name(synfire_sys::$constant as u32);)*
            /// The sum as C writes it.
            pub fn to_raw(self) -> u32 {
                self.0
            }
            /// From a sum of C.
            pub fn from_raw(sum: u32) -> Self {
                $name(sum)
            }
        }
        impl std::ops::BitOr for $name {
            type Output = Self;
            fn bitor(self, other: Self) -> Self {
                $name(self.0 | other.0)
            }
        }
        impl std::ops::BitOrAssign for $name {
            fn bitor_assign(&mut self, other: Self) {
                self.0 |= other.0;
            }
        }
    };
}
pub(crate) use flags;

values! {
    /// Where a context runs.
    Backend {
        /// CUDA if a GPU is usable, else the host.
        Auto = SYNFIRE_BACKEND_AUTO,
        /// The host: same mathematics, same bits in f32.
        Host = SYNFIRE_BACKEND_HOST,
        /// An NVIDIA GPU.
        Cuda = SYNFIRE_BACKEND_CUDA,
    }
}
values! {
    /// Why automatic selection ended on the host.
    Fallback {
        /// No fallback happened.
        None = SYNFIRE_FALLBACK_NONE,
        /// The library was built without CUDA.
        NotBuilt = SYNFIRE_FALLBACK_NOT_BUILT,
        /// No NVIDIA driver is available.
        NoDriver = SYNFIRE_FALLBACK_NO_DRIVER,
        /// The driver is older than the library needs.
        DriverTooOld = SYNFIRE_FALLBACK_DRIVER_TOO_OLD,
        /// The driver reports no GPU.
        NoDevice = SYNFIRE_FALLBACK_NO_DEVICE,
        /// A GPU was found but could not be used.
        DeviceFailed = SYNFIRE_FALLBACK_DEVICE_FAILED,
    }
}
values! {
    /// Kinds of memory.
    Memory {
        /// Memory of the device; ordinary memory on the host.
        Device = SYNFIRE_MEMORY_DEVICE,
        /// Host memory that the GPU reaches: for frames in and out.
        Pinned = SYNFIRE_MEMORY_PINNED,
        /// Ordinary host memory.
        Host = SYNFIRE_MEMORY_HOST,
        /// None: what the operations of a graph pass on to each other during a replay.
        Transient = SYNFIRE_MEMORY_TRANSIENT,
    }
}
values! {
    /// Types of elements.
    DType {
        /// IEEE binary32.
        F32 = SYNFIRE_DTYPE_F32,
        /// IEEE binary64.
        F64 = SYNFIRE_DTYPE_F64,
        /// Spikes, 32 neurons a word: `[T, B, ceil(N/32)]`.
        Bits = SYNFIRE_DTYPE_BITS,
        /// IEEE binary16, as storage.
        F16 = SYNFIRE_DTYPE_F16,
        /// bfloat16, as storage.
        Bf16 = SYNFIRE_DTYPE_BF16,
        /// Spikes, one byte each.
        U8 = SYNFIRE_DTYPE_U8,
        /// Spikes, 32 steps a word: `[ceil(T/32), B, N]`.
        TimeBits = SYNFIRE_DTYPE_TIME_BITS,
        /// Integers of 32 bits: counts of spikes.
        U32 = SYNFIRE_DTYPE_U32,
        /// Integers of 64 bits: counts of spikes.
        U64 = SYNFIRE_DTYPE_U64,
    }
}
values! {
    /// Neuron models.
    Model {
        /// The library's default.
        Default = SYNFIRE_MODEL_DEFAULT,
        /// Integrate and fire.
        If = SYNFIRE_MODEL_IF,
        /// Leaky integrate and fire.
        Lif = SYNFIRE_MODEL_LIF,
        /// LIF with a learnt time constant.
        Plif = SYNFIRE_MODEL_PLIF,
        /// Quadratic.
        Qif = SYNFIRE_MODEL_QIF,
        /// Exponential.
        Eif = SYNFIRE_MODEL_EIF,
        /// Izhikevich.
        Izhikevich = SYNFIRE_MODEL_IZHIKEVICH,
        /// Leaky integrator: no spikes.
        Li = SYNFIRE_MODEL_LI,
        /// LIF, solved exactly for a constant X during the step, with a gain.
        LifExact = SYNFIRE_MODEL_LIF_EXACT,
        /// The same without spikes.
        LiExact = SYNFIRE_MODEL_LI_EXACT,
        /// Current-based LIF.
        CubaLif = SYNFIRE_MODEL_CUBA_LIF,
        /// Current-based leaky integrator: no spikes.
        CubaLi = SYNFIRE_MODEL_CUBA_LI,
        /// LIF with an adaptive threshold.
        Alif = SYNFIRE_MODEL_ALIF,
        /// Current-based LIF, solved exactly.
        CubaLifExact = SYNFIRE_MODEL_CUBA_LIF_EXACT,
        /// Current-based leaky integrator, solved exactly: no spikes.
        CubaLiExact = SYNFIRE_MODEL_CUBA_LI_EXACT,
        /// Integrator: no leak, no spikes.
        Integrator = SYNFIRE_MODEL_INTEGRATOR,
    }
}
values! {
    /// The effect of a spike on V.
    Reset {
        /// V becomes V_reset.
        Hard = SYNFIRE_RESET_HARD,
        /// V_threshold is subtracted.
        Soft = SYNFIRE_RESET_SOFT,
        /// V_threshold is subtracted in the next step, after its leak.
        SoftDelayed = SYNFIRE_RESET_SOFT_DELAYED,
    }
}
values! {
    /// Contents of the tape that a forward leaves for its backward.
    Tape {
        /// Backward recomputes H.
        Recompute = SYNFIRE_TAPE_RECOMPUTE,
        /// Nothing: inference.
        None = SYNFIRE_TAPE_NONE,
        /// H is stored.
        Store = SYNFIRE_TAPE_STORE,
        /// H is stored in the layer's storage type, with the spikes.
        StoreNarrow = SYNFIRE_TAPE_STORE_NARROW,
    }
}
values! {
    /// Kinds of counts.
    Count {
        /// Spikes of each neuron over all steps: `[B, N]`.
        PerNeuron = SYNFIRE_COUNT_PER_NEURON,
        /// Spikes of each step, of all neurons of all batch rows: `[T]`.
        PerStep = SYNFIRE_COUNT_PER_STEP,
        /// All spikes: one element.
        Total = SYNFIRE_COUNT_TOTAL,
    }
}
values! {
    /// Surrogate derivatives of the spike; the C header has their formulas.
    Surrogate {
        /// The library's default.
        Default = SYNFIRE_SURROGATE_DEFAULT,
        /// Sigmoid.
        Sigmoid = SYNFIRE_SURROGATE_SIGMOID,
        /// Arc tangent.
        Atan = SYNFIRE_SURROGATE_ATAN,
        /// Piecewise quadratic.
        PiecewiseQuadratic = SYNFIRE_SURROGATE_PIECEWISE_QUADRATIC,
        /// Piecewise exponential.
        PiecewiseExp = SYNFIRE_SURROGATE_PIECEWISE_EXP,
        /// Soft sign.
        SoftSign = SYNFIRE_SURROGATE_SOFT_SIGN,
        /// SuperSpike.
        SuperSpike = SYNFIRE_SURROGATE_SUPER_SPIKE,
        /// Error function.
        Erf = SYNFIRE_SURROGATE_ERF,
        /// Piecewise leaky ReLU.
        PiecewiseLeakyRelu = SYNFIRE_SURROGATE_PIECEWISE_LEAKY_RELU,
        /// S2NN.
        S2nn = SYNFIRE_SURROGATE_S2NN,
        /// q-PseudoSpike.
        QPseudoSpike = SYNFIRE_SURROGATE_Q_PSEUDO_SPIKE,
        /// Leaky k-ReLU.
        LeakyKRelu = SYNFIRE_SURROGATE_LEAKY_K_RELU,
        /// Fake numerical gradient.
        FakeNumericalGradient = SYNFIRE_SURROGATE_FAKE_NUMERICAL_GRADIENT,
        /// Log-tailed ReLU.
        LogTailedRelu = SYNFIRE_SURROGATE_LOG_TAILED_RELU,
        /// Nonzero sign log abs.
        NonzeroSignLogAbs = SYNFIRE_SURROGATE_NONZERO_SIGN_LOG_ABS,
        /// Fourier series of a square wave.
        SquarewaveFourierSeries = SYNFIRE_SURROGATE_SQUAREWAVE_FOURIER_SERIES,
        /// Rectangle.
        Rect = SYNFIRE_SURROGATE_RECT,
        /// A Gaussian minus two wide ones at its sides.
        MultiGaussian = SYNFIRE_SURROGATE_MULTI_GAUSSIAN,
    }
}

fn find(name: &str, find: impl Fn(*const std::os::raw::c_char, *mut i32) -> i32) -> Result<i32> {
    loaded()?;
    let (name, mut id) = (Name::new(name)?, 0);
    check(find(name.as_ptr(), &mut id))?;
    Ok(id)
}
impl Model {
    /// The model of this name: `"lif"` is [`Model::Lif`]. One that was added to the loaded library has a name only, and
    /// is `Unknown(id)` here.
    pub fn find(name: &str) -> Result<Self> {
        // SAFETY: a null-terminated name, and a place for the id.
        find(name, |name, id| unsafe { sys::synfire_model_id(name, id) }).map(Self::from_raw)
    }
}
impl Surrogate {
    /// The surrogate of this name: `"super_spike"` is [`Surrogate::SuperSpike`].
    pub fn find(name: &str) -> Result<Self> {
        // SAFETY: a null-terminated name, and a place for the id.
        find(name, |name, id| unsafe { sys::synfire_surrogate_id(name, id) }).map(Self::from_raw)
    }
}
