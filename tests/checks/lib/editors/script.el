;;; script.el --- What Emacs makes of scripts  -*- lexical-binding: t; -*-
;; Writes to $FOUND the face at each place [line, column] of $PLACES in $SCRIPT, how many lines of $FILES have lost the blanks at their
;; start, and what is then indented otherwise than it was.
(require 'cl-lib)
(require 'json)

(defvar unindented 0)

(defun faces (script places)
  (with-temp-buffer
    (insert-file-contents script)
    (whamm-mode)
    (font-lock-ensure)
    (mapcar (lambda (place)
              (goto-char (point-min))
              (forward-line (1- (aref place 0)))
              (format "%s" (get-text-property (+ (point) (aref place 1) -1) 'face)))
            places)))

(defun indented-otherwise (file)
  (with-temp-buffer
    (insert-file-contents file)
    (let ((old (split-string (buffer-string) "\n")) (number 0) (inhibit-message t))
      (whamm-mode)
      (while (not (eobp))
        (unless (save-excursion (nth 8 (syntax-ppss (line-beginning-position))))
          (when (looking-at "[ \t]")
            (setq unindented (1+ unindented))
            (delete-horizontal-space)))
        (forward-line))
      (indent-region (point-min) (point-max))
      (delq nil (cl-mapcar (lambda (was is)
                             (setq number (1+ number))
                             (unless (equal was is) (format "%s:%d: %s" file number is)))
                           old (split-string (buffer-string) "\n"))))))

(let ((found (list (faces (getenv "SCRIPT") (json-read-file (getenv "PLACES")))
                   (apply #'append (mapcar #'indented-otherwise (json-read-file (getenv "FILES")))))))
  (with-temp-file (getenv "FOUND")
    (insert (json-encode (vector (vconcat (car found)) unindented (vconcat (cadr found)))))))
