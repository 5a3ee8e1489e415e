// Package faults decides what goes wrong, and when.
//
// A Judge is asked about every request that reaches a cluster and answers with a Fate: done, lost, repeated later, refused, or the
// end of the connection. Random is a judge that draws fates from a seed, Script one that names them; both are deterministic as
// long as the requests come in the same order, which one goroutine on the memory cluster guarantees.
//
// The package knows no cluster. connector/memory asks its Judge inside the cluster, where requests are those of Kafka's protocol
// (a late EndTxn is something else than a second call of Commit); Wrap asks one at the calls of a wire.Log, over any cluster.
// A layer before a broker asks the same judges, because a Request names kinds, not bytes.
package faults

import (
	"errors"
	"time"
)

// ErrLost is what a client sees of a request that got no answer: it happened, or happens later, or never does.
var ErrLost = errors.New("faults: no answer")

// ErrKilled is what everything gets once a Fate has ended the connection: to the cluster the process is gone.
var ErrKilled = errors.New("faults: the connection was killed")

// A Kind is a kind of request.
type Kind uint8

// The kinds of Kafka's protocol that matter here. Marker is not sent by a client: it is the coordinator's write that ends a
// transaction in one partition (of topic OffsetsTopic for the positions in it). Write goes to no cluster: it is a batch on its way to a disk.
const (
	Produce Kind = iota
	InitProducer
	AddPartitions
	TxnOffsets
	EndTxn
	Marker
	OffsetCommit
	OffsetFetch
	ListOffsets
	Fetch
	JoinGroup
	Metadata
	CreateTopics
	DeleteRecords
	Write
	kinds
)

// OffsetsTopic stands for the positions of a transaction where partitions are named.
const OffsetsTopic = "__consumer_offsets"

var kindNames = [kinds]string{
	"produce", "init", "addpartitions", "txnoffsets", "endtxn", "marker", "offsetcommit", "offsetfetch", "listoffsets", "fetch",
	"join", "metadata", "create", "deleterecords", "write",
}

// String is the kind's name in scripts.
func (k Kind) String() string {
	if k < kinds {
		return kindNames[k]
	}
	return "unknown"
}

// A Request is what a Judge is told.
type Request struct {
	Kind      Kind
	Client    string    // who sends it: the name of its connection; "" for a Marker
	Time      time.Time // by the cluster's clock
	ID        string    // the transactional id or the group; "" where there is none
	Topic     string    // "" where a request is about several
	Partition int32
}

// A Fate is what becomes of a request. The zero Fate lets it pass. Where several fields are set they apply in the order of the fields.
// Pass and Clean are for clusters whose clock and cleaner belong to the test; Wrap leaves them out.
type Fate struct {
	Pass     time.Duration // so much time passes first, and what is due with it happens: sessions and transactions expire
	Clean    bool          // retention and compaction run first
	Kill     bool          // the connection ends before the request is seen
	Refuse   error         // the request is not done, and this is the answer
	Drop     bool          // the request is not done, and there is no answer
	After    int           // the request is done when this many further ones have come; there is no answer. For a Marker: it is written then
	Again    int           // the request is done, and again when this many further ones have come. One that is answered comes once over a connection: what is not numbered is lost first (After)
	Lose     bool          // the request is done, and there is no answer
	KillDone bool          // the request is done, and the connection ends before the answer
	Cut      Cut           // the client is cut off from the cluster, from this request on
	Parted   bool          // set by a judge with Drop or Lose while a Cut lasts: nothing else passes either
}

// A Cut parts a client from the cluster, as a network does. With Answers everything that it sends arrives, heartbeats too, and no answer and
// no news of its group come back; without, nothing arrives. It heals when the client has sent Requests more, or, at the next request after it,
// when For has passed. A client that is killed and started again under its name is still cut off.
type Cut struct {
	Answers  bool
	Requests int
	For      time.Duration
}

// A Witness is a Judge that is shown each request before it reaches a memory cluster, without any lock of the cluster's: what it does, such as
// to have another member join, has happened when the request arrives. It is shown what it causes itself, too.
type Witness interface {
	Judge
	Witness(r Request)
}

// A Judge decides. It is called by one goroutine at a time, in the order in which requests arrive, and calls nothing back.
type Judge interface {
	Judge(r Request) Fate
}

// JudgeFunc is a function as a Judge.
type JudgeFunc func(r Request) Fate

// Judge calls f.
func (f JudgeFunc) Judge(r Request) Fate { return f(r) }
