" Takes the blanks at the start of lines away, indents anew, and writes the number of lines and what differs to $FOUND; the files are in
" $FILES.
set nomore
let [lines, differ] = [0, []]
for file in json_decode(join(readfile($FILES)))
  execute 'edit' fnameescape(file)
  let old = getline(1, '$')
  for number in range(1, line('$'))
    if index(map(synstack(number, 1), 'synIDattr(v:val, "name")'), 'whammBlockComment') < 0
      let lines += old[number - 1] =~# '^\s'
      call setline(number, substitute(old[number - 1], '^\s*', '', ''))
    endif
  endfor
  silent normal! gg=G
  for number in range(1, line('$'))
    if getline(number) !=# old[number - 1]
      call add(differ, file . ':' . number . ': ' . getline(number))
    endif
  endfor
  bwipeout!
endfor
call writefile([json_encode([lines, differ])], $FOUND)
quitall!
