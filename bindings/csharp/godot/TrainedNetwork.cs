// TrainedNetwork.cs - the small trained network of the Unity sample as a node of Godot 4, one step with every physics tick.
// It is compiled against a stand-in for Godot's types and has never been run in Godot.
//
// SPDX-License-Identifier: MIT
using System;
using Godot;
using Synfire;

public partial class TrainedNetwork : Node
{
    public readonly float[] Rates = new float[41]; // of the sensors, from 0 to 1
    public readonly float[] Scores = new float[3]; // of the classes, in the last ticks
    private Context context_;
    private Network network_;
    private Graph step_;
    private Buffer<float> input_, output_;
    private ulong ticket_;

    public override void _Ready()
    {
        byte[] file = FileAccess.GetFileAsBytes("res://classifier.bytes");
        context_ = new Context();
        network_ = Network.FromMemory(context_, file, new NetworkFileOptions { Inference = true, Steps = 1, Batch = 1 });
        step_ = network_.GetGraph(NetworkGraph.Inference);
        input_ = network_.GetBuffer<float>("input");
        output_ = network_.GetBuffer<float>("output");
        GD.Print("Synfire runs on " + context_.Properties.Name);
    }

    public override void _PhysicsProcess(double delta)
    {
        if (ticket_ != 0)
        {
            if (!step_.IsDone(ticket_)) return; // the buffers still belong to the replay
            Span<float> output = output_.Span;
            for (int i = 0; i < output.Length; ++i) Scores[i] = 0.9f * Scores[i] + output[i];
        }
        Rates.AsSpan().CopyTo(input_.Span);
        ticket_ = step_.Launch();
    }

    public override void _ExitTree()
    {
        foreach (IDisposable one in new IDisposable[] { output_, input_, step_, network_, context_ })
            if (one != null) one.Dispose();
    }
}
