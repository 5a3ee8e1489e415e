package kafkatest

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// startReal uses the run's broker, or starts a cluster of this test's own.
func (b *Broker) startReal(s settings) {
	b.t.Helper()
	get := os.Getenv
	if s.own() {
		started := b.startOwn(s)
		get = func(key string) string { return started[key] }
	}
	b.dir = get("WEIR_KAFKA_DIR")
	if get(s.door.variable()) == "" {
		b.t.Fatalf("kafkatest: WEIR_KAFKA=real, but %s is empty: run through scripts/kafka run -secure -- …, or make test-real", s.door.variable())
	}
	b.addrs = strings.Split(get(s.door.variable()), ",")
	if s.door.tls() {
		pem, err := os.ReadFile(get("WEIR_KAFKA_CA"))
		if err != nil {
			b.t.Fatalf("kafkatest: the broker's certificate: %v", err)
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(pem)
		b.tls = &tls.Config{RootCAs: roots}
	}
}

// startOwn starts a cluster through scripts/kafka and returns what that prints.
func (b *Broker) startOwn(s settings) map[string]string {
	b.t.Helper()
	args := []string{"start", "-nodes", strconv.Itoa(s.nodes), "-heap", "512m"}
	if s.door != Plain {
		args = append(args, "-secure")
	}
	for _, p := range s.properties {
		args = append(args, "-p", p)
	}
	out := b.script(args...)
	started := make(map[string]string)
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), "="); ok {
			started[key] = value
		}
	}
	b.own = true
	b.t.Cleanup(func() { b.script("stop", started["WEIR_KAFKA_DIR"]) })
	return started
}

// KillNode kills a node as kill -9 does. Nodes are counted from 1; the cluster must be the test's own, see [Nodes].
func (b *Broker) KillNode(node int) {
	b.t.Helper()
	b.needOwn()
	b.script("kill", b.dir, strconv.Itoa(node))
}

// StartNode starts a killed node again and waits until it is ready.
func (b *Broker) StartNode(node int) {
	b.t.Helper()
	b.needOwn()
	b.script("up", b.dir, strconv.Itoa(node))
}

func (b *Broker) needOwn() {
	b.t.Helper()
	if !b.own {
		b.t.Fatal("kafkatest: only nodes of a real cluster of the test's own can be killed: use NeedReal and Nodes(3)")
	}
}

// script runs scripts/kafka. Its nodes inherit no pipe of ours, so Output returns when the script ends.
func (b *Broker) script(args ...string) []byte {
	b.t.Helper()
	cmd := exec.Command(findScript(b.t), args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		b.t.Fatalf("kafkatest: scripts/kafka %s: %v\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return out
}

// findScript looks for scripts/kafka from the test's folder upwards: a binary built with -trimpath does not know where its
// sources are.
func findScript(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatalf("kafkatest: %v", err)
	}
	for ; ; dir = filepath.Dir(dir) {
		path := filepath.Join(dir, "scripts", "kafka")
		if _, err := os.Stat(path); err == nil {
			return path
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("kafkatest: no scripts/kafka above this folder: run the tests inside a checkout of weir")
		}
	}
}
