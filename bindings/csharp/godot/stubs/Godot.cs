// Godot.cs - stand-ins with the signatures of what TrainedNetwork.cs uses of Godot 4, to compile it without Godot.
//
// SPDX-License-Identifier: MIT
namespace Godot
{
    public class Node
    {
        public virtual void _Ready() {}

        public virtual void _PhysicsProcess(double delta) {}

        public virtual void _ExitTree() {}
    }

    public static class FileAccess
    {
        public static byte[] GetFileAsBytes(string path) { return System.IO.File.ReadAllBytes(path); }
    }

    public static class GD
    {
        public static void Print(string what) { System.Console.WriteLine(what); }
    }
}
