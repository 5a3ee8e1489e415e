// Package benchmarks measures weir beside its peers. It is a module of its own, so that no peer is ever a dependency of
// weir. Micro-benchmarks are ordinary ones (go test -bench); whole systems on a real broker are run by cmd/weirbench.
package benchmarks
