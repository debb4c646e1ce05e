//! Events in, a name out, every millisecond: names the gestures of a recording with what docs/examples/gestures has learnt,
//! and prints what `gestures --network NETWORK --recording RECORDING.dat` prints, but for the times.
//!
//!     gestures NETWORK RECORDING.dat
use std::error::Error;
use synfire::operations::{BinEvents, EventsKeep};
use synfire::*;

const NAMES: [&str; 10] =
    ["left", "right", "up", "down", "clockwise", "anticlockwise", "closer", "away", "wave", "rest"];
const SIDE: i64 = 24;
const VIEW: i64 = 20; // the network sees these rows and columns of the sensor's
const CAPACITY: usize = 4096; // of more events, the newest are seen
const STEPS: u32 = 16;
const STEP: u32 = 20_000; // microseconds

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let (network, recording) = match &arguments[1..] {
        [network, recording] => (network, read_dat(&std::fs::read(recording)?)?),
        _ => return Err("gestures NETWORK RECORDING.dat".into()),
    };
    let context = Context::new()?; // a GPU if there is one, else the host
    let file = NetworkFile::new().inference(true).n_steps(Steps(STEPS.into())).batch(1);
    let network = file.load(&context, network)?;
    let input = network.buffer::<u32>("input")?;
    let output = network.buffer::<f32>("output")?;
    let events = Buffer::<u64>::zeros(&context, Memory::Pinned, [1, CAPACITY])?;
    let integers = |n: usize| Buffer::<u32>::with_dtype(&context, Memory::Pinned, DType::U32, n);
    let (event_counts, window, faults) = (integers(1)?, integers(2)?, integers(5)?);
    let mut bin = Graph::record(&context, |graph| {
        for neurons in ["edges", "motions", "gestures"] {
            graph.reset_rows(&network.layer(neurons)?, ..)?;
        }
        BinEvents::new(&events, &event_counts, &input, &faults, Steps(STEPS.into()), CAPACITY as i64, SIDE, SIDE)
            .keep(EventsKeep::Newest)
            .crop_top((SIDE - VIEW) / 2)
            .crop_left((SIDE - VIEW) / 2)
            .crop_height(VIEW)
            .crop_width(VIEW)
            .window(&window)
            .record(graph)
    })?;
    let mut infer = network.graph(NetworkGraph::Inference)?;

    let (mut next, mut before) = (0, NAMES.len() - 1);
    let (mut scores, mut hash) = ([0f32; 10], 14695981039346656037u64);
    let milliseconds = recording.last().map_or(0, |&event| event as u32 / 1000 + 1);
    for now in 1..=milliseconds {
        {
            let mut ring = events.map_mut()?;
            while next < recording.len() && (recording[next] as u32) < now * 1000 {
                ring[next % CAPACITY] = recording[next];
                next += 1;
            }
        }
        event_counts.map_mut()?[0] = next as u32;
        window.map_mut()?.copy_from_slice(&[(now * 1000).wrapping_sub(STEPS * STEP), STEP]);
        for graph in [&mut bin, &mut infer] {
            let ticket = graph.launch()?;
            graph.wait(ticket, Wait::Spin, None)?;
        }
        let mut best = 0;
        for (c, &said) in output.map()?.iter().enumerate() {
            scores[c] += (said - scores[c]) / 16.0;
            for byte in scores[c].to_le_bytes() {
                hash = (hash ^ u64::from(byte)).wrapping_mul(1099511628211);
            }
            if scores[c] > scores[best] {
                best = c;
            }
        }
        if best != before {
            println!("{:8.3} s  {}", f64::from(now) * 1e-3, NAMES[best]);
        }
        before = best;
    }
    println!("named        {milliseconds} milliseconds, scores hash {hash:016x}");
    Ok(())
}

/// The events of a recording in Prophesee's format .dat: lines that begin with %, two bytes, and 8 bytes for each event.
fn read_dat(mut bytes: &[u8]) -> std::result::Result<Vec<u64>, Box<dyn Error>> {
    while bytes.first() == Some(&b'%') {
        let end = bytes.iter().position(|&byte| byte == b'\n').ok_or("a line of the header does not end")?;
        bytes = &bytes[end + 1..];
    }
    if bytes.len() < 2 || bytes[1] != 8 || bytes.len() % 8 != 2 {
        return Err("not a recording of events of 8 bytes".into());
    }
    Ok(bytes[2..].chunks_exact(8).map(|event| u64::from_le_bytes(event.try_into().unwrap())).collect())
}
