package registry_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/registry"
	"github.com/weirstream/weir/serde/registry/registrytest"
)

func TestCredentials(t *testing.T) {
	basic := func(s string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(s)) }
	for _, c := range []struct {
		name, want string
		set        func(*registry.Config)
	}{
		{"basic", basic("ann:s3cret"), func(c *registry.Config) { c.User, c.Password = "ann", "s3cret" }},
		{"in the URL", basic("bob:p@ss"), func(c *registry.Config) { c.URLs = []string{"http://bob:p%40ss@registry.test"} }},
		{"bearer", "Bearer t0ken", func(c *registry.Config) { c.Token = "t0ken" }},
	} {
		reg := registrytest.New()
		id := register(t, reg, "s", v1)
		reg.SetFault(registrytest.Credentials(c.want))
		conf := reg.Config()
		c.set(&conf)
		if _, err := registry.New(conf).Schema(t.Context(), id); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// An echo answers with everything it was sent, in all the ways that end up in errors.
func echo(code int) registrytest.Fault {
	return func(w http.ResponseWriter, req *http.Request) bool {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Location", "http://evil.test/?"+req.Header.Get("Authorization"))
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"error_code":%d,"message":%q,"is_compatible":false,"messages":[%[2]q]}`, code, fmt.Sprint(req.Header, req.URL))
		return true
	}
}

func TestNoSecretIsInAnError(t *testing.T) {
	secrets := []string{"hunter2hunter2", "tok3ntok3n", base64.StdEncoding.EncodeToString([]byte("ann:hunter2hunter2"))}
	for _, code := range []int{200, 302, 401, 404, 409, 422, 500} {
		for name, set := range map[string]func(*registry.Config){
			"password": func(c *registry.Config) { c.User, c.Password = "ann", secrets[0] },
			"url":      func(c *registry.Config) { c.URLs = []string{"http://ann:" + secrets[0] + "@registry.test"} },
			"token":    func(c *registry.Config) { c.Token = secrets[1] },
			"invalid":  func(c *registry.Config) { c.URLs = []string{"ftp://ann:" + secrets[0] + "@registry.test"} },
			"no url":   func(c *registry.Config) { c.URLs = []string{"http://ann:" + secrets[0] + "@re gistry\x7f.test"} },
			"both":     func(c *registry.Config) { c.User, c.Password, c.Token = "ann", secrets[0], secrets[1] },
		} {
			synctest.Test(t, func(t *testing.T) {
				reg := registrytest.New()
				reg.SetFault(echo(code))
				conf := reg.Config()
				set(&conf)
				client := registry.New(conf)
				_, byID := client.Schema(t.Context(), 1)
				_, registered := client.Register(t.Context(), "s", avroSchema(v1))
				compatible := client.Compatible(t.Context(), "s", avroSchema(v1))
				texts := fmt.Sprint(byID, registered, compatible, client)
				if byID == nil || registered == nil {
					t.Fatalf("%s %d: no error", name, code)
				}
				for _, secret := range secrets {
					if strings.Contains(texts, secret) {
						t.Errorf("%s %d: a secret shows in %s", name, code, texts)
					}
				}
			})
		}
	}
}

func TestConfigMistakesAreReported(t *testing.T) {
	for name, c := range map[string]registry.Config{
		"no URL":      {},
		"no scheme":   {URLs: []string{"localhost:8081"}},
		"a query":     {URLs: []string{"http://x?y=z"}},
		"two ways in": {URLs: []string{"http://x"}, User: "u", Token: "t"},
		"and in URLs": {URLs: []string{"http://u:p@x"}, Token: "t"},
		"two TLS":     {URLs: []string{"http://x"}, TLS: &tls.Config{}, Transport: http.DefaultTransport},
	} {
		client := registry.New(c)
		_, byID := client.Schema(t.Context(), 1)
		_, registering := client.Register(t.Context(), "s", avroSchema(v1))
		for _, err := range []error{byID, registering, client.Compatible(t.Context(), "s", avroSchema(v1)), third(client.Latest(t.Context(), "s"))} {
			if err == nil || errors.Is(err, serde.ErrRegistryUnavailable) || !strings.Contains(err.Error(), "Config") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestTLSAndMutualTLS(t *testing.T) {
	reg := registrytest.New()
	id := register(t, reg, "s", v1)
	server := httptest.NewUnstartedServer(reg)
	server.Config.ErrorLog = nil
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.StartTLS()
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	short := registry.Config{URLs: []string{server.URL}, CallTimeout: 2 * time.Second}

	with := short
	with.TLS = &tls.Config{RootCAs: roots, Certificates: server.TLS.Certificates}
	if _, err := registry.New(with).Schema(t.Context(), id); err != nil {
		t.Errorf("with a client certificate: %v", err)
	}
	without := short
	without.TLS = &tls.Config{RootCAs: roots}
	if _, err := registry.New(without).Schema(t.Context(), id); !errors.Is(err, serde.ErrRegistryUnavailable) {
		t.Errorf("without a client certificate: %v", err)
	}
	if _, err := registry.New(short).Schema(t.Context(), id); !errors.Is(err, serde.ErrRegistryUnavailable) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("with roots that do not know the server: %v", err)
	}
}

// A stream answers a request with bytes that do not end.
type stream struct{ left int }

func (s *stream) Read(p []byte) (int, error) {
	if s.left -= len(p); s.left < 0 {
		return 0, errors.New("the client read on and on")
	}
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}
func (s *stream) Close() error { return nil }

type endless struct{}

func (endless) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(&stream{left: 64 << 20}), Request: req}, nil
}

func TestAnAnswerWithoutEndIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := registry.New(registry.Config{URLs: []string{"http://x"}, Transport: endless{}, CallTimeout: 50 * time.Millisecond})
		_, err := client.Schema(t.Context(), 1)
		if !errors.Is(err, serde.ErrRegistryUnavailable) || !strings.Contains(err.Error(), "larger than") {
			t.Errorf("got %v", err)
		}
	})
}

// A registry that accepts a request and never answers costs the time of a call, and is asked again meanwhile.
type silent struct{}

func (silent) RoundTrip(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

func TestARegistryThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := registry.New(registry.Config{URLs: []string{"http://x"}, Transport: silent{}})
		began := time.Now()
		_, err := client.Schema(t.Context(), 1)
		if took := time.Since(began); !errors.Is(err, serde.ErrRegistryUnavailable) || took > 5*time.Second {
			t.Errorf("after %v: %v", took, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began = time.Now()
		if _, err := client.Register(ctx, "s", avroSchema(v1)); !errors.Is(err, serde.ErrRegistryUnavailable) || time.Since(began) != 0 {
			t.Errorf("a cancelled call, after %v: %v", time.Since(began), err)
		}
	})
}
