// Package registrytest is a schema registry for tests: in memory, and with Confluent's HTTP API in front where a test
// wants one.
//
//	reg := registrytest.New()                    // a serde.Registry, as good as a real one for most tests
//	client := registry.New(reg.Config())         // a client that talks HTTP to it, without a socket
//	server := httptest.NewServer(reg)            // or with one
//
// It keeps Confluent's rules where serdes meet them: ids by content, versions by subject, compatibility levels per subject,
// error codes. Avro schemas are compared by Avro's rules; of other formats it only knows whether they are the same text. It can be
// told to fail, to be slow to know, and to want credentials (see [Registry.SetFault]).
package registrytest
