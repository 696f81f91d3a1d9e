module gojs

go 1.21
