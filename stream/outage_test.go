package stream

import (
	"errors"
	"fmt"
	"testing"

	"github.com/weirstream/weir/internal/overlay"
	"github.com/weirstream/weir/internal/task"
)

var errAway, errBad = errors.New("away"), errors.New("bad")

// TestFolding: what becomes of a call that ends in a panic. First each time it has had the effects of f on its own state, which are undone where
// putBack can; effects before it, of the same record, are not.
func TestFolding(t *testing.T) {
	tk := task.New("task", 0)
	n, other := tk.AddNode("fold", nil), tk.AddNode("other", nil)
	away := func() any { return rejected{Transient(errAway)} }
	for name, c := range map[string]struct {
		panics    func() any // of the first two calls
		fault     *task.Node // nil: n
		soiled    bool       // the record has had effects before
		stuck     bool       // nothing can be put back
		impatient bool       // nothing waits

		calls, backs, pauses int
		ok                   bool
		rejects              error // what the policy is asked
		escapes              bool  // the panic itself, under every policy
		ends                 bool  // … or where no policy is to be asked, as Fail has it
	}{
		"nothing":                           {calls: 1, ok: true},
		"an outage of a clean record":       {panics: away, calls: 1, backs: 1, rejects: errAway},
		"behind an effect":                  {panics: away, soiled: true, calls: 3, backs: 2, pauses: 2, ok: true},
		"behind an effect, impatient":       {panics: away, soiled: true, impatient: true, calls: 1, backs: 1, pauses: 1, rejects: errAway},
		"not put back":                      {panics: away, soiled: true, stuck: true, calls: 1, backs: 1, rejects: errAway},
		"of a clean record, not put back":   {panics: away, stuck: true, calls: 1, backs: 1, rejects: errAway},
		"a bad record":                      {panics: func() any { return rejected{errBad} }, calls: 1, backs: 1, rejects: errBad, ends: true},
		"a bad record behind an effect":     {panics: func() any { return rejected{errBad} }, soiled: true, calls: 1, backs: 1, rejects: errBad, ends: true},
		"a panic":                           {panics: func() any { return "oops" }, soiled: true, calls: 1, backs: 1, rejects: errors.New("panic: oops"), ends: true},
		"an outage of another node":         {panics: away, fault: other, soiled: true, calls: 1, backs: 1, escapes: true},
		"the task's end":                    {panics: func() any { return task.Failure{Err: errBad} }, soiled: true, calls: 1, escapes: true},
		"the record's way back":             {panics: func() any { return task.Retry{Err: errAway} }, calls: 1, escapes: true},
		"a database that cannot be read":    {panics: func() any { return &overlay.Fault{Store: "s", Err: errBad} }, soiled: true, calls: 1, escapes: true},
		"… whose error says it is not here": {panics: func() any { return &overlay.Fault{Store: "s", Err: Transient(errAway)} }, soiled: true, calls: 1, escapes: true},
	} {
		for _, guarded := range []bool{true, false} {
			t.Run(fmt.Sprint(name, " ", guarded), func(t *testing.T) {
				ctx := &tk.Context
				ctx.Begin()
				if c.soiled {
					ctx.Effects++
				}
				before := ctx.Effects
				calls, backs, pauses := 0, 0, 0
				tk.Wait = func(int64) bool { pauses++; return !c.impatient }
				var asked error
				reject := func(_ *task.Context, err error, _ []byte) { asked = err }
				putBack := func() bool { backs++; return !c.stuck }
				ok, escaped := false, any(nil)
				func() {
					defer func() { escaped = recover() }()
					ok = folding(ctx, n, reject, guarded, putBack, func() {
						calls++
						ctx.Effects++
						if c.panics == nil || calls > 2 {
							return
						}
						if c.fault != nil {
							ctx.Fault = c.fault
						}
						panic(c.panics())
					})
				}()
				if calls != c.calls || backs != c.backs || pauses != c.pauses || ok != c.ok {
					t.Errorf("%d calls, %d times put back, %d pauses, ok %v; want %d, %d, %d, %v", calls, backs, pauses, ok, c.calls, c.backs, c.pauses, c.ok)
				}
				passes := c.escapes || c.ends && !guarded
				if (escaped != nil) != passes {
					t.Errorf("it panics with %v, want %v", escaped, passes)
				}
				if want := c.rejects; !passes && !errors.Is(asked, want) && fmt.Sprint(asked) != fmt.Sprint(want) || passes && asked != nil {
					t.Errorf("the policy was asked about %v, want %v", asked, want)
				}
				undone := c.backs > 0 && !c.stuck
				if now := ctx.Effects - before; now != 0 && undone && !c.ok || now != 1 && (!undone || c.ok) {
					t.Errorf("%d effects are left", now)
				}
			})
		}
	}
}
