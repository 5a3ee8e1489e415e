module github.com/weirstream/weir/benchmarks

go 1.27.0

require github.com/weirstream/weir v0.0.0

replace github.com/weirstream/weir => ../
