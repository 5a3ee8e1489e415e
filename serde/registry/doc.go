// Package registry talks to a schema registry that speaks Confluent's HTTP API: Confluent's own, Apicurio, Karapace, Redpanda.
//
// The rest of weir knows [serde.Registry] only; this package is one implementation of it, and the one place that links an
// HTTP client. A program names the registry once, in stream.Config:
//
//	Registry: registry.New(registry.Config{URLs: []string{"https://registry.example:8081"}})
//
// What it adds to bare requests:
//
//   - An id names the same schema forever, so ids are kept in memory and, given a directory, on disk: a process that starts
//     while the registry is down reads what it has read before.
//   - Many tasks meeting a new id make one request. An id that the registry does not know is remembered for a short while,
//     so that a flood of broken records does not become a flood of requests.
//   - Several URLs are tried in turn. While none answers, requests are paced for the whole process, by backoff with jitter,
//     however many tasks are waiting.
//   - Every error is one of three kinds: the registry does not have it ([serde.ErrUnknownSchema]), it refused it
//     ([serde.ErrIncompatible]), or it did not answer properly ([serde.ErrRegistryUnavailable]). Only the first is about the
//     record at hand; see stream for what follows from that.
//   - Passwords and tokens never appear in errors.
//
// It does not administer a registry: no deletion, no configuration of compatibility levels.
package registry
