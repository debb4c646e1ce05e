-- network.lua - a classifier of two layers: defined, trained, evaluated, saved and loaded. It prints what
-- docs/examples/network.c prints.
--
-- SPDX-License-Identifier: MIT
local synfire = require("synfire")

local inputs, classes, rows = 41, 3, 99

-- Spikes per step. Every third input is more active; which ones depends on the class of the row.
local function rates(seed)
  local all = synfire.array("f32", rows * inputs)
  for i = 0, rows * inputs - 1 do
    local base = i % inputs % classes == math.floor(i / inputs) % classes and 20 or 12
    all[i] = (base + math.floor(seed * i % 2 ^ 32 / 2 ^ 28)) / 128
  end
  return all
end

local function report(what, result)
  print(string.format("%s: loss %.9f, accuracy %.4f", what, result.loss, result.n_correct / result.n_counted))
end

local context = synfire.context()    -- a GPU if there is one, else the host
local network = context:network{ n_steps = 20, batch = 30 }
network:add_input("rates", "rates", inputs)
network:add_synapse("first", 53):add_neurons("hidden", "lif")
network:add_synapse("second", classes):add_neurons("potentials", "li")
network:add_readout("scores", "mean")
network:add_loss("loss", "cross_entropy")
network:add_optimizer("adam", "adam", 0.01):build()
local labels = {}
for row = 0, rows - 1 do labels[row + 1] = row % classes end
network:set_data("training", rows, rates(2654435761), labels)
network:set_data("evaluation", rows, rates(2246822519), labels)
for _ = 1, 5 do report("5 epochs", network:train(20)) end
report("other rows", network:evaluate())
network:save("network.safetensors")
local loaded = context:network_from_file("network.safetensors")
report("loaded", loaded:set_data("evaluation", rows, rates(2246822519), labels):evaluate())
