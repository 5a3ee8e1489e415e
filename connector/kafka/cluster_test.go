package kafka

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/internal/kafkatest"
	"github.com/weirstream/weir/internal/wire"
)

// door connects through a listener and uses it: a member, a transaction and a reader all go in by the same door.
func door(t *testing.T, c *Cluster) error {
	t.Helper()
	c.Logger = slog.New(slog.NewTextHandler(testWriter{t}, nil))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	l, err := c.Connect(ctx, "door")
	if err != nil {
		return err
	}
	defer l.Close()
	name := fmt.Sprintf("door-%d", time.Now().UnixNano())
	if err := l.Create(ctx, wire.TopicSpec{Name: name, Partitions: 1}); err != nil {
		return err
	}
	at := wire.TopicPartition{Topic: name}
	m, err := l.Join(ctx, wire.GroupConfig{Group: name, Topics: []string{name}, Plan: func(members []wire.Member) map[string]wire.Assignment {
		return map[string]wire.Assignment{members[0].ID: {Partitions: []wire.TopicPartition{at}}}
	}})
	if err != nil {
		return err
	}
	defer m.Leave(ctx, false)
	select {
	case <-m.Events():
	case <-ctx.Done():
		return ctx.Err()
	}
	tx, err := l.Transactions(ctx, wire.TxConfig{IDs: [2]string{name + "-0", name + "-1"}, Timeout: 30 * time.Second})
	if err != nil {
		return err
	}
	defer tx.Close()
	a, err := tx.Appender("t", 1)
	if err != nil {
		return err
	}
	to, err := a.To(ctx, name)
	if err != nil {
		return err
	}
	to.Append(0, time.Now().UnixMilli(), nil, []byte("in"), nil)
	a.Cut(1)
	if _, err := tx.Flush(ctx, 1); err != nil {
		return err
	}
	if err := tx.Commit(ctx, 1, m.Identity(), []wire.Position{{TopicPartition: at}}); err != nil {
		return err
	}
	r, err := l.Read(ctx, at, 0, wire.ReadOptions{Committed: true})
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		b, err := r.Next(ctx)
		if err != nil {
			return err
		}
		if len(b.Records) == 1 && string(b.Records[0].Value) == "in" {
			b.Release()
			return nil
		}
	}
}

func TestDoors(t *testing.T) {
	for _, d := range []kafkatest.Door{kafkatest.SASL, kafkatest.TLS, kafkatest.SASLTLS} {
		b := kafkatest.Start(t, kafkatest.Through(d))
		mechanisms := []string{""}
		if d != kafkatest.TLS {
			mechanisms = []string{Plain, ScramSHA256, ScramSHA512}
		}
		for _, mechanism := range mechanisms {
			t.Run(fmt.Sprintf("%v/%s", d, mechanism), func(t *testing.T) {
				c := &Cluster{Brokers: b.Brokers(), TLS: b.TLS()}
				if mechanism != "" {
					c.SASL = &SASL{mechanism, kafkatest.User, kafkatest.Password}
				}
				if err := door(t, c); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func TestWrongPasswordIsRefusedWithoutSayingIt(t *testing.T) {
	b := kafkatest.Start(t, kafkatest.Through(kafkatest.SASL))
	for _, mechanism := range []string{Plain, ScramSHA256, ScramSHA512} {
		var logged bytes.Buffer
		c := &Cluster{Brokers: b.Brokers(), SASL: &SASL{mechanism, kafkatest.User, "hunter2"}, StartWithin: time.Second,
			Logger: slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))}
		_, err := c.Connect(t.Context(), "app")
		if err == nil {
			t.Fatalf("%s: connected", mechanism)
		}
		if kafkatest.Real() && !errors.Is(err, wire.ErrRefused) { // the embedded one hangs up without a word
			t.Errorf("%s: %v", mechanism, err)
		}
		if said := err.Error() + logged.String() + fmt.Sprintf("%v %+v %#v", c.SASL, *c.SASL, c.SASL); strings.Contains(said, "hunter2") {
			t.Errorf("%s: the password is in %q", mechanism, said)
		}
	}
}

func TestSASLPrintsWithoutItsPassword(t *testing.T) {
	s := &SASL{Plain, "user", "hunter2"}
	var logged bytes.Buffer
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("x", "sasl", s, "value", *s, "cluster", Cluster{SASL: s})
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, said := range []string{fmt.Sprint(s), fmt.Sprintf("%+v", *s), fmt.Sprintf("%#v", s), fmt.Sprintf("%#v", *s), fmt.Sprintf("%+v", Cluster{SASL: s}), logged.String(), string(text)} {
		if strings.Contains(said, "hunter2") {
			t.Errorf("the password is in %s", said)
		}
	}
}

func TestCertificatesAreVerified(t *testing.T) {
	b := kafkatest.Start(t, kafkatest.Through(kafkatest.TLS))
	for name, c := range map[string]*tls.Config{
		"unknown authority": {RootCAs: x509.NewCertPool()},
		"another name":      {RootCAs: b.TLS().RootCAs, ServerName: "elsewhere.example"},
	} {
		_, err := (&Cluster{Brokers: b.Brokers(), TLS: c, StartWithin: time.Second, Logger: slog.New(slog.DiscardHandler)}).Connect(t.Context(), "app")
		var unknown *tls.CertificateVerificationError
		if !errors.As(err, &unknown) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestConnectNamesTheAddresses(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	free.Close()
	var logged bytes.Buffer
	c := &Cluster{Brokers: []string{addr}, StartWithin: 200 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(&logged, nil))}
	if _, err := c.Connect(t.Context(), "app"); err == nil || !strings.Contains(err.Error(), addr) || !strings.Contains(err.Error(), "200ms") {
		t.Error(err)
	}
	if !strings.Contains(logged.String(), "cannot connect yet") {
		t.Errorf("logged %q", logged.String())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c.StartWithin = time.Hour
	if _, err := c.Connect(ctx, "app"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestConnectReportsEveryMistake(t *testing.T) {
	_, err := (&Cluster{SASL: &SASL{Mechanism: "KERBEROS"}}).Connect(t.Context(), "app")
	if err == nil || !strings.Contains(err.Error(), "Brokers") || !strings.Contains(err.Error(), "KERBEROS") {
		t.Error(err)
	}
	if _, err := (&Cluster{Brokers: []string{"x:1"}, SASL: &SASL{Mechanism: Plain}}).Connect(t.Context(), "app"); err == nil {
		t.Error("SASL without a user is no error")
	}
}

// The conversation of RFC 7677 with the client's nonce and the password from there.
func TestScramAsInTheStandard(t *testing.T) {
	s := newScram(ScramSHA256)
	if err := s.Begin("user", "pencil", ""); err != nil {
		t.Fatal(err)
	}
	s.nonce = "rOprNGfwEbeRWgbNEkqO"
	for _, step := range []struct{ server, client string }{
		{"", "n,,n=user,r=rOprNGfwEbeRWgbNEkqO"},
		{"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
			"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="},
		{"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=", ""},
	} {
		got, err := s.Step(step.server)
		if err != nil || got != step.client {
			t.Fatalf("to %q: %q, %v", step.server, got, err)
		}
	}
	if !s.Done() {
		t.Error("not done")
	}
}

func TestScramRefuses(t *testing.T) {
	const nonce = "abc"
	for name, server := range map[string]string{
		"another nonce":       "r=xyz123,s=W22Z,i=4096",
		"the same nonce":      "r=abc,s=W22Z,i=4096",
		"no salt":             "r=abcd,s=!,i=4096",
		"too many iterations": "r=abcd,s=W22Z,i=99999999",
		"no iterations":       "r=abcd,s=W22Z",
		"nothing":             "",
	} {
		s := newScram(ScramSHA512)
		_ = s.Begin("u", "p", "")
		s.nonce = nonce
		_, _ = s.Step("")
		if _, err := s.Step(server); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	s := newScram(ScramSHA256)
	_ = s.Begin("u", "p", "")
	s.nonce = nonce
	_, _ = s.Step("")
	if _, err := s.Step("r=abcd,s=W22Z,i=1"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Step("v=AAAA"); err == nil {
		t.Error("a server that does not know the password is believed")
	}
}
