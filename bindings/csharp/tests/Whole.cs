// Whole.cs - whole processes: where the library comes from, what a replay costs, and the four programs beside their C
// twins.
//
// SPDX-License-Identifier: MIT
using System;
using System.Diagnostics;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Text.RegularExpressions;

namespace Synfire.Tests
{
    public static class Loading
    {
        public static void WhereTheLibraryComesFrom()
        {
            string real = SynfireLibrary.Path, folder = Path.GetDirectoryName(real);
            Check.That(File.Exists(real), real + " exists");
            Check.Contains(Program.Managed("Tests", "child load", real).Text, "worked: " + real);
            Check.Contains(Program.Managed("Tests", "child load", folder).Text, "worked: " + real);
            Check.Contains(Program.Managed("Tests", "child load", "", folder).Text, "worked: " + folder);
            Check.That(SynfireLibrary.AbiVersion >= new Version(0, 1) &&
                           SynfireLibrary.VersionString.StartsWith("0.", StringComparison.Ordinal),
                       "versions");
        }

        public static void AMissingLibrarySaysWhereItLooked()
        {
            string text = Program.Managed("Tests", "child load", "/no/such/libsynfire0.so").Text;
            Check.Contains(text,
                           "DllNotFoundException: Synfire's C library could not be loaded: /no/such/libsynfire0.so");
            Check.Contains(text, "SYNFIRE_LIBRARY is set to /no/such");
            string empty = Path.Combine(Path.GetTempPath(), "synfire-" + Guid.NewGuid().ToString("N"));
            Directory.CreateDirectory(empty);
            text = Program.Managed("Tests", "child load", empty).Text;
            Directory.Delete(empty);
            Check.Contains(text, "is not in the folder " + empty + ": looked for libsynfire0.so.0 and libsynfire0.so");
            text = Program.Managed("Tests", "child load", "").Text;
            Check.That(text.StartsWith("worked: ", StringComparison.Ordinal) ||
                           text.Contains("SYNFIRE_LIBRARY is set") || text.Contains("looked beside the program"),
                       text);
        }

        public static void AForeignLibraryIsRefusedByName()
        {
            foreach (string kind in new[] { "newer_major", "older_minor", "incomplete" })
            {
                string file = Path.Combine(Program.Setting("SYNFIRE_FOREIGN_LIBRARIES"), "libbindings-" + kind + ".so");
                Check.That(File.Exists(file), file + " exists");
                string text = Program.Managed("Tests", "child load", file).Text;
                Check.Contains(text, "SynfireLibraryException: " + file);
                Check.Contains(text, kind == "newer_major" ? "has ABI 99.0; this binding needs" : kind == "older_minor"
                                     ? "; this binding needs" : "has the right ABI version, but has no synfire_");
            }
            Check.Contains(Program.Managed("Tests", "child load", "libm.so.6").Text, "libm.so.6 is no Synfire library");
        }
    }

    public static class Overhead
    {
        private static double ReplayNanoseconds(Graph graph, int n)
        {
            double best = double.MaxValue;
            for (int round = 0; round < 20; ++round)
            {
                long begin = Stopwatch.GetTimestamp();
                for (int i = 0; i < n; ++i) graph.Wait(graph.Launch());
                best = Math.Min(best, (Stopwatch.GetTimestamp() - begin) * 1e9 / Stopwatch.Frequency / n);
            }
            return best;
        }

        // What the runtime takes for two calls of native code that do nothing, the least that a replay and a wait cost.
        private static double TwoCallsNanoseconds(int n)
        {
            double best = double.MaxValue;
            for (int round = 0; round < 20; ++round)
            {
                long begin = Stopwatch.GetTimestamp();
                for (int i = 0; i < n; ++i)
                {
                    Raw.Native.synfire_abi_version();
                    Raw.Native.synfire_abi_version();
                }
                best = Math.Min(best, (Stopwatch.GetTimestamp() - begin) * 1e9 / Stopwatch.Frequency / n);
            }
            return best;
        }

        // A replay and a wait, measured side by side with C; and by the runtime's own counter not a byte is allocated.
        public static void AReplayCostsHardlyMoreThanFromC()
        {
            using (Context context = new Context(Backend.Host, threads: 1)) using (
                Layer layer = new Layer(context, steps: 1, neurons: 1)) using (Buffer<float> x =
                                   layer.CreateSequence<float>()) using (Graph graph =
                                                                             Graph.Record(
                                                                                 context,
                                                                                 g => g.Forward(
                                                                                     layer, new ForwardArguments {
                                                                                         X = x, Tape = Tape.None
                                                                                     })))
            {
                ReplayNanoseconds(graph, 1000);
                double best = double.MaxValue, c = double.MaxValue, calls = double.MaxValue;
                // A busy machine disturbs single measurements: the best of each side counts, taken in turns.
                for (int i = 0; i < 5; ++i)
                {
                    best = Math.Min(best, ReplayNanoseconds(graph, 20000));
                    calls = Math.Min(calls, TwoCallsNanoseconds(20000));
                    c = Math.Min(c, double.Parse(Program.C("bindings-overhead"), CultureInfo.InvariantCulture));
                }
                long measured = -1;
                for (int i = 0; i < 3; ++i)
                {
                    long before = GC.GetAllocatedBytesForCurrentThread();
                    for (int k = 0; k < 10000; ++k)
                    {
                        ulong ticket = graph.Launch();
                        graph.IsDone(ticket);
                        graph.Wait(ticket);
                        layer.SetParameter("tau", 2.0);
                        Span<float> input = x.Span;
                        input[0] = k;
                    }
                    measured = GC.GetAllocatedBytesForCurrentThread() - before;
                }
                Console.WriteLine(string.Format(
                    CultureInfo.InvariantCulture,
                    "a replay and a wait: {0:F1} ns from C#, {1:F1} ns from C, {2:F1} ns more; " +
                    "{3} bytes allocated by 10,000 replays; two calls of native code that do nothing: {4:F1} ns",
                    best, c, best - c, measured, calls));
                // Above what the runtime itself takes to call and come back.
                Check.That(best - c - calls <= 100,
                           string.Format(CultureInfo.InvariantCulture,
                                         "at most 100 ns more than C and two calls of native code, which take {0:F1} ns",
                                         calls));
                Check.Equal(measured, 0L, "bytes allocated by 10,000 replays");
                long counted = GC.GetAllocatedBytesForCurrentThread();
                GC.KeepAlive(new byte[50000]);
                Check.That(GC.GetAllocatedBytesForCurrentThread() - counted >= 50000, "the counter counts");
            }
        }
    }

    public static class Examples
    {
        private static string[] Lines(string text) { return text.Trim().Split('\n'); }

        public static void Quickstart()
        {
            Output output = Program.Managed("Quickstart", "");
            string expected = Program.C("quickstart");
            Check.Equal(output.Status, 0, "status");
            Check.Contains(output.Text, "1000 frames of 16 steps: ");
            // How many frames were late is the machine's affair, and a late frame shows the spikes before it.
            if (output.Text.Contains(" 0 late") && expected.Contains(" 0 late"))
                Check.Equal(output.Text, expected, "output");
            else Check.That(long.Parse(Regex.Match(output.Text, @": (\d+) spikes").Groups[1].Value) > 0, "spikes");
        }

        public static void Hear()
        {
            string folder = Path.Combine(Path.GetTempPath(), "synfire-" + Guid.NewGuid().ToString("N"));
            string sound = Program.Setting("SYNFIRE_SOUND");
            Output output = Program.Managed("Hear", "\"" + sound + "\" \"" + Path.Combine(folder, "csharp") + "\"");
            Program.C("hear", "\"" + sound + "\" --backend host --output \"" + Path.Combine(folder, "c") + "\"");
            byte[] ours = File.ReadAllBytes(Path.Combine(folder, "csharp", "spikes.npy"));
            byte[] theirs = File.ReadAllBytes(Path.Combine(folder, "c", "spikes.npy"));
            Directory.Delete(folder, true);
            Console.WriteLine("hear: " + output.Text.Trim() + "; spikes.npy of " + ours.Length + " bytes");
            Check.That(output.Status == 0 && ours.Length > 100000 && ours.SequenceEqual(theirs),
                       "spikes.npy is that of the C program");
        }

        public static void Train()
        {
            Output output = Program.Managed("Train", "");
            Check.That(output.Status == 0 && output.Text == Program.C("bindings-train"),
                       "the numbers of the C program");
            string[] losses =
                Lines(output.Text).Where(line => line.Contains(" ")).Select(line => line.Split(' ')[1]).ToArray();
            Console.WriteLine("train: the loss falls from " + losses[0] + " to " + losses[losses.Length - 1]);
            Check.That(losses.Length == 60 && long.Parse(losses[0]) >= 10 * long.Parse(losses[59]),
                       "the loss falls 10 times");
        }

        public static void OwnNeuron()
        {
            Output output = Program.Managed("OwnNeuron", "");
            Check.That(output.Status == 0 && output.Text == Program.C("bindings-own_neuron"),
                       "the numbers of the C program: " + output.Text);
            Check.Equal(Lines(output.Text).Length, 95, "lines");
        }

        public static void Network()
        {
            Program.Folder = Directory.CreateDirectory(Path.Combine(Path.GetTempPath(), Path.GetRandomFileName())).FullName;
            string path = Path.Combine(Program.Folder, "network.safetensors");
            Output output = Program.Managed("Network", "");
            byte[] file = output.Status == 0 ? File.ReadAllBytes(path) : new byte[0];
            Check.That(output.Status == 0 && output.Text == Program.C("network"), "the numbers of the C program");
            Check.That(file.SequenceEqual(File.ReadAllBytes(path)), "the file of the C program");
            Directory.Delete(Program.Folder, true);
            Program.Folder = null;
        }

        public static void Classifier()
        {
            Output output = Program.Managed("Classifier", "");
            Check.That(output.Status == 0 && output.Text == Program.C("classifier"), "the numbers of the C program");
            Check.That(Regex.IsMatch(output.Text, @"^39 [0-9a-f]{8} 30$", RegexOptions.Multiline),
                       "all thirty samples are right at the end");
        }

        public static void RealTime()
        {
            Output output = Program.Managed("RealTime", "500");
            string[] ours = Lines(output.Text), theirs = Lines(Program.C("bindings-realtime", "500"));
            Console.WriteLine("realtime, C#: " + ours[1] + "\nrealtime, C:  " + theirs[1]);
            // On the host a replay is done when launch returns, so no tick finds one that is not.
            Check.Equal(ours[0], theirs[0], "replays and spikes");
            Check.That(Regex.IsMatch(ours[1], @"p50 [\d.]+ us, p99 [\d.]+ us, max [\d.]+ us; 0 late"), ours[1]);
        }
    }
}
