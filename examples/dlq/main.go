// Dead letters: undecodable bytes, a parser that fails, a function that gives up, a policy that looks at the error, and a join with a table
// some of whose rows cannot be read.
//
//	dlq -brokers localhost:9092
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"strconv"
	"strings"

	"github.com/weirstream/weir/connector/kafka"
	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/stream"
)

var (
	errNegative = errors.New("negative amount")
	errTooMuch  = errors.New("amount is not plausible")
	errNoRate   = errors.New("rate is not positive")
)

// plausible is the greatest amount that is taken for one.
const plausible = 1_000_000

func topology() *stream.Builder {
	b := stream.New("parse")
	dead := stream.DeadLetter(kafka.Sink("amounts-dead", serde.Bytes, serde.Bytes))

	// A rate that cannot be read is a letter, and the rate before it stays.
	rates := b.Table(kafka.Source("rates", serde.String, serde.JSON[int64]()), stream.OnError(dead))

	b.Source(kafka.Source("amounts", serde.String, serde.String), stream.OnError(dead)).
		TryMapValues(strconv.Atoi, stream.OnError(dead)).
		TransformValues(notNegative, stream.OnError(stream.Decide(func(e *stream.Error) stream.Policy {
			if errors.Is(e, errNegative) {
				return dead
			}
			return stream.Fail
		}))).
		MapValues(func(n int) int64 {
			if n > plausible {
				stream.Reject(fmt.Errorf("%w: %d", errTooMuch, n)) // a function without an error result gives up like this
			}
			return int64(n)
		}, stream.OnError(dead)).
		JoinTable(rates, func(n, rate int64) int64 {
			if rate <= 0 {
				stream.Reject(fmt.Errorf("%w: %d", errNoRate, rate)) // the letter is the amount that met it
			}
			return n * rate
		}, stream.OnError(dead)).
		To(kafka.Sink("cents", serde.String, serde.Int64))
	return b
}

// notNegative says where a record came from that it does not take.
func notNegative(r stream.Record[string, int]) (int, error) {
	if r.Value < 0 {
		return 0, fmt.Errorf("%w from %s/%d@%d", errNegative, r.Origin.Topic, r.Origin.Partition, r.Origin.Offset)
	}
	return r.Value, nil
}

func main() {
	brokers := flag.String("brokers", "", "host:port,… of a Kafka; without it the topology is printed")
	flag.Parse()
	if *brokers == "" {
		t, err := topology().Topology()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(t)
		return
	}
	app, err := topology().Build(stream.Config{Cluster: &kafka.Cluster{Brokers: strings.Split(*brokers, ",")}})
	if err == nil {
		err = app.RunUntilSignal(context.Background(), stream.Handover)
	}
	if err != nil {
		log.Fatal(err)
	}
}
