package main

import (
	"bytes"
	"io"
	"regexp"
	"testing"
	"time"
)

// The demo ends by itself, with every window closed: each departure is in its hour or late for it.
func TestTheDemoShowsWindows(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), options{partitions: 4, interval: 200 * time.Millisecond}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`\d+ hours of airports; the busiest: (JFK|LGA|EWR) at 2013-01-`, `\d+ days of carriers`, `\d+ sessions of aircraft`,
		`late: [1-9]\d* flights for their hour`, `[1-9]\d* for their day, [1-9]\d* for their session`, `malformed: 3 lines`} {
		if !regexp.MustCompile(want).Match(out.Bytes()) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}
