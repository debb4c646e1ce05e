-- teacher.lua - what a creature should do, from all there is to know: food in reach, hunters, walls.
--
-- SPDX-License-Identifier: MIT
local World = require("world")

local teacher = {}
local n_rays, pi, cos, sin = World.n_rays, math.pi, math.cos, math.sin
local fear = 4.5 -- metres

-- The direction of a creature: towards the nearest food, away from a hunter that is near, around walls. One of its rays.
local function direction(world, i)
  local x, y, heading = world.x[i], world.y[i], world.heading[i]
  local food, distance = world:nearest_food(x, y)
  local to_x, to_y = cos(heading), sin(heading)
  if food >= 0 and distance > 0 then
    to_x, to_y = (world.food_x[food] - x) / distance, (world.food_y[food] - y) / distance
  end
  local hunter, danger = world:nearest_hunter(x, y)
  if hunter >= 0 and danger < fear then
    local weight = 3 * (fear - danger) / fear / math.max(danger, 0.1)
    to_x, to_y = to_x + (x - world.hunter_x[hunter]) * weight, to_y + (y - world.hunter_y[hunter]) * weight
  end
  local ray = math.floor((math.atan2(to_y, to_x) - heading) / (2 * pi / n_rays) + 0.5) % n_rays
  for aside = 0, n_rays / 2 do
    if not world:is_blocked(i, (ray + aside) % n_rays) then return (ray + aside) % n_rays end
    if not world:is_blocked(i, (ray - aside) % n_rays) then return (ray - aside) % n_rays end
  end
  return ray
end

-- The directions of all creatures, into an array.
function teacher.directions(world, into)
  for i = 0, World.n_creatures - 1 do into[i] = direction(world, i) end
end

return teacher
