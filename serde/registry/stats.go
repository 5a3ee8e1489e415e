package registry

import "sync/atomic"

// Stats counts what a client has done since it was made.
type Stats struct {
	Requests     int64 // HTTP requests sent, each attempt and each URL counted
	Hits         int64 // schemas found in memory
	DiskHits     int64 // schemas found on disk
	Misses       int64 // schemas asked for
	NegativeHits int64 // ids that were remembered as unknown
	Failures     int64 // attempts that no URL answered
	Registered   int64 // schemas registered, or found registered
	DiskFailures int64 // schemas that could not be written to disk
}

// counters is the live form of Stats.
type counters struct {
	requests, hits, diskHits, misses, negativeHits, failures, registered, diskFailures atomic.Int64
}

func (n *counters) stats() Stats {
	return Stats{
		Requests:     n.requests.Load(),
		Hits:         n.hits.Load(),
		DiskHits:     n.diskHits.Load(),
		Misses:       n.misses.Load(),
		NegativeHits: n.negativeHits.Load(),
		Failures:     n.failures.Load(),
		Registered:   n.registered.Load(),
		DiskFailures: n.diskFailures.Load(),
	}
}
