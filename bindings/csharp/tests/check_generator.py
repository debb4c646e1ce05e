#!/usr/bin/env python3
"""Additions to the C library need no line written by hand: check_generator.py MCS MONO CC LIBRARY FOLDER

A copy of synfire.h gets an operation whose descriptor has fields of every kind, an object with methods and an operation
of its own, another one that needs buffers, and methods of objects that there are. A small library in C has these
functions, and LIBRARY all others. The C# files are made from that header, and compiled together with the sources that
are written by hand. A program uses all of it and checks what it gets. What no rule fits must stop the generator.

SPDX-License-Identifier: MIT
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[3]
END = "/** @} */\n/** @cond PLATFORM */\n#ifdef __cplusplus\n}"

DECODE_RATE = """/** How to decode rates from spikes. */
typedef struct synfire_decode_rate_desc {
  /** `sizeof(synfire_decode_rate_desc)`. */
  uint32_t struct_size;
  /** One of `SYNFIRE_COUNT_*`. Default: per neuron. */
  int32_t kind SYNFIRE_ONE_OF(SYNFIRE_COUNT);
  /** `SYNFIRE_BOUND_*`, added up. Default: none. */
  uint32_t bounds SYNFIRE_ANY_OF(SYNFIRE_BOUND);
  /** 1: rates are added to what `rates` holds. Default 0: they replace it. */
  int32_t add SYNFIRE_FLAG;
  /** Steps T, at least 1. */
  int64_t n_steps;
  /** Neurons N, at least 1. */
  int64_t n_neurons;
  /** Read, in any format; `n_steps` steps. Given exactly if `source` is not. */
  synfire_buffer spikes SYNFIRE_READ("spikes [T, B, N]") SYNFIRE_UNLESS(source);
  /** The rates: ::SYNFIRE_DTYPE_F32. */
  synfire_buffer rates SYNFIRE_UPDATED("[B, N]");
  /** Which rows count. */
  synfire_buffer mask SYNFIRE_READ("[B]") SYNFIRE_NULLABLE;
  /** A layer to compare with. Optional. */
  synfire_layer reference SYNFIRE_NULLABLE;
  /** What delays the spikes, as synfire_delay_line_create() made it. Optional. */
  synfire_delay_line line SYNFIRE_NULLABLE;
  /** What the rates are called. */
  const char *label;
  /** The weight of each step. */
  const double *weights SYNFIRE_NULLABLE;
  /** How many. */
  uint64_t n_weights SYNFIRE_LENGTH_OF(weights);
  /** Further spikes. */
  const synfire_buffer *others SYNFIRE_READ("spikes [T, B, N]") SYNFIRE_NULLABLE;
  /** How many. */
  uint32_t n_others SYNFIRE_LENGTH_OF(others);
  /** Must be zero. */
  uint32_t reserved;
  /** The time constant in steps; the larger, the smoother. */
  double tau;
  /** A layer whose own spikes are decoded. Default: none. */
  synfire_layer source SYNFIRE_NULLABLE;
  /** What of the layer. Given exactly if `source` is. */
  const char *state SYNFIRE_WITH(source);
FIELD} synfire_decode_rate_desc;

/**
 * Appends a decoding of rates; as synfire_decode_rate().
 *
 * @param graph A graph.
 * @param desc  What to decode.
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_graph_record_decode_rate(synfire_graph graph,
                                                                         const synfire_decode_rate_desc *desc)
    SYNFIRE_NOEXCEPT;

/**
 * Decodes rates from spikes now.
 *
 * @param context A context.
 * @param desc    What to decode.
 * @param stream  A stream.
 * @since ABI 0.1
 */
SYNFIRE_API synfire_status SYNFIRE_CALL synfire_decode_rate(synfire_context context,
                                                            const synfire_decode_rate_desc *desc, synfire_stream stream)
    SYNFIRE_NOEXCEPT;

"""

DELAY_LINE = """/** A line that delays what goes into it. */
typedef struct synfire_delay_line_ *synfire_delay_line;

/** How to create a delay line. */
typedef struct synfire_delay_line_desc {
  /** `sizeof(synfire_delay_line_desc)`. */
  uint32_t struct_size;
  /** One of `SYNFIRE_RESET_*`. Default: hard. */
  int32_t reset SYNFIRE_ONE_OF(SYNFIRE_RESET);
  /** Taps of the line, at least 1. */
  int64_t n_taps;
  /** What the line holds at first; `n_taps` values. */
  synfire_buffer initial SYNFIRE_READ("[n_taps]") SYNFIRE_NULLABLE;
} synfire_delay_line_desc;

/** What a delay line has seen. */
typedef struct synfire_delay_line_status {
  /** `sizeof(synfire_delay_line_status)`; set before the call. */
  uint32_t struct_size;
  /** One of `SYNFIRE_DTYPE_*`: what the line stores. */
  int32_t dtype SYNFIRE_ONE_OF(SYNFIRE_DTYPE);
  /** 1: the line has been filled once. */
  int32_t is_full SYNFIRE_FLAG;
  /** Must be zero. */
  uint32_t reserved;
  /** Values that went in. */
  uint64_t n_values;
  /** The largest of the `n_values` values. */
  double maximum;
  /** Its name. */
  char name[32];
  /** Where it was made. */
  const char *origin;
} synfire_delay_line_status;

/** A delay: what goes in and what comes out. */
typedef struct synfire_delay_desc {
  /** `sizeof(synfire_delay_desc)`. */
  uint32_t struct_size;
  /** Must be zero. */
  uint32_t reserved;
  /** What goes in. */
  synfire_buffer source SYNFIRE_READ("[T, B, N]");
  /** What comes out. */
  synfire_buffer destination SYNFIRE_WRITTEN("[T, B, N]");
} synfire_delay_desc;

/** Creates a delay line; synfire_delay_line_desc::n_taps says how long. @since ABI 0.1 */
FUNCTION(synfire_delay_line_create, synfire_context context, const synfire_delay_line_desc *desc,
         synfire_delay_line *line)
/** Destroys a delay line. @since ABI 0.1 */
SYNFIRE_API void SYNFIRE_CALL synfire_delay_line_destroy(synfire_delay_line line SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;
/** Sets what every tap is multiplied by: `gain`. Then synfire_delay_line_query() counts anew. @since ABI 0.1 */
FUNCTION(synfire_delay_line_set_gain, synfire_delay_line line, double gain)
/** Names a tap. @since ABI 0.1 */
FUNCTION(synfire_delay_line_set_name, synfire_delay_line line, uint32_t index, const char *label, const char *unit,
         int32_t visible SYNFIRE_FLAG, int32_t reset SYNFIRE_ONE_OF(SYNFIRE_RESET), uint32_t bounds
         SYNFIRE_ANY_OF(SYNFIRE_BOUND))
/** Sets the taps. @since ABI 0.1 */
FUNCTION(synfire_delay_line_set_taps, synfire_delay_line line, const double *values,
         uint64_t count SYNFIRE_LENGTH_OF(values), synfire_stream stream SYNFIRE_NULLABLE)
/** Reads the taps. @since ABI 0.1 */
FUNCTION(synfire_delay_line_get_taps, synfire_delay_line line, double *values, uint64_t count
         SYNFIRE_LENGTH_OF(values))
/** Tells what a delay line has seen. @since ABI 0.1 */
FUNCTION(synfire_delay_line_query, synfire_delay_line line, synfire_delay_line_status *status)
/** Tells how much went in and came out. @since ABI 0.1 */
FUNCTION(synfire_delay_line_get_flow, synfire_delay_line line, uint64_t *n_in, double *share)
/** Describes a tap, or all of them. @since ABI 0.1 */
FUNCTION(synfire_delay_line_describe, synfire_delay_line line, const char *label SYNFIRE_NULLABLE,
         char *text SYNFIRE_NULLABLE, uint64_t capacity, uint64_t *length)
/** Tells what a line is called. @since ABI 0.1 */
FUNCTION(synfire_delay_line_get_name, synfire_delay_line line, char *text SYNFIRE_NULLABLE,
         uint64_t capacity SYNFIRE_LENGTH_OF(text), uint64_t *length)
/** Writes a sum of numbers, and how many there are. @since ABI 0.1 */
FUNCTION(synfire_graph_write_sum, synfire_graph graph, const double *values, uint64_t count SYNFIRE_LENGTH_OF(values),
         char *text SYNFIRE_NULLABLE, uint64_t capacity, uint64_t *length, int32_t *n_terms)
/** Copies what another line holds, where a mask is set. @since ABI 0.1 */
FUNCTION(synfire_delay_line_take, synfire_delay_line line, synfire_delay_line other, synfire_buffer mask
         SYNFIRE_READ("[N]") SYNFIRE_NULLABLE, synfire_stream stream SYNFIRE_NULLABLE)
/** Adds buffers to a line. @since ABI 0.1 */
FUNCTION(synfire_delay_line_add, synfire_delay_line line, const synfire_buffer *buffers, uint64_t count
         SYNFIRE_LENGTH_OF(buffers), const synfire_parameter_gradient *gradients,
         uint64_t n_gradients SYNFIRE_LENGTH_OF(gradients))
/** Clears a line whose signals have this shape. @since ABI 0.1 */
FUNCTION(synfire_delay_line_clear, synfire_delay_line line, int64_t n_steps, int32_t n_neurons, int64_t batch)
/** Appends a delay; as synfire_delay_line_delay(). @since ABI 0.1 */
FUNCTION(synfire_graph_record_delay, synfire_graph graph, synfire_delay_line line, const synfire_delay_desc *desc)
/** Delays now: the same operation that synfire_graph_record_delay() records. @since ABI 0.1 */
FUNCTION(synfire_delay_line_delay, synfire_delay_line line, const synfire_delay_desc *desc, synfire_stream stream)
/** Tells the mean of the state of a layer. @since ABI 0.1 */
FUNCTION(synfire_layer_get_mean, synfire_layer layer, double *mean)
/** Tells the kind of the elements that lie at an index. @since ABI 0.1 */
FUNCTION(synfire_buffer_find, synfire_buffer buffer, uint64_t index, int32_t *dtype SYNFIRE_ONE_OF(SYNFIRE_DTYPE))
/** Replaces one delay line by another. @since ABI 0.1 */
FUNCTION(synfire_graph_exchange, synfire_graph graph, synfire_delay_line old_line, synfire_delay_line new_line)
/** Tells the properties that the host of a context has. @since ABI 0.1 */
FUNCTION(synfire_context_get_host, synfire_context context, synfire_context_properties *properties)

/** Sums of buffers. */
typedef struct synfire_mixer_ *synfire_mixer;

/** How to create a mixer. */
typedef struct synfire_mixer_desc {
  /** `sizeof(synfire_mixer_desc)`. */
  uint32_t struct_size;
  /** 1: sums are rounded once. Default 0: at each addition. */
  int32_t exact SYNFIRE_FLAG;
  /** What it is called. */
  const char *label;
  /** The line that owns it. */
  synfire_delay_line line;
  /** `n_sources` buffers. */
  const synfire_buffer *sources SYNFIRE_READ("[N]");
  /** How many. */
  uint64_t n_sources SYNFIRE_LENGTH_OF(sources);
} synfire_mixer_desc;

/** Creates a mixer. @since ABI 0.1 */
FUNCTION(synfire_mixer_create, synfire_context context, const synfire_mixer_desc *desc, synfire_mixer *mixer)
/** Destroys a mixer. @since ABI 0.1 */
SYNFIRE_API void SYNFIRE_CALL synfire_mixer_destroy(synfire_mixer mixer SYNFIRE_NULLABLE) SYNFIRE_NOEXCEPT;

"""

PROGRAM = """using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using Synfire;

static class Program
{
    static void Check(bool good, string what)
    {
        if (!good) throw new InvalidOperationException(what);
    }

    static void Throws<E>(Action call, string text) where E : Exception
    {
        try
        {
            call();
        }
        catch (E problem)
        {
            Check(problem.Message.Contains(text), problem.Message);
            return;
        }
        Check(false, "threw nothing: " + text);
    }

    static void Objects(Context context, Graph graph, Layer layer, Buffer<float> first, Buffer<float> second)
    {
        DelayLine other = new DelayLine(context);
        DelayLine line = new DelayLine(context, new DelayLineOptions { Taps = 2, Reset = Reset.Soft, Initial = first });
        Check(line.Context == context && line.NativeValue != IntPtr.Zero, "the line");
        Throws<SynfireException>(() => new DelayLine(context, new DelayLineOptions { Taps = -1 }), "SYN-");

        line.SetGain(0.5);
        line.SetTaps(new[] { 1.5, 2.5 });
        double[] taps = new double[2];
        line.GetTaps(taps);
        Check(taps[0] == 1.5 && taps[1] == 2.5, "the taps");
        line.GetTaps(taps.AsSpan(1));
        Check(taps[1] == 1.5, "one tap");
        Throws<SynfireException>(() => line.GetTaps(new double[5]), "SYN-");
        line.SetTaps(taps.AsSpan(0, 1), IntPtr.Zero);

        line.SetName(1, "first", "mV", true, Reset.Soft, Bound.Lower | Bound.Upper);
        DelayLineStatus status = line.Query();
        Check(status.Name == "first mV 1 1 1 3" && status.Origin == "new" && status.IsFull && status.Values == 2 &&
              status.Maximum == 0.5 && status.Dtype == DType.F64, "the status: " + status.Name);
        Throws<ArgumentNullException>(() => line.SetName(1, "first", null, true, Reset.Hard, 0), "unit");

        Check(line.Name == status.Name && line.Describe("\u03c4") == "\u03c4 of 2" && line.Describe(null) == "", "texts");
        (string sum, int terms) = graph.WriteSum(new[] { 1.0, 2.5 });
        Check(sum == "3.5" && terms == 2, "a text of a graph");
        Throws<SynfireException>(() => line.Describe("none"), "SYN-");

        (ulong entered, double share) = line.GetFlow();
        Check(entered == 2 && share == 0.5, "the flow");
        line.Take(other);
        line.Take(other, first, IntPtr.Zero);
        Throws<ArgumentNullException>(() => line.Take(null), "other");
        line.Add(new[] { first, second }, new Dictionary<string, BufferBase> { { "tau", first } });
        line.GetTaps(taps);
        Check(taps[0] == 2 && taps[1] == 1, "what was added");
        line.Clear(neurons: 4, steps: 2, batch: 1);
        line.GetTaps(taps);
        Check(taps[0] == 2 && taps[1] == 4, "steps and neurons");
        Throws<ArgumentOutOfRangeException>(() => line.Clear(steps: -1, neurons: 4, batch: 1), "steps");

        Check(layer.Mean == 0.25 && second.Find(2) == DType.Bf16, "the methods of a layer and a buffer");
        Check(context.Host.Backend == Backend.Host, "the properties");
        first.Fill(7.0);
        graph.Delay(line, new DelayArguments { Source = first, Destination = second }).Instantiate();
        graph.Exchange(other, line);
        graph.Wait(graph.Launch());
        Check(second.Span[3] == 7f, "a replay");
        line.Delay(new DelayArguments { Source = first, Destination = second });
        Check(second.Span[3] == 0.5f, "the operation now");

        MixerOptions options = new MixerOptions { Label = "m", Line = line, Sources = { first, second } };
        using (Mixer mixer = new Mixer(line.Context, options)) Check(mixer.ToString() == "mixer", "the mixer");
        Throws<ArgumentNullException>(() => new Mixer(context, new MixerOptions { Label = "m" }), "Line");
        Throws<ArgumentNullException>(() => new Mixer(context, null), "options");

        line.Dispose();
        Check(line.IsClosed && line.ToString() == "delay line (closed)" && other.GetFlow().In == 1, "the line is open");
        Throws<ObjectDisposedException>(() => line.SetGain(1.0), "Synfire.DelayLine");
        Throws<ObjectDisposedException>(() => new Mixer(context, options), "");
        other.Dispose();
    }

    // Only the line reaches the first buffer, and nothing the second one.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static DelayLine Kept(Context context, out WeakReference kept, out WeakReference dropped)
    {
        kept = new WeakReference(context.CreateBuffer<float>(MemoryKind.Host, 4));
        dropped = new WeakReference(context.CreateBuffer<float>(MemoryKind.Host, 4));
        return new DelayLine(context, new DelayLineOptions { Initial = (Buffer<float>)kept.Target });
    }

    static void Lifetime(Context context)
    {
        WeakReference kept, dropped;
        DelayLine line = Kept(context, out kept, out dropped);
        // What is left on the stack may keep an object for a while.
        for (int i = 0; i < 100 && dropped.IsAlive; ++i)
        {
            new DelayLine(context).Dispose();
            GC.Collect();
            GC.WaitForPendingFinalizers();
        }
        Check(kept.IsAlive && !((Buffer<float>)kept.Target).IsClosed, "the line keeps its buffer");
        Check(!dropped.IsAlive, "nothing keeps the other buffer");
        Check(line.GetFlow().In == 1, "one line");
        line.Dispose();
    }

    static void Run(Context context, Graph graph, Layer layer, DelayLine line, Buffer<uint> spikes, Buffer<float> rates)
    {
        DecodeRateArguments arguments = new DecodeRateArguments
        {
            Kind = CountKind.PerStep,
            Bounds = Bound.Lower | Bound.Upper,
            Add = true,
            Steps = 20L,
            Neurons = 64L,
            Spikes = spikes,
            Rates = rates,
            Mask = null,
            Reference = layer,
            Line = line,
            Label = "rates",
            Weights = { 0.5, 0.5 },
            Others = { spikes, spikes },
            Tau = 4.0
        };
        IList<double> weights = arguments.Weights;
        graph.DecodeRate(arguments).Fill(rates, weights[0]);
        context.DecodeRate(arguments);
        context.DecodeRate(arguments, IntPtr.Zero);
        arguments.Spikes = null;
        Throws<ArgumentNullException>(() => context.DecodeRate(arguments), "Spikes");
        arguments.Source = layer;
        Throws<ArgumentNullException>(() => context.DecodeRate(arguments), "State");
        arguments.State = "v";
        context.DecodeRate(arguments);
    }

    static void Main()
    {
        using (Context context = new Context(Backend.Host))
        using (Graph graph = new Graph(context))
        using (Graph decoding = new Graph(context))
        using (Layer layer = new Layer(context, steps: 20, neurons: 64))
        using (DelayLine line = new DelayLine(context))
        using (Buffer<uint> spikes = layer.CreateSpikes())
        using (Buffer<float> rates = layer.CreateState<float>())
        {
            Run(context, decoding, layer, line, spikes, rates);
            line.Dispose();
            Lifetime(context);
            using (Buffer<float> first = context.CreateBuffer<float>(MemoryKind.Host, 4))
            using (Buffer<float> second = context.CreateBuffer<float>(MemoryKind.Host, 4))
                Objects(context, graph, layer, first, second);
        }
        Console.WriteLine("done");
    }
}
"""

# Functions that the library has besides. A handle is the address of its object here.
LIBRARY = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "synfire.h"

struct synfire_delay_line_ { double gain; double taps[2]; char name[32]; int32_t initial; };
struct synfire_mixer_ { int32_t n; };
static int n_lines;

static synfire_status wrong(void) { return synfire_buffer_fill(NULL, 0.0); }

synfire_status synfire_delay_line_create(synfire_context context, const synfire_delay_line_desc *desc,
                                         synfire_delay_line *line) {
  if (!context || desc->struct_size != sizeof *desc || desc->n_taps < 0) return wrong();
  if (desc->n_taps > 0 && (!desc->initial || desc->reset != SYNFIRE_RESET_SOFT)) return wrong();
  *line = calloc(1, sizeof **line);
  ++n_lines;
  return SYNFIRE_OK;
}
void synfire_delay_line_destroy(synfire_delay_line line) { free(line); --n_lines; }
synfire_status synfire_delay_line_set_gain(synfire_delay_line line, double gain) {
  line->gain = gain;
  return SYNFIRE_OK;
}
synfire_status synfire_delay_line_set_name(synfire_delay_line line, uint32_t index, const char *label, const char *unit,
                                           int32_t visible, int32_t reset, uint32_t bounds) {
  snprintf(line->name, sizeof line->name, "%s %s %u %d %d %u", label, unit, index, visible, reset, bounds);
  return SYNFIRE_OK;
}
synfire_status synfire_delay_line_set_taps(synfire_delay_line line, const double *values, uint64_t count,
                                           synfire_stream stream) {
  if (count > 2 || stream) return wrong();
  memcpy(line->taps, values, count * sizeof *values);
  return SYNFIRE_OK;
}
synfire_status synfire_delay_line_get_taps(synfire_delay_line line, double *values, uint64_t count) {
  if (count > 2) return wrong();
  memcpy(values, line->taps, count * sizeof *values);
  return SYNFIRE_OK;
}
synfire_status synfire_delay_line_query(synfire_delay_line line, synfire_delay_line_status *status) {
  if (status->struct_size != sizeof *status) return wrong();
  status->dtype = SYNFIRE_DTYPE_F64;
  status->is_full = 1;
  status->n_values = 2;
  status->maximum = line->gain;
  status->origin = "new";
  memcpy(status->name, line->name, sizeof line->name);
  return SYNFIRE_OK;
}
synfire_status synfire_delay_line_get_flow(synfire_delay_line line, uint64_t *n_in, double *share) {
  *n_in = (uint64_t)n_lines;
  *share = line->gain;
  return SYNFIRE_OK;
}
/* A text: its size first, with the terminating null, then all of it. */
static synfire_status give(const char *given, char *text, uint64_t capacity, uint64_t *length) {
  *length = strlen(given) + 1;
  if (!text) return capacity == 0 ? SYNFIRE_OK : wrong();
  if (capacity < *length) return wrong();
  strcpy(text, given);
  return SYNFIRE_OK;
}
synfire_status synfire_delay_line_describe(synfire_delay_line line, const char *label, char *text, uint64_t capacity,
                                           uint64_t *length) {
  char whole[32] = "";
  if (label && strcmp(label, "none") == 0) return wrong();
  if (label) snprintf(whole, sizeof whole, "%s of 2", label);
  return line ? give(whole, text, capacity, length) : wrong();
}
synfire_status synfire_delay_line_get_name(synfire_delay_line line, char *text, uint64_t capacity, uint64_t *length) {
  return give(line->name, text, capacity, length);
}
synfire_status synfire_graph_write_sum(synfire_graph graph, const double *values, uint64_t count, char *text,
                                       uint64_t capacity, uint64_t *length, int32_t *n_terms) {
  char whole[32];
  snprintf(whole, sizeof whole, "%g", values[0] + values[1]);
  *n_terms = (int32_t)count;
  return graph ? give(whole, text, capacity, length) : wrong();
}
synfire_status synfire_delay_line_take(synfire_delay_line line, synfire_delay_line other, synfire_buffer mask,
                                       synfire_stream stream) {
  return other && other != line && !stream ? (mask ? synfire_buffer_mark_written(mask) : SYNFIRE_OK) : wrong();
}
synfire_status synfire_delay_line_add(synfire_delay_line line, const synfire_buffer *buffers, uint64_t count,
                                      const synfire_parameter_gradient *gradients, uint64_t n_gradients) {
  if (strcmp(gradients[0].name, "tau") != 0 || gradients[0].gradient != buffers[0]) return wrong();
  line->taps[0] = (double)count;
  line->taps[1] = (double)n_gradients;
  return synfire_buffer_mark_written(buffers[count - 1]);
}
synfire_status synfire_delay_line_clear(synfire_delay_line line, int64_t n_steps, int32_t n_neurons, int64_t batch) {
  line->taps[0] = (double)n_steps;
  line->taps[1] = n_neurons;
  return batch == 1 ? SYNFIRE_OK : wrong();
}
synfire_status synfire_graph_record_delay(synfire_graph graph, synfire_delay_line line,
                                          const synfire_delay_desc *desc) {
  synfire_copy_desc copy = {.struct_size = sizeof copy, .source = desc->source, .destination = desc->destination};
  return line ? synfire_graph_record_copy(graph, &copy) : wrong();
}
synfire_status synfire_delay_line_delay(synfire_delay_line line, const synfire_delay_desc *desc,
                                        synfire_stream stream) {
  return stream ? wrong() : synfire_buffer_fill(desc->destination, line->gain);
}
synfire_status synfire_layer_get_mean(synfire_layer layer, double *mean) {
  *mean = 0.25;
  return layer ? SYNFIRE_OK : wrong();
}
synfire_status synfire_buffer_find(synfire_buffer buffer, uint64_t index, int32_t *dtype) {
  *dtype = index == 2 ? SYNFIRE_DTYPE_BF16 : SYNFIRE_DTYPE_F32;
  return synfire_buffer_mark_written(buffer);
}
synfire_status synfire_graph_exchange(synfire_graph graph, synfire_delay_line old_line, synfire_delay_line new_line) {
  int32_t last;
  return old_line && new_line ? synfire_graph_get_last_operation(graph, &last) : wrong();
}
synfire_status synfire_context_get_host(synfire_context context, synfire_context_properties *properties) {
  return synfire_context_get_properties(context, properties);
}
synfire_status synfire_mixer_create(synfire_context context, const synfire_mixer_desc *desc, synfire_mixer *mixer) {
  if (!context || !desc->line || strcmp(desc->label, "m") != 0 || desc->n_sources != 2) return wrong();
  *mixer = calloc(1, sizeof **mixer);
  return synfire_buffer_mark_written(desc->sources[1]);
}
void synfire_mixer_destroy(synfire_mixer mixer) { free(mixer); }

static synfire_status decode(const synfire_decode_rate_desc *desc) {
  const int numbers = desc->kind == SYNFIRE_COUNT_PER_STEP && desc->add == 1 && desc->n_steps == 20 &&
                      desc->tau == 4.0 && desc->n_weights == 2 && desc->weights[1] == 0.5;
  const int from_layer = desc->source && strcmp(desc->state, "v") == 0 && !desc->spikes;
  const int objects = (from_layer || (desc->spikes && desc->others[1] == desc->spikes)) && desc->rates &&
                      !desc->mask && desc->reference && desc->line && desc->n_others == 2;
  return numbers && objects && strcmp(desc->label, "rates") == 0 ? SYNFIRE_OK : wrong();
}
synfire_status synfire_graph_record_decode_rate(synfire_graph graph, const synfire_decode_rate_desc *desc) {
  return graph ? decode(desc) : wrong();
}
synfire_status synfire_decode_rate(synfire_context context, const synfire_decode_rate_desc *desc,
                                   synfire_stream stream) {
  return context && !stream ? decode(desc) : wrong();
}
"""


# Without their names, steps and neurons do not compile.
UNNAMED = """static class Program
{
    static void Run(Synfire.DelayLine line) { line.Clear(2, 4, 1); }

    static void Main() { }
}
"""

# A list whose entries no rule fits.
UNKNOWN = """/** Sets everything. @since ABI 0.1 */
FUNCTION(synfire_layer_set_all, synfire_layer layer, const synfire_parameter_values *values,
         uint64_t count SYNFIRE_LENGTH_OF(values))

"""

# Lines that fill in the descriptor.
FILLED = ["desc.kind = (int)Kind;", "desc.bounds = (uint)Bounds;", "desc.add = Add ? 1 : 0;", "desc.n_steps = Steps;",
          'desc.spikes = call.Use(Source == null ? Errors.Given(Spikes, "Spikes") : Spikes);',
          "desc.source = call.Use(Source);",
          'desc.state = call.Text(Source == null ? State : Errors.Given(State, "State"));',
          'desc.rates = call.Use(Errors.Given(Rates, "Rates"));',
          "desc.mask = call.Use(Mask);", "desc.reference = call.Use(Reference);", "desc.line = call.Use(Line);",
          'desc.label = call.Text(Errors.Given(Label, "Label"));', "desc.n_weights = (ulong)Weights.Count;",
          "desc.weights = (double*)call.Numbers(Weights);", "desc.n_others = (uint)Others.Count;",
          'desc.others = call.Use(Others, "Others");', "desc.tau = Tau;"]

# Lines of Objects.g.cs: what creates an object, what it keeps, and how its methods call.
CALLED = ["desc.n_taps = Taps;", "desc.initial = call.Use(Initial);", "desc.exact = Exact ? 1 : 0;",
          'desc.line = call.Use(Errors.Given(Line, "Line"));',
          "Errors.Check(Native.synfire_mixer_create(context.Raw, &desc, &made));", "Uses = call.Used;",
          "Errors.Check(Native.synfire_delay_line_set_gain(Raw, gain));",
          "synfire_delay_line_status status = synfire_delay_line_status.Init;", "return new DelayLineStatus(status);",
          "Checked(Native.synfire_graph_exchange(", "Keep(call.Used);", "GC.KeepAlive(this);", "return (@in, share);",
          "Dtype = (DType)raw.dtype;"]

# Members of the documentation, and words of them.
DOCUMENTED = {"T:Synfire.DecodeRateArguments": "", "P:Synfire.DecodeRateArguments.Kind": "Default: per neuron.",
              "P:Synfire.DecodeRateArguments.Add": "true: rates are added to what",
              "P:Synfire.DecodeRateArguments.Spikes": "Read, in any format;",
              "P:Synfire.DecodeRateArguments.Rates": "Read and written. Its shape is [B, N].",
              "P:Synfire.DecodeRateArguments.Mask": "Which rows count. Read. Its shape is [B]. Optional.",
              "P:Synfire.DecodeRateArguments.Tau": "The time constant in steps; the larger, the smoother.",
              "P:Synfire.DecodeRateArguments.Line": "What delays the spikes",
              "T:Synfire.DelayLine": "A line that delays what goes into it.",
              "T:Synfire.DelayLineOptions": "Arguments for the creation of",
              "P:Synfire.DelayLineOptions.Taps": "Taps of the line, at least 1.",
              "P:Synfire.DelayLineOptions.Initial": "What the line holds at first; values. Read.",
              "M:Synfire.DelayLine.#ctor(Synfire.Context,Synfire.DelayLineOptions)": "Creates a delay line",
              "M:Synfire.DelayLine.SetGain(System.Double)": "Sets what every tap is multiplied by",
              "P:Synfire.DelayLine.Name": "What a line is called.",
              "M:Synfire.DelayLine.Describe(System.String)": "Describes a tap, or all of them.",
              "M:Synfire.DelayLine.Query": "Tells what a delay line has seen.",
              "T:Synfire.DelayLineStatus": "What a delay line has seen.",
              "P:Synfire.DelayLineStatus.IsFull": "true: the line has been filled once.",
              "P:Synfire.DelayLineStatus.Maximum": "The largest of the values.",
              "M:Synfire.Graph.Delay(Synfire.DelayLine,Synfire.DelayArguments)": "Appends a delay",
              "M:Synfire.DelayLine.Delay(Synfire.DelayArguments,System.IntPtr)": "Delays now: the same operation",
              "P:Synfire.Layer.Mean": "The mean of the state of a layer.",
              "M:Synfire.BufferBase.Find(System.UInt64)": "Tells the kind of the elements",
              "T:Synfire.MixerOptions": "Arguments for the creation of",
              "P:Synfire.MixerOptions.Sources": "Buffers. Read. Its shape is [N].",
              "M:Synfire.Graph.DecodeRate(Synfire.DecodeRateArguments)": "Appends a decoding of rates",
              "M:Synfire.Context.DecodeRate(Synfire.DecodeRateArguments,System.IntPtr)": "Decodes rates from spikes"}


def run(*command, **variables):
    return subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env={**os.environ, **variables})


def generate(folder, field="", more=""):
    """The C# files of a header with what is new; the operation's descriptor ends with `field`."""
    header = folder / "synfire.h"
    text = (ROOT / "include/synfire/synfire.h").read_text(encoding="utf-8")
    if text.count(END) != 1:
        sys.exit("synfire.h does not end as expected")
    new = re.sub(r"^FUNCTION\((\w+), (.*?)\)\n(?=/\*\*|\n)",
                 r"SYNFIRE_API synfire_status SYNFIRE_CALL \1(\2) SYNFIRE_NOEXCEPT;\n",
                 DELAY_LINE + DECODE_RATE.replace("FIELD", field) + more, flags=re.S | re.M)
    new = new.replace(" @since ABI 0.1 */", "\n\n@since ABI 0.1 */")
    header.write_text(text.replace(END, new + END), encoding="utf-8")
    return run(sys.executable, ROOT / "bindings/csharp/generate.py", header, folder)


def refused(made, what):
    if made.returncode == 0 or what not in made.stdout:
        sys.exit(f"'{what}' was not refused: {made.returncode}, {made.stdout}")


def main():
    mcs, mono, compiler, library = sys.argv[1:5]
    folder = pathlib.Path(sys.argv[5])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    refused(generate(folder, field="  /** An address. */\n  void *address SYNFIRE_NULLABLE;\n"),
            "synfire_decode_rate_desc.address: no rule")
    refused(generate(folder, more=UNKNOWN), "synfire_layer_set_all: no rule makes a list of")

    made = generate(folder)
    if made.returncode != 0:
        sys.exit(made.stdout)
    for file, lines in (("Operations.g.cs", FILLED), ("Objects.g.cs", CALLED)):
        text = (folder / file).read_text(encoding="utf-8")
        for line in lines:
            if not re.search(rf"^ +{re.escape(line)}", text, re.M):
                sys.exit(f"{file} has no '{line}'")

    (folder / "Program.cs").write_text(PROGRAM, encoding="utf-8")
    (folder / "library.c").write_text(LIBRARY, encoding="utf-8")
    (folder / "Unnamed.cs").write_text(UNNAMED, encoding="utf-8")
    written = [path for path in (ROOT / "bindings/csharp/src").glob("*.cs") if not path.name.endswith(".g.cs")]
    options = ["-nologo", "-unsafe", "-langversion:7.2", "-warn:4", "-warnaserror"]
    program = [mcs, *options, f"-out:{folder}/Program.exe", f"-r:{folder}/Synfire.dll"]
    for command in ([mcs, *options, "-target:library", f"-doc:{folder}/Synfire.xml", f"-out:{folder}/Synfire.dll",
                     *sorted(written), *sorted(folder.glob("*.g.cs"))],
                    [*program, folder / "Program.cs"],
                    [compiler, "-shared", "-fPIC", "-Wall", "-Werror", "-o", folder / "libnew.so",
                     folder / "library.c", library, f"-Wl,-rpath,{pathlib.Path(library).parent}"]):
        compiled = run(*command)
        if compiled.returncode != 0:
            sys.exit(compiled.stdout)
    ran = run(mono, folder / "Program.exe", SYNFIRE_LIBRARY=str(folder / "libnew.so"))
    if ran.returncode != 0 or ran.stdout != "done\n":
        sys.exit(f"the program: {ran.returncode}, {ran.stdout}")
    refused(run(*program, folder / "Unnamed.cs"), "write Clear(steps: ..., neurons: ..., batch: ...)")

    documentation = xml.etree.ElementTree.parse(folder / "Synfire.xml")
    members = {member.get("name"): " ".join("".join(member.find("summary").itertext()).split())
               for member in documentation.iter("member") if member.find("summary") is not None}
    for name, words in DOCUMENTED.items():
        if words not in members.get(name, "") or not members.get(name):
            sys.exit(f"{name}: '{words}' is not in '{members.get(name)}'")

    # Without anything new nothing of it is left behind.
    again = run(sys.executable, ROOT / "bindings/csharp/generate.py", ROOT / "include/synfire/synfire.h", folder)
    objects = [(place / "Objects.g.cs").read_text(encoding="utf-8") for place in (folder, ROOT / "bindings/csharp/src")]
    if again.returncode != 0 or objects[0] != objects[1]:
        sys.exit(f"Objects.g.cs is not as before: {again.stdout}")
    print(f"an operation of {len(FILLED)} fields, two objects and their methods, all documented and run")


if __name__ == "__main__":
    main()
