// layout.rs - sizes, offsets and constants of the raw layer are those of the C compiler: the record that the C tests keep
// (tests/abi/layout.tsv), and, where SYNFIRE_PROGRAMS names the folder of the C programs, what the compiler says now.
use std::collections::BTreeSet;
use std::mem::size_of;
use synfire_sys::*;

macro_rules! structure {
    ($lines:ident, $name:ident { $($field:ident),* }) => {{
        let place = std::mem::MaybeUninit::<$name>::uninit();
        let base = place.as_ptr();
        $lines.push(format!("struct\t{}\t{}", stringify!($name), size_of::<$name>()));
        $({
            // SAFETY: the address of a field is taken, and nothing is read.
            let field = unsafe { std::ptr::addr_of!((*base).$field) };
            let name = stringify!($field).trim_end_matches('_');
            let offset = field as usize - base as usize;
            $lines.push(format!("field\t{}.{name}\t{offset}\t{}", stringify!($name), size_of_pointee(field)));
        })*
    }};
}
fn size_of_pointee<T>(_: *const T) -> usize {
    size_of::<T>()
}

#[path = "layout/table.rs"]
#[rustfmt::skip]
mod table;

fn assert_same(c: &str) {
    let ours = table::table();
    let ours: BTreeSet<&str> = ours.iter().map(String::as_str).collect();
    let theirs: BTreeSet<&str> = c.lines().collect();
    let differing: Vec<_> = theirs.symmetric_difference(&ours).collect();
    assert!(differing.is_empty(), "{differing:#?}");
    assert!(ours.len() > 190, "{} sizes, offsets and constants", ours.len());
}

#[test]
fn as_recorded() {
    assert_same(include_str!("../../../../tests/abi/layout.tsv"));
}

#[test]
#[ignore = "needs the C programs"]
fn as_the_c_compiler_says() {
    let program = std::path::PathBuf::from(std::env::var_os("SYNFIRE_PROGRAMS").expect("SYNFIRE_PROGRAMS"));
    let output = std::process::Command::new(program.join("bindings-layout")).output().unwrap();
    assert!(output.status.success());
    assert_same(std::str::from_utf8(&output.stdout).unwrap());
}
