// mistakes.rs - bad input: an error that says what was wrong, and nothing left behind.
mod common;
use common::*;
use synfire::*;

fn refused<T: std::fmt::Debug>(result: Result<T>, status: Status, what: &str) {
    let error = result.expect_err(what);
    assert!(error.status == status && !error.text.is_empty() && error.rule.starts_with("SYN-"), "{what}: {error:?}");
}
use Status::{InvalidArgument, InvalidHandle, OutOfMemory};

fn as_input<T: Element>(context: &Context, wrong: &Buffer<T>, status: Status, what: &str) {
    let layer = Layer::builder(Steps(3), Neurons(4)).create(context).unwrap();
    let x = layer.sequence::<f32>(Memory::Pinned).unwrap();
    refused(layer.forward(Forward::new(wrong)), status, what);
    refused(layer.forward(Forward::new(&x).v_seq(wrong)), status, what);
    refused(Graph::record(context, |graph| graph.forward(&layer, Forward::new(wrong))), status, what);
    layer.forward(Forward::new(&x)).unwrap();
}

#[test]
fn an_error_says_what_and_why() {
    let (layer, _x, _graph) = step(&context());
    let error = layer.set_parameter("tau", &[-1.0]).unwrap_err();
    assert!(error.status == InvalidArgument && error.text.contains("-1") && error.cuda_error == 0, "{error:?}");
    assert_eq!(error.to_string(), format!("InvalidArgument: {} [{}]", error.text, error.rule));
    let mut tau = [0.0];
    layer.parameter("tau", &mut tau).unwrap();
    assert_eq!(tau, [2.0], "it changed nothing");
    assert_eq!(Status::from_raw(-1234), Status::Unknown(-1234));
    assert_eq!(Status::StaleTape.name(), "SYNFIRE_ERROR_STALE_TAPE");
    assert_eq!(Status::Unknown(-1234).name(), "SYNFIRE_UNKNOWN_STATUS");
    assert_eq!(Model::Unknown(7).to_raw(), 7);
}

#[test]
fn lengths() {
    let context = context();
    let (layer, x, _graph) = step(&context);
    as_input(&context, &Buffer::<f32>::zeros(&context, Memory::Pinned, [3, 3]).unwrap(), InvalidArgument, "9 elements");
    as_input(&context, &Buffer::<f32>::zeros(&context, Memory::Pinned, 11).unwrap(), InvalidArgument, "11 elements");
    refused(layer.set_parameter("tau", &[1.0, 2.0, 3.0]), InvalidArgument, "3 values");
    refused(layer.set_parameter("tau", &[]), InvalidArgument, "no values");
    refused(layer.read_state("v", &mut [0f32; 31]), InvalidArgument, "31 of 32 states");
    refused(layer.write_state("v", &[0f32; 33]), InvalidArgument, "33 of 32 states");
    refused(x.upload(100, &[0.0; 29]), InvalidArgument, "29 elements from 100 on");
    refused(x.download(usize::MAX, &mut [0.0; 2]), InvalidArgument, "from the end of all numbers on");
    refused(x.write(&[0.0; 127]), InvalidArgument, "127 of 128");
    refused(x.read(&mut [0.0; 129]), InvalidArgument, "129 of 128");
    refused(x.write_array(&[[0f32; 4]; 32]), InvalidArgument, "the shape turned round");
    refused(x.read_array(&mut [0f32; 128]), InvalidArgument, "another rank");
    refused(Buffer::from_vec(&context, [2, 3], vec![0f32; 5]), InvalidArgument, "5 values as [2, 3]");
    let outside = |index: [usize; 2]| {
        let map = x.map().unwrap();
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| map.at(index))).is_err()
    };
    assert!(outside([4, 0]) && outside([0, 32]) && !outside([3, 31]));
    assert!(x.map_mut().is_ok(), "nothing holds it any more");
}

#[test]
fn element_types_and_memory() {
    let context = context();
    let (layer, _x, mut graph) = step(&context);
    as_input(&context, &Buffer::<f64>::zeros(&context, Memory::Pinned, [3, 4]).unwrap(), InvalidArgument, "f64");
    as_input(&context, &Buffer::<u32>::zeros(&context, Memory::Pinned, [3, 4]).unwrap(), InvalidArgument, "bits");
    refused(Buffer::<f32>::with_dtype(&context, Memory::Host, DType::Bits, 8), InvalidArgument, "f32 as bits");
    refused(Buffer::<u32>::with_dtype(&context, Memory::Host, DType::Unknown(77), 8), InvalidArgument, "type 77");
    refused(Buffer::<f32>::zeros(&context, Memory::Unknown(17), 4), InvalidArgument, "memory 17");
    refused(layer.read_state("v", &mut [0f64; 32]), InvalidArgument, "a state as f64");
    refused(Context::builder().backend(Backend::Host).threads(-1).create(), InvalidArgument, "-1 threads");
    refused(Context::builder().backend(Backend::Unknown(9)).create(), InvalidArgument, "backend 9");
    // SAFETY: it is refused.
    refused(
        unsafe { Buffer::<f32>::builder(4).memory(Memory::Host).from_raw(&context, std::ptr::null_mut()) },
        InvalidArgument,
        "the address 0",
    );
    // SAFETY: it is refused.
    refused(
        unsafe { Buffer::<f32>::builder(4).memory(Memory::Host).from_raw(&context, 3 as *mut f32) },
        InvalidArgument,
        "an odd address",
    );
    if backend() == Backend::Host {
        // SAFETY: it is refused.
        refused(unsafe { graph.launch_on(8 as sys::synfire_stream) }, InvalidArgument, "a stream on the host");
        replay(&mut graph);
    } else {
        let device = Buffer::<f32>::zeros(&context, Memory::Device, 4).unwrap();
        refused(device.map(), InvalidArgument, "a mapping of device memory");
        let pageable = Buffer::from_vec(&context, [3, 4], vec![0f32; 12]).unwrap();
        as_input(&context, &pageable, InvalidArgument, "pageable memory");
    }
    let other = common::context();
    as_input(
        &context,
        &Buffer::<f32>::zeros(&other, Memory::Pinned, [3, 4]).unwrap(),
        InvalidHandle,
        "another context's",
    );
}

#[test]
fn sizes() {
    let context = context();
    refused(Layer::builder(Steps(3), Neurons(-4)).create(&context), InvalidArgument, "-4 neurons");
    refused(Layer::builder(Steps(-3), Neurons(4)).create(&context), InvalidArgument, "-3 steps");
    refused(Layer::builder(Steps(3), Neurons(4)).batch(-1).create(&context), InvalidArgument, "-1 rows");
    refused(Layer::builder(Steps(3), Neurons(0)).create(&context), InvalidArgument, "no neurons");
    refused(Layer::builder(Steps(-1), Neurons(1)).query_memory(), InvalidArgument, "memory of -1 steps");
    refused(Layer::builder(Steps(i64::MAX), Neurons(i64::MAX)).create(&context), OutOfMemory, "too many neurons");
    refused(Buffer::<f32>::zeros(&context, Memory::Host, 0), InvalidArgument, "no elements");
    refused(Buffer::<f32>::zeros(&context, Memory::Host, [4, 0]), InvalidArgument, "a dimension of 0");
    refused(Buffer::<f32>::zeros(&context, Memory::Host, []), InvalidArgument, "no dimension");
    refused(Buffer::<f32>::zeros(&context, Memory::Host, [usize::MAX, 4]), OutOfMemory, "too many to count");
    refused(Buffer::<f32>::zeros(&context, Memory::Host, usize::MAX >> 4), OutOfMemory, "too many bytes");
    refused(Buffer::<f32>::builder([2, 4]).row_pitch(3).create(&context), InvalidArgument, "a pitch of 3");
    let (dense, bits) =
        (Buffer::<u8>::zeros(&context, Memory::Pinned, 12), Buffer::<u32>::zeros(&context, Memory::Pinned, 3));
    let (dense, bits) = (dense.unwrap(), bits.unwrap());
    refused(
        context.convert_spikes(SpikeShape::new(Steps(-3), Neurons(4)), &dense, &bits),
        InvalidArgument,
        "spikes of -3 steps",
    );
    refused(
        context.convert_spikes(SpikeShape::new(Steps(4), Neurons(4)), &dense, &bits),
        InvalidArgument,
        "spikes of 4 steps in 3",
    );
    refused(
        context.count_spikes(Count::Total, SpikeShape::new(Steps(3), Neurons(4)), &dense, &bits),
        InvalidArgument,
        "counts in bits",
    );
    context.convert_spikes(SpikeShape::new(Steps(3), Neurons(4)), &dense, &bits).unwrap();
    let rates = Buffer::<f32>::zeros(&context, Memory::Pinned, 4).unwrap();
    let draw = Bernoulli::new(1);
    refused(
        context.encode_bernoulli(draw, SpikeShape::new(Steps(-3), Neurons(4)), &rates, &bits),
        InvalidArgument,
        "-3 steps to draw",
    );
    refused(
        context.encode_bernoulli(draw, SpikeShape::new(Steps(3), Neurons(5)), &rates, &bits),
        InvalidArgument,
        "5 neurons of 4",
    );
    refused(
        context.encode_bernoulli(draw, SpikeShape::new(Steps(3), Neurons(4)), &dense, &bits),
        InvalidArgument,
        "rates in bytes",
    );
    let each = draw.rates_per_step();
    refused(
        context.encode_bernoulli(each, SpikeShape::new(Steps(3), Neurons(4)), &rates, &bits),
        InvalidArgument,
        "rates of one step",
    );
    context.encode_bernoulli(draw, SpikeShape::new(Steps(3), Neurons(4)), &rates, &bits).unwrap();
}

#[test]
fn names() {
    let (layer, _x, _graph) = step(&context());
    refused(layer.set_parameter("t\0au", &[1.0]), InvalidArgument, "a name with a null");
    refused(layer.set_parameter("", &[1.0]), InvalidArgument, "an empty name");
    refused(layer.set_parameter("taü", &[1.0]), InvalidArgument, "an unknown name");
    refused(layer.set_parameter(&"a".repeat(5000), &[1.0]), InvalidArgument, "a long name");
    refused(layer.read_state("w", &mut [0f32; 32]), InvalidArgument, "a state that LIF does not have");
    refused(Model::find("hodgkin_huxley"), InvalidArgument, "an unknown model");
    refused(Surrogate::find("\0"), InvalidArgument, "a surrogate with a null");
    refused(
        Layer::builder(Steps(3), Neurons(4)).model(Model::Unknown(99)).create(&context()),
        InvalidArgument,
        "model 99",
    );
    refused(layer.parameter_info(1000), InvalidArgument, "parameter 1000");
}

#[test]
fn order() {
    let context = context();
    let (layer, x, mut graph) = step(&context);
    let mut fresh = Graph::new(&context).unwrap();
    refused(fresh.instantiate(), Status::WrongOrder, "an empty graph");
    refused(fresh.launch(), Status::WrongOrder, "launched before it is ready");
    assert!(x.map_mut().is_ok(), "a launch that failed holds nothing");
    refused(graph.instantiate(), Status::WrongOrder, "ready twice");
    refused(graph.forward(&layer, Forward::new(&x)), Status::WrongOrder, "recorded too late");
    refused(graph.wait(99, Wait::Spin, None), InvalidArgument, "a ticket never handed out");
    let ticket = graph.launch().unwrap();
    refused(graph.wait(ticket, Wait::Unknown(5), None), InvalidArgument, "policy 5");
    assert!(graph.wait(ticket, Wait::Spin, None).unwrap());
    assert!(graph.poll(ticket).unwrap());
    let untaped = Layer::builder(Steps(4), Neurons(32)).create(&context).unwrap();
    refused(untaped.backward(&Backward::new().grad_x_seq(&x)), Status::StaleTape, "backward without a forward");
    layer.forward(Forward::new(&x)).unwrap();
    refused(layer.backward(&Backward::new()), InvalidArgument, "no output");
}
