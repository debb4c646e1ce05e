-- conf.lua - a window of 1280 x 720, or none where the command line asks for none.
--
-- SPDX-License-Identifier: MIT
function love.conf(t)
  t.identity = "synfire-creatures"
  t.version = "11.4"
  t.window.title = "Synfire: 256 creatures, one replay a frame"
  t.window.width, t.window.height = 1280, 720
  t.modules.audio, t.modules.sound, t.modules.joystick, t.modules.video = false, false, false, false
  for _, word in ipairs(arg) do
    if word == "--frames" or word == "--measure" or word == "--score" then
      t.modules.window, t.modules.graphics = false, false
    end
  end
end
