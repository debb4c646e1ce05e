//! Sound in, spikes out, one graph replayed for every millisecond: docs/examples/hear in Rust. It writes the spikes.npy
//! that the C program writes, byte for byte.
//!
//!     hear SOUND.wav FOLDER [FRAMES]
//!
//! What lives here: reading a WAV file (mono or stereo, 16 bits), a silicon cochlea, the loop, and the file of spikes. The
//! sources of the cochlea's formulas are in docs/examples/sound/cochlea.c.
use std::error::Error;
use std::f64::consts::PI;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use synfire::*;

const CHANNELS: usize = 128;
const ORDER: usize = 4;
const DRIVE: f32 = 60.0;

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let (sound, folder) = match &arguments[1..] {
        [sound, folder] | [sound, folder, _] => (sound, PathBuf::from(folder)),
        _ => return Err("hear SOUND.wav FOLDER [FRAMES]".into()),
    };
    let (mut heard, rate) = read_wav(&fs::read(sound)?).map_err(|problem| format!("{sound}: {problem}"))?;
    let frame_samples = (rate + 500) / 1000;
    let frames = match arguments.get(3) {
        Some(frames) => frames.parse()?,
        None => (heard.len() + frame_samples - 1) / frame_samples,
    };
    let mut cochlea = Cochlea::new(&heard, rate);
    heard.resize(heard.len().max(frames * frame_samples), 0.0); // silence after the end
    fs::create_dir_all(&folder)?;
    let mut file = BufWriter::new(File::create(folder.join("spikes.npy"))?);
    write_npy_header(&mut file, frames * frame_samples, CHANNELS / 32)?;

    let context = Context::builder().backend(Backend::Host).create()?;
    let layer =
        Layer::builder(Steps(frame_samples as i64), Neurons(CHANNELS as i64)).detach_reset(true).create(&context)?;
    layer.set_parameter("tau", &[rate as f64 * 0.010; CHANNELS])?;
    let x = layer.sequence::<f32>(Memory::Pinned)?;
    let spikes = layer.spikes(Memory::Pinned)?;
    let forward = Forward::new(&x).spikes(&spikes).tape(Tape::None);
    let mut step = Graph::record(&context, |graph| graph.forward(&layer, forward))?;
    let mut n_spikes = 0;
    for frame in heard.chunks_exact(frame_samples).take(frames) {
        {
            let mut input = x.map_mut()?;
            cochlea.hear(frame, &mut input);
            input.iter_mut().for_each(|x| *x *= DRIVE);
        }
        let ticket = step.launch()?;
        step.wait(ticket, Wait::Spin, None)?;
        for word in spikes.map()?.iter() {
            n_spikes += word.count_ones();
            file.write_all(&word.to_le_bytes())?;
        }
    }
    file.flush()?;
    println!("{frames} frames of {frame_samples} samples: {n_spikes} spikes");
    Ok(())
}

// ---- Sound -------------------------------------------------------------------------------------------------------------

/// Samples in [-1, 1), stereo as its mean, and how many there are in a second.
fn read_wav(bytes: &[u8]) -> std::result::Result<(Vec<f32>, usize), String> {
    let u16_at = |at: usize| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
    let u32_at = |at: usize| u16_at(at) | u16_at(at + 2) << 16;
    if bytes.len() < 44 || &bytes[..4] != b"RIFF" || &bytes[8..12] != b"WAVE" {
        return Err("no WAV file".into());
    }
    let (mut at, mut channels, mut rate) = (12, 0, 0);
    while at + 8 <= bytes.len() {
        let (code, size, body) = (&bytes[at..at + 4], u32_at(at + 4), at + 8);
        if size > bytes.len() - body || (code == b"fmt " && size < 16) {
            return Err("truncated".into());
        }
        if code == b"fmt " {
            if u16_at(body) != 1 || u16_at(body + 14) != 16 {
                return Err("allowed: 16-bit PCM".into());
            }
            channels = u16_at(body + 2);
            rate = u32_at(body + 4);
        } else if code == b"data" {
            if !(1..=2).contains(&channels) {
                return Err(format!("{channels} channels; allowed: 1 or 2"));
            }
            let sample = |pair: &[u8]| f32::from(i16::from_le_bytes([pair[0], pair[1]]));
            let frames = bytes[body..body + size].chunks_exact(2 * channels);
            let mean = |frame: &[u8]| frame.chunks_exact(2).map(sample).sum::<f32>() / (32768.0 * channels as f32);
            return Ok((frames.map(mean).collect(), rate));
        }
        at = body + size + (size & 1);
    }
    Err("no samples".into())
}

// ---- A silicon cochlea -------------------------------------------------------------------------------------------------

/// 128 gammatone resonators, each a cascade of four one-pole resonators. One array per quantity.
struct Cochlea {
    pole_re: [f32; CHANNELS],
    pole_im: [f32; CHANNELS],
    scale: [f32; CHANNELS],
    state_re: [[f32; CHANNELS]; ORDER],
    state_im: [[f32; CHANNELS]; ORDER],
    level: f32,
    previous: f32,
}

fn erb_number(hz: f64) -> f64 {
    21.4 * (4.37 * hz / 1000.0 + 1.0).log10()
}
fn erb_number_to_hz(number: f64) -> f64 {
    (10f64.powf(number / 21.4) - 1.0) * 1000.0 / 4.37
}

impl Cochlea {
    fn new(samples: &[f32], rate: usize) -> Self {
        let energy: f64 = samples.iter().fold(0.0, |sum, s| sum + f64::from(*s) * f64::from(*s));
        let rms = (energy / samples.len() as f64).sqrt();
        let mut new = Cochlea {
            pole_re: [0.0; CHANNELS],
            pole_im: [0.0; CHANNELS],
            scale: [0.0; CHANNELS],
            state_re: [[0.0; CHANNELS]; ORDER],
            state_im: [[0.0; CHANNELS]; ORDER],
            level: (if rms * 100.0 > 0.1 { 0.1 / rms } else { 100.0 }) as f32,
            previous: 0.0,
        };
        let rate = rate as f64;
        let (from, to) = (erb_number(80.0), erb_number(f64::min(7000.0, 0.45 * rate)));
        for c in 0..CHANNELS {
            let hz = erb_number_to_hz(from + (to - from) * c as f64 / (CHANNELS - 1) as f64);
            let radius = (-2.0 * PI * (1.019 * 24.7 * (4.37 * hz / 1000.0 + 1.0)) / rate).exp();
            let angle = 2.0 * PI * hz / rate;
            new.pole_re[c] = (radius * angle.cos()) as f32;
            new.pole_im[c] = (radius * angle.sin()) as f32;
            new.scale[c] = (2.0 * (1.0 - radius).powf(ORDER as f64)) as f32;
        }
        new
    }

    /// Hears samples: response [sample, channel], never negative. The state continues.
    fn hear(&mut self, samples: &[f32], response: &mut [f32]) {
        for (sample, response) in samples.iter().zip(response.chunks_exact_mut(CHANNELS)) {
            let sample = self.level * sample;
            let input = sample - 0.95 * self.previous + 1e-18;
            self.previous = sample;
            for (c, response) in response.iter_mut().enumerate() {
                let (mut in_re, mut in_im) = (input, 0.0);
                for (re, im) in self.state_re.iter_mut().zip(&mut self.state_im) {
                    let (re, im) = (&mut re[c], &mut im[c]);
                    in_re += self.pole_re[c] * *re - self.pole_im[c] * *im;
                    in_im += self.pole_re[c] * *im + self.pole_im[c] * *re;
                    (*re, *im) = (in_re, in_im);
                }
                let moved = self.scale[c] * in_re;
                *response = if moved > 0.0 { moved.sqrt() } else { 0.0 };
            }
        }
    }
}

// ---- Spikes ------------------------------------------------------------------------------------------------------------

/// NumPy's file format, version 1.0: uint32 [steps, words].
fn write_npy_header(file: &mut impl Write, steps: usize, words: usize) -> std::io::Result<()> {
    let text = format!("{{'descr': '<u4', 'fortran_order': False, 'shape': ({steps}, {words}), }}");
    file.write_all(b"\x93NUMPY\x01\x00v\x00")?;
    writeln!(file, "{text:<117}")
}
