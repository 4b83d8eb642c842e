(function_definition body: (block) @function.inside) @function.around
(probe body: (block) @function.inside) @function.around
(parameter) @parameter.inside
(arguments (_) @parameter.inside)
[(line_comment) (block_comment)] @comment.inside @comment.around
