// build.rs - finds libsynfire, in this order: the folder that SYNFIRE_LIB_DIR names, pkg-config, a build of the sources, which
// a published crate has in `vendor`, and which are otherwise the repository that this crate lies in.
//
// What is built here is linked in, so that a program needs no file beside it. Feature `static`: the same for a library that is
// there already. Feature `cuda`: with the CUDA backend, for which OPTIONS say more. With `load-dynamic` nothing is linked and nothing is looked for.
use std::{env, path::Path, path::PathBuf, process::Command};

const NOWHERE: &str = "libsynfire was not found: SYNFIRE_LIB_DIR is not set, pkg-config knows no synfire";
/// Options of CMake that a build of the sources takes from environment variables of these names.
const OPTIONS: [&str; 4] =
    ["SYNFIRE_CUDA_ARCHITECTURES", "SYNFIRE_CUDA_DTYPES", "SYNFIRE_CUDA_MODELS", "SYNFIRE_HOST_LEVELS"];
/// Libraries that the C++ inside of a static library needs, if no synfire.pc names them.
const RUNTIME: &str = "-lstdc++ -lm -lpthread -ldl";

fn has_feature(name: &str) -> bool {
    env::var_os(format!("CARGO_FEATURE_{name}")).is_some()
}

fn link_shared(folder: &Path) {
    println!("cargo:rustc-link-search=native={}", folder.display());
    println!("cargo:rustc-link-lib=dylib=synfire0");
    println!("cargo:root={}", folder.display());
}

/// Links libsynfire0.a, and what the flags of its synfire.pc name in addition.
fn link_static(folder: &Path, flags: &str) {
    println!("cargo:rustc-link-search=native={}", folder.display());
    println!("cargo:rustc-link-lib=static=synfire0");
    println!("cargo:root={}", folder.display());
    for flag in flags.split_whitespace() {
        if let Some(path) = flag.strip_prefix("-L").filter(|path| !path.contains("${")) {
            println!("cargo:rustc-link-search=native={path}");
        } else if let Some(name) = flag.strip_prefix("-l").filter(|name| *name != "synfire0") {
            let kind = if name.ends_with("_static") { "static" } else { "dylib" };
            println!("cargo:rustc-link-lib={kind}={name}");
        }
    }
}

/// The flags of `folder/pkgconfig/synfire.pc`.
fn flags_beside(folder: &Path) -> String {
    let text = std::fs::read_to_string(folder.join("pkgconfig/synfire.pc")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Libs:"));
    line.unwrap_or(RUNTIME).trim().to_string()
}

fn pkg_config(arguments: &[&str]) -> Option<String> {
    let output = Command::new("pkg-config").args(arguments).arg("synfire").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_string();
    (output.status.success() && !text.is_empty()).then_some(text)
}

/// Links the library that pkg-config knows. Returns false if it is not there or not the kind that the features want.
fn link_installed() -> bool {
    let folder = match pkg_config(&["--variable=libdir"]) {
        Some(folder) => PathBuf::from(folder),
        None => return false,
    };
    let backends = pkg_config(&["--variable=backends"]).unwrap_or_default();
    if has_feature("CUDA") && !backends.contains("cuda") {
        return false;
    }
    let archive = folder.join("libsynfire0.a").exists();
    let shared = folder.join("libsynfire0.so").exists() || folder.join("libsynfire0.dylib").exists();
    if archive && (has_feature("STATIC") || !shared) {
        link_static(&folder, &pkg_config(&["--libs"]).unwrap_or_default());
    } else if has_feature("STATIC") {
        return false;
    } else {
        link_shared(&folder);
    }
    true
}

fn link_given(folder: &Path) {
    let is_there = |name: &str| folder.join(name).exists();
    if has_feature("STATIC") {
        assert!(
            is_there("libsynfire0.a"),
            "SYNFIRE_LIB_DIR is {}, where no libsynfire0.a is, which the feature `static` needs",
            folder.display()
        );
        return link_static(folder, &flags_beside(folder));
    }
    assert!(
        ["libsynfire0.so", "libsynfire0.dylib", "synfire0.lib", "libsynfire0.dll.a"].into_iter().any(is_there),
        "SYNFIRE_LIB_DIR is {}, where no libsynfire0 is",
        folder.display()
    );
    link_shared(folder)
}

fn run(command: &mut Command, source: &Path) {
    let status = command.status();
    assert!(
        matches!(status, Ok(status) if status.success()),
        "cmake could not build libsynfire from {} ({command:?}: {}); set SYNFIRE_LIB_DIR to a folder that has it",
        source.display(),
        match status {
            Ok(status) => status.to_string(),
            Err(problem) => problem.to_string(),
        }
    );
}

fn build(source: &Path) {
    let cmake = env::var_os("CMAKE").unwrap_or_else(|| "cmake".into());
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let (folder, prefix) = (out.join("synfire"), out.join("prefix"));
    let cuda = if has_feature("CUDA") { "ON" } else { "OFF" };
    let mut configure = Command::new(&cmake);
    configure.arg("-S").arg(source).arg("-B").arg(&folder).args([
        "-DCMAKE_BUILD_TYPE=Release",
        "-DBUILD_SHARED_LIBS=OFF",
        "-DCMAKE_INSTALL_LIBDIR=lib",
        "-DSYNFIRE_BUILD_TESTS=OFF",
        "-DSYNFIRE_BUILD_TOOLS=OFF",
        "-DSYNFIRE_BUILD_EXAMPLES=OFF",
        "-DSYNFIRE_UNITY=ON",
    ]);
    for option in OPTIONS {
        // Without a value, it is the default again.
        match env::var(option) {
            Ok(value) => configure.arg(format!("-D{option}={value}")),
            Err(_) => configure.arg(format!("-U{option}")),
        };
    }
    run(configure.arg(format!("-DSYNFIRE_CUDA={cuda}")), source);
    let jobs = env::var("NUM_JOBS").unwrap_or_else(|_| "1".into());
    run(Command::new(&cmake).arg("--build").arg(&folder).args(["--target", "synfire", "--parallel", &jobs]), source);
    run(Command::new(&cmake).arg("--install").arg(&folder).arg("--prefix").arg(&prefix), source);
    let installed = prefix.join("lib");
    link_static(&installed, &flags_beside(&installed));
}

fn main() {
    for variable in ["SYNFIRE_LIB_DIR", "PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR", "CMAKE"].iter().chain(&OPTIONS) {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    println!("cargo:rerun-if-changed=build.rs");
    if has_feature("LOAD_DYNAMIC") || env::var_os("DOCS_RS").is_some() {
        return;
    }
    if let Some(folder) = env::var_os("SYNFIRE_LIB_DIR") {
        return link_given(Path::new(&folder));
    }
    if link_installed() {
        return;
    }
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let places = [crate_folder.join("vendor"), crate_folder.join("../../..")];
    let source = places.iter().find(|place| place.join("include/synfire/synfire.h").exists());
    let source = source.unwrap_or_else(|| {
        panic!("{NOWHERE}, and {} is not its repository", places[1].display());
    });
    assert!(
        env::var_os("TARGET") == env::var_os("HOST"),
        "{NOWHERE}, and its sources are built for the machine that builds; set SYNFIRE_LIB_DIR to a folder that has it \
         for {}",
        env::var("TARGET").unwrap_or_default()
    );
    for part in ["CMakeLists.txt", "cmake", "include", "src", "capi"] {
        println!("cargo:rerun-if-changed={}", source.join(part).display());
    }
    build(source);
}
