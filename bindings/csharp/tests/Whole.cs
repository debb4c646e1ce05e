// Whole.cs - whole processes: where the library comes from, and the programs beside their C twins.
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
            Check.Contains(Program.Managed("Tests", "child load", "libm.so.6").Text, "libm.so.6 is not a Synfire library");
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
            // On the host a replay is done when Launch returns, so no frame is late, however slow the machine is. On a GPU
            // one may be, and then shows the spikes before it.
            bool onHost;
            using (Context context = new Context()) onHost = context.IsHost;
            if (onHost || output.Text.Contains(", 0 late") && expected.Contains(", 0 late"))
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

        public static void Gestures()
        {
            string recording = Path.Combine(Path.GetTempPath(), "synfire-" + Guid.NewGuid().ToString("N") + ".dat");
            string network = Program.Setting("SYNFIRE_GESTURES");
            Program.C("gestures", "--record \"" + recording + "\" --seconds 3");
            Output output = Program.Managed("Gestures", "\"" + network + "\" \"" + recording + "\"");
            string expected = Program.C("gestures", "--network \"" + network + "\" --recording \"" + recording + "\"");
            File.Delete(recording);
            Console.WriteLine("gestures:\n" + output.Text);
            Check.Equal(output.Status, 0, "status");
            Check.Contains(output.Text, " milliseconds, scores hash ");
            // Its last line has times.
            Check.That(Lines(output.Text).Length > 4 && expected.StartsWith(output.Text, StringComparison.Ordinal),
                       "the names and scores of the C++ program: " + output.Text + expected);
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

        public static void Ranks()
        {
            Output output = Program.Managed("Ranks", "");
            string[] lines = Lines(output.Text);
            string alone = lines[lines.Length - 1].Substring("alone: ".Length);
            Check.Equal(output.Status, 0, "status");
            for (int rank = 0; rank < 2; ++rank)
                Check.Equal(lines[rank], "rank " + rank + " of 2: " + alone + ", the same file", "a rank");
        }

        public static void Senses()
        {
            Output output = Program.Managed("Senses", "");
            Check.That(output.Status == 0 && output.Text == Program.C("senses"), "the numbers of the C program");
        }

        public static void Tuning()
        {
            Program.Folder = Directory.CreateDirectory(Path.Combine(Path.GetTempPath(), Path.GetRandomFileName())).FullName;
            Output output = Program.Managed("Tuning", "");
            Check.That(output.Status == 0 && output.Text == Program.C("tuning"),
                       "the numbers of the C program: " + output.Text);
            Directory.Delete(Program.Folder, true);
            Program.Folder = null;
        }

        // The C program draws pictures too.
        public static void Watch()
        {
            Program.Folder = Directory.CreateDirectory(Path.Combine(Path.GetTempPath(), Path.GetRandomFileName())).FullName;
            Output output = Program.Managed("Watch", "");
            Check.That(output.Status == 0 && output.Text == Program.C("watch"),
                       "the numbers of the C program: " + output.Text);
            Directory.Delete(Program.Folder, true);
            Program.Folder = null;
        }

        // Where the build has found MuJoCo.
        public static void Balance()
        {
            string body = Environment.GetEnvironmentVariable("SYNFIRE_BALANCE_BODY");
            if (string.IsNullOrEmpty(body))
            {
                Console.WriteLine("balance: the build has found no MuJoCo");
                return;
            }
            string folder = Program.Setting("SYNFIRE_BALANCE");
            string files = "\"" + Path.Combine(folder, "cart_pole.xml") + "\" \"" +
                           Path.Combine(folder, "brain.safetensors") + "\"";
            Output output = Program.Managed("Balance", files + " 2 10", loaderPath: Path.GetDirectoryName(body));
            Check.Equal(output.Text, Program.C("balance", "run " + files + " --runs 2 --seconds 10"), "output");
            Check.That(output.Text.EndsWith("up           2 of 2\n", StringComparison.Ordinal), output.Text);
        }

        public static void Policy()
        {
            Output output = Program.Managed("Policy", "");
            Check.That(output.Status == 0 && output.Text == Program.C("policy"),
                       "the numbers of the C program: " + output.Text);
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
            // On the host a replay is done when launch returns, so no tick finds one that is not, however slow the
            // machine is.
            Check.Equal(ours[0], theirs[0], "replays and spikes");
            Check.That(Regex.IsMatch(ours[1], @"p50 [\d.]+ us, p99 [\d.]+ us, max [\d.]+ us; 0 late"), ours[1]);
        }
    }
}
