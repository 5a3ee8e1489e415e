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

// Measures are the counters by name, for metrics: stream.Config.Metrics gets them as gauges.
func (r *Client) Measures() map[string]int64 {
	s := r.Stats()
	return map[string]int64{
		"weir_registry_requests": s.Requests, "weir_registry_hits": s.Hits, "weir_registry_disk_hits": s.DiskHits, "weir_registry_misses": s.Misses,
		"weir_registry_negative_hits": s.NegativeHits, "weir_registry_failures": s.Failures, "weir_registry_registered": s.Registered,
		"weir_registry_disk_failures": s.DiskFailures,
	}
}
