-- senses.lua - two inputs, a block with a shortcut, and two heads. It prints what docs/examples/senses.c prints.
--
-- SPDX-License-Identifier: MIT
local synfire = require("synfire")

local rows = 96

-- Rates. Every n-th input is more active; which ones depends on the class of the row.
local function rates(inputs, n, class)
  local all = synfire.array("f32", rows * inputs)
  for i = 0, rows * inputs - 1 do
    local base = i % inputs % n == class(math.floor(i / inputs)) and 48 or 12
    all[i] = (base + math.floor(2654435761 * i % 2 ^ 32 / 2 ^ 28)) / 128
  end
  return all
end

local function what(row) return row % 3 end
local function place(row) return math.floor(row / 3) % 2 end
local function labels(class)
  local all = {}
  for row = 0, rows - 1 do all[row + 1] = class(row) end
  return all
end

local network = synfire.context():network{ n_steps = 20, batch = 32 }    -- a GPU if there is one, else the host
network:add_input("sound", "rates", 24):add_synapse("cochlea", 24):add_neurons("ear", "lif")
network:add_input("touch", "rates", 24):add_synapse("nerve", 24):add_neurons("skin", "lif")
network:add_stage{ kind = "concatenate", name = "both", inputs = { "ear", "skin" } }
network:add_synapse("inner", 48):add_neurons("block", "lif")
network:add_stage{ kind = "sum", name = "state", inputs = { "block", "both" } }    -- the shortcut goes around the block
for _, one in ipairs({ { "what", 3 }, { "where", 2 } }) do
  local head, classes = unpack(one)
  network:add_stage{ kind = "synapse", name = "to-" .. head, inputs = "state", values = { n_outputs = classes } }
  network:add_neurons(head .. "-v", "li"):add_readout(head, "mean"):add_loss(head .. "-loss", "cross_entropy")
end
network:add_optimizer("adam", "adam", 0.01):build()
network:set_arrays("training", rows, { { stage = "sound", role = "inputs", buffer = rates(24, 3, what) },
                                       { stage = "touch", role = "inputs", buffer = rates(24, 2, place) },
                                       { stage = "what-loss", role = "labels", buffer = labels(what) },
                                       { stage = "where-loss", role = "labels", buffer = labels(place) } })
for _ = 1, 5 do
  for _, of in ipairs(network:train_stages(15, { "what-loss", "where-loss" })) do
    print(string.format("%s %.9f, %d of 480", of.stage, of.loss, of.n_correct))
  end
end
