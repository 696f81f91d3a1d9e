module fuzzbox

go 1.24
