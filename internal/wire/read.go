package wire

import "context"

// ReadOptions say how a partition is read.
type ReadOptions struct {
	Committed bool // leave out records of transactions that are open or aborted
	Headers   bool // decode headers; without it Record.Headers is nil
	MaxBytes  int  // of fetched and not yet released batches of this partition. Default 1 MiB; one batch may exceed it
}

// A Reader reads one partition in order. One goroutine uses it.
type Reader interface {
	// Next returns the next batch. It waits for records until ctx ends, and returns an empty batch when Next, High or Stable is news
	// and at least every second. With a ctx that has ended it returns what is at hand, or ctx's error: that is how a test polls.
	// ErrOffsetGone when the offset is outside of the partition.
	Next(ctx context.Context) (*Batch, error)
	// Close ends the reader. Batches it returned stay valid until they are released.
	Close() error
}

// A Batch is some records of one partition, in order. It may be passed to another goroutine, and is used by one at a time.
type Batch struct {
	TopicPartition
	Records []Record
	Next    int64  // where reading goes on: markers, aborted and compacted records are behind it
	High    int64  // the partition's end as the broker knew it
	Stable  int64  // its last stable offset
	Bytes   int    // what the batch holds in memory
	Free    func() // set by the reader; called once by Release
}

// A Hold is what a reader of committed records waits for at the end of what is stable: a transaction that is open in a partition, since an offset.
type Hold struct {
	TopicPartition
	Offset int64
}

// Holds says whether reading on behind the batch waits for an open transaction: for the earliest one, which begins at the last stable offset.
func (b *Batch) Holds() []Hold {
	if b.Stable < 0 || b.Next < b.Stable || b.Stable >= b.High {
		return nil
	}
	return []Hold{{b.TopicPartition, b.Stable}}
}

// A Record is one record of a Batch. Key and Value point into the batch; nil is a null.
type Record struct {
	Offset  int64
	Time    int64 // milliseconds
	Key     []byte
	Value   []byte
	Headers []Header
}

// A Header is a header of a record.
type Header struct {
	Key   string
	Value []byte
}

// Release gives the batch's memory back. Nothing of it may be used afterwards.
func (b *Batch) Release() {
	if b.Free != nil {
		free := b.Free
		b.Free = nil
		free()
	}
}
