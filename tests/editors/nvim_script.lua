-- What every script for Neovim needs: results, wishes, and waiting without a fixed time.
local M = { said = {}, choices = {}, events = {} }

local folder = os.getenv('MEMORYD_TEST_FOLDER')
local wishes = 0

local function print_line(value)
  io.stdout:write('\n@@' .. vim.json.encode(value) .. '\n')
  io.stdout:flush()
end

function M.result(name, value)
  print_line({ result = name, value = value })
end

function M.wait(what, is_done)
  if not vim.wait(30000, is_done, 5) then
    local seen = vim.inspect({ said = M.said, events = M.events })
    io.stdout:write('waited in vain for ' .. what .. '\n' .. seen .. '\n')
    vim.cmd('cquit')
  end
end

function M.wish(name)
  wishes = wishes + 1
  print_line({ wish = name, number = wishes })
  local done = folder .. '/done-' .. wishes
  M.wait('the wish ' .. name, function()
    return vim.loop.fs_stat(done) ~= nil
  end)
end

-- The messages that a piece of work leads to, once there is one of them.
function M.said_after(work)
  local before = #M.said
  work()
  M.wait('a message', function()
    return #M.said > before
  end)
  return { unpack(M.said, before + 1) }
end

-- What was offered by vim.ui.select after a piece of work; the first item is chosen.
function M.offered_after(work)
  local before = #M.choices
  work()
  M.wait('a choice', function()
    return #M.choices > before
  end)
  return M.choices[#M.choices]
end

function M.wait_for_float()
  M.wait('a floating window', function()
    return vim.api.nvim_win_get_config(0).relative ~= ''
  end)
  return vim.api.nvim_buf_get_lines(0, 0, -1, false)
end

function M.press(keys)
  local codes = vim.api.nvim_replace_termcodes(keys, true, false, true)
  vim.api.nvim_feedkeys(codes, 'x', false)
end

function M.finish()
  M.result('finished', true)
  vim.cmd('qall!')
end

vim.notify = function(text)
  M.said[#M.said + 1] = text
end

vim.ui.select = function(items, options, on_choice)
  M.choices[#M.choices + 1] = {
    prompt = options.prompt,
    lines = vim.tbl_map(options.format_item, items),
  }
  on_choice(items[1], 1)
end

return M
