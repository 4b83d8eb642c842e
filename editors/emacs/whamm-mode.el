;;; whamm-mode.el --- Major mode for Whamm scripts  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0
;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: languages

;;; Commentary:

;; Colours, indents and checks scripts that instrument WebAssembly programs.  With eglot, `whammc lsp' tells more.

;;; Code:

(eval-when-compile (require 'pcase))
(require 'subr-x)

(defgroup whamm nil
  "Scripts that instrument WebAssembly programs."
  :group 'languages)

(defcustom whamm-indent-offset 4
  "How far each block is indented."
  :type 'integer
  :safe #'integerp)

(defcustom whamm-command "whammc"
  "The compiler."
  :type 'string)

;; scripts/editors.mjs writes these lines.
(defconst whamm-keywords
  '("if" "elif" "else" "while" "return" "use" "fn" "var" "report" "unshared" "shared" "frame" "as" "in" "map")
  "Keywords.")
(defconst whamm-keywords-in-context
  '(("for" "" "(") ("break" "" ";") ("continue" "" ";") ("include" "" "\"") ("const" "" "WORD") ("value" "shadow" "") ("atomic" "" "WORD")
    ("shadow" "" "WORD") ("delete" "" "WORD") ("every" ")" "") ("limit" ")" "") ("per" "[" "") ("array" "" "<"))
  "Keywords that can be names, what is before them, what is after them.")
(defconst whamm-constants
  '("true" "false")
  "Literals.")
(defconst whamm-scalars
  '("u8" "u16" "u32" "u64" "i8" "i16" "i32" "i64" "f32" "f64" "bool" "str" "funcref")
  "Names of types.")
(defconst whamm-aggregations
  '("count" "sum" "min" "max" "avg" "stats" "hist" "lhist" "top")
  "Names of aggregations.")
(defconst whamm-functions
  '("drop_args" "alt_call_by_id" "alt_call_by_name" "dup_at" "resolve_funcref" "memid" "active_data_start" "active_data_len" "page_size"
    "mem_size" "read_u8" "read_i8" "read_u16" "read_i16" "read_u32" "read_i32" "read_u64" "read_i64" "read_f32" "read_f64" "memcpy"
    "read_str" "read_cstr" "write_str" "strcmp" "strcontains" "print" "trap" "assert" "exit" "log2" "min" "max" "abs" "clz" "ctz" "popcnt")
  "Built-in functions.")
(defconst whamm-methods
  '("len" "addr" "starts_with" "ends_with" "contains" "lists" "clear")
  "Methods of strings and maps.")
(defconst whamm-names
  '("fid" "fname" "escapes" "tail_calls" "fn_tail_calls" "fn_calls" "fn_loops" "fn_size" "fn_params" "resumable" "resumes" "pc" "opidx"
    "at_func_end" "probe_id" "file" "line" "column" "src_function" "inlined" "opname" "bytecode" "category_id" "category_name" "addr"
    "effective_addr" "offset" "align" "memory" "data_size" "is_write" "taken" "back_edge" "loop_calls" "loop_nested" "trap" "failed"
    "num_targets" "default_target" "target" "targets" "target_fn_name" "target_fn_type" "target_fn_escapes" "target_fn_tail_calls"
    "target_fn_resumable" "target_imp_module" "table_entry_idx" "target_funcref" "resolved_fid" "tid" "field_idx" "APP_MEMID" "SCRIPT_MEMID"
    "module_id" "asyncify" "module_name" "component_name" "HOST" "stack_id" "thread" "instr_count")
  "Bound names.")
(defconst whamm-numbered-names
  '("local" "global" "arg" "res" "imm")
  "Bound names that a number follows.")
(defconst whamm-events
  '("wasm" "begin" "end" "report" "stack" "suspend" "resume" "func" "entry" "exit" "block" "start" "unwind" "opcode" "edge" "interval"
    "before" "after" "alt" "at_target")
  "Words of match rules.")
;; end of the words

(defvar whamm-mode-syntax-table
  (let ((table (make-syntax-table)))
    (modify-syntax-entry ?_ "_" table)
    (modify-syntax-entry ?/ ". 124b" table)
    (modify-syntax-entry ?* ". 23n" table)
    (modify-syntax-entry ?\n "> b" table)
    (modify-syntax-entry ?\" "\"" table)
    (modify-syntax-entry ?\\ "\\" table)
    (dolist (c (string-to-list "+-%&|^~!<>=?:.@"))
      (modify-syntax-entry c "." table))
    table)
  "Syntax of Whamm scripts: comments of /* and */ are nested.")

(defconst whamm--rule
  (rx line-start (* blank) (group (* (any "A-Za-z0-9_.*+\\?|![]-")))
      (* blank) (? "(" (* (not (any ";{}\""))) ")" (* blank)) ":")
  "The first part of a match rule, with its colon.")

(defun whamm--at-top-p ()
  "Whether point is outside of blocks, strings and comments."
  (let ((state (save-excursion (syntax-ppss (point)))))
    (and (zerop (car state)) (not (nth 8 state)))))

(defun whamm--match-rule-word (limit)
  "Find the next word of a match rule before LIMIT."
  (let (found)
    (while (and (not found)
                (re-search-forward (concat "\\_<" (regexp-opt whamm-events t) "\\_>") limit t))
      (setq found (save-match-data
                    (save-excursion
                      (goto-char (match-beginning 0))
                      (and (whamm--at-top-p)
                           (progn (forward-line 0) (looking-at whamm--rule)))))))
    found))

(defun whamm--in-context (entry)
  "What colours a word only where ENTRY of `whamm-keywords-in-context' says."
  (pcase-let ((`(,word ,before ,after) entry))
    (list (concat (unless (string-empty-p before) (concat (regexp-quote before) "[ \t]*"))
                  "\\_<\\(" word "\\)\\_>"
                  (cond ((equal after "WORD") "[ \t]+[A-Za-z_]")
                        ((not (string-empty-p after)) (concat "[ \t]*" (regexp-quote after)))))
          1 'font-lock-keyword-face)))

(defvar whamm-font-lock-keywords
  `((whamm--match-rule-word 0 font-lock-function-name-face)
    ("@[ \t]*\\([A-Za-z_][A-Za-z_0-9]*\\)" 0 font-lock-preprocessor-face)
    ("\\_<fn[ \t\n]+\\([A-Za-z_][A-Za-z_0-9]*\\)" 1 font-lock-function-name-face)
    ("\\_<\\(?:var\\|const\\)[ \t\n]+\\([A-Za-z_][A-Za-z_0-9]*\\)" 1 font-lock-variable-name-face)
    (,(concat "\\_<" (regexp-opt whamm-functions t) "[ \t]*(") 1 font-lock-builtin-face)
    (,(concat "\\.[ \t]*" (regexp-opt whamm-methods t) "[ \t]*(") 1 font-lock-builtin-face)
    (,(concat "[:<,][ \t]*" (regexp-opt whamm-aggregations t) "\\_>") 1 font-lock-type-face)
    (,(regexp-opt whamm-keywords 'symbols) 0 font-lock-keyword-face)
    ,@(mapcar #'whamm--in-context whamm-keywords-in-context)
    (,(regexp-opt whamm-constants 'symbols) 0 font-lock-constant-face)
    (,(regexp-opt whamm-scalars 'symbols) 0 font-lock-type-face)
    (,(regexp-opt whamm-names 'symbols) 0 font-lock-constant-face)
    ;; Values in texts.
    ("\\_<\\(?:print\\|trap\\|assert\\)[ \t]*("
     ("[^{]{\\([^{}\"]+\\)}" (save-excursion (search-forward ";" (line-end-position) t)) nil (1 font-lock-variable-name-face t)))
    (,(concat "\\_<" (regexp-opt whamm-numbered-names) "[0-9]+\\_>") 0 font-lock-constant-face))
  "What `font-lock' colours.")

;; Indentation: each block, and the rest of a statement or rule.

(defun whamm--inside-p ()
  "Whether the current line begins in a string or comment."
  (save-excursion (nth 8 (syntax-ppss (line-beginning-position)))))

(defun whamm--code ()
  "The current line without strings, comments and the blanks around it."
  (let ((code (buffer-substring-no-properties (line-beginning-position) (line-end-position))))
    (dolist (pattern '(("\"\\(?:\\\\.\\|[^\"\\\\]\\)*\"" . "\"\"") ("/\\*.*?\\*/" . "") ("//.*\\|/\\*.*" . "")))
      (setq code (replace-regexp-in-string (car pattern) (cdr pattern) code t t)))
    (string-trim code)))

(defun whamm--previous ()
  "Go to the last line with code before the current one.
Return its code, or nil if there is none."
  (let (code)
    (while (and (not code) (zerop (forward-line -1)))
      (setq code (whamm--code))
      (when (or (string-empty-p code) (whamm--inside-p))
        (setq code nil)))
    code))

(defun whamm--depth (code)
  "How many more blocks CODE opens than it closes, without a brace at its start."
  (let ((depth 0))
    (dolist (c (string-to-list (string-remove-prefix "}" code)))
      (setq depth (+ depth (pcase c (?\{ 1) (?\} -1) (_ 0)))))
    depth))

(defun whamm--indentation ()
  "The column that the current line is to begin at; nil in strings and comments."
  (save-excursion
    (forward-line 0)
    (unless (whamm--inside-p)
      (let* ((own (whamm--code)) (last (whamm--previous)) (code last)
             (column (if last (current-indentation) 0)) before)
        ;; To the first line of the statement.
        (when last
          (while (and (setq before (whamm--previous)) (not (string-match-p "[;{}]\\'" before)))
            (setq column (current-indentation)
                  code (concat before code))))
        (cond ((not last) 0)
              ((not (string-match-p "[;{}]\\'" last))
               (if (string-match-p "\\`[{})]" own) column (+ column whamm-indent-offset)))
              (t (max 0 (+ column (* whamm-indent-offset
                                     (- (whamm--depth code) (if (string-prefix-p "}" own) 1 0)))))))))))

(defun whamm-indent-line ()
  "Indent the current line."
  (interactive)
  (let ((column (whamm--indentation)))
    (cond ((not column) 'noindent)
          ((<= (current-column) (current-indentation)) (indent-line-to column))
          (t (save-excursion (indent-line-to column))))))

(defvar whamm-imenu-generic-expression
  `(("Functions" "^[ \t]*fn[ \t]+\\([A-Za-z_][A-Za-z_0-9]*\\)" 1)
    ("Variables" "^\\(?:[a-z]+ \\)*\\(?:var\\|const\\)[ \t]+\\([A-Za-z_][A-Za-z_0-9]*\\)" 1)
    ("Probes" "^\\([A-Za-z0-9_.*]+:[^/{\n]*[^/{ \n]\\)" 1))
  "What `imenu' lists.")

;;;###autoload
(define-derived-mode whamm-mode prog-mode "Whamm"
  "Major mode for Whamm scripts."
  (setq-local comment-start "// ")
  (setq-local comment-end "")
  (setq-local comment-start-skip "\\(?://+\\|/\\*+\\)[ \t]*")
  (setq-local indent-tabs-mode nil)
  (setq-local indent-line-function #'whamm-indent-line)
  (setq-local electric-indent-chars (append "{})" electric-indent-chars))
  (setq-local imenu-generic-expression whamm-imenu-generic-expression)
  (setq-local compile-command (concat whamm-command " check " (if buffer-file-name (shell-quote-argument buffer-file-name) "")))
  (setq-local font-lock-defaults '(whamm-font-lock-keywords)))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.whamm\\'" . whamm-mode))

;; M-x eglot.
(defvar eglot-server-programs)
(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs `(whamm-mode . (,whamm-command "lsp"))))

(provide 'whamm-mode)
;;; whamm-mode.el ends here
