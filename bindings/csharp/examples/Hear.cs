// Hear.cs - sound in, spikes out, one graph replayed for every millisecond: docs/examples/hear in C#.
//
// It writes the spikes.npy that the C program writes, byte for byte.
//
//   Hear.exe SOUND.wav FOLDER [FRAMES]
//
// What lives here: reading a WAV file (mono or stereo, 16 bits), a silicon cochlea, the loop, and the file of spikes.
// The sources of the cochlea's formulas are in docs/examples/sound/cochlea.c.
//
// SPDX-License-Identifier: MIT
using System;
using System.Globalization;
using System.IO;
using System.Runtime.InteropServices;
using System.Text;
using Synfire;

static class Hear
{
    const int Channels = 128, Order = 4;
    const float Drive = 60.0f;

    static int Main(string[] arguments)
    {
        if (arguments.Length < 2)
        {
            Console.Error.WriteLine("Hear.exe SOUND.wav FOLDER [FRAMES]");
            return 2;
        }
        int rate;
        float[] samples = ReadWav(arguments[0], out rate);
        int frameSamples = (rate + 500) / 1000;
        int frames = arguments.Length > 2 ? int.Parse(arguments[2], CultureInfo.InvariantCulture)
                                          : (samples.Length + frameSamples - 1) / frameSamples;
        var cochlea = new Cochlea(samples, rate);
        float[] heard = new float[Math.Max(samples.Length, frames * frameSamples)]; // silence after the end
        samples.CopyTo(heard, 0);
        long nSpikes = 0;

        Directory.CreateDirectory(arguments[1]);
        using (var context = new Context(Backend.Host))
        using (var layer = new Layer(context, steps: frameSamples, neurons: Channels,
                                     options: new LayerOptions { DetachReset = true }))
        using (var x = layer.CreateSequence<float>(MemoryKind.Pinned))
        using (var spikes = layer.CreateSpikes(MemoryKind.Pinned))
        using (var file = File.Create(Path.Combine(arguments[1], "spikes.npy")))
        {
            double[] tau = new double[Channels];
            for (int c = 0; c < Channels; ++c) tau[c] = rate * 0.010;
            layer.SetParameter("tau", tau);
            WriteNpyHeader(file, (long)frames * frameSamples, Channels / 32);
            byte[] bytes = new byte[spikes.Bytes];
            var forward = new ForwardArguments { X = x, Spikes = spikes, Tape = Tape.None };
            using (var step = Graph.Record(context, graph => graph.Forward(layer, forward)))
                for (int frame = 0; frame < frames; ++frame)
                {
                    Span<float> input = x.Span;
                    cochlea.Hear(new ReadOnlySpan<float>(heard, frame * frameSamples, frameSamples), input);
                    for (int i = 0; i < input.Length; ++i) input[i] = (float)(input[i] * Drive);
                    step.Wait(step.Launch());
                    foreach (uint word in spikes.Span)
                        for (uint left = word; left != 0; left &= left - 1) ++nSpikes;
                    MemoryMarshal.AsBytes(spikes.Span).CopyTo(bytes);
                    file.Write(bytes, 0, bytes.Length);
                }
        }
        Console.WriteLine(frames + " frames of " + frameSamples + " samples: " + nSpikes + " spikes");
        return 0;
    }

    // ---- Sound ------------------------------------------------------------------------------------------------------

    // Samples in [-1, 1), stereo as its mean, and how many there are in a second.
    static float[] ReadWav(string path, out int rate)
    {
        byte[] bytes = File.ReadAllBytes(path);
        Func<int, string> code = at => Encoding.ASCII.GetString(bytes, at, 4);
        if (bytes.Length < 44 || code(0) != "RIFF" || code(8) != "WAVE")
            throw new InvalidDataException(path + ": no WAV file");
        int channels = 0;
        rate = 0;
        for (long at = 12; at + 8 <= bytes.Length;)
        {
            int body = (int)at + 8;
            uint size = BitConverter.ToUInt32(bytes, (int)at + 4);
            if (body + (long)size > bytes.Length) throw new InvalidDataException(path + ": truncated");
            if (code((int)at) == "fmt ")
            {
                if (BitConverter.ToUInt16(bytes, body) != 1 || BitConverter.ToUInt16(bytes, body + 14) != 16)
                    throw new InvalidDataException(path + ": allowed: 16-bit PCM");
                channels = BitConverter.ToUInt16(bytes, body + 2);
                rate = (int)BitConverter.ToUInt32(bytes, body + 4);
            }
            else if (code((int)at) == "data")
            {
                if (channels != 1 && channels != 2)
                    throw new InvalidDataException(path + ": " + channels + " channels; allowed: 1 or 2");
                float[] samples = new float[size / 2 / channels];
                for (int i = 0; i < samples.Length; ++i)
                {
                    int sum = 0;
                    for (int c = 0; c < channels; ++c)
                        sum += BitConverter.ToInt16(bytes, body + (i * channels + c) * 2);
                    samples[i] = (float)sum / (32768.0f * channels);
                }
                return samples;
            }
            at += 8 + size + (size & 1);
        }
        throw new InvalidDataException(path + ": no samples");
    }

    // ---- A silicon cochlea ------------------------------------------------------------------------------------------

    // 128 gammatone resonators, each a cascade of four one-pole resonators. Every operation on floats is rounded to a
    // float by a cast: C# would be free to keep more digits.
    sealed class Cochlea
    {
        readonly float[] poleRe_ = new float[Channels], poleIm_ = new float[Channels], scale_ = new float[Channels];
        readonly float[,] stateRe_ = new float[Order, Channels], stateIm_ = new float[Order, Channels];
        readonly float level_;
        float previous_;

        static double ErbNumber(double hz) { return 21.4 * Math.Log10(4.37 * hz / 1000.0 + 1.0); }

        static double ErbNumberToHz(double number) { return (Math.Pow(10.0, number / 21.4) - 1.0) * 1000.0 / 4.37; }

        public Cochlea(float[] samples, int rate)
        {
            double from = ErbNumber(80.0), to = ErbNumber(Math.Min(7000.0, 0.45 * rate));
            for (int c = 0; c < Channels; ++c)
            {
                double hz = ErbNumberToHz(from + (to - from) * c / (Channels - 1));
                double radius = Math.Exp(-2.0 * Math.PI * (1.019 * 24.7 * (4.37 * hz / 1000.0 + 1.0)) / rate);
                double angle = 2.0 * Math.PI * hz / rate;
                poleRe_[c] = (float)(radius * Math.Cos(angle));
                poleIm_[c] = (float)(radius * Math.Sin(angle));
                scale_[c] = (float)(2.0 * Math.Pow(1.0 - radius, Order));
            }
            double energy = 0.0;
            foreach (float sample in samples) energy += (double)sample * sample;
            double rms = Math.Sqrt(energy / samples.Length);
            level_ = (float)(rms * 100.0 > 0.1 ? 0.1 / rms : 100.0);
        }

        // Hears samples: response [sample, channel], never negative. The state continues.
        public void Hear(ReadOnlySpan<float> samples, Span<float> response)
        {
            for (int n = 0; n < samples.Length; ++n)
            {
                float sample = (float)(level_ * samples[n]);
                float input = (float)((float)(sample - (float)(0.95f * previous_)) + 1e-18f);
                previous_ = sample;
                for (int c = 0; c < Channels; ++c)
                {
                    float inRe = input, inIm = 0.0f, poleRe = poleRe_[c], poleIm = poleIm_[c];
                    for (int stage = 0; stage < Order; ++stage)
                    {
                        float re = stateRe_[stage, c], im = stateIm_[stage, c];
                        inRe = (float)(inRe + (float)((float)(poleRe * re) - (float)(poleIm * im)));
                        inIm = (float)(inIm + (float)((float)(poleRe * im) + (float)(poleIm * re)));
                        stateRe_[stage, c] = inRe;
                        stateIm_[stage, c] = inIm;
                    }
                    float moved = (float)(scale_[c] * inRe);
                    response[n * Channels + c] = moved > 0.0f ? (float)Math.Sqrt(moved) : 0.0f;
                }
            }
        }
    }

    // ---- Spikes -----------------------------------------------------------------------------------------------------

    // NumPy's file format, version 1.0: uint32 [steps, words].
    static void WriteNpyHeader(Stream file, long steps, int words)
    {
        string text = "{'descr': '<u4', 'fortran_order': False, 'shape': (" + steps + ", " + words + "), }";
        byte[] header = Encoding.ASCII.GetBytes("\0NUMPY\u0001\0v\0" + text.PadRight(117) + "\n");
        header[0] = 0x93;
        file.Write(header, 0, header.Length);
    }
}
