// SpikingLayer.cs - a layer of neurons in a game: launches in FixedUpdate, reads the spikes of the replay before.
//
// Nothing here waits, and after Awake nothing allocates. Everything is closed in OnDisable, so that no object outlives a
// reload of scripts or play mode.
//
// SPDX-License-Identifier: MIT
using Synfire;
using UnityEngine;

/// <summary>128 leaky integrate-and-fire neurons that advance by 16 steps with every FixedUpdate.</summary>
public sealed class SpikingLayer : MonoBehaviour
{
    /// <summary>The input of every neuron, in units of its threshold; set it from other scripts.</summary>
    public float drive = 1.5f;

    /// <summary>The time constant of the membrane, in steps.</summary>
    public float tau = 20.0f;

    /// <summary>Spikes of the latest replay that was read.</summary>
    public int Spikes { get; private set; }

    /// <summary>Updates in which the replay before was not done yet.</summary>
    public int LateUpdates { get; private set; }

    private const int Neurons = 128, Steps = 16;
    private Context context_;
    private Layer layer_;
    private Buffer<float> x_;
    private Buffer<uint> spikes_;
    private Graph step_;
    private ulong ticket_;

    private void OnEnable()
    {
        context_ = new Context();
        layer_ = new Layer(context_, steps: Steps, neurons: Neurons);
        layer_.SetParameter("tau", tau);
        x_ = layer_.CreateSequence<float>(MemoryKind.Pinned);
        spikes_ = layer_.CreateSpikes(MemoryKind.Pinned);
        var forward = new ForwardArguments { X = x_, Spikes = spikes_, Tape = Tape.None };
        step_ = Graph.Record(context_, graph => graph.Forward(layer_, forward));
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
            Spikes = 0;
            foreach (uint word in spikes_.Span)
                for (uint left = word; left != 0; left &= left - 1) ++Spikes;
        }
        x_.Span.Fill(drive);
        ticket_ = step_.Launch();
    }

    private void OnDisable()
    {
        if (step_ != null) step_.Dispose();
        if (spikes_ != null) spikes_.Dispose();
        if (x_ != null) x_.Dispose();
        if (layer_ != null) layer_.Dispose();
        if (context_ != null) context_.Dispose();
        step_ = null;
        ticket_ = 0;
    }
}
