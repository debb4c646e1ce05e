// loading.rs - where the library comes from, and what is said when there is none, or one that does not fit.
mod common;
use common::*;

#[test]
#[ignore = "the child of the others"]
fn opens() {
    if !is_child() {
        return;
    }
    match synfire::Context::builder().backend(backend()).create() {
        Ok(_) => println!("opened: {}", synfire::library_path().unwrap()),
        Err(error) => println!("error: {error}"),
    }
}
fn opened(environment: &[(&str, &str)]) -> String {
    child("opens", environment).1
}
fn foreign(kind: &str) -> String {
    let file = setting("SYNFIRE_FOREIGN_LIBRARIES").join(format!("libbindings-{kind}.so"));
    assert!(file.exists(), "{}", file.display());
    file.to_str().unwrap().into()
}
fn assert_contains(text: &str, part: &str) {
    assert!(text.contains(part), "{text:?} does not contain {part:?}");
}

#[cfg(feature = "load-dynamic")]
#[test]
fn where_it_was_found() {
    let file = synfire::library_path().unwrap();
    let folder = std::path::Path::new(&file).parent().unwrap().to_str().unwrap();
    assert_contains(&opened(&[("SYNFIRE_LIBRARY", &file)]), &format!("opened: {file}"));
    assert_contains(&opened(&[("SYNFIRE_LIBRARY", folder)]), &format!("opened: {folder}/libsynfire0.so.0"));
    assert_contains(&opened(&[("SYNFIRE_LIBRARY", ""), ("LD_LIBRARY_PATH", folder)]), &format!("opened: {folder}/"));
}

#[cfg(feature = "load-dynamic")]
#[test]
fn a_missing_library_says_where_it_looked() {
    let text = opened(&[("SYNFIRE_LIBRARY", "/no/such/libsynfire0.so")]);
    assert_contains(
        &text,
        "error: Unsupported: libsynfire could not be opened. SYNFIRE_LIBRARY is /no/such/libsynfire0.so",
    );
    assert_contains(&text, "/no/such/libsynfire0.so: cannot open shared object file");
    let empty = std::env::temp_dir().join(format!("synfire-none-{}", std::process::id()));
    std::fs::create_dir_all(&empty).unwrap();
    let text = opened(&[("SYNFIRE_LIBRARY", empty.to_str().unwrap())]);
    std::fs::remove_dir(&empty).unwrap();
    assert_contains(&text, &format!("{}/libsynfire0.so.0: cannot open", empty.display()));
    let text = opened(&[("SYNFIRE_LIBRARY", ""), ("LD_LIBRARY_PATH", "")]);
    if !text.contains("opened: ") {
        // Unless one is installed on this machine.
        assert_contains(&text, "SYNFIRE_LIBRARY is not set (to a file or a folder), so the dynamic linker was asked");
        assert_contains(&text, "libsynfire0.so.0: cannot open");
    }
}

#[cfg(feature = "load-dynamic")]
#[test]
#[ignore = "needs the foreign libraries"]
fn a_foreign_library_is_refused_by_name() {
    for (kind, says) in [
        ("newer_major", "has ABI 99.0; allowed: "),
        ("older_minor", "; allowed: "),
        ("incomplete", "has no synfire_version_string"),
    ] {
        let file = foreign(kind);
        let text = opened(&[("SYNFIRE_LIBRARY", &file)]);
        assert_contains(
            &text,
            &format!("error: Unsupported: libsynfire could not be opened. SYNFIRE_LIBRARY is {file}"),
        );
        assert_contains(&text, &format!("{file} has "));
        assert_contains(&text, says);
    }
    let text = opened(&[("SYNFIRE_LIBRARY", "libm.so.6")]);
    assert_contains(&text, "libm.so.6 has no synfire_abi_version");
}

/// A linked program meets a foreign library when the wrong file lies in the right place; here, one that is loaded first.
#[cfg(not(feature = "load-dynamic"))]
#[test]
#[ignore = "needs the foreign libraries"]
fn a_foreign_library_is_refused_by_name() {
    assert_contains(&opened(&[]), "opened: ");
    for (kind, says) in [("newer_major", "has ABI 99.0; allowed: "), ("older_minor", "; allowed: ")] {
        let file = foreign(kind);
        let text = opened(&[("LD_PRELOAD", &file)]);
        assert_contains(&text, &format!("error: Unsupported: {file} has ABI "));
        assert_contains(&text, says);
    }
}
