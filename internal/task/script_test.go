package task

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weirstream/weir/connector"
)

// Scripts are the tests of this package: a file is a list of commands, each block followed by a line of four dashes and what the
// commands say. Run with -update to write what they say now.
//
//	input NAME [disorder=MS] [idle=MS] [table|unheard]   an input
//	node NAME FROM… [every=MS] [delay]           an operator behind inputs and nodes; it fires at multiples of every
//	start MS                                     the task is sealed and started at that wall clock
//	push NAME TIME… [more] [atend]               a batch of records; the input's state behind it
//	end NAME                                     a bounded input was read whole
//	down NAME, up NAME                           its records meet an outage, or do not any more
//	step [BUDGET]                                processes
//	clock MS                                     the wall clock
//	begin N, barrier N                           a barrier stops the inputs, and passes
//	show                                         watermarks
var update = flag.Bool("update", false, "write what the scripts say now")

func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got := runScript(t, string(data))
			if *update {
				if err := os.WriteFile(name, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(data) {
				t.Errorf("%s: it says now (go test -update writes it)\n%s", name, got)
			}
		})
	}
}

// runScript runs a script and returns it with what its commands say.
func runScript(t *testing.T, text string) string {
	s := &script{t: t, task: New("task", 0), inputs: map[string]*fake{}, nodes: map[string]*Node{}}
	var out strings.Builder
	saying := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "----":
			saying = true
			out.WriteString("----\n" + s.said.String())
			s.said.Reset()
		case saying && line != "":
		case line == "" || line[0] == '#':
			saying = false
			out.WriteString(line + "\n")
		default:
			out.WriteString(line + "\n")
			s.do(strings.Fields(line))
		}
	}
	return out.String()
}

// A script is the task of one file.
type script struct {
	t      *testing.T
	task   *Task
	inputs map[string]*fake
	nodes  map[string]*Node
	said   strings.Builder
}

func (s *script) say(format string, args ...any) { fmt.Fprintf(&s.said, format+"\n", args...) }

func (s *script) do(words []string) {
	name := ""
	if len(words) > 1 {
		name = words[1]
	}
	switch words[0] {
	case "input":
		s.input(name, words[2:])
	case "node":
		s.node(name, words[2:])
	case "start":
		s.task.Seal()
		s.check(s.task.Start(s.number(name)))
	case "push":
		s.inputs[name].push(s, words[2:])
	case "end":
		s.inputs[name].state.Finished = true
	case "down", "up":
		s.inputs[name].down = words[0] == "down"
	case "step":
		budget := 100
		if name != "" {
			budget = int(s.number(name))
		}
		_, err := s.task.Step(budget)
		s.check(err)
	case "clock":
		s.check(s.task.Clock(s.number(name)))
	case "begin":
		s.task.Begin(uint64(s.number(name)))
	case "barrier":
		cut, err := s.task.Barrier(uint64(s.number(name)))
		s.check(err)
		if cut != nil {
			s.say("cut %d at %q", cut.N, cut.Positions)
		}
	case "show":
		s.show()
	default:
		s.t.Fatalf("command %q is not known", words[0])
	}
}

func (s *script) number(word string) int64 {
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *script) check(err error) {
	if err != nil {
		s.say("error: %v", err)
	}
}

// options splits name=number options from other words.
func (s *script) options(words []string) (rest []string, options map[string]int64) {
	options = map[string]int64{}
	for _, w := range words {
		if name, n, ok := strings.Cut(w, "="); ok {
			options[name] = s.number(n)
		} else {
			rest = append(rest, w)
		}
	}
	return rest, options
}

func (s *script) input(name string, words []string) {
	rest, options := s.options(words)
	in := &fake{s: s, state: InputState{Mark: NewMark(), Name: name, Disorder: options["disorder"], IdleAfter: options["idle"], Table: slices.Contains(rest, "table"), Unheard: slices.Contains(rest, "unheard")}}
	n := s.task.AddNode(name, nil)
	s.task.AddInput(n, in)
	s.inputs[name], s.nodes[name] = in, n
}

// node makes an operator that fires at multiples of every, as a window does, and holds its output back to them.
func (s *script) node(name string, words []string) {
	from, options := s.options(words)
	var parents []*Node
	for _, f := range from {
		parents = append(parents, s.nodes[f])
	}
	n := s.task.AddNode(name, parents)
	s.nodes[name] = n
	every := options["every"]
	if every == 0 {
		n.Hooks.Barrier = func() { s.say("%s: barrier", name) }
		return
	}
	n.At(every)
	n.Hold(every - 1)
	n.Hooks.Watermark = func(w int64) {
		s.say("%s: %s", name, moment(w))
		if w == MaxTime {
			n.Hold(MaxTime)
			return
		}
		next := w - w%every + every
		n.At(next)
		n.Hold(next - 1)
	}
}

func (s *script) show() {
	for _, in := range s.task.Inputs {
		st := in.State()
		s.say("%s: %s idle=%t ended=%t", st.Name, moment(st.W), st.Idle, st.Ended)
	}
	for _, n := range s.task.Nodes {
		s.say("%s: in %s out %s", n.Name, moment(n.In()), moment(n.Mark().W))
	}
	w, by := s.task.Watermark()
	s.say("task: %s held by %q, waits for %q", moment(w), by, s.task.WaitsFor())
	if err := s.task.Retrying(); err != nil {
		s.say("outage: %v, tried again at %d", err, s.task.ClockDue())
	}
}

func moment(ms int64) string {
	switch ms {
	case MinTime:
		return "none"
	case MaxTime:
		return "end"
	}
	return fmt.Sprint(ms)
}

// A fake is an input whose records are their times.
type fake struct {
	s     *script
	state InputState
	queue []int64
	done  int
	down  bool
}

type fakeBatch []int64

func (b fakeBatch) Len() int   { return len(b) }
func (b fakeBatch) Bytes() int { return len(b) }

func (f *fake) push(s *script, words []string) {
	var b fakeBatch
	f.state.More, f.state.AtEnd, f.state.Unheard = false, false, false
	for _, w := range words {
		switch w {
		case "more":
			f.state.More = true
		case "atend":
			f.state.AtEnd = true
		default:
			b = append(b, s.number(w))
		}
	}
	f.Push(b)
}

func (f *fake) State() *InputState { return &f.state }
func (f *fake) Push(b Batch) {
	if b.Len() > 0 {
		f.state.Took(b.Bytes())
	}
	f.queue = append(f.queue, b.(fakeBatch)...)
}
func (f *fake) Position() connector.Position { return connector.Position(fmt.Sprint(f.done)) }
func (f *fake) Restart(connector.Position)   {}
func (f *fake) Aligned(uint64) bool          { return true }
func (f *fake) Pass(uint64)                  {}
func (f *fake) Head() (int64, bool) {
	if f.state.Blocked() || len(f.queue) == 0 {
		return 0, false
	}
	return f.queue[0], true
}

var errOutage = errors.New("the service is down")

func (f *fake) Run(until int64, budget int) (done int) {
	for done < budget {
		t, ok := f.Head()
		if !ok || t > until {
			break
		}
		f.s.task.Observe(&f.state, t)
		f.s.task.Context.Begin()
		if f.down {
			f.s.say("%s %d: outage", f.state.Name, t)
			if !f.s.task.Context.Clean() {
				f.s.t.Error("a record that has just begun is not clean")
			}
			panic(Retry{Err: errOutage})
		}
		f.s.say("%s %d", f.state.Name, t)
		f.queue = f.queue[1:]
		f.state.Queued--
		f.state.Processed++
		f.done++
		done++
	}
	return done
}
