// Runner.cs - a small test runner: Tests.exe NAME... runs the tests of the classes NAME, one after the other. It prints
// "NAME: N passed, N failed" for each, and at the end "N passed, N failed" of all.
//
// It finds the tests, and has their checks and child processes.
//
// SPDX-License-Identifier: MIT
using System;
using System.Diagnostics;
using System.IO;
using System.Reflection;
using Synfire;

namespace Synfire.Tests
{
    public static class Check
    {
        public static int Passed, Failed;

        public static void That(bool good, string what)
        {
            if (good)
            {
                ++Passed;
                return;
            }
            ++Failed;
            Console.WriteLine("FAILED: " + what);
            StackTrace trace = new StackTrace(true);
            for (int i = 1; i < trace.FrameCount && i < 8; ++i)
                Console.WriteLine("    " + trace.GetFrame(i).ToString().Trim());
        }

        public static void Equal<T>(T got, T wanted, string what)
        {
            That(Equals(got, wanted), what + ": got " + got + ", wanted " + wanted);
        }

        public static void Contains(string text, string part)
        {
            That(text.Contains(part), "\"" + part + "\" in: " + text);
        }

        // The exception that the call throws, which must be of exactly this type.
        public static E Throws<E>(Action call, string what) where E : Exception
        {
            try
            {
                call();
            }
            catch (Exception problem)
            {
                That(problem.GetType() == typeof(E), what + ": threw " + problem.GetType().Name + " instead of " +
                                                         typeof(E).Name + ": " + problem.Message);
                return problem as E;
            }
            That(false, what + ": threw nothing; wanted " + typeof(E).Name);
            return null;
        }

        public static void Status(Status wanted, Action call, string what)
        {
            SynfireException problem = Throws<SynfireException>(call, what);
            if (problem == null) return;
            Equal(problem.Status, wanted, what);
            That(problem.RuleId.StartsWith("SYN-", StringComparison.Ordinal) && problem.Text.Length > 0,
                 what + ": rule and text of " + problem.Message);
        }
    }

    public struct Output
    {
        public string Text;
        public int Status;
    }

    public static class Program
    {
        // On the host, or where SYNFIRE_TEST_BACKEND says (cuda).
        public static Backend Backend
        {
            get
            {
                string value = Environment.GetEnvironmentVariable("SYNFIRE_TEST_BACKEND");
                if (string.IsNullOrEmpty(value) || value == "host") return Backend.Host;
                if (value == "cuda") return Backend.Cuda;
                throw new InvalidOperationException("SYNFIRE_TEST_BACKEND=" + value + "; allowed: host, cuda");
            }
        }

        // Where programs run; null: where the tests do.
        public static string Folder { get; set; }

        public static string Setting(string name)
        {
            string value = Environment.GetEnvironmentVariable(name);
            if (string.IsNullOrEmpty(value)) throw new InvalidOperationException(name + " is not set");
            return value;
        }

        // A C program of the build, its output.
        public static string C(string name, string arguments = "")
        {
            Output output = Run(Path.Combine(Setting("SYNFIRE_PROGRAMS"), name), arguments, null);
            if (output.Status != 0) throw new InvalidOperationException(name + " failed: " + output.Text);
            return output.Text;
        }

        // A program beside this one, on the runtime that runs this one; `library` takes the place of SYNFIRE_LIBRARY.
        public static Output Managed(string assembly, string arguments, string library = null, string loaderPath = null)
        {
            string folder = Path.GetDirectoryName(typeof(Program).Assembly.Location);
            string runtime = Setting("SYNFIRE_CSHARP_RUNTIME");
            string file = Path.Combine(
                folder, assembly + (runtime.EndsWith("dotnet", StringComparison.Ordinal) ? ".dll" : ".exe"));
            return Run(runtime, "\"" + file + "\" " + arguments, library, loaderPath);
        }

        private static Output Run(string file, string arguments, string library, string loaderPath = null)
        {
            ProcessStartInfo start =
                new ProcessStartInfo(file, arguments) { UseShellExecute = false, RedirectStandardOutput = true };
            if (Folder != null) start.WorkingDirectory = Folder;
            if (library != null) start.EnvironmentVariables[SynfireLibrary.EnvironmentVariable] = library;
            if (loaderPath != null)
                start.EnvironmentVariables["LD_LIBRARY_PATH"] =
                    loaderPath + ":" + Environment.GetEnvironmentVariable("LD_LIBRARY_PATH");
            using (Process process = Process.Start(start))
            {
                string text = process.StandardOutput.ReadToEnd();
                process.WaitForExit();
                return new Output { Text = text, Status = process.ExitCode };
            }
        }

        public static int Main(string[] arguments)
        {
            if (arguments.Length == 0) return 2;
            if (arguments[0] == "child") return Children.Run(arguments);
            if (arguments[0] == "overhead") return Overhead.Print();
            bool good = true;
            foreach (string name in arguments) good &= RunClass(name);
            Console.WriteLine(Check.Passed + " passed, " + Check.Failed + " failed");
            return good ? 0 : 1;
        }

        // Returns true if all its tests passed, and there is one.
        private static bool RunClass(string name)
        {
            Type tests = typeof(Program).Assembly.GetType("Synfire.Tests." + name);
            if (tests == null)
            {
                Console.WriteLine("FAILED: there are no tests " + name);
                ++Check.Failed;
                return false;
            }
            Console.WriteLine(name); // if the process ends, it was in these
            Console.Out.Flush();
            int passed = Check.Passed, failed = Check.Failed;
            foreach (MethodInfo test in tests.GetMethods(BindingFlags.Static | BindingFlags.Public |
                                                         BindingFlags.DeclaredOnly))
            {
                Stopwatch clock = Stopwatch.StartNew();
                try
                {
                    test.Invoke(null, null);
                }
                catch (TargetInvocationException problem)
                {
                    ++Check.Failed;
                    Console.WriteLine("FAILED: " + test.Name + " threw " + problem.InnerException);
                }
                if (clock.ElapsedMilliseconds > 1000)
                    Console.WriteLine(test.Name + " took " + clock.ElapsedMilliseconds + " ms");
            }
            passed = Check.Passed - passed;
            failed = Check.Failed - failed;
            Console.WriteLine(name + ": " + passed + " passed, " + failed + " failed");
            return failed == 0 && passed > 0;
        }
    }
}
