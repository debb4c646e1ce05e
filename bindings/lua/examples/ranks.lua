-- ranks.lua - the ranks that mpirun has started learn one network together. Without mpirun there is one rank. The network is
-- the same for any number of them, with the same bits: mpirun -n 2 luajit ranks.lua
--
-- SPDX-License-Identifier: MIT
local synfire = require("synfire")

local inputs, classes, rows = 41, 3, 99

local function rates(seed)
  local all = synfire.array("f32", rows * inputs)
  for i = 0, rows * inputs - 1 do
    local base = i % inputs % classes == math.floor(i / inputs) % classes and 20 or 12
    all[i] = (base + math.floor(seed * i % 2 ^ 32 / 2 ^ 28)) / 128
  end
  return all
end

local function learn(context, communicator)
  local network = context:network{ n_steps = 20, batch = 30, communicator = communicator }
  network:add_input("rates", "rates", inputs)
  network:add_synapse("first", 53):add_neurons("hidden", "lif")
  network:add_synapse("second", classes):add_neurons("potentials", "li")
  network:add_readout("scores", "mean")
  network:add_loss("loss", "cross_entropy")
  network:add_optimizer("adam", "adam", 0.01):build()
  local labels = {}
  for row = 0, rows - 1 do labels[row + 1] = row % classes end
  network:set_data("training", rows, rates(2654435761), labels)
  return network:train(20).loss
end

local context = synfire.context{ backend = "host", n_threads = 1 }
local is_started = os.getenv("OMPI_COMM_WORLD_SIZE") or os.getenv("PMI_SIZE") or os.getenv("SLURM_NTASKS")
local communicator = context:communicator(is_started and {} or { transport = "loopback", size = 1 })
local place = communicator:get_properties()
print(string.format("rank %d of %d: loss %.9f", place.rank, place.size, learn(context, communicator)))
print(string.format("alone: loss %.9f", learn(context)))
