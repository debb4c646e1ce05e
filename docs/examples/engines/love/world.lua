-- world.lua - where the creatures live: Box2D moves and collides; a grid in FFI arrays says what is where, for the rays.
--
-- A world is drawn from a seed, and a step of it has a fixed length, so that the same program goes the same way again.
-- Lengths are in metres. What creatures do with what they see is not here.
--
-- SPDX-License-Identifier: MIT
local ffi = require("ffi")

local World = { width = 64, height = 36, cell = 0.5, n_creatures = 256, n_foods = 160, n_hunters = 6, n_walls = 14,
                n_rays = 16, range = 6.4, creature_radius = 0.35, hunter_radius = 0.8, step = 1 / 60 }
World.__index = World

local columns, rows = World.width / World.cell, World.height / World.cell
local n_cells, n_rays = columns * rows, World.n_rays
local EMPTY, WALL, FOOD, HUNTER, CREATURE = 0, 1, 2, 3, 4
World.n_kinds = 4

local floor, sin, cos, sqrt, pi = math.floor, math.sin, math.cos, math.sqrt, math.pi
local creature_speed, hunter_speed, largest_turn = 4.5, 3.2, 0.2

local function cell_of(x, y)
  local column, row = floor(x * (1 / World.cell)), floor(y * (1 / World.cell))
  -- Written so that a number that is none is outside too: FFI arrays check no index.
  if column >= 0 and row >= 0 and column < columns and row < rows then return row * columns + column end
  return -1
end

function World.new(seed)
  local world = setmetatable({}, World)
  world.random = love.math.newRandomGenerator(seed)
  world.physics = love.physics.newWorld(0, 0)
  world.static, world.grid = ffi.new("uint8_t[?]", n_cells), ffi.new("uint8_t[?]", n_cells)
  world.walls = {}
  world:add_wall(0, 0, World.width, World.cell)
  world:add_wall(0, World.height - World.cell, World.width, World.cell)
  world:add_wall(0, 0, World.cell, World.height)
  world:add_wall(World.width - World.cell, 0, World.cell, World.height)
  for _ = 1, World.n_walls do
    local long, flat = world.random:random(4, 16) * World.cell, world.random:random() < 0.5
    world:add_wall(world.random:random(6, columns - 22) * World.cell, world.random:random(6, rows - 22) * World.cell,
                   flat and long or 2 * World.cell, flat and 2 * World.cell or long)
  end
  world.food_x, world.food_y = ffi.new("double[?]", World.n_foods), ffi.new("double[?]", World.n_foods)
  for i = 0, World.n_foods - 1 do world.food_x[i], world.food_y[i] = world:free_place() end
  local n = World.n_creatures
  world.x, world.y, world.heading = ffi.new("double[?]", n), ffi.new("double[?]", n), ffi.new("double[?]", n)
  world.bodies, world.born = {}, ffi.new("uint8_t[?]", n)
  for i = 0, n - 1 do
    world.bodies[i] = world:add_body(World.creature_radius)
    world:bear(i)
  end
  world.hunter_x, world.hunter_y = ffi.new("double[?]", World.n_hunters), ffi.new("double[?]", World.n_hunters)
  world.hunter_heading = ffi.new("double[?]", World.n_hunters)
  world.hunters = {}
  for i = 0, World.n_hunters - 1 do
    world.hunters[i] = world:add_body(World.hunter_radius)
    world.hunter_x[i], world.hunter_y[i] = world:free_place()
    world.hunters[i]:setPosition(world.hunter_x[i], world.hunter_y[i])
    world.hunter_heading[i] = world.random:random() * 2 * pi
  end
  world.n_eaten, world.n_deaths, world.n_steps = 0, 0, 0
  world:draw_grid()
  return world
end

function World:add_wall(x, y, width, height)
  local body = love.physics.newBody(self.physics, x + width / 2, y + height / 2, "static")
  love.physics.newFixture(body, love.physics.newRectangleShape(width, height))
  self.walls[#self.walls + 1] = { x, y, width, height }
  for row = floor(y / World.cell), floor((y + height) / World.cell) - 1 do
    for column = floor(x / World.cell), floor((x + width) / World.cell) - 1 do self.static[row * columns + column] = WALL end
  end
end

function World:add_body(radius)
  local body = love.physics.newBody(self.physics, 0, 0, "dynamic")
  love.physics.newFixture(body, love.physics.newCircleShape(radius)):setRestitution(0.2)
  body:setFixedRotation(true)
  return body
end

-- A place without a wall within one cell.
function World:free_place()
  while true do
    local column, row = self.random:random(2, columns - 3), self.random:random(2, rows - 3)
    local taken = 0
    for dy = -1, 1 do
      for dx = -1, 1 do taken = taken + self.static[(row + dy) * columns + column + dx] end
    end
    if taken == 0 then
      return (column + self.random:random()) * World.cell, (row + self.random:random()) * World.cell
    end
  end
end

function World:bear(i)
  self.x[i], self.y[i] = self:free_place()
  self.heading[i] = self.random:random() * 2 * pi
  self.bodies[i]:setPosition(self.x[i], self.y[i])
  self.bodies[i]:setLinearVelocity(0, 0)
  self.born[i] = 1
end

-- What is where. Food covers three by three cells, so that a thin ray meets it.
function World:draw_grid()
  local grid = self.grid
  ffi.copy(grid, self.static, n_cells)
  for i = 0, World.n_creatures - 1 do
    local at = cell_of(self.x[i], self.y[i])
    if at >= 0 and grid[at] == EMPTY then grid[at] = CREATURE end
  end
  for i = 0, World.n_foods - 1 do
    local at = cell_of(self.food_x[i], self.food_y[i])
    for dy = -1, 1 do
      for dx = -1, 1 do
        local near = at + dy * columns + dx
        if grid[near] ~= WALL then grid[near] = FOOD end
      end
    end
  end
  for i = 0, World.n_hunters - 1 do
    local column, row = floor(self.hunter_x[i] / World.cell), floor(self.hunter_y[i] / World.cell)
    for dy = -2, 2 do
      for dx = -2, 2 do
        local c, r = column + dx, row + dy
        if c >= 0 and r >= 0 and c < columns and r < rows and dx * dx + dy * dy < 6 and grid[r * columns + c] ~= WALL then
          grid[r * columns + c] = HUNTER
        end
      end
    end
  end
end

-- The kind and the distance that a ray meets.
local first, stride = 0.8, 0.4
local function cast(grid, x, y, angle)
  local dx, dy = cos(angle) * stride, sin(angle) * stride
  local distance = first
  x, y = x + dx * (first / stride), y + dy * (first / stride)
  while distance < World.range do
    local column, row = floor(x * 2), floor(y * 2)
    if not (column >= 0 and row >= 0 and column < columns and row < rows) then return WALL, distance end
    local kind = grid[row * columns + column]
    if kind ~= EMPTY then return kind, distance end
    x, y, distance = x + dx, y + dy, distance + stride
  end
  return EMPTY, World.range
end

-- What all creatures see, into `inputs` [creature, ray, kind]: how near that kind is on that ray, from 0 to 1.
function World:see(inputs)
  local per_creature = n_rays * World.n_kinds
  ffi.fill(inputs, World.n_creatures * per_creature * 4)
  for i = 0, World.n_creatures - 1 do
    local x, y, heading = self.x[i], self.y[i], self.heading[i]
    for ray = 0, n_rays - 1 do
      local kind, distance = cast(self.grid, x, y, heading + ray * (2 * pi / n_rays))
      if kind ~= EMPTY then inputs[i * per_creature + ray * World.n_kinds + kind - 1] = 1 - distance / World.range end
    end
  end
end

-- Whether a wall is near in the direction of a ray.
function World:is_blocked(i, ray)
  local angle = self.heading[i] + ray * (2 * pi / n_rays)
  local dx, dy = cos(angle), sin(angle)
  for distance = 0.5, 1.4, 0.3 do
    local at = cell_of(self.x[i] + dx * distance, self.y[i] + dy * distance)
    if at < 0 or self.static[at] == WALL then return true end
  end
  return false
end

function World:nearest_food(x, y)
  local best, nearest = World.range * World.range, -1
  for i = 0, World.n_foods - 1 do
    local dx, dy = self.food_x[i] - x, self.food_y[i] - y
    local squared = dx * dx + dy * dy
    if squared < best then best, nearest = squared, i end
  end
  return nearest, sqrt(best)
end

function World:nearest_hunter(x, y)
  local best, nearest = World.range * World.range, -1
  for i = 0, World.n_hunters - 1 do
    local dx, dy = self.hunter_x[i] - x, self.hunter_y[i] - y
    local squared = dx * dx + dy * dy
    if squared < best then best, nearest = squared, i end
  end
  return nearest, sqrt(best)
end

-- One step: every creature goes in the direction of one of its rays, 0 to 15. Those that are born have `born` 1 until the
-- next step.
function World:advance(directions)
  for i = 0, World.n_creatures - 1 do
    local turn = directions[i] * (2 * pi / n_rays)
    if turn > pi then turn = turn - 2 * pi end
    local speed = creature_speed * (1 - 0.7 * math.abs(turn) / pi)
    self.heading[i] = self.heading[i] + math.max(-largest_turn, math.min(largest_turn, turn))
    self.bodies[i]:setLinearVelocity(cos(self.heading[i]) * speed, sin(self.heading[i]) * speed)
    self.born[i] = 0
  end
  for i = 0, World.n_hunters - 1 do self:hunt(i) end
  self.physics:update(World.step)
  for i = 0, World.n_hunters - 1 do self.hunter_x[i], self.hunter_y[i] = self.hunters[i]:getPosition() end
  local bite, reach = World.hunter_radius + World.creature_radius + 0.1, World.creature_radius + 0.3
  for i = 0, World.n_creatures - 1 do
    self.x[i], self.y[i] = self.bodies[i]:getPosition()
    local _, hunter = self:nearest_hunter(self.x[i], self.y[i])
    if hunter < bite then
      self.n_deaths = self.n_deaths + 1
      self:bear(i)
    end
  end
  -- Who is near a food: the cells around it say so, and then the distance.
  local squared_reach = reach * reach
  for i = 0, World.n_creatures - 1 do
    local x, y = self.x[i], self.y[i]
    for food = 0, World.n_foods - 1 do
      local dx, dy = self.food_x[food] - x, self.food_y[food] - y
      if dx * dx + dy * dy < squared_reach then
        self.n_eaten = self.n_eaten + 1
        self.food_x[food], self.food_y[food] = self:free_place()
      end
    end
  end
  self.n_steps = self.n_steps + 1
  self:draw_grid()
end

-- Hunters run after the nearest creature that they see, and turn away from walls.
function World:hunt(h)
  local x, y, best = self.hunter_x[h], self.hunter_y[h], 64
  local heading = self.hunter_heading[h]
  local wanted
  for i = 0, World.n_creatures - 1 do
    local dx, dy = self.x[i] - x, self.y[i] - y
    local squared = dx * dx + dy * dy
    if squared < best then best, wanted = squared, math.atan2(dy, dx) end
  end
  if not wanted then
    wanted = heading + (self.random:random() - 0.5) * 0.6
    local at = cell_of(x + 2 * cos(heading), y + 2 * sin(heading))
    if at < 0 or self.static[at] == WALL then wanted = heading + 1 end
  end
  local turn = (wanted - heading + pi) % (2 * pi) - pi
  heading = heading + math.max(-0.05, math.min(0.05, turn))
  self.hunter_heading[h] = heading
  self.hunters[h]:setLinearVelocity(cos(heading) * hunter_speed, sin(heading) * hunter_speed)
end

-- Food for each creature and minute since the world began.
function World:food_per_minute()
  return self.n_eaten / World.n_creatures / (math.max(self.n_steps, 1) * World.step / 60)
end

function World:close()
  self.physics:destroy()
end

return World
