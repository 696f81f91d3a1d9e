module heap

go 1.27
