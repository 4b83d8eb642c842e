; prelude.scm - syntax and functions written in Scheme, loaded before every program.

(define-syntax when (syntax-rules () ((_ test body ...) (if test (begin body ...)))))
(define-syntax unless (syntax-rules () ((_ test body ...) (if test #f (begin body ...)))))

(define-syntax case
  (syntax-rules (else)
    ((_ key clause ...) (let ((case-key key)) (case-clauses case-key clause ...)))))
(define-syntax case-clauses
  (syntax-rules (else)
    ((_ key) #f)
    ((_ key (else body ...)) (begin body ...))
    ((_ key ((datum ...) body ...) clause ...)
     (if (member key '(datum ...)) (begin body ...) (case-clauses key clause ...)))))

(define-syntax do
  (syntax-rules ()
    ((_ ((name start step ...) ...) (test result ...) body ...)
     (let do-loop ((name start) ...)
       (if test
           (begin #f result ...)
           (begin body ... (do-loop (do-step name step ...) ...)))))))
(define-syntax do-step (syntax-rules () ((_ name) name) ((_ name step) step)))

(define-syntax guard
  (syntax-rules ()
    ((_ (name handler ...) body ...)
     (with-handler (lambda (name) handler ...) (lambda () body ...)))))

; Runs thunk; if something fails in it, the value is that of the handler.
(define (with-handler handler thunk)
  (call/cc
   (lambda (return)
     (push-handler! (lambda (condition) (return (handler condition))))
     (let ((result (thunk)))
       (pop-handler!)
       result))))

(define (list-ref list n) (car (list-tail list n)))
(define (even? n) (zero? (modulo n 2)))
(define (odd? n) (not (even? n)))
(define (positive? n) (> n 0))
(define (negative? n) (< n 0))
(define (1+ n) (+ n 1))
(define (square n) (* n n))
(define (gcd a b) (if (zero? b) (abs a) (gcd b (modulo a b))))
(define (expt base n)
  (cond ((zero? n) 1)
        ((even? n) (square (expt base (quotient n 2))))
        (else (* base (expt base (- n 1))))))

(define (map f list . more)
  (if (null? more)
      (let loop ((list list) (result '()))
        (if (null? list) (reverse result) (loop (cdr list) (cons (f (car list)) result))))
      (let loop ((lists (cons list more)) (result '()))
        (if (any null? lists)
            (reverse result)
            (loop (map cdr lists) (cons (apply f (map car lists)) result))))))

(define (for-each f list)
  (unless (null? list)
    (f (car list))
    (for-each f (cdr list))))

(define (any f list) (and (pair? list) (or (f (car list)) (any f (cdr list)))))
(define (every f list) (or (null? list) (and (f (car list)) (every f (cdr list)))))

(define (filter keep? list)
  (let loop ((list list) (result '()))
    (cond ((null? list) (reverse result))
          ((keep? (car list)) (loop (cdr list) (cons (car list) result)))
          (else (loop (cdr list) result)))))

(define (fold f start list)
  (if (null? list) start (fold f (f (car list) start) (cdr list))))
(define (fold-right f end list)
  (if (null? list) end (f (car list) (fold-right f end (cdr list)))))
(define (append-map f list) (apply append (map f list)))

(define (iota count . from)
  (let ((start (if (null? from) 0 (car from))))
    (let loop ((i (- count 1)) (result '()))
      (if (negative? i) result (loop (- i 1) (cons (+ start i) result))))))

; A stable merge sort.
(define (sort list before?)
  (define (merge a b)
    (let loop ((a a) (b b) (result '()))
      (cond ((null? a) (append (reverse result) b))
            ((null? b) (append (reverse result) a))
            ((before? (car b) (car a)) (loop a (cdr b) (cons (car b) result)))
            (else (loop (cdr a) b (cons (car a) result))))))
  (define (sort-first list n)
    (if (= n 1)
        (cons (car list) '())
        (let ((half (quotient n 2)))
          (merge (sort-first list half) (sort-first (list-tail list half) (- n half))))))
  (if (null? list) '() (sort-first list (length list))))

(define (vector-map f vector) (list->vector (map f (vector->list vector))))

(define (table-update! table key f default)
  (table-set! table key (f (table-ref table key default))))

(define (string-join strings separator)
  (if (null? strings)
      ""
      (apply string-append
             (car strings)
             (append-map (lambda (s) (list separator s)) (cdr strings)))))

(define (string-split text separator?)
  (define (finish chars words)
    (if (null? chars) words (cons (list->string (reverse chars)) words)))
  (let loop ((chars (string->list text)) (word '()) (words '()))
    (cond ((null? chars) (reverse (finish word words)))
          ((separator? (car chars)) (loop (cdr chars) '() (finish word words)))
          (else (loop (cdr chars) (cons (car chars) word) words)))))
