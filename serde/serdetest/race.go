//go:build race

package serdetest

// raceEnabled: sync.Pool then forgets on purpose, and what is pooled is allocated.
const raceEnabled = true
