// arrays.rs - arrays of any rank go in and come back in their shape; memory is shared without a copy where asked for.
mod common;
use common::*;
use synfire::*;

fn round_trip<T: Element + PartialEq + std::fmt::Debug>(context: &Context, make: impl Fn(usize) -> T) {
    let mut one = [T::default(); 7];
    (0..7).for_each(|i| one[i] = make(i));
    let buffer = Buffer::from_array(context, Memory::Pinned, &one).unwrap();
    let mut back = [T::default(); 7];
    buffer.read_array(&mut back).unwrap();
    assert_eq!((back, buffer.shape(), buffer.len()), (one, &[7][..], 7));

    let mut four = [[[[T::default(); 2]; 3]; 1]; 5];
    let at = |index: [usize; 4]| ((index[0] + index[1]) * 3 + index[2]) * 2 + index[3];
    for (i, j, k) in (0..30).map(|n| (n / 6, n / 2 % 3, n % 2)) {
        four[i][0][j][k] = make(at([i, 0, j, k]));
    }
    let buffer = Buffer::from_array(context, Memory::Pinned, &four).unwrap();
    let mut back = [[[[T::default(); 2]; 3]; 1]; 5];
    buffer.read_array(&mut back).unwrap();
    assert_eq!((back, buffer.shape()), (four, &[5, 1, 3, 2][..]));
    // Row-major: element number i of the memory is element number i of the array.
    assert_eq!(buffer.to_vec().unwrap(), (0..30).map(make).collect::<Vec<_>>());
    assert_eq!(buffer.map().unwrap().at([4, 0, 2, 1]), four[4][0][2][1]);
}

#[test]
fn every_type_and_many_ranks() {
    let context = context();
    round_trip(&context, |i| i as f32 + 0.5);
    round_trip(&context, |i| i as f64 + 0.25);
    round_trip(&context, |i| i as u32 * 1_000_003);
    round_trip(&context, |i| (i as u64) << 40);
    round_trip(&context, |i| i as u8);
    round_trip(&context, |i| F16::from_f32(i as f32 * 0.5));
    round_trip(&context, |i| Bf16::from_f32(i as f32 * 0.5));
}

#[test]
fn a_vector_is_taken_over_without_a_copy() {
    let context = context();
    let values: Vec<f32> = (0..12).map(|i| i as f32).collect();
    let address = values.as_ptr();
    let buffer = Buffer::from_vec(&context, [3, 4], values).unwrap();
    assert_eq!((buffer.as_ptr(), buffer.shape(), buffer.memory()), (address, &[3, 4][..], Memory::Host));
    buffer.fill(7.0).unwrap();
    assert_eq!(buffer.map().unwrap().at([2, 3]), 7.0);
    buffer.upload(5, &[1.0, 2.0]).unwrap();
    let mut back = [0.0; 3];
    buffer.download(4, &mut back).unwrap();
    assert_eq!(back, [7.0, 1.0, 2.0]);
}

#[test]
fn a_vector_lives_as_long_as_the_graph_that_reads_it() {
    if backend() != Backend::Host {
        return; // pageable memory cannot be recorded on a GPU
    }
    let context = context();
    let layer = Layer::builder(Steps(2), Neurons(4)).model(Model::If).create(&context).unwrap();
    let spikes = layer.sequence::<f32>(Memory::Pinned).unwrap();
    let x = Buffer::from_vec(&context, [2, 4], vec![2.0f32; 8]).unwrap();
    let mut graph = Graph::record(&context, |graph| graph.forward(&layer, Forward::new(&x).spikes(&spikes))).unwrap();
    x.close();
    let litter: Vec<_> = (0..100).map(|_| vec![0.0f32; 8]).collect();
    replay(&mut graph);
    assert!(litter.len() == 100 && spikes.map().unwrap().iter().all(|s| *s == 1.0));
}

#[test]
fn memory_by_its_address() {
    if backend() != Backend::Host {
        return; // host memory, as the host backend takes it
    }
    let context = context();
    let mut memory = [[1.0f32; 4]; 2];
    // SAFETY: the array outlives the buffer, and is not touched meanwhile.
    let buffer = unsafe { Buffer::builder([2, 4]).memory(Memory::Host).from_raw(&context, memory[0].as_mut_ptr()) };
    let buffer = buffer.unwrap();
    assert_eq!(buffer.as_ptr(), memory[0].as_ptr());
    buffer.map_mut().unwrap().iter_mut().for_each(|v| *v = 3.0);
    drop(buffer);
    assert_eq!(memory, [[3.0; 4]; 2]);
}

#[test]
fn rows_apart() {
    let context = context();
    let layer = Layer::builder(Steps(2), Neurons(3)).model(Model::If).create(&context).unwrap();
    let x = Buffer::<f32>::builder([2, 3]).memory(Memory::Pinned).row_pitch(5).create(&context).unwrap();
    let spikes = layer.sequence::<f32>(Memory::Pinned).unwrap();
    assert_eq!((x.len(), x.row_pitch()), (8, 5));
    x.fill(7.0).unwrap();
    x.write_array(&[[1f32, 0.0, 0.0], [0.0, 0.0, 1.0]]).unwrap();
    assert_eq!(x.map().unwrap()[..], [1.0, 0.0, 0.0, 7.0, 7.0, 0.0, 0.0, 1.0], "what lies between is left alone");
    assert_eq!(x.map().unwrap().at([1, 2]), 1.0);
    *x.map_mut().unwrap().at_mut([1, 1]) = 2.0;
    layer.forward(Forward::new(&x).spikes(&spikes)).unwrap();
    let (mut fired, mut back) = ([[0.0f32; 3]; 2], [[0.0f32; 3]; 2]);
    spikes.read_array(&mut fired).unwrap();
    x.read_array(&mut back).unwrap();
    assert_eq!(fired, [[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]);
    assert_eq!(back, [[1.0, 0.0, 0.0], [0.0, 2.0, 1.0]]);
}

/// Against the formulas: every number of 16 bits there and back, ties, and the library's own rounding.
#[test]
fn sixteen_bits() {
    for bits in 0..=u16::MAX {
        let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
        let sign = if bits < 0x8000 { 1.0 } else { -1.0 };
        let value = F16(bits).to_f32();
        match exponent {
            31 if fraction > 0.0 => assert!(value.is_nan()),
            31 => assert_eq!(f64::from(value), sign * f64::INFINITY),
            0 => assert_eq!(f64::from(value), sign * fraction * 2f64.powi(-24)),
            _ => assert_eq!(f64::from(value), sign * (1024.0 + fraction) * 2f64.powi(exponent - 25)),
        }
        assert!(value.is_nan() || F16::from_f32(value).0 == bits, "{bits:04x}");
        let value = Bf16(bits).to_f32();
        assert!(value.is_nan() || Bf16::from_f32(value).0 == bits, "{bits:04x}");
    }
    let f16 = |value: f64| F16::from_f32(value as f32).0;
    assert_eq!((f16(1.0 + 1.0 / 2048.0), f16(1.0 + 3.0 / 2048.0)), (0x3c00, 0x3c02), "ties, to even");
    assert_eq!((f16(65519.0), f16(65520.0), f16(-1e30)), (0x7bff, 0x7c00, 0xfc00), "the largest, and infinity");
    assert_eq!((f16(2f64.powi(-25)), f16(-1.5 * 2f64.powi(-25))), (0, 0x8001), "around half of the smallest");
    assert_eq!(Bf16::from_f32(1.0 + 1.0 / 256.0).0, 0x3f80, "a tie");
    assert!(f32::from(F16::from_f32(f32::NAN)).is_nan() && f32::from(Bf16::from_f32(f32::NAN)).is_nan());
    let context = context();
    let half = Buffer::<F16>::zeros(&context, Memory::Pinned, 1).unwrap();
    let brain = Buffer::<Bf16>::zeros(&context, Memory::Pinned, 1).unwrap();
    for i in 0..200 {
        let value = -3.0 + 0.03 * i as f32;
        half.fill(f64::from(value)).unwrap();
        brain.fill(f64::from(value)).unwrap();
        assert_eq!((half.map().unwrap()[0], brain.map().unwrap()[0]), (F16::from_f32(value), Bf16::from_f32(value)));
    }
}
