-- main.lua - 256 creatures with one spiking network learn to find food, to avoid walls and to flee, while one watches.
--
--   love docs/examples/engines/love                 the game
--     --seed N            another world, other hunters (1)
--     --load FILE         begins with the weights of a file; key L loads, key S saves
--     --save FILE         saves the weights at the end of --frames and --score
--     --frames N          no window: N steps with a teacher, as fast as they go
--     --score [MINUTES]   no window: learns for that long (3), then lives alone in a world that it never saw; prints a table
--     --measure           no window: 60 s at 60 frames a second, learning, then 60 s alone; prints times and late frames
--     --screenshot FILE N the game draws its N-th frame into a file, and ends
--     --threads N         threads of the brain (0: as many as there are processors)
--
-- What lives here: the command line, the order of a frame, keys, what is drawn. SPDX-License-Identifier: MIT
local source = love.filesystem.getSource()
package.path = source .. "/?.lua;" .. source .. "/../../../../bindings/lua/?.lua;" .. package.path

local ffi = require("ffi")
local synfire = require("synfire")

local World = require("world")
local teacher = require("teacher")
local Brain = require("brain")

local options = { seed = 1, threads = 0, minutes = 3 }
for at, word in ipairs(arg) do
  local name, value, more = word:match("^%-%-(%w+)$"), arg[at + 1], arg[at + 2]
  if name == "seed" or name == "frames" or name == "threads" then
    options[name] = assert(tonumber(value), word .. " needs a number")
  elseif name == "load" or name == "save" then
    options[name] = assert(value, word .. " needs a file")
  elseif name == "screenshot" then
    options.screenshot, options.shot_frame = assert(value, word .. " needs a file"), tonumber(more) or 600
  elseif name == "score" then
    options.score, options.minutes = true, tonumber(value) or options.minutes
  elseif name == "measure" then
    options.measure = true
  end
end

-- The library: where SYNFIRE_LIBRARY says, beside the game, or where the repository's builds put it.
local function load_library()
  if os.getenv("SYNFIRE_LIBRARY") then return synfire.load() end
  local folders = { source }
  for _, build in ipairs({ "build", "build/host", "build/release", "build/dev", "build/test" }) do
    folders[#folders + 1] = source .. "/../../../../" .. build .. "/lib"
  end
  for _, folder in ipairs(folders) do
    if pcall(synfire.load, folder) then return end
  end
  synfire.load()
end

-- ---- A frame --------------------------------------------------------------------------------------------------------------

local world, brain
local phase, phase_steps = "learning", 0
local directions = ffi.new("int32_t[?]", World.n_creatures)
local wanted = ffi.new("int32_t[?]", World.n_creatures)
local dice = love.math.newRandomGenerator(99)
local scores = {}
local brain_ms = 0 -- of the last frame

-- The order of a step. "teacher" and "random" are there to be compared with.
local function step(with)
  if with == "teacher" then
    teacher.directions(world, directions)
  elseif with == "random" then
    for i = 0, World.n_creatures - 1 do
      if world.n_steps % 10 == 0 then directions[i] = dice:random(0, World.n_rays - 1) end
    end
  else
    world:see(brain.inputs)
    if with == "learning" then teacher.directions(world, wanted) end
    local begun = love.timer.getTime()
    brain:forget(world.born)
    brain:act(directions)
    if with == "learning" then brain:learn(wanted) end
    brain_ms = (love.timer.getTime() - begun) * 1000
  end
  world:advance(directions)
end

local function new_world(seed)
  if world then world:close() end
  world = World.new(seed)
  if brain then brain.network:reset_state() end
end

-- ---- Without a window -----------------------------------------------------------------------------------------------------

-- The last three: in one world that the network never saw, each of them for as long.
local function score(minutes_of_life)
  local unseen = options.seed + 1000
  for _, who in ipairs({ "alone", "teacher", "random" }) do
    new_world(unseen)
    for _ = 1, minutes_of_life * 3600 do step(who) end
    scores[who] = world:food_per_minute()
    print(string.format("%-8s %6.2f food per minute, %4d deaths", who, scores[who], world.n_deaths))
  end
  print(string.format("alone eats %.2f of what the teacher eats", scores.alone / scores.teacher))
end

local function percentile(values, n, part)
  local sorted = {}
  for i = 1, n do sorted[i] = values[i] end
  table.sort(sorted)
  return sorted[math.max(1, math.ceil(part * n))]
end

-- Frames at their time, without drawing: a frame is late when it ends after the next one should have begun.
local function measure(with)
  local brains, wholes, late, n = {}, {}, 0, 3600
  for _ = 1, 120 do step(with) end
  local begun = love.timer.getTime()
  for frame = 1, n do
    local start = love.timer.getTime()
    step(with)
    local now = love.timer.getTime()
    brains[frame], wholes[frame] = brain_ms, (now - start) * 1000
    local due = begun + frame / 60
    if now > due then late = late + 1 else love.timer.sleep(due - now) end
  end
  print(string.format("%-8s brain p50 %.2f ms, p99 %.2f ms; frame p50 %.2f ms, p99 %.2f ms; %d of %d frames late", with,
                      percentile(brains, n, 0.5), percentile(brains, n, 0.99), percentile(wholes, n, 0.5),
                      percentile(wholes, n, 0.99), late, n))
end

local function without_window()
  if options.measure then
    measure("learning")
    measure("alone")
  elseif options.score then
    for _ = 1, options.minutes * 3600 do step("learning") end
    print(string.format("learnt for %g minutes", options.minutes))
    score(1)
  else
    for _ = 1, options.frames do step("learning") end
    print(string.format("%d frames: %d eaten, %d deaths", options.frames, world.n_eaten, world.n_deaths))
  end
  if options.save then brain.network:save(options.save) end
  love.event.quit()
end

-- ---- With a window --------------------------------------------------------------------------------------------------------

local scale, chosen, paused, fast, message = 20, 0, false, false, ""
local history, n_history = {}, 0           -- brain times of the last 600 frames
local p50, p99 = 0, 0
local raster, raster_image, raster_at, raster_columns = nil, nil, 0, 320
local words

local function weights_file()
  love.filesystem.createDirectory("") -- the folder of the game's own files
  return love.filesystem.getSaveDirectory() .. "/creatures.safetensors"
end

-- The phases of the game: with the teacher, alone in a new world, then the teacher and chance in the same one.
local lengths = { learning = options.minutes * 3600, alone = 3600, teacher = 3600, random = 3600 }
local following = { learning = "alone", alone = "teacher", teacher = "random", random = "alone" }
local function choose(x, y)
  local best = math.huge
  for i = 0, World.n_creatures - 1 do
    local dx, dy = world.x[i] - x, world.y[i] - y
    if dx * dx + dy * dy < best then best, chosen = dx * dx + dy * dy, i end
  end
end

local function next_phase()
  if phase ~= "learning" then scores[phase] = world:food_per_minute() end
  phase, phase_steps = following[phase], 0
  new_world(options.seed + 1000)
  choose(World.width / 2, World.height / 2)
end

local function game_step()
  step(phase)
  phase_steps = phase_steps + 1
  if phase == "learning" or phase == "alone" then
    history[n_history % 600 + 1] = brain_ms
    n_history = n_history + 1
    if n_history % 30 == 0 then
      local n = math.min(n_history, 600)
      p50, p99 = percentile(history, n, 0.5), percentile(history, n, 0.99)
    end
    -- The spikes of the chosen creature: its bits in the buffer of the hidden neurons, one column a step.
    brain.spikes:download(words)
    local per_row = Brain.n_hidden / 32
    for t = 0, Brain.n_steps - 1 do
      local column = raster_at % raster_columns
      for neuron = 0, Brain.n_hidden - 1 do
        local word = words[(t * World.n_creatures + chosen) * per_row + math.floor(neuron / 32)]
        local spike = bit.band(bit.rshift(word, neuron % 32), 1)
        raster:setPixel(column, neuron, spike, spike * 0.85, spike * 0.3, 0.25 + 0.75 * spike)
      end
      raster_at = raster_at + 1
    end
  end
  if phase_steps >= lengths[phase] then next_phase() end
end

function love.load()
  local ok, problem = pcall(function()
    load_library()
    brain = Brain.new{ n_threads = options.threads }
    if options.load then brain.network:load(options.load) end
  end)
  if not ok then
    io.stderr:write(tostring(problem), "\n")
    os.exit(1)
  end
  new_world(options.seed)
  if options.frames or options.score or options.measure then return without_window() end
  raster = love.image.newImageData(raster_columns, Brain.n_hidden)
  raster_image = love.graphics.newImage(raster)
  raster_image:setFilter("nearest", "nearest")
  choose(World.width / 2, World.height / 2)
  words = synfire.array("bits", Brain.n_steps * World.n_creatures * Brain.n_hidden / 32)
end

local owed, frame = 0, 0
function love.update(dt)
  if paused then return end
  owed = math.min(owed + dt, 2 * World.step)
  if options.screenshot then owed = World.step end
  local n = fast and 8 or 0
  while owed >= World.step do
    owed, n = owed - World.step, n + 1
  end
  for _ = 1, n do game_step() end
  frame = frame + n
end

local function text(words_, x, y, r, g, b)
  love.graphics.setColor(r or 0.85, g or 0.9, b or 0.95)
  love.graphics.print(words_, x, y)
end

function love.draw()
  local g = love.graphics
  g.clear(0.06, 0.07, 0.09)
  g.setColor(0.27, 0.3, 0.36)
  for _, wall in ipairs(world.walls) do g.rectangle("fill", wall[1] * scale, wall[2] * scale, wall[3] * scale, wall[4] * scale) end
  g.setColor(0.45, 0.85, 0.4)
  for i = 0, World.n_foods - 1 do g.circle("fill", world.food_x[i] * scale, world.food_y[i] * scale, 4) end
  local x, y = world.x[chosen] * scale, world.y[chosen] * scale
  g.setColor(1, 0.85, 0.3, 0.25)
  for ray = 0, World.n_rays - 1 do
    local angle, reach = world.heading[chosen] + ray * 2 * math.pi / World.n_rays, World.range
    for kind = 0, World.n_kinds - 1 do
      local near = brain.inputs[(chosen * World.n_rays + ray) * World.n_kinds + kind]
      if near > 0 then reach = (1 - near) * World.range end
    end
    g.line(x, y, x + math.cos(angle) * reach * scale, y + math.sin(angle) * reach * scale)
  end
  for i = 0, World.n_creatures - 1 do
    local cx, cy, heading = world.x[i] * scale, world.y[i] * scale, world.heading[i]
    if i == chosen then g.setColor(1, 0.85, 0.3) else g.setColor(0.4, 0.7, 0.95) end
    g.circle("fill", cx, cy, World.creature_radius * scale)
    if i == chosen then g.circle("line", cx, cy, 14) end
    g.setColor(0.06, 0.07, 0.09)
    g.line(cx, cy, cx + math.cos(heading) * 7, cy + math.sin(heading) * 7)
  end
  g.setColor(0.95, 0.3, 0.25)
  for i = 0, World.n_hunters - 1 do
    g.circle("fill", world.hunter_x[i] * scale, world.hunter_y[i] * scale, World.hunter_radius * scale)
  end

  -- The head-up display: who steers, times, scores, the raster.
  g.setColor(0, 0, 0, 0.65)
  g.rectangle("fill", 14, 14, 610, 106)
  g.rectangle("fill", 14, 562, 668, 146)
  local left = math.max(0, lengths[phase] - phase_steps) / 60
  local titles = { learning = "learning from a teacher", alone = "alone in a world never seen", teacher = "the teacher itself",
                   random = "steered at random" }
  text(string.format("%s, %.0f s left", titles[phase], left), 24, 20)
  text(string.format("brain: p50 %.2f ms, p99 %.2f ms a frame; %d creatures, one replay%s", p50, p99, World.n_creatures,
                     phase == "learning" and " forward, one backward" or ""), 24, 38)
  text(string.format("food per creature and minute: %.2f; deaths: %d", world:food_per_minute(), world.n_deaths), 24, 56)
  local line = {}
  for _, who in ipairs({ "alone", "teacher", "random" }) do
    if scores[who] then line[#line + 1] = string.format("%s %.2f", who, scores[who]) end
  end
  text(#line > 0 and "scores: " .. table.concat(line, ", ") or "scores: when the teacher has left", 24, 74)
  text(message ~= "" and message or "S save  L load  N next  F faster  space pause  click: choose", 24, 100, 0.6, 0.65, 0.7)
  text(string.format("spikes of creature %d: %d neurons, %d steps a frame", chosen, Brain.n_hidden, Brain.n_steps), 24, 566)
  raster_image:replacePixels(raster)
  g.setColor(1, 1, 1)
  g.draw(raster_image, 24, 586, 0, 2.03, 1.85)
  if options.screenshot and frame >= options.shot_frame then
    local file = options.screenshot
    options.screenshot = nil
    g.captureScreenshot(function(image)
      local out = assert(io.open(file, "wb"))
      out:write(image:encode("png"):getString())
      out:close()
      love.event.quit()
    end)
  end
end

function love.keypressed(key)
  if key == "s" then
    brain.network:save(weights_file())
    message = "saved: " .. weights_file()
  elseif key == "l" then
    local ok, problem = pcall(brain.network.load, brain.network, weights_file())
    message = ok and "loaded" or "not loaded: " .. tostring(problem)
  elseif key == "n" then
    next_phase()
  elseif key == "f" then
    fast = not fast
  elseif key == "space" then
    paused = not paused
  elseif key == "escape" then
    love.event.quit()
  end
end

function love.mousepressed(x, y)
  choose(x / scale, y / scale)
end
