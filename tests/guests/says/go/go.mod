module example/says

go 1.24
