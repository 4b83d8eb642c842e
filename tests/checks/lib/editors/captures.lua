-- Writes what tree-sitter's highlights call the text at each place [line, column] of $PLACES to $FOUND: the last capture of the innermost node.
local places = vim.fn.json_decode(vim.fn.readfile(os.getenv('PLACES')))
local tree = vim.treesitter.get_parser(0, 'whamm'):parse()[1]
local query = vim.treesitter.get_query('whamm', 'highlights')
local found = {}

local function covers(node, row, column)
  local top, left, bottom, right = node:range()
  return (row > top or row == top and column >= left) and (row < bottom or row == bottom and column < right)
end

for _, place in ipairs(places) do
  local name, smallest = '', math.huge
  for id, node in query:iter_captures(tree:root(), 0, 0, -1) do
    local _, _, first = node:start()
    local _, _, last = node:end_()
    if covers(node, place[1] - 1, place[2] - 1) and last - first <= smallest then
      name, smallest = query.captures[id], last - first
    end
  end
  table.insert(found, name)
end
for _, other in ipairs({ 'folds', 'indents', 'injections', 'locals', 'tags' }) do
  vim.treesitter.get_query('whamm', other)
end
vim.fn.writefile({ vim.fn.json_encode(found) }, os.getenv('FOUND'))
vim.cmd('quitall!')
