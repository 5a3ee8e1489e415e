// Package avrotest is the kit that an [avro.Codec] has to pass: the same Go values for the same bytes, resolution by Avro's
// rules, and an error for everything that is not what its schema says.
package avrotest
