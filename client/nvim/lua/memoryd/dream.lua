---Dreams: memoryd tidies a project's memories up. Its progress is in the statusline.
local session = require('memoryd.session')
local ui = require('memoryd.ui')

local M = {}

M.actions = { 'start', 'status', 'stop', 'undo' }

---@type table<integer, boolean> the dreams that were started here
local ours = {}
local is_listening = false

---@param event memoryd.Event|table
local function report_end(event)
  if event.kind ~= 'dream/finished' or not ours[event.dream] then
    return
  end
  ours[event.dream] = nil
  local words = event.words ~= '' and event.words or event.reason
  local is_good = event.state == 'done' or event.state == 'previewed'
  local level = is_good and vim.log.levels.INFO or vim.log.levels.WARN
  ui.notify(('dream %d is %s: %s'):format(event.dream, event.state, words), level)
end

local run = {}

function run.start()
  if not is_listening then
    is_listening = true
    session.listen(report_end)
  end
  session.request(
    'dream/start',
    { cwd = session.cwd(), force = true },
    ui.reporting(function(started)
      ours[started.dream] = true
      ui.notify(('dream %d has started'):format(started.dream))
    end)
  )
end

function run.status()
  session.request(
    'dream/status',
    { cwd = session.cwd() },
    ui.reporting(function(status)
      ui.notify(status.message)
    end)
  )
end

function run.stop()
  session.request(
    'dream/stop',
    { cwd = session.cwd() },
    ui.reporting(function(dream)
      ui.notify(('dream %d is %s'):format(dream.dream, dream.state))
    end)
  )
end

function run.undo()
  session.request(
    'dream/undo',
    { cwd = session.cwd() },
    ui.reporting(function(undone)
      local left = #undone.left > 0 and (', %d changed since and left'):format(#undone.left) or ''
      local words = 'dream %d is undone: %d files restored%s'
      ui.notify(words:format(undone.dream, #undone.restored, left))
    end)
  )
end

---@param action? 'start'|'status'|'stop'|'undo'
function M.dream(action)
  local chosen = run[action or 'start']
  if not chosen then
    local known = table.concat(M.actions, ', ')
    ui.notify(('there is no dream %s; there are: %s'):format(action, known), vim.log.levels.ERROR)
    return
  end
  chosen()
end

return M
