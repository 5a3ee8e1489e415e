package main

import "testing"

func TestLastRate(t *testing.T) {
	out := "100 records sent, 20.0 records/sec (0.00 MB/sec), 3.0 ms avg latency\n5000 records sent, 812345.6 records/sec (77.47 MB/sec), 9 ms 99th.\n"
	if got := lastRate([]byte(out)); got != 812345.6 {
		t.Errorf("%v", got)
	}
	if got := lastRate([]byte("start.time, end.time\n")); got != 0 {
		t.Errorf("of a table: %v", got)
	}
}
