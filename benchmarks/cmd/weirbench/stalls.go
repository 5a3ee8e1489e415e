package main

import (
	"bytes"
	"math"
	"os"
	"slices"
	"strconv"
)

// stalls are the milliseconds for which checkpoints kept tasks from their input, as weirprog has printed them into a log behind
// an offset, in order, and how long the log is now. Other systems print none.
func stalls(path string, from int64) (ms []float64, end int64, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, err
	}
	end = int64(bytes.LastIndexByte(text, '\n') + 1)
	for line := range bytes.Lines(text[min(from, end):end]) {
		value, found := bytes.CutPrefix(bytes.TrimSpace(line), []byte("stall "))
		if !found {
			continue
		}
		stall, err := strconv.ParseFloat(string(value), 64)
		if err != nil {
			return nil, 0, err
		}
		ms = append(ms, stall)
	}
	slices.Sort(ms)
	return ms, end, nil
}

// percentile is the smallest of sorted values that so many percent do not exceed.
func percentile(sorted []float64, percent float64) float64 {
	return sorted[max(0, int(math.Ceil(percent/100*float64(len(sorted))))-1)]
}
