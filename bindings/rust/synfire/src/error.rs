// error.rs - statuses and errors, and how a call's status becomes a Result.
use crate::values::values;
use std::ffi::{CStr, CString};
use std::fmt;
use std::os::raw::c_char;

values! {
    /// Result of a call.
    Status {
        /// Success.
        Ok = SYNFIRE_OK,
        /// Not finished yet.
        Pending = SYNFIRE_PENDING,
        /// Success, on the host because no GPU is usable.
        HostFallback = SYNFIRE_HOST_FALLBACK,
        /// Success, as a part of the capture of the caller's stream.
        Captured = SYNFIRE_CAPTURED,
        /// An argument is outside what is allowed.
        InvalidArgument = SYNFIRE_ERROR_INVALID_ARGUMENT,
        /// A handle of another context, or no handle.
        InvalidHandle = SYNFIRE_ERROR_INVALID_HANDLE,
        /// A descriptor that the library does not know.
        StructSize = SYNFIRE_ERROR_STRUCT_SIZE,
        /// Memory is exhausted.
        OutOfMemory = SYNFIRE_ERROR_OUT_OF_MEMORY,
        /// No such device.
        NoDevice = SYNFIRE_ERROR_NO_DEVICE,
        /// In use: by another thread, a mapping or a replay in flight.
        Busy = SYNFIRE_ERROR_BUSY,
        /// Not legal while capturing.
        Capturing = SYNFIRE_ERROR_CAPTURING,
        /// The tape that backward needs does not exist.
        StaleTape = SYNFIRE_ERROR_STALE_TAPE,
        /// Calls came in an order that is not allowed.
        WrongOrder = SYNFIRE_ERROR_WRONG_ORDER,
        /// The device failed for good.
        DeviceLost = SYNFIRE_ERROR_DEVICE_LOST,
        /// Not built in this version.
        Unsupported = SYNFIRE_ERROR_UNSUPPORTED,
        /// A CUDA call failed.
        Cuda = SYNFIRE_ERROR_CUDA,
        /// The function of a native node failed, or broke the capture it was called in.
        Callback = SYNFIRE_ERROR_CALLBACK,
        /// A defect in Synfire.
        Internal = SYNFIRE_ERROR_INTERNAL,
    }
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The kind of failure.
    pub status: Status,
    /// The stable id of the rule that was broken; empty when there is none.
    pub rule: String,
    /// The mistake, the value received and what is allowed.
    pub text: String,
    /// The `cudaError_t` that caused it, or 0.
    pub cuda_error: i32,
}

/// A result whose error is [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.status, self.text)?;
        if self.rule.is_empty() {
            Ok(())
        } else {
            write!(f, " [{}]", self.rule)
        }
    }
}
impl std::error::Error for Error {}

impl Error {
    pub(crate) fn new(status: Status, rule: &str, text: impl Into<String>) -> Self {
        Error { status, rule: rule.into(), text: text.into(), cuda_error: 0 }
    }
    pub(crate) fn from_loading(text: &'static str) -> Self {
        Error::new(Status::Unsupported, "SYN-RUST-LOAD", text)
    }
}

impl Status {
    /// The name of the status in C.
    pub fn name(self) -> String {
        if loaded().is_err() {
            return format!("{self:?}");
        }
        // SAFETY: any value has a constant name.
        unsafe { CStr::from_ptr(synfire_sys::synfire_status_name(self.to_raw())) }.to_string_lossy().into_owned()
    }
}

pub(crate) fn loaded() -> Result<()> {
    synfire_sys::load().map_err(Error::from_loading)
}

#[cold]
fn last_error(status: i32) -> Error {
    let mut cuda_error = 0;
    let mut text = [0u8; 1024];
    // SAFETY: the text is cut to the array and null-terminated.
    unsafe { synfire_sys::synfire_last_error(text.as_mut_ptr().cast(), text.len() as u64, &mut cuda_error) };
    let end = text.iter().position(|b| *b == 0).unwrap_or(0);
    let whole = String::from_utf8_lossy(&text[..end]).into_owned();
    let (rule, text) = match whole.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
        Some((rule, text)) => (rule.to_string(), text.to_string()),
        None => (String::new(), whole),
    };
    Error { status: Status::from_raw(status), rule, text, cuda_error }
}

#[inline]
pub(crate) fn check(status: i32) -> Result<i32> {
    if status < 0 {
        Err(last_error(status))
    } else {
        Ok(status)
    }
}

/// A name as C wants it; a short one, which all names of the library are, without allocating.
pub(crate) enum Name {
    Short([u8; 32]),
    Long(CString),
}
impl Name {
    pub(crate) fn new(name: &str) -> Result<Self> {
        let mut short = [0; 32];
        if name.contains('\0') {
            return Err(Error::new(
                Status::InvalidArgument,
                "SYN-RUST-NAME",
                format!("the name {name:?} holds a null"),
            ));
        }
        if name.len() < short.len() {
            short[..name.len()].copy_from_slice(name.as_bytes());
            return Ok(Name::Short(short));
        }
        Ok(Name::Long(CString::new(name).unwrap_or_default()))
    }
    pub(crate) fn as_ptr(&self) -> *const c_char {
        match self {
            Name::Short(bytes) => bytes.as_ptr().cast(),
            Name::Long(name) => name.as_ptr(),
        }
    }
}
