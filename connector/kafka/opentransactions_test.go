package kafka

import (
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A coordinator that is loading what it knows of transactions, as each one is when a cluster has its first, is asked again: it answers later, to the
// list as well as to the question about one id. Before, members of an app that began together on a new cluster ended with its error.
func TestOpenTransactionsWaitForTheCoordinator(t *testing.T) {
	for name, busy := range map[string]func(kmsg.Request) kmsg.Response{
		"list": func(q kmsg.Request) kmsg.Response {
			answer := q.ResponseKind().(*kmsg.ListTransactionsResponse)
			answer.ErrorCode = kerr.CoordinatorLoadInProgress.Code
			return answer
		},
		"describe": func(q kmsg.Request) kmsg.Response {
			answer := q.ResponseKind().(*kmsg.DescribeTransactionsResponse)
			for _, id := range q.(*kmsg.DescribeTransactionsRequest).TransactionalIDs {
				answer.TransactionStates = append(answer.TransactionStates, kmsg.DescribeTransactionsResponseTransactionState{
					TransactionalID: id, ErrorCode: kerr.NotCoordinator.Code,
				})
			}
			return answer
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := fake(t)
			r := newTxRig(t, c.ListenAddrs()...)
			a := r.appender(r.tx, "t", 1)
			r.write(a, r.topic(1), 0, 1, "x")
			r.flush(r.tx, 1)
			key := kmsg.Key(kmsg.ListTransactions)
			if name == "describe" {
				key = kmsg.DescribeTransactions
			}
			var asked atomic.Int64
			c.ControlKey(int16(key), func(q kmsg.Request) (kmsg.Response, error, bool) {
				c.KeepControl()
				if asked.Add(1) > 2 {
					return nil, nil, false
				}
				return busy(q), nil, true
			})
			open, err := r.log.OpenTransactions(r.ctx, r.ids[0][:len(r.ids[0])-1])
			if err != nil || len(open) != 1 || open[0].ID != r.ids[1] || asked.Load() != 3 {
				t.Errorf("after %d questions: %v, %v", asked.Load(), open, err)
			}
		})
	}
}
