// load.rs - opening the library (feature `load-dynamic`), and the check of its version, which both ways of linking share.

use std::ffi::{c_void, CStr};
use std::os::raw::{c_char, c_int};
use std::sync::Once;

#[repr(C)]
struct DlInfo {
    file: *const c_char,
    base: *mut c_void,
    symbol: *const c_char,
    address: *mut c_void,
}

#[link(name = "dl")]
extern "C" {
    fn dladdr(address: *const c_void, info: *mut DlInfo) -> c_int;
    #[cfg(feature = "load-dynamic")]
    fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void;
    #[cfg(feature = "load-dynamic")]
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    #[cfg(feature = "load-dynamic")]
    fn dlclose(library: *mut c_void) -> c_int;
    #[cfg(feature = "load-dynamic")]
    fn dlerror() -> *const c_char;
}

#[cfg(all(feature = "load-dynamic", target_os = "macos"))]
const NAMES: [&str; 1] = ["libsynfire0.dylib"];
#[cfg(all(feature = "load-dynamic", not(target_os = "macos")))]
const NAMES: [&str; 2] = ["libsynfire0.so.0", "libsynfire0.so"];

static ONCE: Once = Once::new();
static mut VERDICT: Result<(), String> = Ok(());

fn path_of(address: *const c_void) -> String {
    let mut info = DlInfo {
        file: std::ptr::null(),
        base: std::ptr::null_mut(),
        symbol: std::ptr::null(),
        address: std::ptr::null_mut(),
    };
    // SAFETY: dladdr only writes `info`, and its results live as long as the loaded file.
    unsafe {
        if dladdr(address, &mut info) == 0 || info.file.is_null() {
            return String::from("(unknown file)");
        }
        CStr::from_ptr(info.file).to_string_lossy().into_owned()
    }
}

fn check_version(version: u32, file: &str) -> Result<(), String> {
    let (major, minor) = (version >> 16, version & 0xffff);
    if major == crate::SYNFIRE_ABI_MAJOR && minor >= crate::SYNFIRE_ABI_MINOR {
        return Ok(());
    }
    Err(format!(
        "{file} has ABI {major}.{minor}; allowed: {}.{} or a later minor",
        crate::SYNFIRE_ABI_MAJOR,
        crate::SYNFIRE_ABI_MINOR
    ))
}

/// Opens the library (feature `load-dynamic`) and checks its version, once; later calls repeat the first answer.
///
/// With `load-dynamic` the library is what the environment's `SYNFIRE_LIBRARY` names, a file or a folder, else
/// `libsynfire0.so.0` or `libsynfire0.so` wherever the dynamic linker looks.
///
/// # Errors
///
/// A text that says which files were tried and why each was refused.
pub fn load() -> Result<(), &'static str> {
    // SAFETY: VERDICT is written only inside call_once, which every reader has passed.
    unsafe {
        ONCE.call_once(|| *std::ptr::addr_of_mut!(VERDICT) = open());
        match &*std::ptr::addr_of!(VERDICT) {
            Ok(()) => Ok(()),
            Err(text) => Err(text.as_str()),
        }
    }
}

/// The file the loaded library came from.
///
/// # Errors
///
/// As [`load`].
pub fn library_path() -> Result<String, &'static str> {
    load()?;
    #[cfg(feature = "load-dynamic")]
    return Ok(path_of(table().synfire_abi_version as *const c_void));
    #[cfg(not(feature = "load-dynamic"))]
    return Ok(path_of(crate::synfire_abi_version as *const c_void));
}

#[cfg(not(feature = "load-dynamic"))]
fn open() -> Result<(), String> {
    // SAFETY: a function without arguments.
    check_version(unsafe { crate::synfire_abi_version() }, &path_of(crate::synfire_abi_version as *const c_void))
}

#[cfg(feature = "load-dynamic")]
static mut TABLE: Option<crate::dynamic::Table> = None;

/// The functions. Without a library there is nothing a raw call could answer, so it panics with what [`load`] says.
#[cfg(feature = "load-dynamic")]
#[inline]
pub(crate) fn table() -> &'static crate::dynamic::Table {
    if !ONCE.is_completed() {
        let _ = load();
    }
    // SAFETY: TABLE is written only inside call_once, which is over.
    match unsafe { &*std::ptr::addr_of!(TABLE) } {
        Some(table) => table,
        None => panic!("{}", load().err().unwrap_or("synfire: not loaded")),
    }
}

#[cfg(feature = "load-dynamic")]
fn open() -> Result<(), String> {
    use std::ffi::CString;
    let given = std::env::var("SYNFIRE_LIBRARY").unwrap_or_default();
    let candidates: Vec<String> = match given.as_str() {
        "" => NAMES.iter().map(|name| name.to_string()).collect(),
        folder if std::path::Path::new(folder).is_dir() => {
            NAMES.iter().map(|name| format!("{folder}/{name}")).collect()
        }
        file => vec![file.to_string()],
    };
    let mut tried = Vec::new();
    for candidate in &candidates {
        let name = match CString::new(candidate.as_str()) {
            Ok(name) => name,
            Err(_) => continue,
        };
        // SAFETY: dlopen and dlsym take null-terminated names; a library stays open unless it is refused.
        unsafe {
            let library = dlopen(name.as_ptr(), 2);
            if library.is_null() {
                tried.push(CStr::from_ptr(dlerror()).to_string_lossy().into_owned());
                continue;
            }
            let version = dlsym(library, "synfire_abi_version\0".as_ptr().cast());
            let verdict = if version.is_null() {
                Err(format!("{candidate} has no synfire_abi_version"))
            } else {
                let ask: unsafe extern "C" fn() -> u32 = std::mem::transmute(version);
                check_version(ask(), &path_of(version))
            };
            let verdict = verdict.and_then(|()| {
                crate::dynamic::Table::read(|symbol| {
                    let address = dlsym(library, symbol.as_ptr().cast());
                    if address.is_null() {
                        return Err(format!("{} has no {}", path_of(version), symbol.trim_end_matches('\0')));
                    }
                    Ok(address)
                })
            });
            match verdict {
                Ok(table) => {
                    *std::ptr::addr_of_mut!(TABLE) = Some(table);
                    return Ok(());
                }
                Err(text) => {
                    tried.push(text);
                    dlclose(library);
                }
            }
        }
    }
    let what = match given.as_str() {
        "" => "SYNFIRE_LIBRARY is not set (to a file or a folder), so the dynamic linker was asked".to_string(),
        _ => format!("SYNFIRE_LIBRARY is {given}, and nothing else is tried"),
    };
    Err(format!("libsynfire could not be opened. {what}: {}", tried.join("; ")))
}
