-- A session with $WHAMMC lsp in the buffer, a script with a mistake. Writes to $FOUND what the server says and does:
-- { messages, hover, definition, completion, renamed }.
local client = vim.lsp.start_client({ name = 'whammc', cmd = { os.getenv('WHAMMC'), 'lsp' }, root_dir = vim.fn.getcwd() })
vim.lsp.buf_attach_client(0, client)

local function wait(condition, what)
  if not vim.wait(60000, condition, 20) then
    error('no ' .. what)
  end
end

local function ask(method, text)
  vim.fn.cursor(1, 1)
  vim.fn.search('\\V' .. text, 'c')
  local answers = vim.lsp.buf_request_sync(0, 'textDocument/' .. method, vim.lsp.util.make_position_params(), 60000)
  return answers[client].result
end

wait(function() return #vim.diagnostic.get(0) > 0 end, 'messages')
local found = { messages = vim.tbl_map(function(d) return { d.lnum + 1, d.col + 1, d.message } end, vim.diagnostic.get(0)) }
found.hover = ask('hover', 'fname').contents.value
local definition = ask('definition', 'calls[')
found.definition = (definition.range or definition[1].range).start.line + 1
vim.fn.setline('$', 'wasm:fu')
vim.fn.cursor(vim.fn.line('$'), 1)
local params = vim.lsp.util.make_position_params()
params.position.character = 7
local completion = vim.lsp.buf_request_sync(0, 'textDocument/completion', params, 60000)[client].result
found.completion = vim.tbl_map(function(item) return item.label end, completion.items or completion)
ask('definition', 'calls[')
vim.lsp.buf.rename('counts')
wait(function() return vim.fn.search('\\<calls\\>', 'nw') == 0 end, 'new name')
found.renamed = vim.fn.getline(1, '$')
vim.fn.writefile({ vim.fn.json_encode(found) }, os.getenv('FOUND'))
vim.cmd('quitall!')
