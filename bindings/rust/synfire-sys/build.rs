// build.rs - finds libsynfire, in this order: the folder that SYNFIRE_LIB_DIR names, pkg-config, a build of the
// repository this crate lies in. With the feature `load-dynamic` nothing is linked and nothing is looked for.
use std::{env, path::Path, path::PathBuf, process::Command};

fn link(folder: &Path) {
    println!("cargo:rustc-link-search=native={}", folder.display());
    println!("cargo:rustc-link-lib=dylib=synfire0");
    println!("cargo:root={}", folder.display());
}

fn pkg_config() -> Option<PathBuf> {
    let output = Command::new("pkg-config").args(["--variable=libdir", "synfire"]).output().ok()?;
    let folder = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !folder.trim().is_empty()).then(|| PathBuf::from(folder.trim()))
}

fn from_repository(source: &Path) -> PathBuf {
    let build = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("synfire");
    let configure = Command::new("cmake")
        .arg("-S")
        .arg(source)
        .arg("-B")
        .arg(&build)
        .args(["-DCMAKE_BUILD_TYPE=Release", "-DSYNFIRE_CUDA=OFF", "-DSYNFIRE_BUILD_TESTS=OFF"])
        .arg(format!("-DCMAKE_LIBRARY_OUTPUT_DIRECTORY={}", build.join("lib").display()))
        .status();
    let good = matches!(configure, Ok(status) if status.success())
        && matches!(Command::new("cmake").arg("--build").arg(&build).args(["--target", "synfire"]).status(),
                    Ok(status) if status.success());
    assert!(
        good,
        "cmake could not build libsynfire from {}; set SYNFIRE_LIB_DIR to a folder that has it",
        source.display()
    );
    build.join("lib")
}

fn main() {
    println!("cargo:rerun-if-env-changed=SYNFIRE_LIB_DIR");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_LIBDIR");
    println!("cargo:rerun-if-changed=build.rs");
    if env::var_os("CARGO_FEATURE_LOAD_DYNAMIC").is_some() || env::var_os("DOCS_RS").is_some() {
        return;
    }
    if let Some(folder) = env::var_os("SYNFIRE_LIB_DIR") {
        let folder = PathBuf::from(folder);
        let is_there = |name: &str| folder.join(name).exists();
        assert!(
            ["libsynfire0.so", "libsynfire0.dylib", "synfire0.lib", "libsynfire0.dll.a"].into_iter().any(is_there),
            "SYNFIRE_LIB_DIR is {}, where no libsynfire0 is",
            folder.display()
        );
        return link(&folder);
    }
    if let Some(folder) = pkg_config() {
        return link(&folder);
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    assert!(source.join("include/synfire/synfire.h").exists(),
            "libsynfire was not found: SYNFIRE_LIB_DIR is not set, pkg-config knows no synfire, and {} is not its repository",
            source.display());
    for part in ["CMakeLists.txt", "cmake", "include", "src"] {
        println!("cargo:rerun-if-changed={}", source.join(part).display());
    }
    link(&from_repository(&source));
}
