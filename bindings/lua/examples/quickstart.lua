-- quickstart.lua - the shortest complete program: 128 leaky integrate-and-fire neurons, 16 steps a replay.
--
-- It prints what docs/examples/quickstart.c prints.
--
-- SPDX-License-Identifier: MIT
local ffi, bit = require("ffi"), require("bit")
local synfire = require("synfire")

local frames, steps, neurons, words = 1000, 16, 128, 4

-- Stands for a microphone, a camera, a joint: every neuron gets a constant input, from 0 to twice the threshold.
local function read_sensor(x)
  for t = 0, steps - 1 do
    for i = 0, neurons - 1 do x[t * neurons + i] = 2 * i / neurons end
  end
end

-- Stands for a motor, a screen: counts spikes, 32 neurons to a word.
local seen = 0
local function act(spikes)
  for i = 0, steps * words - 1 do
    local word = bit.tobit(spikes[i])
    while word ~= 0 do
      word = bit.band(word, word - 1)
      seen = seen + 1
    end
  end
end

local late_frames, previous = 0, ffi.new("uint32_t[?]", steps * words)

-- [quickstart]
local context = synfire.context()                                          -- a GPU if one is usable, else the host
local lif = context:layer{ n_steps = steps, n_neurons = neurons, tau = 20 } -- LIF, f32, hard reset: all defaults
local x = lif:sequence_buffer{ memory = "pinned" }                         -- x [16, 128]
local spikes = lif:spike_buffer{ memory = "pinned" }                       -- spikes [16, 4], 32 a word
local step = context:record(function(graph)                                -- the state continues from replay to replay
  graph:forward(lif, { x = x, spikes = spikes })                           -- everything slow happens here
end)

local input, output = x:array(), spikes:array()                            -- the buffers' own memory; [0] is the first
for frame = 1, frames do
  read_sensor(input)
  local ticket = step:launch()                                             -- one replay; then wait 1 ms at most
  local late = not step:wait(ticket, 1e-3)
  act(late and previous or output)                                         -- a late frame is your decision
  if late then step:wait(ticket) end                                       -- before buffers are used again
  ffi.copy(previous, output, ffi.sizeof(previous))
  late_frames = late_frames + (late and 1 or 0)
end
-- [quickstart]
print(string.format("%d frames of %d steps: %d spikes, %d late frames", frames, steps, seen, late_frames))
