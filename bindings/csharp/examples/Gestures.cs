// Gestures.cs - events in, a name out, every millisecond: names the gestures of a recording with what docs/examples/gestures
// has learnt. It prints what `gestures --network NETWORK --recording RECORDING.dat` prints, but for the times.
//
//   Gestures.exe NETWORK RECORDING.dat
//
// SPDX-License-Identifier: MIT
using System;
using System.Globalization;
using System.IO;
using Synfire;

static class Gestures
{
    static readonly string[] Names = { "left",          "right",  "up",   "down", "clockwise",
                                       "anticlockwise", "closer", "away", "wave", "rest" };
    const int Side = 24, View = 20; // the network sees these rows and columns of the sensor's
    const int Capacity = 4096;      // of more events, the newest are seen
    const uint Steps = 16, Step = 20000; // microseconds

    // The events of a recording in Prophesee's format .dat: lines that begin with %, two bytes, and 8 bytes for each event.
    static ulong[] ReadDat(byte[] bytes)
    {
        int at = 0;
        while (at < bytes.Length && bytes[at] == '%')
        {
            while (at < bytes.Length && bytes[at] != '\n') ++at;
            ++at;
        }
        if (at + 2 > bytes.Length || bytes[at + 1] != 8 || (bytes.Length - at) % 8 != 2)
            throw new InvalidDataException("not a recording of events of 8 bytes");
        var events = new ulong[(bytes.Length - at - 2) / 8];
        for (int i = 0; i < events.Length; ++i) events[i] = BitConverter.ToUInt64(bytes, at + 2 + 8 * i);
        return events;
    }

    static void Main(string[] arguments)
    {
        ulong[] recording = ReadDat(File.ReadAllBytes(arguments[1]));
        using (var context = new Context()) // a GPU if there is one, else the host
        using (var network = Network.FromFile(context, arguments[0],
                                              new NetworkFileOptions { Inference = true, Steps = Steps, Batch = 1 }))
        using (var input = network.GetBuffer<uint>("input"))
        using (var output = network.GetBuffer<float>("output"))
        using (var events = context.CreateBuffer<ulong>(MemoryKind.Pinned, 1, Capacity))
        using (var eventCounts = context.CreateBuffer<uint>(MemoryKind.Pinned, DType.U32, 0, 1))
        using (var window = context.CreateBuffer<uint>(MemoryKind.Pinned, DType.U32, 0, 2))
        using (var faults = context.CreateBuffer<uint>(MemoryKind.Pinned, DType.U32, 0, 5))
        using (var bin = new Graph(context))
        using (var infer = network.GetGraph(NetworkGraph.Inference))
        {
            foreach (string neurons in new[] { "edges", "motions", "gestures" })
                using (Layer layer = network.GetLayer(neurons)) bin.ResetRows(layer);
            bin.BinEvents(new BinEventsArguments
            {
                Steps = Steps, Capacity = Capacity, Keep = EventsKeep.Newest, SensorHeight = Side, SensorWidth = Side,
                CropTop = (Side - View) / 2, CropLeft = (Side - View) / 2, CropHeight = View, CropWidth = View,
                Events = events, EventCounts = eventCounts, Window = window, Destination = input, Faults = faults
            }).Instantiate();

            int next = 0, before = Names.Length - 1;
            var scores = new float[Names.Length];
            ulong hash = 14695981039346656037;
            uint milliseconds = recording.Length == 0 ? 0 : (uint)recording[recording.Length - 1] / 1000 + 1;
            for (uint now = 1; now <= milliseconds; ++now)
            {
                Span<ulong> ring = events.Span;
                Span<uint> count = eventCounts.Span, begin = window.Span;
                for (; next < recording.Length && (uint)recording[next] < now * 1000; ++next)
                    ring[next % Capacity] = recording[next];
                count[0] = (uint)next;
                begin[0] = unchecked(now * 1000 - Steps * Step);
                begin[1] = Step;
                bin.Wait(bin.Launch());
                infer.Wait(infer.Launch());
                ReadOnlySpan<float> said = output.Span;
                int best = 0;
                for (int c = 0; c < scores.Length; ++c)
                {
                    // Casts round to float, which not every runtime does without them.
                    scores[c] = (float)(scores[c] + (float)(said[c] - scores[c]) / 16);
                    foreach (byte part in BitConverter.GetBytes(scores[c])) hash = unchecked((hash ^ part) * 1099511628211);
                    if (scores[c] > scores[best]) best = c;
                }
                if (best != before)
                    Console.WriteLine(string.Format(CultureInfo.InvariantCulture, "{0,8:F3} s  {1}", now * 1e-3,
                                                    Names[best]));
                before = best;
            }
            Console.WriteLine("named        " + milliseconds + " milliseconds, scores hash " + hash.ToString("x16"));
        }
    }
}
