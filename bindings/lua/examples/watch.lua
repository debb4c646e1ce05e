-- watch.lua - a network that one watches while it learns. It shows how far it is on the error stream, and prints what
-- docs/examples/watch.c prints.
--
-- SPDX-License-Identifier: MIT
local synfire = require("synfire")

local inputs, classes, rows, batch, rounds, batches = 41, 3, 99, 33, 10, 9

-- Spikes per step. Every third input is more active; which ones depends on the class of the row.
local function rates(seed)
  local all = synfire.array("f32", rows * inputs)
  for i = 0, rows * inputs - 1 do
    local base = i % inputs % classes == math.floor(i / inputs) % classes and 24 or 12
    all[i] = (base + math.floor(seed * i % 2 ^ 32 / 2 ^ 28)) / 128
  end
  return all
end

local context = synfire.context()    -- a GPU if there is one, else the host
local network = context:network{ n_steps = 20, batch = batch }
network:add_input("rates", "rates", inputs)
network:add_synapse("first", 53):add_neurons("hidden", "lif")
network:add_synapse("second", classes):add_neurons("potentials", "li")
network:add_readout("scores", "mean")
network:add_loss("loss", "cross_entropy"):add_optimizer("adam", "adam", 0.005)
network:keep("hidden.monitor first.monitor")
network:build()
local labels = {}
for row = 0, rows - 1 do labels[row + 1] = row % classes end
network:set_data("training", rows, rates(2654435761), labels)
network:set_data("evaluation", rows, rates(2246822519), labels)
local start = os.time()    -- whole seconds; os.clock() would be the time of all processors
local last
-- [watch]
for round = 1, rounds do
  local learnt = network:train(batches)
  local hidden, first = network:get_monitor("hidden"), network:get_monitor("first")    -- of this call
  local tested = network:evaluate()
  local accuracy = tonumber(tested.n_correct) / tonumber(tested.n_counted)
  last = string.format("loss %.9f, other rows %.9f, accuracy %.4f, rate %.9f, silent %.4f, weights %.9f, gradients %.9f",
    learnt.loss, tested.loss, accuracy, hidden.rate, hidden.silent, first.weight_norm, first.gradient_norm)
  local each = math.max(os.time() - start, 1) / round
  io.stderr:write(string.format("\r%d of %d, loss %.4f, accuracy %.4f, rate %.4f, %.0f rows/s, %.1f s left ", round, rounds,
    learnt.loss, accuracy, hidden.rate, batches * batch / each, each * (rounds - round)))
end
io.stderr:write("\n")
-- [watch]
print(last)
