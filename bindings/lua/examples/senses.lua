-- senses.lua - two inputs, a block with a shortcut, and two heads. It prints what docs/examples/senses.c prints.
--
-- SPDX-License-Identifier: MIT
local ffi = require("ffi")
local synfire = require("synfire")

local n_rows = 96

-- Rates. Every n-th input is more active; which ones depends on the class of the row.
local function noise(i) return math.floor(0x9e3779b1 * i % 2 ^ 32 / 2 ^ 28) end
local function rates(inputs, n, class)
  local values = ffi.new("float[?]", n_rows * inputs)
  for r = 0, n_rows - 1 do
    for k = 0, inputs - 1 do
      values[r * inputs + k] = ((k % n == class(r) and 48 or 12) + noise(r * inputs + k)) / 128
    end
  end
  return values
end

local function what(row) return row % 3 end
local function place(row) return math.floor(row / 3) % 2 end
local function labels(class)
  local values = {}
  for r = 0, n_rows - 1 do values[r + 1] = class(r) end
  return values
end

local context = synfire.context()    -- a GPU if there is one, else the host
local network = context:network{ n_steps = 20, batch = 32 }
for _, sense in ipairs({ { "sound", "cochlea", "ear" }, { "touch", "nerve", "skin" } }) do
  local input, synapse, neurons = unpack(sense)
  network:add_input(input, "rates", 24)
  network:add_synapse(synapse, 24)
  network:add_neurons(neurons, "lif")
end
network:add_stage{ kind = "concatenate", name = "both", inputs = { "ear", "skin" } }
network:add_synapse("inner", 48)
network:add_neurons("block", "lif")
network:add_stage{ kind = "sum", name = "state", inputs = { "block", "both" } }    -- the shortcut goes around the block
for _, head in ipairs({ { "what", 3 }, { "where", 2 } }) do
  local name, classes = unpack(head)
  network:add_stage{ kind = "synapse", name = "to-" .. name, inputs = "state", values = { n_outputs = classes } }
  network:add_neurons(name .. "-v", "li")
  network:add_readout(name, "mean")
  network:add_loss(name .. "-loss", "cross_entropy")
end
network:add_optimizer("adam", "adam", 0.01)
network:build()
network:set_arrays("training", n_rows, {
  { stage = "sound", role = "inputs", buffer = rates(24, 3, what) },
  { stage = "touch", role = "inputs", buffer = rates(24, 2, place) },
  { stage = "what-loss", role = "labels", buffer = labels(what) },
  { stage = "where-loss", role = "labels", buffer = labels(place) } })
for _ = 1, 5 do
  for _, of in ipairs(network:train_stages(15, { "what-loss", "where-loss" })) do
    print(string.format("%s %.9f, %d of 480", of.stage, of.loss, of.n_correct))
  end
end
