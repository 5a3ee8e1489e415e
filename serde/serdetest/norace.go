//go:build !race

package serdetest

const raceEnabled = false
