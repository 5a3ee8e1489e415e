// Package processtest kills, freezes and moves real processes, and brokers when there is a real Kafka to be had, while records flow; what comes
// out is read by another client and has to be exact. Package crashtest has the same faults by the thousand, seeded, in one process.
package processtest
