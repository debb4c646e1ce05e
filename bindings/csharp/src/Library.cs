// Library.cs - where the C library comes from, and whether it is one that this binding can use.
//
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.IO;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;
using System.Threading;
using Synfire.Raw;

namespace Synfire
{
    /// <summary>
    /// The loaded C library. The first use loads and checks it: a library of another ABI is refused.
    /// </summary>
    public static unsafe class SynfireLibrary
    {
        /// <summary>The environment variable that names the library, a file or a folder.</summary>
        public const string EnvironmentVariable = "SYNFIRE_LIBRARY";

        private static readonly object lock_ = new object();
        private static volatile bool is_loaded_;
        private static string location_;
        private static string path_ = "";

        /// <summary>
        /// The library to load, a file or a folder; null (default) means the environment variable, then the runtime's
        /// own search. Set it before the first use. Unity loads plug-ins itself and looks at neither.
        /// </summary>
        public static string Location
        {
            get { return location_; }
            set
            {
                lock (lock_)
                {
                    if (is_loaded_) throw new InvalidOperationException("The library is loaded already: " + path_);
                    location_ = value;
                }
            }
        }

        /// <summary>The file that was loaded.</summary>
        public static string Path
        {
            get
            {
                Require();
                return path_;
            }
        }

        /// <summary>The version of the C ABI that the loaded library has.</summary>
        public static Version AbiVersion
        {
            get
            {
                Require();
                return First.AbiVersion();
            }
        }

        /// <summary>Version and build facts of the loaded library.</summary>
        public static string VersionString
        {
            get
            {
                Require();
                return First.VersionString();
            }
        }

        /// <summary>How many objects of this binding are open.</summary>
        public static long LiveHandles { get { return NativeHandle.LiveCount; } }

        /// <summary>The name of a status, such as <c>SYNFIRE_ERROR_STALE_TAPE</c>.</summary>
        public static string StatusName(int status)
        {
            Require();
            return First.StatusName(status);
        }

        /// <summary>
        /// Frees what closed objects left behind, and returns how many are still in use. Other calls do the same as
        /// they go; this is for freeing at a time of your choosing.
        /// </summary>
        public static long Reclaim()
        {
            Require();
            long stillQueued = First.Reclaim();
            Lent.TakeBack();
            return stillQueued;
        }

        /// <summary>
        /// The id of a model by its name: that of <see cref="Model.Lif"/> is <c>"lif"</c>; models that were added to
        /// the loaded library have names only.
        /// </summary>
        public static Model FindModel(string name)
        {
            Require();
            return First.FindModel(name);
        }

        /// <summary>The id of a surrogate by its name.</summary>
        public static Surrogate FindSurrogate(string name)
        {
            Require();
            return First.FindSurrogate(name);
        }

        // Calls that may be the first. Mono looks up a function when it compiles a method that calls it, so these are
        // not in the methods that first make sure that the right library is loaded.
        private static class First
        {
            [MethodImpl(MethodImplOptions.NoInlining)]
            public static Version AbiVersion() { return VersionOf(Native.synfire_abi_version()); }

            [MethodImpl(MethodImplOptions.NoInlining)]
            public static string VersionString() { return Errors.TextOf(Native.synfire_version_string(), 4096); }

            [MethodImpl(MethodImplOptions.NoInlining)]
            public static string StatusName(int status)
            {
                return Errors.TextOf(Native.synfire_status_name(status), 256);
            }

            [MethodImpl(MethodImplOptions.NoInlining)]
            public static long Reclaim()
            {
                ulong stillQueued;
                Errors.Check(Native.synfire_context_reclaim(default(synfire_context), &stillQueued));
                return (long)stillQueued;
            }

            [MethodImpl(MethodImplOptions.NoInlining)]
            public static Model FindModel(string name)
            {
                byte* text = stackalloc byte[Name.Capacity];
                Name.Write(name, text);
                int id;
                Errors.Check(Native.synfire_model_id(text, &id));
                return (Model)id;
            }

            [MethodImpl(MethodImplOptions.NoInlining)]
            public static Surrogate FindSurrogate(string name)
            {
                byte* text = stackalloc byte[Name.Capacity];
                Name.Write(name, text);
                int id;
                Errors.Check(Native.synfire_surrogate_id(text, &id));
                return (Surrogate)id;
            }
        }

        // ---- Loading ---------------------------------------------------------------------------------------------

        // Throws DllNotFoundException or SynfireLibraryException; a later call tries again.
        internal static void Require()
        {
            if (!is_loaded_) Load();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Load()
        {
            lock (lock_)
            {
                if (is_loaded_) return;
                string wanted = location_ ?? Environment.GetEnvironmentVariable(EnvironmentVariable);
                if (string.IsNullOrEmpty(wanted)) wanted = null;
                string file = wanted == null ? null : FileAt(wanted);
                Direct(file);
                uint version = AskVersion(file, wanted);
                string loaded = FindLoadedFile(file);
                uint major = version >> 16;
                if (major != Native.SYNFIRE_ABI_MAJOR || version < Native.SYNFIRE_ABI_VERSION)
                    throw new SynfireLibraryException(loaded, loaded + " has ABI " + VersionOf(version) +
                                                                  "; this binding needs " + Native.SYNFIRE_ABI_MAJOR +
                                                                  "." + Native.SYNFIRE_ABI_MINOR + " or a later " +
                                                                  Native.SYNFIRE_ABI_MAJOR + ".x");
                RequireFunctions(loaded);
                path_ = loaded;
                is_loaded_ = true;
            }
        }

        private static Version VersionOf(uint version)
        {
            return new Version((int)(version >> 16), (int)(version & 0xffff));
        }

        private static string[] FileNames()
        {
            string name = Native.LibraryName;
            if (RuntimeInformation.IsOSPlatform(OSPlatform.Windows)) return new[] { name + ".dll" };
            if (RuntimeInformation.IsOSPlatform(OSPlatform.OSX)) return new[] { "lib" + name + ".dylib" };
            return new[] { "lib" + name + ".so." + Native.SYNFIRE_ABI_MAJOR, "lib" + name + ".so" };
        }

        // The file to load, given a file or a folder.
        private static string FileAt(string wanted)
        {
            if (!Directory.Exists(wanted)) return wanted;
            foreach (string name in FileNames())
            {
                string file = System.IO.Path.Combine(wanted, name);
                if (File.Exists(file)) return file;
            }
            throw new DllNotFoundException("Synfire's C library is not in the folder " + wanted + ": looked for " +
                                           string.Join(" and ", FileNames()) + ". " + Advice(wanted));
        }

        private static string Advice(string wanted)
        {
            if (wanted != null && location_ == null)
                return "The environment variable " + EnvironmentVariable + " is set to " + wanted +
                       ", and nothing else is tried.";
            if (wanted != null) return "SynfireLibrary.Location is set to " + wanted + ", and nothing else is tried.";
            return "Neither SynfireLibrary.Location nor the environment variable " + EnvironmentVariable +
                   " is set (to a file or a folder), so the runtime looked beside the program (" +
                   AppDomain.CurrentDomain.BaseDirectory +
                   "), in runtimes/<rid>/native of the package, and where the system's " + "loader looks.";
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static uint AskVersion(string file, string wanted)
        {
            string what = file ?? string.Join(" or ", FileNames());
            try
            {
                return Native.synfire_abi_version();
            }
            catch (DllNotFoundException problem)
            {
                throw new DllNotFoundException("Synfire's C library could not be loaded: " + what + ". " +
                                                   Advice(wanted) + " " + problem.Message,
                                               problem);
            }
            catch (BadImageFormatException problem)
            {
                throw new SynfireLibraryException(what, what + " is not a library for this processor", problem);
            }
            catch (EntryPointNotFoundException problem)
            {
                string loaded = FindLoadedFile(file);
                throw new SynfireLibraryException(
                    loaded, loaded + " is not a Synfire library: it has no synfire_abi_version", problem);
            }
        }

        // Checks that every function is there; the text names the first that is not. Ahead-of-time compilers have
        // linked them already.
        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void RequireFunctions(string loaded)
        {
#if !UNITY_5_3_OR_NEWER
            foreach (MethodInfo method in typeof(Native).GetMethods(BindingFlags.Public | BindingFlags.Static |
                                                                    BindingFlags.DeclaredOnly))
            {
                try
                {
                    Marshal.Prelink(method);
                }
                catch (EntryPointNotFoundException problem)
                {
                    throw new SynfireLibraryException(
                        loaded, loaded + " has the right ABI version, but has no " + method.Name, problem);
                }
            }
#endif
        }

        // Tells the runtime which file is meant; null leaves it to the runtime.
        private static void Direct(string file)
        {
#if UNITY_5_3_OR_NEWER
            // Unity knows where its plug-ins are, in the editor and in a built player.
#elif NET5_0_OR_GREATER
            Resolver.Direct(file);
#else
            if (Type.GetType("Mono.Runtime") != null)
                MonoMap.Direct(file);
            else
                Resolver.Direct(file);
#endif
        }

        // The file of the functions: the one that was asked for, else the one that the system has mapped.
        private static string FindLoadedFile(string file)
        {
            if (file != null) return file;
            try
            {
                foreach (string line in File.ReadAllLines("/proc/self/maps"))
                {
                    int at = line.IndexOf('/');
                    if (at >= 0 && System.IO.Path.GetFileName(line).StartsWith("lib" + Native.LibraryName + ".",
                                                                               StringComparison.Ordinal))
                        return line.Substring(at);
                }
            }
            catch (IOException)
            {
            }
            catch (UnauthorizedAccessException)
            {
            }
            return FileNames()[0] + " (where the runtime found it)";
        }

#if !UNITY_5_3_OR_NEWER
        // Mono: the same map that <dllmap> in a .config file fills. Older entries stay, the newest counts.
        private static class MonoMap
        {
            [DllImport("__Internal", CallingConvention = CallingConvention.Cdecl)]
            private static extern void mono_dllmap_insert(IntPtr assembly, byte[] library, byte[] function,
                                                          byte[] target, byte[] targetFunction);

            [MethodImpl(MethodImplOptions.NoInlining)]
            public static void Direct(string file)
            {
                if (file == null) return;
                mono_dllmap_insert(IntPtr.Zero, Text(Native.LibraryName), null, Text(file), null);
            }

            private static byte[] Text(string text) { return Encoding.UTF8.GetBytes(text + "\0"); }
        }

        // .NET: one resolver for this assembly. NativeLibrary is not in netstandard2.1, though every .NET has it.
        private static class Resolver
        {
            private static string file_;
            private static bool is_set_;

            public static void Direct(string file)
            {
                Volatile.Write(ref file_, file);
                if (is_set_ || file == null) return;
                is_set_ = true;
#if NET5_0_OR_GREATER
                NativeLibrary.SetDllImportResolver(typeof(Native).Assembly, Resolve);
#else
                Type library =
                    Type.GetType("System.Runtime.InteropServices.NativeLibrary, System.Runtime.InteropServices") ??
                    typeof(object).Assembly.GetType("System.Runtime.InteropServices.NativeLibrary");
                MethodInfo set = library == null ? null : library.GetMethod("SetDllImportResolver");
                if (set == null)
                    throw new PlatformNotSupportedException("This runtime cannot be told where the library is: unset " +
                                                            EnvironmentVariable);
                load_ = (Func<string, IntPtr>)Delegate.CreateDelegate(
                    typeof(Func<string, IntPtr>), library.GetMethod("Load", new[] { typeof(string) }));
                set.Invoke(null, new object[] { typeof(Native).Assembly,
                                                Delegate.CreateDelegate(
                                                    set.GetParameters()[1].ParameterType,
                                                    typeof(Resolver).GetMethod("Resolve", BindingFlags.NonPublic |
                                                                                              BindingFlags.Static)) });
#endif
            }

#if NET5_0_OR_GREATER
            private static IntPtr Resolve(string name, Assembly assembly, DllImportSearchPath? where)
            {
                string file = Volatile.Read(ref file_);
                return name == Native.LibraryName && file != null ? NativeLibrary.Load(file) : IntPtr.Zero;
            }
#else
            private static Func<string, IntPtr> load_;

            private static IntPtr Resolve(string name, Assembly assembly, DllImportSearchPath? where)
            {
                string file = Volatile.Read(ref file_);
                return name == Native.LibraryName && file != null ? load_(file) : IntPtr.Zero;
            }
#endif
        }
#endif
    }

    /// <summary>
    /// A library was found that this binding cannot use: of another ABI version, or no Synfire library.
    /// </summary>
    [Serializable]
    public sealed class SynfireLibraryException : Exception
    {
        internal SynfireLibraryException(string file, string message, Exception inner = null) : base(message, inner)
        {
            File = file;
        }

        /// <summary>The file that was loaded.</summary>
        public string File { get; }
    }
}
