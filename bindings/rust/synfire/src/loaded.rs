// loaded.rs - models and surrogates that are loaded as text at run time, and the kernels of a layer as text.
//
// The C library hears of progress through one trampoline, which catches panics: none crosses a C frame. It ends the load,
// and goes on when the call has come back.
use crate::context::{born, gone, Context, ContextHandle};
use crate::error::{check, Name, Result};
use crate::layer::Layer;
use crate::network::{sealed, StageValue};
use crate::values::{values, Model, Surrogate};
use std::any::Any;
use std::ffi::{c_void, CStr};
use std::fmt;
use std::mem::{size_of, zeroed};
use std::os::raw::c_char;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::ptr::{null, null_mut};
use std::sync::Arc;
use std::time::Duration;
use synfire_sys as sys;

values! {
    /// Stages of loading.
    LoadStage {
        /// The text is being read and checked, and looked for in the cache.
        Check = SYNFIRE_LOAD_CHECK,
        /// A compiler is at work.
        Compile = SYNFIRE_LOAD_COMPILE,
        /// The compiled code is being loaded and stored in the cache.
        Finish = SYNFIRE_LOAD_FINISH,
    }
}

type Progress<'a> = Box<dyn FnMut(LoadStage, Duration) -> bool + 'a>;

/// A neuron or a surrogate as text, the header that `synfire_add_model` takes, and how to load it.
///
/// **Loading runs its author's code in this process, with all its rights.**
///
/// ```no_run
/// # let context = synfire::Context::new()?;
/// use synfire::{Layer, Neurons, Steps, Text};
/// let klif = Text::file("klif.hpp").cache("/tmp/models").load_model(&context)?;
/// let layer = Layer::builder(Steps(16), Neurons(128)).model(&klif).create(&context)?;
/// # Ok::<(), synfire::Error>(())
/// ```
#[must_use]
pub struct Text<'a> {
    text: Option<&'a str>,
    file: Option<&'a str>,
    name: Option<&'a str>,
    cache: Option<&'a str>,
    cache_bytes: u64,
    no_cache: bool,
    time_out: u64,
    progress: Option<Progress<'a>>,
}
impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Text of {}", self.name.or(self.file).unwrap_or_default())
    }
}

// Data of the trampoline.
struct Hearing<'a> {
    progress: Progress<'a>,
    panic: Option<Box<dyn Any + Send>>,
}
unsafe extern "C" fn hear(user: *mut c_void, stage: i32, nanoseconds: u64) -> i32 {
    // SAFETY: the `Hearing` of Text::load(), which waits for this call.
    let hearing = unsafe { &mut *user.cast::<Hearing<'_>>() };
    let told = AssertUnwindSafe(|| (hearing.progress)(LoadStage::from_raw(stage), Duration::from_nanos(nanoseconds)));
    match catch_unwind(told) {
        Ok(goes_on) => i32::from(!goes_on),
        Err(panic) => {
            hearing.panic = Some(panic);
            1
        }
    }
}

impl<'a> Text<'a> {
    /// A text, and what its file would be called without `.hpp`: `"klif"` has `struct Klif`, `"multi_gaussian"` has
    /// `struct MultiGaussian`.
    pub fn new(name: &'a str, text: &'a str) -> Self {
        Text { name: Some(name), text: Some(text), ..Self::empty() }
    }
    /// A file with the text. It is called like its struct: `klif.hpp` has `struct Klif`.
    pub fn file(path: &'a str) -> Self {
        Text { file: Some(path), ..Self::empty() }
    }
    fn empty() -> Self {
        let (cache_bytes, no_cache, time_out) = (0, false, 0);
        Text { text: None, file: None, name: None, cache: None, cache_bytes, no_cache, time_out, progress: None }
    }
    /// Folder of the cache of compiled code, an absolute path. Default: the environment variable `SYNFIRE_CACHE`, else
    /// `synfire` in the user's cache folder.
    pub fn cache(mut self, folder: &'a str) -> Self {
        self.cache = Some(folder);
        self
    }
    /// Bytes of the cache above which entries that were not used for the longest time are removed. Default: 256 MiB.
    pub fn cache_bytes(mut self, bytes: u64) -> Self {
        self.cache_bytes = bytes;
        self
    }
    /// `true`: no compiled code is read from the cache or stored in it.
    pub fn no_cache(mut self, no_cache: bool) -> Self {
        self.no_cache = no_cache;
        self
    }
    /// Processor time after which a compiler that is still at work is ended. Default: 120 seconds.
    pub fn time_out(mut self, time_out: Duration) -> Self {
        self.time_out = u64::try_from(time_out.as_nanos()).unwrap_or(u64::MAX).max(1);
        self
    }
    /// Hears how loading goes on, with the time since it began: at each stage, and about ten times a second while a compiler
    /// is at work. `true`: go on; `false` ends the compiler, and the load fails. A panic ends it too, and goes on from there.
    pub fn progress(mut self, progress: impl FnMut(LoadStage, Duration) -> bool + 'a) -> Self {
        self.progress = Some(Box::new(progress));
        self
    }
    /// Loads a neuron model. A compiler runs unless the cache has it. The text of an error of the compiler has the line
    /// numbers of the text.
    pub fn load_model(self, context: &Context) -> Result<LoadedModel> {
        let mut raw = null_mut();
        // SAFETY: live handles; the descriptor lives for the call.
        self.load(|desc| unsafe { sys::synfire_model_load(context.raw, desc, &mut raw) })?;
        LoadedModel::adopt(raw, context)
    }
    /// Loads a surrogate.
    pub fn load_surrogate(self, context: &Context) -> Result<LoadedSurrogate> {
        let mut raw = null_mut();
        // SAFETY: live handles; the descriptor lives for the call.
        self.load(|desc| unsafe { sys::synfire_surrogate_load(context.raw, desc, &mut raw) })?;
        LoadedSurrogate::adopt(raw, context)
    }
    fn load(self, load: impl FnOnce(&sys::synfire_load_desc) -> i32) -> Result<()> {
        let [name, file, cache] = [self.name, self.file, self.cache].map(|text| text.map(Name::new).transpose());
        let (name, file, cache) = (name?, file?, cache?);
        let pointer = |text: &Option<Name>| text.as_ref().map_or(null(), Name::as_ptr);
        let mut hearing = self.progress.map(|progress| Hearing { progress, panic: None });
        let desc = sys::synfire_load_desc {
            struct_size: size_of::<sys::synfire_load_desc>() as u32,
            no_cache: self.no_cache.into(),
            // With 0 bytes, the library looks for the text's null.
            text: self.text.map_or(null(), |text| if text.is_empty() { "\0" } else { text }.as_ptr().cast()),
            text_bytes: self.text.map_or(0, str::len) as u64,
            file: pointer(&file),
            name: pointer(&name),
            time_out: self.time_out,
            cache: pointer(&cache),
            cache_bytes: self.cache_bytes,
            progress: hearing.as_ref().and(Some(hear)),
            user: hearing.as_mut().map_or(null_mut(), |hearing| (hearing as *mut Hearing<'_>).cast()),
        };
        let status = load(&desc);
        if let Some(panic) = hearing.and_then(|hearing| hearing.panic) {
            resume_unwind(panic);
        }
        check(status).map(drop)
    }
}

/// Properties of a loaded model or surrogate.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LoadInfo {
    /// The id for [`Model::from_raw`] or [`Surrogate::from_raw`], in the context of the load. Never used again.
    pub id: i32,
    /// State variables of a model; 0 of a surrogate.
    pub n_states: i32,
    /// Parameters of its own.
    pub n_parameters: i32,
    /// The compiled code came from the cache, and no compiler ran. On a GPU, kernels are compiled for layers and come later.
    pub from_cache: bool,
    /// How long loading took.
    pub duration: Duration,
    /// The text's `name`.
    pub name: String,
}

/// The result of a check of a text's functions.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CheckReport {
    /// The model says that no derivative depends on X (`slope_reads_input`), but one does. Its gradients are wrong.
    pub wrong_slope_reads_input: bool,
    /// The same for further variables (`slope_reads_w`).
    pub wrong_slope_reads_w: bool,
    /// Loops over neurons in the code for the host, and how many of them the compiler vectorised; 0 where it does not say.
    pub n_loops: i32,
    /// See `n_loops`. A loop that is not vectorised has a branch.
    pub n_vectorized: i32,
    /// Random samples that were taken.
    pub n_samples: u64,
    /// Values and derivatives in f32 that were infinite or not a number.
    pub n_non_finite: u64,
    /// The largest difference between a derivative and its central difference, in f64, divided by 1 plus the derivative.
    /// Below 1e-6 unless a derivative is wrong; at a corner of the formula, the two differ.
    pub largest_error: f64,
    /// The same for people to read: which derivative has the largest error, and which loops are not vectorised.
    pub text: String,
}

// SAFETY: of a null-terminated text.
unsafe fn text_of(text: *const c_char) -> String {
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

macro_rules! loaded {
    ($(#[$doc:meta])* $name:ident: $handle:ident, $of:ident, $destroy:ident, $get_info:ident, $check:ident) => {
        $(#[$doc])*
        pub struct $name {
            raw: sys::$handle,
            id: $of,
            _context: Arc<ContextHandle>,
        }
        // SAFETY: the C library takes them on any thread, also at the same time.
        unsafe impl Send for $name {}
        unsafe impl Sync for $name {}
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), " {:?}"), self.info().map(|info| info.name).unwrap_or_default())
            }
        }
        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: our own handle, destroyed once; legal on any thread.
                unsafe { sys::$destroy(self.raw) };
                gone();
            }
        }
        impl $name {
            fn adopt(raw: sys::$handle, context: &Context) -> Result<Self> {
                born();
                let mut loaded = $name { raw, id: $of::Default, _context: context.handle.clone() };
                loaded.id = $of::from_raw(loaded.info()?.id);
                Ok(loaded)
            }
            /// Its id and how it was loaded.
            pub fn info(&self) -> Result<LoadInfo> {
                // SAFETY: zeros plus the size is how C initialises it; the name is null-terminated.
                unsafe {
                    let mut c: sys::synfire_load_info = zeroed();
                    c.struct_size = size_of::<sys::synfire_load_info>() as u32;
                    check(sys::$get_info(self.raw, &mut c))?;
                    Ok(LoadInfo {
                        id: c.id,
                        n_states: c.n_states,
                        n_parameters: c.n_parameters,
                        from_cache: c.from_cache != 0,
                        duration: Duration::from_nanos(c.nanoseconds),
                        name: text_of(c.name.as_ptr()),
                    })
                }
            }
            /// Runs its functions on `n_samples` random states, inputs and parameters, and compares each derivative with a
            /// central difference. The same seed gives the same report.
            pub fn check(&self, seed: u64, n_samples: u64) -> Result<CheckReport> {
                // SAFETY: zeros plus the size is how C initialises it; the text is null-terminated.
                unsafe {
                    let mut c: sys::synfire_check_report = zeroed();
                    c.struct_size = size_of::<sys::synfire_check_report>() as u32;
                    check(sys::$check(self.raw, seed, n_samples, &mut c))?;
                    Ok(CheckReport {
                        wrong_slope_reads_input: c.wrong_slope_reads_input != 0,
                        wrong_slope_reads_w: c.wrong_slope_reads_w != 0,
                        n_loops: c.n_loops,
                        n_vectorized: c.n_vectorized,
                        n_samples: c.n_samples,
                        n_non_finite: c.n_non_finite,
                        largest_error: c.largest_error,
                        text: text_of(c.text.as_ptr()),
                    })
                }
            }
            /// The C handle, for [`sys`](crate::sys); it is good for as long as the object is.
            pub fn as_raw(&self) -> sys::$handle {
                self.raw
            }
            /// Closes it now; dropping does the same.
            pub fn close(self) {}
        }
        /// Where one that is built in is taken, a reference to one that was loaded is too.
        impl From<&$name> for $of {
            fn from(loaded: &$name) -> Self {
                loaded.id
            }
        }
    };
}
loaded! {
    /// A neuron model that was loaded as text: [`Text::load_model`]. `&model` is used wherever a [`Model`] is.
    ///
    /// Layers and networks that use it stay valid when it is dropped. Its name is free from then on.
    LoadedModel: synfire_model, Model, synfire_model_destroy, synfire_model_get_info, synfire_model_check
}
loaded! {
    /// A surrogate that was loaded as text: [`Text::load_surrogate`]. `&surrogate` is used wherever a [`Surrogate`] is.
    ///
    /// Layers and networks that use it stay valid when it is dropped. Its name is free from then on.
    LoadedSurrogate: synfire_surrogate, Surrogate, synfire_surrogate_destroy, synfire_surrogate_get_info,
        synfire_surrogate_check
}

impl sealed::Sealed for &LoadedSurrogate {}
impl StageValue for &LoadedSurrogate {
    fn number(self) -> f64 {
        Surrogate::from(self).to_raw().into()
    }
}

impl Layer {
    /// The CUDA C++ of its forward and backward kernels: one readable text that nvcc compiles without Synfire, with how to
    /// compile and launch it. A layer of any context has one, also in a library without CUDA.
    pub fn source(&self) -> Result<String> {
        self.core.held.between_launches(|| {
            let mut bytes = 0;
            // SAFETY: a live handle; null asks for the size, then the text is as long as is said.
            unsafe {
                check(sys::synfire_layer_source(self.core.raw, null_mut(), &mut bytes))?;
                let mut text = vec![0u8; bytes as usize];
                check(sys::synfire_layer_source(self.core.raw, text.as_mut_ptr().cast(), &mut bytes))?;
                text.pop();
                Ok(String::from_utf8_lossy(&text).into_owned())
            }
        })
    }
}
