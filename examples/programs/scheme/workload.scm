; workload.scm - what the example runs when it is given no program. `size` (1 to 200) scales it; the output is the
; same on every machine.

(define (report name . values)
  (display name)
  (for-each (lambda (v) (display " ") (write v)) values)
  (newline))

; --- Numbers ---

(define random-state 42)
(define (random n) ; the classic minimal generator; products stay exact in doubles
  (set! random-state (modulo (* 16807 random-state) 2147483647))
  (modulo random-state n))

(define (tak x y z)
  (if (< y x)
      (tak (tak (- x 1) y z) (tak (- y 1) z x) (tak (- z 1) x y))
      z))

(define (primes-below n)
  (let ((composite (make-vector n #f)))
    (let loop ((i 2) (found '()))
      (cond ((>= i n) (reverse found))
            ((vector-ref composite i) (loop (+ i 1) found))
            (else
             (do ((j (* i i) (+ j i))) ((>= j n)) (vector-set! composite j #t))
             (loop (+ i 1) (cons i found)))))))

(define (mandelbrot columns rows limit)
  (define (steps cx cy)
    (let loop ((x 0.) (y 0.) (n 0))
      (if (or (= n limit) (> (+ (* x x) (* y y)) 4.))
          n
          (loop (+ (- (* x x) (* y y)) cx) (+ (* 2. x y) cy) (+ n 1)))))
  (map (lambda (row)
         (list->string
          (map (lambda (column)
                 (let ((n (steps (- (/ (* 3. column) columns) 2.2) (- (/ (* 2.4 row) rows) 1.2))))
                   (string-ref " .:-=+*#%@" (if (= n limit) 9 (min 8 (quotient n 2))))))
               (iota columns))))
       (iota rows)))

(report "tak" (tak 14 7 (- 8 (min 6 (quotient size 2)))))
(let ((primes (primes-below (* size 1500))))
  (report "primes" (length primes) (apply max primes)))
(for-each (lambda (line) (display line) (newline)) (mandelbrot 56 20 (+ 20 (* 4 size))))

; --- Search ---

(define (queens n)
  (define (safe? row distance placed)
    (or (null? placed)
        (and (not (= (car placed) row))
             (not (= (abs (- (car placed) row)) distance))
             (safe? row (+ distance 1) (cdr placed)))))
  (define (place column placed)
    (if (= column n)
        1
        (fold (lambda (row total)
                (if (safe? row 1 placed) (+ total (place (+ column 1) (cons row placed))) total))
              0
              (iota n))))
  (place 0 '()))

(report "queens" (map queens (iota (if (< size 5) 3 5) 4)))

; The shortest path of a knight, breadth first, with a table of what was seen.
(define (knight-moves n from to)
  (define steps '((1 . 2) (2 . 1) (2 . -1) (1 . -2) (-1 . -2) (-2 . -1) (-2 . 1) (-1 . 2)))
  (define seen (make-table))
  (define (inside? p) (and (<= 0 (car p)) (< (car p) n) (<= 0 (cdr p)) (< (cdr p) n)))
  (define (next p)
    (filter (lambda (q) (and (inside? q) (not (table-ref seen q))))
            (map (lambda (s) (cons (+ (car p) (car s)) (+ (cdr p) (cdr s)))) steps)))
  (let loop ((front (list from)) (distance 0))
    (cond ((member to front) distance)
          ((null? front) #f)
          (else
           (for-each (lambda (p) (table-set! seen p #t)) front)
           (let ((fresh (make-table)))
             (for-each (lambda (p) (for-each (lambda (q) (table-set! fresh q #t)) (next p))) front)
             (loop (map car (table->list fresh)) (+ distance 1)))))))

(report "knight" (knight-moves (+ 8 size) '(0 . 0) (cons (+ 6 size) (+ 7 size))))

; --- Lists and tables ---

(define numbers (map (lambda (i) (random 10000)) (iota (* size 300))))
(define sorted (sort numbers <))
(report "sorted" (length sorted) (car sorted) (list-ref sorted (quotient (length sorted) 2))
        (fold (lambda (x sum) (modulo (+ (* 31 sum) x) 65521)) 0 sorted))

(define words
  (string-split
   "the quick brown fox jumps over the lazy dog and the dog barks at the fox while the cat looks at both of them"
   char-whitespace?))
(define (count-words times)
  (let ((counts (make-table)))
    (do ((i 0 (+ i 1))) ((= i times))
      (for-each (lambda (word)
                  (table-update! counts
                                 (if (odd? i) word (list->string (map char-upcase (string->list word))))
                                 1+ 0))
                words))
    (sort (table->list counts)
          (lambda (a b) (or (> (cdr a) (cdr b)) (and (= (cdr a) (cdr b)) (string<? (car a) (car b))))))))
(let ((counts (count-words (* size 20))))
  (report "words" (length counts) (car counts) (list-ref counts 5)))

; --- Symbols: derivatives ---

(define (simplify e)
  (if (pair? e)
      (let ((op (car e)) (a (simplify (cadr e))) (b (simplify (caddr e))))
        (cond ((and (number? a) (number? b)) (if (eq? op '+) (+ a b) (* a b)))
              ((eq? op '+) (cond ((equal? a 0) b) ((equal? b 0) a) (else (list '+ a b))))
              ((or (equal? a 0) (equal? b 0)) 0)
              ((equal? a 1) b)
              ((equal? b 1) a)
              (else (list '* a b))))
      e))
(define (derive e x)
  (cond ((number? e) 0)
        ((symbol? e) (if (eq? e x) 1 0))
        ((eq? (car e) '+) `(+ ,(derive (cadr e) x) ,(derive (caddr e) x)))
        (else `(+ (* ,(derive (cadr e) x) ,(caddr e)) (* ,(cadr e) ,(derive (caddr e) x))))))
(define (evaluate e environment)
  (cond ((number? e) e)
        ((symbol? e) (cdr (assq e environment)))
        (else ((if (eq? (car e) '+) + *)
               (evaluate (cadr e) environment)
               (evaluate (caddr e) environment)))))
(define (nth-derivative e n)
  (if (zero? n) e (nth-derivative (simplify (derive e 'x)) (- n 1))))
(define polynomial '(+ (* x (* x (* x (* x x)))) (+ (* 3 (* x (* x x))) (* 7 x))))
(report "derivative" (nth-derivative polynomial 1))
(report "values" (map (lambda (n) (evaluate (nth-derivative polynomial n) '((x . 2))))
                      (iota (min 5 (+ 2 (quotient size 3))))))

; --- Control: generators, failures ---

(define (tree-walk tree)
  (define return #f)
  (define (walk t)
    (cond ((null? t) #f)
          ((pair? t) (walk (car t)) (walk (cdr t)))
          (else (call/cc (lambda (more)
                           (set! resume (lambda () (more #f)))
                           (return t))))))
  (define resume (lambda () (walk tree) (return 'done)))
  (lambda () (call/cc (lambda (k) (set! return k) (resume)))))
(define (collect generator)
  (let loop ((item (generator)) (items '()))
    (if (eq? item 'done) (reverse items) (loop (generator) (cons item items)))))
(define (make-tree depth)
  (if (zero? depth) depth (list (make-tree (- depth 1)) depth (make-tree (- depth 1)))))
(let ((items (collect (tree-walk (make-tree (min 8 (+ 3 (quotient size 2))))))))
  (report "generator" (length items) (apply + items)))

(report "failures"
        (guard (e (condition-message e)) (car '()))
        (guard (e (condition-irritants e)) (error "no such thing" 'a 1 "b"))
        (guard (e e) (raise 42))
        (guard (e 'inner) (+ 1 (guard (e (raise 'again)) (vector-ref (vector 1 2) 5)))))

; --- An interpreter in the interpreter ---

(define (run-machine program)
  (define labels (make-table))
  (define code
    (let loop ((lines program) (kept '()) (n 0))
      (cond ((null? lines) (list->vector (reverse kept)))
            ((symbol? (car lines)) (table-set! labels (car lines) n) (loop (cdr lines) kept n))
            (else (loop (cdr lines) (cons (car lines) kept) (+ n 1))))))
  (define registers (make-vector 4 0))
  (define (get x) (if (symbol? x) (vector-ref registers (index x)) x))
  (define (index r) (case r ((a) 0) ((b) 1) ((c) 2) (else 3)))
  (define (put! r v) (vector-set! registers (index r) v))
  (let loop ((pc 0) (steps 0))
    (if (= pc (vector-length code))
        (list steps (vector->list registers))
        (let ((i (vector-ref code pc)))
          (case (car i)
            ((set) (put! (cadr i) (get (caddr i))) (loop (+ pc 1) (+ steps 1)))
            ((add) (put! (cadr i) (modulo (+ (get (cadr i)) (get (caddr i))) 65536)) (loop (+ pc 1) (+ steps 1)))
            ((loop)
             (put! (cadr i) (- (get (cadr i)) 1))
             (loop (if (zero? (get (cadr i))) (+ pc 1) (table-ref labels (caddr i))) (+ steps 1)))
            (else (error "unknown instruction" i)))))))

(report "machine"
        (run-machine
         `((set a 1) (set b 0) (set c ,(* size 150))
           again
           (set d a) (add a b) (set b d)
           (loop c again))))

; --- Text ---

(define (roman n)
  (let loop ((n n) (rest '((1000 "m") (900 "cm") (500 "d") (400 "cd") (100 "c") (90 "xc") (50 "l") (40 "xl")
                           (10 "x") (9 "ix") (5 "v") (4 "iv") (1 "i"))) (parts '()))
    (cond ((null? rest) (string-join (reverse parts) ""))
          ((>= n (caar rest)) (loop (- n (caar rest)) rest (cons (cadr (car rest)) parts)))
          (else (loop n (cdr rest) parts)))))
(let ((texts (map roman (iota (* size 40) 1))))
  (report "roman" (list-ref texts (- (length texts) 2)) (apply + (map string-length texts))))

(define (checksum text)
  (fold (lambda (c sum) (bitwise-and (bitwise-xor (* sum 33) (char->integer c)) 1048575)) 5381 (string->list text)))
(report "text" (checksum (string-join (map (lambda (n) (number->string n 16)) (iota (* size 100))) ",")))
(report "read" (from-text (to-text '(a "b\n" #\c 1.5 (d . e) #(1 2)))))
