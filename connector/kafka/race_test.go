//go:build race

package kafka

// raceEnabled: sync.Pool then forgets on purpose, and what is pooled is allocated.
const raceEnabled = true
