// TrainedNetwork.cs - a small trained network in a game: it feels with 41 sensors which of three surfaces it touches.
//
// classifier.bytes is the file that the example Network.cs writes, without what only training needs. One step of the
// network runs with every FixedUpdate, and the potentials of its neurons go on from one to the next. Nothing here waits,
// and after OnEnable nothing allocates.
//
// SPDX-License-Identifier: MIT
using System;
using Synfire;
using UnityEngine;

/// <summary>Names one of three classes from 41 rates, one step with every FixedUpdate.</summary>
public sealed class TrainedNetwork : MonoBehaviour
{
    /// <summary>The number of sensors, and of classes.</summary>
    public const int Sensors = 41, Classes = 3;

    /// <summary>The network's file, such as classifier.bytes.</summary>
    public TextAsset file;

    /// <summary>How active each sensor is, from 0 to 1: the probability that it spikes in a step. Set it from other
    /// scripts.</summary>
    public float[] rates = new float[Sensors];

    /// <summary>The class with the highest score in the last updates; -1 before the first.</summary>
    public int Decision { get; private set; }

    /// <summary>Updates in which the replay before was not done yet.</summary>
    public int LateUpdates { get; private set; }

    // A decision looks back over about ten updates.
    private const float Memory = 0.9f;
    private readonly float[] scores_ = new float[Classes];
    private Context context_;
    private Network network_;
    private Graph step_;
    private Buffer<float> input_, output_;
    private ulong ticket_;

    private void OnEnable()
    {
        context_ = new Context();
        network_ = Network.FromMemory(context_, file.bytes, new NetworkFileOptions { Inference = true, Steps = 1, Batch = 1 });
        network_.ResetState();
        step_ = network_.GetGraph(NetworkGraph.Inference);
        input_ = network_.GetBuffer<float>("input");
        output_ = network_.GetBuffer<float>("output");
        if (input_.Length != Sensors || output_.Length != Classes)
            throw new ArgumentException("a network of " + input_.Length + " sensors and " + output_.Length + " classes");
        Array.Clear(scores_, 0, Classes);
        Decision = -1;
        ticket_ = 0;
        Debug.Log("Synfire runs on " + context_.Properties.Name);
    }

    private void FixedUpdate()
    {
        if (ticket_ != 0)
        {
            if (!step_.IsDone(ticket_))
            {
                ++LateUpdates;
                return; // the buffers still belong to the replay
            }
            Span<float> output = output_.Span;
            for (int i = 0; i < Classes; ++i) scores_[i] = Memory * scores_[i] + output[i];
            Decision = 0;
            for (int i = 1; i < Classes; ++i)
                if (scores_[i] > scores_[Decision]) Decision = i;
        }
        rates.AsSpan().CopyTo(input_.Span);
        ticket_ = step_.Launch();
    }

    private void OnDisable()
    {
        if (output_ != null) output_.Dispose();
        if (input_ != null) input_.Dispose();
        if (step_ != null) step_.Dispose();
        if (network_ != null) network_.Dispose();
        if (context_ != null) context_.Dispose();
        output_ = input_ = null;
        ticket_ = 0;
    }
}
