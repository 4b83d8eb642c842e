" Writes the syntax group at each place [line, column] of $PLACES to $FOUND.
let found = map(json_decode(join(readfile($PLACES))), 'synIDattr(synID(v:val[0], v:val[1], 1), "name")')
call writefile([json_encode(found)], $FOUND)
quitall!
