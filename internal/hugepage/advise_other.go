//go:build !linux

package hugepage

// advise does nothing: other systems choose by themselves.
func advise([]byte) {}
