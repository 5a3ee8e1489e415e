package registry_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/registry"
	"github.com/weirstream/weir/serde/registry/registrytest"
)

const (
	v1 = `{"type":"record","name":"Order","fields":[{"name":"id","type":"long"}]}`
	v2 = `{"type":"record","name":"Order","fields":[{"name":"id","type":"long"},{"name":"note","type":"string","default":""}]}`
	// incompatible with both: a field without a default
	v3 = `{"type":"record","name":"Order","fields":[{"name":"id","type":"long"},{"name":"customer","type":"string"}]}`
)

func avroSchema(text string) serde.Schema {
	return serde.Schema{Format: serde.FormatAvro, Text: text}
}

func must[T any](t *testing.T, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// register puts a schema in without the client under test.
func register(t *testing.T, reg *registrytest.Registry, subject, text string) int {
	t.Helper()
	id, err := reg.Register(t.Context(), subject, avroSchema(text))
	return must(t, id, err)
}

func TestASchemaIsFetchedOnce(t *testing.T) {
	reg := registrytest.New()
	id := register(t, reg, "orders-value", v1)
	client := registry.New(reg.Config())
	for range 3 {
		s, err := client.Schema(t.Context(), id)
		if must(t, s, err).Text != v1 || s.Format != serde.FormatAvro {
			t.Fatalf("got %+v", s)
		}
	}
	if n := reg.Requests(); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
	if st := client.Stats(); st.Hits != 2 || st.Misses != 1 || st.Requests != 1 {
		t.Errorf("stats %+v", st)
	}
}

func TestManyCallersShareOneRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := registrytest.New()
		id := register(t, reg, "orders-value", v1)
		reg.SetFault(func(http.ResponseWriter, *http.Request) bool {
			time.Sleep(time.Second) // virtual: everyone else arrives meanwhile
			return false
		})
		client := registry.New(reg.Config())
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if _, err := client.Schema(t.Context(), id); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := reg.Requests(); n != 1 {
			t.Errorf("%d requests, want 1", n)
		}
	})
}

func TestACallerThatGivesUpLeavesTheOthersWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := registrytest.New()
		id := register(t, reg, "orders-value", v1)
		reg.SetFault(func(http.ResponseWriter, *http.Request) bool { time.Sleep(time.Second); return false })
		client := registry.New(reg.Config())
		impatient, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		var patient error
		var wg sync.WaitGroup
		_, err := client.Schema(impatient, id)
		wg.Go(func() { _, patient = client.Schema(t.Context(), id) })
		wg.Wait()
		if !errors.Is(err, serde.ErrRegistryUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the impatient caller got %v", err)
		}
		if patient != nil || reg.Requests() != 1 {
			t.Errorf("the patient caller got %v after %d requests", patient, reg.Requests())
		}
	})
}

func TestAnUnknownIDIsRememberedForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := registrytest.New()
		client := registry.New(reg.Config())
		for range 1000 {
			if _, err := client.Schema(t.Context(), 77); !errors.Is(err, serde.ErrUnknownSchema) || errors.Is(err, serde.ErrRegistryUnavailable) {
				t.Fatalf("got %v", err)
			}
		}
		if n := reg.Requests(); n > 3 {
			t.Errorf("%d requests for an id that does not exist", n)
		}
		time.Sleep(6 * time.Second)
		for i := 1; i <= 77; i++ {
			register(t, reg, fmt.Sprint("s", i), fmt.Sprintf(`{"type":"fixed","name":"F%d","size":1}`, i))
		}
		if _, err := client.Schema(t.Context(), 77); err != nil {
			t.Errorf("after the time to live: %v", err)
		}
	})
}

func TestUnknownIDsAreRememberedInBoundedSpace(t *testing.T) {
	reg := registrytest.New()
	client := registry.New(reg.Config())
	for id := range 3000 {
		if _, err := client.Schema(t.Context(), id+1); !errors.Is(err, serde.ErrUnknownSchema) {
			t.Fatal(err)
		}
	}
	if n := registry.Unknown(client); n > 1024 {
		t.Errorf("%d unknown ids are remembered", n)
	}
}

// The registry is down for five seconds while tasks keep asking. They learn that it is an outage, it sees few requests,
// and all goes on afterwards.
func TestAnOutageIsPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := registrytest.New()
		id := register(t, reg, "orders-value", v1)
		reg.SetFault(registrytest.Status(503))
		client := registry.New(reg.Config())
		began := time.Now()
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for {
					_, err := client.Schema(t.Context(), id)
					if err == nil {
						return
					}
					if !errors.Is(err, serde.ErrRegistryUnavailable) || errors.Is(err, serde.ErrUnknownSchema) {
						t.Errorf("got %v", err)
						return
					}
				}
			})
		}
		time.Sleep(5 * time.Second)
		if n := reg.Requests(); n < 3 || n > 10 {
			t.Errorf("%d requests in five seconds of outage", n)
		}
		reg.SetFault(nil)
		wg.Wait()
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("it took until %v after the start to go on", took)
		}
	})
}

// While the registry is failing, a call ends soon: a worker has other tasks.
func TestACallEndsSoonDuringAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := registrytest.New()
		reg.SetFault(registrytest.Status(503))
		client := registry.New(reg.Config())
		for i := range 20 {
			began := time.Now()
			_, err := client.Schema(t.Context(), 1)
			if took := time.Since(began); !errors.Is(err, serde.ErrRegistryUnavailable) || took > time.Second/2 {
				t.Errorf("call %d took %v: %v", i, took, err)
			}
		}
	})
}

func TestWhatIsNotARegistryIsAnOutage(t *testing.T) {
	for _, code := range []int{200, 301, 400, 401, 403, 404, 429, 500, 502, 503} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				reg := registrytest.New()
				reg.SetFault(registrytest.Status(code))
				_, err := registry.New(reg.Config()).Schema(t.Context(), 1)
				if !errors.Is(err, serde.ErrRegistryUnavailable) || errors.Is(err, serde.ErrUnknownSchema) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

func TestTheNextURLAnswers(t *testing.T) {
	reg := registrytest.New()
	id := register(t, reg, "orders-value", v1)
	var asked []string
	reg.SetFault(func(w http.ResponseWriter, req *http.Request) bool {
		asked = append(asked, req.URL.Host)
		if req.URL.Host == "one" {
			w.WriteHeader(http.StatusBadGateway)
			return true
		}
		return false
	})
	c := reg.Config()
	c.URLs = []string{"http://one", "http://two", "http://three"}
	client := registry.New(c)
	if _, err := client.Schema(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Register(t.Context(), "orders-value", avroSchema(v2)); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(asked, " "); got != "one two two two" {
		t.Errorf("asked %s: the URL that answered should be asked first", got)
	}
}

// A follower of the registry may not have heard of an id yet that another one has given out.
func TestAnUnknownIDIsAskedOfOtherURLs(t *testing.T) {
	reg := registrytest.New()
	id := register(t, reg, "orders-value", v1)
	reg.SetFault(func(w http.ResponseWriter, req *http.Request) bool {
		if req.URL.Host != "leader" {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"error_code":40403,"message":"Schema not found"}`)
		}
		return req.URL.Host != "leader"
	})
	c := reg.Config()
	c.URLs = []string{"http://follower", "http://leader"}
	if _, err := registry.New(c).Schema(t.Context(), id); err != nil {
		t.Error(err)
	}
	c.URLs = []string{"http://f1", "http://f2", "http://f3", "http://f4", "http://f5"}
	before := reg.Requests()
	if _, err := registry.New(c).Schema(t.Context(), id); !errors.Is(err, serde.ErrUnknownSchema) {
		t.Errorf("got %v", err)
	}
	if n := reg.Requests() - before; n > 3 {
		t.Errorf("%d requests for one id", n)
	}
}

func TestRegisterAndVersions(t *testing.T) {
	reg := registrytest.New()
	client := registry.New(reg.Config())
	ctx := t.Context()
	const subject = "a/b c%-value" // subjects go through paths
	first, err := client.Register(ctx, subject, avroSchema(v1))
	must(t, first, err)
	second, err := client.Register(ctx, subject, avroSchema(v2))
	must(t, second, err)
	before := reg.Requests()
	for range 10 {
		if again, err := client.Register(ctx, subject, avroSchema(v1)); again != first {
			t.Fatalf("registered again as %d, %v", again, err)
		}
	}
	if reg.Requests() != before {
		t.Error("a schema that this process registered was sent again")
	}
	id, s, err := client.Latest(ctx, subject)
	if err != nil || id != second || s.Text != v2 {
		t.Errorf("latest: %d %v %v", id, s, err)
	}
	id, s, err = client.Version(ctx, subject, 1)
	if err != nil || id != first || s.Text != v1 {
		t.Errorf("version 1: %d %v %v", id, s, err)
	}
	for what, err := range map[string]error{
		"subject": third(client.Latest(ctx, "nobody")),
		"version": third(client.Version(ctx, subject, 9)),
	} {
		if !errors.Is(err, serde.ErrUnknownSchema) {
			t.Errorf("unknown %s: %v", what, err)
		}
	}
}

// A program looks whether a version is there, and registers it when it is not.
func TestAVersionThatWasNotThereIsFoundAtOnce(t *testing.T) {
	client := registry.New(registrytest.New().Config())
	for range 2 {
		if _, _, err := client.Version(t.Context(), "s", 1); !errors.Is(err, serde.ErrUnknownSchema) {
			t.Fatal(err)
		}
	}
	id, err := client.Register(t.Context(), "s", avroSchema(v1))
	must(t, id, err)
	if got, _, err := client.Version(t.Context(), "s", 1); must(t, got, err) != id {
		t.Errorf("id %d, want %d", got, id)
	}
}

func TestGUIDs(t *testing.T) {
	reg := registrytest.New()
	id := register(t, reg, "s", v1)
	c := reg.Config()
	c.CacheDir = t.TempDir()
	client := registry.New(c)
	for range 3 {
		if got, err := client.IDOfGUID(t.Context(), reg.GUID(id)); must(t, got, err) != id {
			t.Errorf("id %d, want %d", got, id)
		}
		if _, err := client.IDOfGUID(t.Context(), "00000000-0000-0000-0000-000000000000"); !errors.Is(err, serde.ErrUnknownSchema) {
			t.Errorf("a GUID that nobody has: %v", err)
		}
	}
	if n := reg.Requests(); n != 2 {
		t.Errorf("%d requests for two GUIDs", n)
	}
	reg.SetFault(registrytest.Status(503))
	if got, err := registry.New(c).IDOfGUID(t.Context(), reg.GUID(id)); must(t, got, err) != id {
		t.Errorf("after a restart: id %d", got)
	}
}

func third[A, B any](_ A, _ B, err error) error { return err }

func TestTheRegistrysWordsAreInTheError(t *testing.T) {
	reg := registrytest.New()
	client := registry.New(reg.Config())
	ctx := t.Context()
	register(t, reg, "orders-value", v1)
	if err := client.Compatible(ctx, "orders-value", avroSchema(v2)); err != nil {
		t.Errorf("a compatible schema: %v", err)
	}
	if err := client.Compatible(ctx, "new-value", avroSchema(v3)); err != nil {
		t.Errorf("a new subject: %v", err)
	}
	_, registering := client.Register(ctx, "orders-value", avroSchema(v3))
	for what, err := range map[string]error{"checking": client.Compatible(ctx, "orders-value", avroSchema(v3)), "registering": registering} {
		if !errors.Is(err, serde.ErrIncompatible) || !strings.Contains(err.Error(), "customer") || !strings.Contains(err.Error(), "orders-value") {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, bad := range map[string]serde.Schema{"text": avroSchema(`{"type":`), "format": {Format: "THRIFT", Text: "x"}} {
		if _, err := client.Register(ctx, "x", bad); !errors.Is(err, serde.ErrIncompatible) {
			t.Errorf("a schema of no %s: %v", what, err)
		}
	}
}

func TestCompatibilityLevels(t *testing.T) {
	const (
		one   = `{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}`
		two   = `{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"b","type":"int","default":1}]}`
		three = `{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"b","type":"int"}]}` // reads two, not one
		wider = `{"type":"record","name":"R","fields":[{"name":"a","type":"long"}]}`
	)
	for _, c := range []struct {
		level   registrytest.Level
		history []string
		next    string
		ok      bool
	}{
		{registrytest.Backward, []string{one}, two, true},
		{registrytest.Backward, []string{one}, three, false},
		{registrytest.Backward, []string{one, two}, three, true},
		{registrytest.BackwardTransitive, []string{one, two}, three, false},
		{registrytest.Backward, []string{one}, wider, true},
		{registrytest.Forward, []string{one}, wider, false},
		{registrytest.Forward, []string{one}, three, true},
		{registrytest.Forward, []string{three}, one, false},
		{registrytest.ForwardTransitive, []string{three, two}, one, false},
		{registrytest.Full, []string{one}, two, true},
		{registrytest.Full, []string{one}, wider, false},
		{registrytest.FullTransitive, []string{one, two}, two, true},
		{registrytest.None, []string{one}, `"string"`, true},
	} {
		reg := registrytest.New()
		reg.SetCompatibility("s", registrytest.None)
		for _, text := range c.history {
			register(t, reg, "s", text)
		}
		reg.SetCompatibility("s", c.level)
		err := registry.New(reg.Config()).Compatible(t.Context(), "s", avroSchema(c.next))
		if (err == nil) != c.ok {
			t.Errorf("%s, %v then %s: %v", c.level, c.history, c.next, err)
		}
	}
}

func TestNormalize(t *testing.T) {
	reg := registrytest.New()
	c := reg.Config()
	c.Normalize = true
	first := register(t, reg, "orders-value", v1)
	spaced := strings.ReplaceAll(v1, ",", " , ")
	id, err := registry.New(c).Register(t.Context(), "orders-value", avroSchema(spaced))
	if must(t, id, err) != first {
		t.Errorf("a schema that differs in layout got id %d, want %d", id, first)
	}
}

func TestReferences(t *testing.T) {
	reg := registrytest.New()
	ctx := t.Context()
	register(t, reg, "customer", `{"type":"record","name":"shop.Customer","fields":[{"name":"name","type":"string"}]}`)
	ref := serde.Reference{Name: "shop.Customer", Subject: "customer", Version: 1}
	line := serde.Schema{Format: serde.FormatAvro, Text: `{"type":"record","name":"shop.Line","fields":[{"name":"by","type":"Customer"}]}`, References: []serde.Reference{ref}}
	client := registry.New(reg.Config())
	_, err := client.Register(ctx, "line", line)
	must(t, 0, err)
	order := serde.Schema{Format: serde.FormatAvro, Text: `{"type":"record","name":"shop.Order","fields":[{"name":"by","type":"Customer"},{"name":"line","type":"Line"}]}`,
		References: []serde.Reference{{Name: "shop.Line", Subject: "line", Version: 1}, ref}}
	id, err := client.Register(ctx, "order", order)
	must(t, id, err)
	back, err := registry.New(reg.Config()).Schema(ctx, id)
	if must(t, back, err); len(back.References) != 2 || back.References[1] != ref {
		t.Fatalf("the references came back as %+v", back.References)
	}
	parts, err := registry.References(ctx, client, back)
	if err != nil || len(parts) != 2 || parts[0].Name != "shop.Customer" || parts[1].Name != "shop.Line" {
		t.Errorf("parts %+v, %v", parts, err)
	}
}

// The kit against the registry for tests, and by scripts/registry run against a real one.
func TestConform(t *testing.T) {
	registrytest.Conform(t, func(t *testing.T) serde.Registry { return registrytest.Open(t) })
}
