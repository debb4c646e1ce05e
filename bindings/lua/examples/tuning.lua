-- tuning.lua - a trained body with a new head, the rate of a schedule, and the best of all weights. It prints what
-- docs/examples/tuning.c prints.
--
-- SPDX-License-Identifier: MIT
local synfire = require("synfire")

local inputs, classes, rows = 41, 3, 99

-- Spikes per step. Every third input is more active; which ones depends on the row.
local function rates(seed)
  local all = synfire.array("f32", rows * inputs)
  for i = 0, rows * inputs - 1 do
    local base = i % inputs % classes == math.floor(i / inputs) % classes and 20 or 12
    all[i] = (base + math.floor(seed * i % 2 ^ 32 / 2 ^ 28)) / 128
  end
  return all
end

local function make(context, n_classes)
  local network = context:network{ n_steps = 20, batch = 30 }
  network:add_input("rates", "rates", inputs)
  network:add_synapse("first", 53):add_neurons("hidden", "lif")
  network:add_synapse("head", n_classes):add_neurons("potentials", "li")
  network:add_readout("scores", "mean")
  network:add_loss("loss", "cross_entropy")
  network:add_stage{ kind = "optimizer", name = "adam", values = { kind = "adam", learning_rate = 0.01, warmup_steps = 8,
    schedule = "step", schedule_steps = 40, schedule_factor = 0.5 } }
  network:build()
  local labels = {}
  for row = 0, rows - 1 do labels[row + 1] = row % classes % n_classes end
  network:set_data("training", rows, rates(2654435761), labels)
  return network:set_data("evaluation", rows, rates(2246822519), labels)
end

local function report(what, result)
  print(string.format("%s: loss %.9f", what, result.loss))
  return result.loss
end

local context = synfire.context()    -- a GPU if there is one, else the host
local body = make(context, classes)
report("body", body:train(40))
body:save("body.safetensors")
-- [fine tuning]
local network = make(context, 2)    -- with a new head
network:load_arrays("body.safetensors", { "first.weights", "first.bias" })
network:set_value("first", "frozen", 1)
report("head", network:train(20))
network:set_value("first", "frozen", 0)    -- then all of it, the body slowly
network:set_value("first", "learning_rate_factor", 0.1)
report("both", network:train(20))
-- [fine tuning]
-- [best]
local best, file, worse = math.huge, nil, 0
while worse < 2 do    -- until two epochs in a row were no better
  network:train(0)    -- an epoch
  local loss = report("epoch", network:evaluate())
  worse = loss < best and 0 or worse + 1
  if worse == 0 then best, file = loss, network:save_to_memory() end
end
network:load_from_memory(file)
-- [best]
report("best", network:evaluate())
