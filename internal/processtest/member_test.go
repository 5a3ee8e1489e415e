package processtest

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/weirstream/weir/internal/kafkatest"
	"github.com/weirstream/weir/serde"
)

const (
	partitions = 4
	words      = 16
	chunk      = 200 // of each word
)

// A world is one app: its topics, its members, and what they should have counted.
type world struct {
	t      *testing.T
	broker *kafkatest.Broker
	app    string
	sent   int // of each word
	single int // words that come once
}

// needGroup is for tests with several members. The embedded broker counts a member that is killed, frozen or taken out while it waits for its
// assignment once too often, and the round stands still until the rebalance timeout; a real one does not.
func needGroup(t *testing.T) {
	t.Helper()
	kafkatest.NeedReal(t)
}

func newWorld(t *testing.T, options ...kafkatest.Option) *world {
	return newWorldOf(t, partitions, options...)
}

// newWorldOf has topics of so many partitions.
func newWorldOf(t *testing.T, partitions int, options ...kafkatest.Option) *world {
	w := &world{t: t, broker: kafkatest.Start(t, options...)}
	w.app = w.broker.Name("counts")
	w.broker.CreateTopic(w.app+"-in", partitions, nil)
	w.broker.CreateTopic(w.app+"-out", partitions, nil)
	return w
}

// send puts in a chunk of each word. Its keys have nothing to do with the words, so each word comes from every partition.
func (w *world) send() {
	w.t.Helper()
	var records []*kafkatest.Record
	for i := range chunk {
		for word := range words {
			records = append(records, kafkatest.KV(fmt.Sprint(i), fmt.Sprint("word", word)))
		}
	}
	w.broker.Produce(w.app+"-in", records...)
	w.sent += chunk
}

// awaitCounted waits until all that was sent is counted and committed.
func (w *world) awaitCounted() {
	w.t.Helper()
	defer func() {
		if w.t.Failed() {
			w.t.Log(w.broker.DumpGroup(w.app))
		}
	}()
	w.broker.AwaitCount(w.app+"-out", w.sent*words+w.single)
}

// finish waits for the rest, stops the members and checks what came out.
func (w *world) finish(members ...*member) {
	w.t.Helper()
	w.awaitCounted()
	for _, m := range members {
		m.stop()
	}
	w.check()
}

// check reads the output as anybody would: each word's counts are 1, 2, 3 and so on.
func (w *world) check() {
	w.t.Helper()
	counts := map[string]int64{}
	for _, r := range w.broker.ReadCommitted(w.app + "-out") {
		word := string(r.Key)
		n, err := serde.Int64.Decode(r.Value)
		if err != nil {
			w.t.Fatal(err)
		}
		if n != counts[word]+1 {
			w.t.Fatalf("%s: %d follows %d at partition %d, offset %d", word, n, counts[word], r.Partition, r.Offset)
		}
		counts[word] = n
	}
	for word := range words {
		if got := counts[fmt.Sprint("word", word)]; got != int64(w.sent) {
			w.t.Errorf("word%d: counted up to %d, want %d", word, got, w.sent)
		}
	}
	for word := range w.single {
		if got := counts[fmt.Sprint("new", word)]; got != 1 {
			w.t.Errorf("new%d: counted up to %d, want 1", word, got)
		}
	}
	w.broker.Eventually("no open transaction", func() bool { return len(w.broker.OpenTransactions(w.app)) == 0 })
}

// members waits until the group has so many.
func (w *world) members(n int) {
	w.t.Helper()
	w.broker.Eventually(fmt.Sprint(n, " members"), func() bool { return len(w.broker.Members(w.app)) == n })
}

// works waits until a member has tasks that count.
func (w *world) works(m *member) {
	w.t.Helper()
	w.broker.Eventually(m.name+" has tasks", func() bool {
		for topic := range w.broker.Assigned(w.app)[m.name] {
			if strings.HasSuffix(topic, "-repartition") {
				return true
			}
		}
		return false
	})
}

// A member is a process that counts, one after the other with the same instance and state.
type member struct {
	w    *world
	name string
	dir  string
	env  []string // what its program is told beside
	cmd  *exec.Cmd
	said bytes.Buffer // by the process that is up, or was last
	out  io.Writer    // what it prints
}

func (w *world) member(name string) *member {
	return w.memberOn(name, filepath.Join(w.t.TempDir(), name))
}

// memberOn has its state in dir.
func (w *world) memberOn(name, dir string) *member {
	m := w.down(name, dir)
	m.start()
	return m
}

// down is a member that is not started yet.
func (w *world) down(name, dir string) *member {
	m := &member{w: w, name: name, dir: dir}
	w.t.Cleanup(func() {
		if m.cmd != nil {
			if w.t.Failed() { // what it does shows why
				_ = m.cmd.Process.Signal(syscall.SIGQUIT)
				_ = m.cmd.Wait()
				return
			}
			_ = m.cmd.Process.Kill()
			_ = m.cmd.Wait()
		}
	})
	return m
}

func (m *member) start() {
	m.w.t.Helper()
	m.cmd = exec.Command(os.Args[0], "-test.run=none")
	m.cmd.Env = append(os.Environ(), "WEIR_TEST_MEMBER="+m.name, "WEIR_TEST_APP="+m.w.app, "WEIR_TEST_DIR="+m.dir,
		"WEIR_TEST_BROKERS="+strings.Join(m.w.broker.Brokers(), ","))
	m.cmd.Env = append(m.cmd.Env, m.env...)
	m.cmd.Stdout = m.out
	m.said.Reset()
	m.cmd.Stderr = io.MultiWriter(os.Stderr, &m.said)
	if err := m.cmd.Start(); err != nil {
		m.w.t.Fatal(err)
	}
}

// kill is kill -9.
func (m *member) kill() {
	m.w.t.Helper()
	m.signal(syscall.SIGKILL)
	_ = m.cmd.Wait() // it says that it was killed
	m.cmd = nil
}

// stop is what a deployment does.
func (m *member) stop() {
	m.w.t.Helper()
	m.signal(syscall.SIGTERM)
	if err := m.cmd.Wait(); err != nil {
		m.w.t.Errorf("%s ends: %v", m.name, err)
	}
	m.cmd = nil
}

// ends waits for a member that ends by itself, with this error.
func (m *member) ends(with error) {
	m.w.t.Helper()
	if err := m.cmd.Wait(); err == nil || !strings.Contains(m.said.String(), with.Error()) {
		m.w.t.Fatalf("%s ends with %v and says %q, want %v", m.name, err, m.said.String(), with)
	}
	m.cmd = nil
}

// freeze is what a laptop's lid does.
func (m *member) freeze() {
	m.w.t.Helper()
	m.signal(syscall.SIGSTOP)
}

func (m *member) signal(s syscall.Signal) {
	m.w.t.Helper()
	if err := m.cmd.Process.Signal(s); err != nil {
		m.w.t.Fatal(err)
	}
}

// lose deletes the state directory of a member that is down.
func (m *member) lose() {
	m.w.t.Helper()
	if err := os.RemoveAll(m.dir); err != nil {
		m.w.t.Fatal(err)
	}
}
