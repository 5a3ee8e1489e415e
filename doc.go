// Package weir is the front door of a stream-processing framework: a library with which a Go program describes a topology of
// typed streams and tables, and runs it exactly once, from inside go test to many processes on a Kafka cluster.
//
//	b := stream.New("clicks-per-page")
//	b.Source(kafka.Source("clicks", serde.String, serde.JSON[Click]())).
//		Filter(func(_ string, c Click) bool { return !c.Bot }).
//		GroupBy(func(_ string, c Click) string { return c.Page }).
//		Count().
//		To(kafka.Sink("views", serde.String, serde.Int64))
//	app, err := b.Build(stream.Config{
//		Cluster:  &kafka.Cluster{Brokers: []string{"localhost:9092"}},
//		State:    pebblestore.New(),
//		StateDir: "/var/lib/clicks",
//	})
//	if err != nil {
//		log.Fatal(err) // every mistake of the topology and the configuration, each with its line
//	}
//	err = app.Run(ctx)
//
// # What it promises
//
// Each record takes effect exactly once, whatever crashes: outputs, state and positions are one Kafka transaction, the checkpoint.
// Event time is right: every operator has a watermark of its own, and watermarks cross repartition topics. A topology is typed from
// end to end: what does not fit does not compile, and nothing on the way of a record is an interface{}.
//
// # What it is not for
//
// There is no cluster of weir's own, no scheduler and no SQL: several processes of one app share the work through a consumer group,
// and where they run is your platform's business. State is per key: something that needs all records in one place has one
// partition's speed. Latency is that of a checkpoint, some hundred milliseconds, when the output must be exactly once.
//
// # Reading order
//
//   - stream: the DSL, the configuration, the app. Start here.
//   - stream/streamtest: run a topology inside go test, under virtual time.
//   - connector/kafka, serde, window, state/pebblestore: what topologies are made of.
//   - connector, state: the contracts, for connectors and stores of your own.
//   - examples: programs that run as they are.
//   - docs/internals.md: how it works, from the life of a record to that of a checkpoint.
package weir
