-- network.lua - a classifier of two layers: defined, trained, evaluated, saved and loaded. It prints what
-- docs/examples/network.c prints.
--
-- SPDX-License-Identifier: MIT
local ffi = require("ffi")
local synfire = require("synfire")

local n_inputs, n_classes, n_rows = 41, 3, 99

-- Spikes per step. Every third input is more active; which ones depends on the class of the row.
local function noise(seed, i) return math.floor(seed * i % 2 ^ 32 / 2 ^ 28) end
local function rates(seed)
  local values = ffi.new("float[?]", n_rows * n_inputs)
  for r = 0, n_rows - 1 do
    for k = 0, n_inputs - 1 do
      local base = k % n_classes == r % n_classes and 20 or 12
      values[r * n_inputs + k] = (base + noise(seed, r * n_inputs + k)) / 128
    end
  end
  return values
end

local labels = {}
for r = 0, n_rows - 1 do labels[r + 1] = r % n_classes end

local function report(what, result)
  print(string.format("%s: loss %.9f, accuracy %.4f", what, result.loss, result.n_correct / result.n_counted))
end

local context = synfire.context()    -- a GPU if there is one, else the host
local network = context:network{ n_steps = 20, batch = 30 }
network:add_input("rates", "rates", n_inputs)
network:add_synapse("first", 53)
network:add_neurons("hidden", "lif")
network:add_synapse("second", n_classes)
network:add_neurons("potentials", "li")
network:add_readout("scores", "mean")
network:add_loss("loss", "cross_entropy")
network:add_optimizer("adam", "adam", 0.01)
network:build()
network:set_data("training", n_rows, rates(0x9e3779b1), labels)
network:set_data("evaluation", n_rows, rates(0x85ebca77), labels)
for _ = 1, 5 do report("5 epochs", network:train(20)) end
report("other rows", network:evaluate())
network:save("network.safetensors")
local loaded = context:network_from_file("network.safetensors")
loaded:set_data("evaluation", n_rows, rates(0x85ebca77), labels)
report("loaded", loaded:evaluate())
