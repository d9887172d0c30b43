---What events say, in one short line for the statusline. Nothing here reads or draws anything.
local M = {}

---@return memoryd.State
function M.new()
  return { dreams = {}, inbox = 0 }
end

---@param state memoryd.State
---@param event memoryd.Event|table
function M.update(state, event)
  if event.kind == 'dream/finished' then
    state.dreams[event.dream] = nil
  elseif event.kind:match('^dream/') then
    local before = state.dreams[event.dream] or {}
    state.dreams[event.dream] = {
      number = event.dream,
      project = event.project,
      phase = event.phase or before.phase or '',
      step = event.step or before.step or '',
      usd = event.usd or before.usd or 0,
    }
  end
end

---Whether the number of statements in the inbox may have changed.
---@param event memoryd.Event
---@return boolean
function M.touches_inbox(event)
  return event.kind == 'extraction/finished'
    or event.kind == 'memory/saved'
    or event.kind == 'memory/retired'
    or event.kind == 'dream/finished'
end

---@param folder string
---@param root string empty for what belongs to the user and not to a project
---@return boolean
local function is_within(folder, root)
  return root == '' or folder == root or folder:sub(1, #root + 1) == root .. '/'
end

---@param dream memoryd.Dream
---@return string
local function dream_text(dream)
  local step = dream.step:gsub('^(%d+) of (%d+)$', '%1/%2')
  local words = { 'dream' }
  for _, word in ipairs({ step, dream.phase }) do
    if word ~= '' then
      words[#words + 1] = word
    end
  end
  if dream.usd > 0 then
    words[#words + 1] = ('$%.2f'):format(dream.usd)
  end
  return table.concat(words, ' ')
end

---@param state memoryd.State
---@param folder string the folder somebody works in
---@return string
function M.text(state, folder)
  local parts, newest = {}, nil
  for _, dream in pairs(state.dreams) do
    local is_ours = is_within(folder, dream.project)
    if is_ours and (newest == nil or dream.number > newest.number) then
      newest = dream
    end
  end
  if newest then
    parts[#parts + 1] = dream_text(newest)
  end
  if state.inbox > 0 then
    parts[#parts + 1] = ('inbox %d'):format(state.inbox)
  end
  return #parts > 0 and 'memory: ' .. table.concat(parts, ', ') or ''
end

return M
