// Package crashtest runs the real engine under seeded faults: topologies on a memory cluster whose requests are lost, late, repeated and
// cut off, whose clock jumps and whose logs are cleaned, with processes that are killed at any request and started again. What they leave
// behind is judged by package oracle. It has tests only.
//
// A run is one goroutine and deterministic: a seed that fails prints the command that runs it again, and the script of faults that is
// left of it when everything was taken out that it fails without. Such scripts are kept in testdata.
package crashtest
