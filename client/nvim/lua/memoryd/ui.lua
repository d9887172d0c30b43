---What a person sees: messages, choices, floating windows, and the files themselves.
local config = require('memoryd.config')
local naming = require('memoryd.naming')
local session = require('memoryd.session')

local M = {}

local MOST_COLUMNS = 88

---@param text string
---@param level? integer
function M.notify(text, level)
  local said = 'memoryd: ' .. naming.one_line(text)
  vim.notify(said, level or vim.log.levels.INFO, { title = 'memoryd' })
end

---Says in one line what went wrong and what to type.
---@param failure memoryd.Failure
function M.report(failure)
  local hint = failure.hint:gsub('add %-%-anyway', 'use :Memory! remember')
  local level = failure.kind == 'bug' and vim.log.levels.ERROR or vim.log.levels.WARN
  M.notify(failure.message .. (hint ~= '' and '; ' .. hint or ''), level)
end

---A callback that reports a failure and passes on a result.
---@param on_result fun(result: table)
---@return memoryd.Callback
function M.reporting(on_result)
  return function(failure, result)
    if failure then
      M.report(failure)
    else
      on_result(result)
    end
  end
end

---@param memory memoryd.Memory
---@return string
function M.line_for(memory)
  local what = memory.description ~= '' and memory.description or memory.name
  local age = memory.stale and memory.age .. ', check it' or memory.age
  return naming.one_line(('%s  (%s, %s, %s)'):format(what, memory.type, memory.scope, age))
end

---@generic T
---@param items T[]
---@param prompt string
---@param format_item fun(item: T): string
---@param on_choice fun(item: T)
function M.select(items, prompt, format_item, on_choice)
  local options = { prompt = prompt, format_item = format_item, kind = 'memoryd' }
  vim.ui.select(items, options, function(item)
    if item then
      on_choice(item)
    end
  end)
end

---@param prompt string
---@param default string
---@param on_text fun(text: string)
function M.input(prompt, default, on_text)
  vim.ui.input({ prompt = prompt, default = default }, function(text)
    if text and vim.trim(text) ~= '' then
      on_text(text)
    end
  end)
end

---@param lines string[]
---@return integer width
---@return integer height
local function size_for(lines)
  local most_columns = math.max(20, math.min(MOST_COLUMNS, vim.o.columns - 4))
  local width, height = 40, 0
  for _, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line))
  end
  width = math.min(width, most_columns)
  for _, line in ipairs(lines) do
    height = height + math.max(1, math.ceil(vim.fn.strdisplaywidth(line) / width))
  end
  return width, math.max(1, math.min(height, vim.o.lines - 6))
end

---@class memoryd.Key
---@field key string
---@field label string
---@field run fun()

---A floating window over the middle of the screen; each key closes it and then does something.
---@param title string
---@param lines string[]
---@param keys memoryd.Key[]
---@return integer window
function M.float(title, lines, keys)
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].bufhidden = 'wipe'
  vim.bo[buffer].filetype = 'markdown'
  vim.bo[buffer].modifiable = false

  local width, height = size_for(lines)
  local options = {
    relative = 'editor',
    style = 'minimal',
    border = config.current.border,
    width = width,
    height = height,
    row = math.max(0, math.floor((vim.o.lines - height) / 2) - 1),
    col = math.max(0, math.floor((vim.o.columns - width) / 2)),
  }
  local labels = vim.tbl_map(function(key)
    return key.key .. ' ' .. key.label
  end, keys)
  labels[#labels + 1] = 'q close'
  local footer = ' ' .. table.concat(labels, '   ') .. ' '
  if vim.fn.has('nvim-0.9') == 1 then
    options.title = ' ' .. naming.one_line(title) .. ' '
  end
  if vim.fn.has('nvim-0.10') == 1 then
    options.footer = footer
  end
  local window = vim.api.nvim_open_win(buffer, true, options)
  vim.wo[window].wrap = true
  vim.wo[window].linebreak = true
  vim.wo[window].conceallevel = 2
  vim.wo[window].concealcursor = 'nc'
  if not options.footer then
    -- These versions also give floating windows the colours of a menu.
    vim.wo[window].winhighlight = 'NormalFloat:Normal,FloatBorder:Normal'
    vim.api.nvim_echo({ { footer, 'Comment' } }, false, {})
  end

  local function close()
    if vim.api.nvim_win_is_valid(window) then
      vim.api.nvim_win_close(window, true)
    end
  end
  for _, key in ipairs(keys) do
    vim.keymap.set('n', key.key, function()
      close()
      key.run()
    end, { buffer = buffer, nowait = true, desc = 'memoryd: ' .. key.label })
  end
  for _, key in ipairs({ 'q', '<Esc>' }) do
    vim.keymap.set('n', key, close, { buffer = buffer, nowait = true, desc = 'memoryd: close' })
  end
  return window
end

---Opens the file of a memory. What is written there is confirmed as the person's own: otherwise
---the daemon could not know who changed it.
---@param path string
---@param cwd string the project that it was found from
function M.open(path, cwd)
  vim.cmd(config.current.open .. ' ' .. vim.fn.fnameescape(path))
  vim.b.memoryd_cwd = cwd
  local group = vim.api.nvim_create_augroup('memoryd_file', { clear = false })
  local buffer = vim.api.nvim_get_current_buf()
  vim.api.nvim_clear_autocmds({ group = group, buffer = buffer })
  vim.api.nvim_create_autocmd('BufWritePost', {
    group = group,
    buffer = buffer,
    callback = function()
      session.request('memory/trust', { cwd = cwd, paths = { path } }, M.reporting(function() end))
    end,
  })
end

return M
