// Package nexmark is the Nexmark suite on weir: queries over the events of an online auction, from a copy of the input to
// joins of three streams. What each query asks is said, in our words, at its function, after the SQL of the suite
// that Flink's users run (github.com/nexmark/nexmark); package answer computes what it must return.
//
// A query is written as a user of the DSL would write it. It neither knows where its events come from nor where its rows go: a generator and
// nothing ([Source], [Discard]) measure the engine alone, topics on both sides measure the whole.
package nexmark

import (
	"github.com/weirstream/weir/benchmarks/nexmark/answer"
	"github.com/weirstream/weir/benchmarks/nexmark/event"
	"github.com/weirstream/weir/stream"
)

// Events is the input of a query: one stream of all events without keys, as the suite has it.
type Events = *stream.Stream[struct{}, event.Event]

// A Query is one of the suite.
type Query struct {
	Name  string // q0
	Title string
	// Table: the query's rows are updated and deleted. Else each row is final.
	Table bool
	// Clock: the answer depends on when the query runs.
	Clock bool
	Build func(b *stream.Builder, events Events, out Output)
	// Answer computes what the rows must be.
	Answer func(answer.Events) *Rows
}

// Queries returns the suite. Nothing but q6, q10 and q12 is left out of comparisons with others: the first two have no working
// SQL, or no sink, elsewhere; the third runs by the wall clock.
func Queries() []Query {
	return []Query{
		{Name: "q0", Title: "pass through", Build: Q0, Answer: rowsOf(answer.Q0)},
		{Name: "q1", Title: "convert a currency", Build: Q1, Answer: rowsOf(answer.Q1)},
		{Name: "q2", Title: "filter", Build: Q2, Answer: rowsOf(answer.Q2)},
		{Name: "q3", Title: "local sellers", Build: Q3, Answer: rowsOf(answer.Q3)},
		{Name: "q4", Title: "average price per category", Table: true, Build: Q4, Answer: tableOf(answer.Q4)},
		{Name: "q5", Title: "hot items", Build: Q5, Answer: rowsOf(answer.Q5)},
		{Name: "q6", Title: "average price per seller", Table: true, Build: Q6, Answer: tableOf(answer.Q6)},
		{Name: "q7", Title: "highest bid", Build: Q7, Answer: rowsOf(answer.Q7)},
		{Name: "q8", Title: "new sellers", Build: Q8, Answer: rowsOf(answer.Q8)},
		{Name: "q9", Title: "winning bids", Table: true, Build: Q9, Answer: tableOf(answer.Q9)},
		{Name: "q10", Title: "log to files", Build: Q10, Answer: rowsOf(answer.Q10)},
		{Name: "q11", Title: "sessions of bidders", Build: Q11, Answer: rowsOf(answer.Q11)},
		{Name: "q12", Title: "bids per processing time", Clock: true, Build: Q12, Answer: totalsOf(answer.Q12)},
		{Name: "q13", Title: "join with a side input", Build: Q13, Answer: rowsOf(q13)},
		{Name: "q14", Title: "calculation", Build: Q14, Answer: rowsOf(answer.Q14)},
		{Name: "q15", Title: "statistics per day", Table: true, Build: Q15, Answer: tableOf(answer.Q15)},
		{Name: "q16", Title: "statistics per channel", Table: true, Build: Q16, Answer: tableOf(answer.Q16)},
		{Name: "q17", Title: "statistics per auction", Table: true, Build: Q17, Answer: tableOf(answer.Q17)},
		{Name: "q18", Title: "last bids", Table: true, Build: Q18, Answer: tableOf(answer.Q18)},
		{Name: "q19", Title: "top ten bids", Table: true, Build: Q19, Answer: tableOf(answer.Q19)},
		{Name: "q20", Title: "bids with auctions", Build: Q20, Answer: rowsOf(answer.Q20)},
		{Name: "q21", Title: "channel ids", Build: Q21, Answer: rowsOf(answer.Q21)},
		{Name: "q22", Title: "directories of URLs", Build: Q22, Answer: rowsOf(answer.Q22)},
		{Name: "q23", Title: "join of three streams", Build: Q23, Answer: rowsOf(answer.Q23)},
	}
}

func isBid(_ struct{}, e event.Event) bool     { return e.Kind == event.IsBid }
func isPerson(_ struct{}, e event.Event) bool  { return e.Kind == event.IsPerson }
func isAuction(_ struct{}, e event.Event) bool { return e.Kind == event.IsAuction }

func bids(events Events) *stream.Stream[struct{}, event.Bid] {
	return events.Filter(isBid).MapValues(func(e event.Event) event.Bid { return e.Bid })
}

func persons(events Events) *stream.Stream[struct{}, *event.Person] {
	return events.Filter(isPerson).MapValues(func(e event.Event) *event.Person { return e.Person })
}

func auctions(events Events) *stream.Stream[struct{}, *event.Auction] {
	return events.Filter(isAuction).MapValues(func(e event.Event) *event.Auction { return e.Auction })
}
