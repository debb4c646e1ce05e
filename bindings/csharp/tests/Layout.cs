// Layout.cs - the raw layer is what the C compiler says, nothing is missing on either side, and every public item is
// documented.
//
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Runtime.InteropServices;
using System.Xml;
using Synfire.Raw;

namespace Synfire.Tests
{
    public static class Layout
    {
        private static long Number(string text) { return long.Parse(text, CultureInfo.InvariantCulture); }

        public static void AgreesWithTheCCompiler()
        {
            Assembly assembly = typeof(Native).Assembly;
            HashSet<string> seen = new HashSet<string>();
            foreach (string line in Program.C("bindings-layout").Trim().Split('\n'))
            {
                string[] parts = line.Split('\t');
                string name = parts[1];
                seen.Add(name);
                if (parts[0] == "struct")
                {
                    Check.Equal((long)Marshal.SizeOf(assembly.GetType("Synfire.Raw." + name, true)), Number(parts[2]),
                                "size of " + name);
                }
                else if (parts[0] == "field")
                {
                    string[] path = name.Split('.');
                    Type type = assembly.GetType("Synfire.Raw." + path[0], true);
                    FieldInfo field = type.GetField(path[1]);
                    Check.That(field != null, "field " + name);
                    if (field == null) continue;
                    Check.Equal((long)Marshal.OffsetOf(type, path[1]), Number(parts[2]), "offset of " + name);
                    long size = field.FieldType.IsPointer ? IntPtr.Size : Marshal.SizeOf(field.FieldType);
                    Check.Equal(size, Number(parts[3]), "size of " + name);
                }
                else if (parts[0] == "type")
                {
                    // A status has no type of its own: functions answer an int.
                    Type type = name == "synfire_status" ? typeof(int) : assembly.GetType("Synfire.Raw." + name, true);
                    Check.Equal((long)Marshal.SizeOf(type), Number(parts[2]), "size of " + name);
                }
                else
                {
                    Check.Equal(parts[0], "constant", "kind of line");
                    FieldInfo constant = typeof(Native).GetField(name);
                    Check.That(constant != null && Convert.ToInt64(constant.GetRawConstantValue()) == Number(parts[2]),
                               "constant " + name);
                }
            }
            Check.That(seen.Count > 150, seen.Count + " sizes, offsets and constants");
            Console.WriteLine(seen.Count + " sizes, offsets and constants agree with the C compiler");

            // Nothing that C does not have.
            foreach (FieldInfo constant in typeof(Native).GetFields().Where(
                         f => f.Name.StartsWith("SYNFIRE_", StringComparison.Ordinal)))
                Check.That(seen.Contains(constant.Name), "C has " + constant.Name);
            foreach (Type type in assembly.GetTypes().Where(t => t.Namespace == "Synfire.Raw" && t.IsValueType &&
                                                                 !t.IsNested))
            {
                Check.That(seen.Contains(type.Name), "C has " + type.Name);
                PropertyInfo init = type.GetProperty("Init");
                if (init == null) continue;
                byte[] bytes = new byte[Marshal.SizeOf(type)];
                GCHandle pin = GCHandle.Alloc(bytes, GCHandleType.Pinned);
                Marshal.StructureToPtr(init.GetValue(null, null), pin.AddrOfPinnedObject(), false);
                pin.Free();
                Check.That(BitConverter.ToInt32(bytes, 0) == bytes.Length && bytes.Skip(4).All(b => b == 0),
                           type.Name + ".Init");
            }
        }

        public static void EnumerationsHaveEveryConstant()
        {
            Assembly assembly = typeof(Native).Assembly;
            int members = assembly.GetTypes()
                              .Where(t => t.Namespace == "Synfire" && t.IsEnum && t.IsPublic)
                              .Sum(t => Enum.GetNames(t).Length);
            int constants =
                typeof(Native).GetFields().Count(f => f.Name.StartsWith("SYNFIRE_", StringComparison.Ordinal) &&
                                                      f.Name.IndexOf("SYNFIRE_ABI_", StringComparison.Ordinal) != 0);
            Check.Equal(members, constants, "members of all enumerations");
            Check.Equal((int)Status.ErrorStaleTape, Native.SYNFIRE_ERROR_STALE_TAPE, "a status");
            Check.Equal((int)Model.Izhikevich, Native.SYNFIRE_MODEL_IZHIKEVICH, "a model");
            Check.Equal((int)DType.TimeBits, Native.SYNFIRE_DTYPE_TIME_BITS, "a type");
        }

        // Types that marshal differently on different runtimes are not used, and nothing calls back.
        public static void CallsAreBlittable()
        {
            int calls = 0;
            foreach (MethodInfo method in typeof(Native).GetMethods(BindingFlags.Static | BindingFlags.Public |
                                                                    BindingFlags.DeclaredOnly))
            {
                ++calls;
                Check.That((method.Attributes & MethodAttributes.PinvokeImpl) != 0, method.Name + " is a C function");
                List<Type> types = method.GetParameters().Select(p => p.ParameterType).ToList();
                if (method.ReturnType != typeof(void)) types.Add(method.ReturnType);
                foreach (Type type in types)
                {
                    Type inner = type;
                    while (inner.IsPointer) inner = inner.GetElementType();
                    Check.That(inner.IsValueType && !inner.IsEnum && !type.IsByRef && inner != typeof(bool) &&
                                       inner != typeof(char) && type != typeof(IntPtr) ||
                                   inner == typeof(void),
                               method.Name + " has a " + type.Name);
                }
            }
            Check.That(calls >= 40, calls + " functions");
        }

        // Every public item has a summary in the XML that the compiler wrote.
        public static void EverythingIsDocumented()
        {
            XmlDocument xml = new XmlDocument();
            xml.Load(Path.ChangeExtension(typeof(Native).Assembly.Location, ".xml"));
            HashSet<string> members = new HashSet<string>();
            foreach (XmlElement member in xml.GetElementsByTagName("member"))
                if (member.SelectSingleNode("summary") != null &&
                    member.SelectSingleNode("summary").InnerText.Trim().Length > 0)
                    members.Add(member.GetAttribute("name").Split('(')[0].Split('~')[0].Replace("``1", ""));
            int checkedItems = 0;
            foreach (Type type in typeof(Native).Assembly.GetExportedTypes().Where(t => !t.IsNested))
            {
                Check.That(members.Contains("T:" + type.FullName), "documentation of " + type.FullName);
                if (typeof(Delegate).IsAssignableFrom(type)) continue; // its members are the compiler's
                foreach (MemberInfo member in type.GetMembers(BindingFlags.Public | BindingFlags.Instance |
                                                              BindingFlags.Static | BindingFlags.DeclaredOnly))
                {
                    MethodBase method = member as MethodBase;
                    string kind = member is FieldInfo ? "F:" : member is PropertyInfo ? "P:" : "M:";
                    if (member is Type || member.Name == "value__" ||
                        method != null && (method.IsSpecialName && !method.IsConstructor &&
                                               !method.Name.StartsWith("op_", StringComparison.Ordinal) ||
                                           method.IsConstructor && type.IsAbstract ||
                                           method.IsConstructor && method.GetParameters().Length == 0))
                        continue;
                    string name = member.Name == ".ctor" ? "#ctor" : member.Name;
                    Check.That(members.Contains(kind + type.FullName + "." + name),
                               "documentation of " + type.FullName + "." + name);
                    ++checkedItems;
                }
            }
            Check.That(checkedItems > 400, checkedItems + " documented items");
        }
    }
}
