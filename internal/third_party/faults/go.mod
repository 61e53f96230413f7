module github.com/deixis/faults

go 1.26
