package wire

import (
	"context"
	"time"
)

// WriterConfig tunes a writer. Zero values are defaults.
type WriterConfig struct {
	Name          string        // for logs and client ids
	BatchBytes    int           // a partition's batch is sent when it has this size. Default 128 KiB
	Linger        time.Duration // … or this age. Default 5 ms
	BufferedBytes int64         // of records appended and not acknowledged, after which Full reports true. Default 32 MiB
	Compression   Compression   // of batches. Default None
}

// Compression of batches.
type Compression int8

// The codecs of Kafka.
const (
	None Compression = iota
	Gzip
	Snappy
	LZ4
	Zstd
)

// A Writer sends what its appenders were given. It owns the goroutines that do so and ends them in Close.
type Writer interface {
	// Appender makes the end that one task writes to. Its goroutine alone uses it. What it takes belongs to checkpoint next, at least 1, until
	// its Cut(next): records leave before they are cut, so a writer must know from the first one which transaction they are part of.
	Appender(task string, next uint64) (Appender, error)
	// Flush waits until everything that any appender took before its Cut(n) is acknowledged, and returns the offset after the last of
	// those records in each partition that got one. An appender that has not cut n yet is waited for.
	Flush(ctx context.Context, n uint64) (map[TopicPartition]int64, error)
	// Full reports whether tasks should stop taking input until acknowledgements have come. It is cheap. A change from true to false
	// is announced on Drained.
	Full() bool
	Drained() <-chan struct{}
	// Failed is closed when the writer can no longer keep its promises (a batch was refused for good, it was fenced). Err says why.
	// What is appended afterwards is dropped: the owner must recover from its last commit.
	Failed() <-chan struct{}
	Err() error
	// Close drops what is not sent and ends the writer.
	Close() error
}

// An Appender takes a task's encoded records without waiting.
type Appender interface {
	// To opens a topic for appending: the first time it asks the cluster. ErrNoTopic when it does not exist. The Out may be kept.
	To(ctx context.Context, topic string) (Out, error)
	// Cut marks the end of checkpoint n in what was appended; what comes after belongs to n+1. n rises by one: a checkpoint without
	// records is cut all the same.
	Cut(n uint64)
	// Close says that the task ends: Flush no longer waits for its cuts. What was cut is still sent. There must be nothing that
	// was not: it may have left already, in a transaction that others go on to commit, so a transactional writer fails.
	Close()
}

// An Out appends to one topic.
type Out interface {
	// Partitions is the topic's count as known now.
	Partitions() int32
	// Topic is what the cluster said of the topic when the writer first opened it for any of its appenders, its settings among it.
	Topic() Topic
	// MaxBytes is the greatest size of one record the topic accepts: a larger one is a data error, to be found before Append.
	MaxBytes() int
	// Append copies a record into the open batch of the partition. key and value nil are nulls; time is in milliseconds.
	Append(partition int32, time int64, key, value []byte, headers []Header)
}

// TxConfig names the transactional ids of one process.
type TxConfig struct {
	WriterConfig
	IDs     [2]string     // used in turn, so that n is committed while n+1 is written
	Timeout time.Duration // after which the cluster aborts an open transaction
	// Alone says that the ids belong to one place of one owner, whoever that is now: taking them over is all the fencing there is, no
	// group is asked, and Commit takes no positions.
	Alone bool
}

// Transactions is a writer whose records become visible by Commit: each checkpoint is one transaction, under the ids in turn
// (n even: IDs[0]), each with a producer epoch of its own.
type Transactions interface {
	Writer
	// Commit ends checkpoint n: positions and everything cut before n become one atomic, visible fact. Flush(n) must have returned.
	// Checkpoints are committed in the order of n, one at a time. Its results:
	//   nil                the checkpoint is committed
	//   ErrGeneration      nothing was decided; the group moved on. Call again with the new identity while every task is still held
	//   ErrUnknownOutcome  it may or may not have happened: close, open anew, read Committed
	//   ErrFenced          the same, and another process took the ids over
	// Any other error: it did not happen, and never will; close and recover.
	// With nothing written since the last one and no positions it does nothing. With positions alone it commits them without a
	// transaction.
	Commit(ctx context.Context, n uint64, who Identity, at []Position) error
	// Wrote reports whether checkpoint n has records so far. After every appender cut n it is final.
	Wrote(n uint64) bool
}
