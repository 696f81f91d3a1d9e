;; Nothing to count.
(module)
