package registry

import (
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// placeholder stands for the registry in requests until transport picks a URL. The host can resolve nowhere.
const placeholder = "http://registry.invalid"

// A transport sends each request to the first of several URLs that answers. It is where everything lives that the
// client library has no notion of: failover, credentials per URL, bounds on answers, and telling an answer of the
// registry from one of something in front of it.
type transport struct {
	next      http.RoundTripper
	endpoints []endpoint
	token     string
	counters  *counters
	preferred atomic.Int32 // index of the endpoint that answered last
}

func newTransport(c Config, endpoints []endpoint, n *counters) *transport {
	next := c.Transport
	if next == nil {
		next = ownTransport(c.TLS)
	}
	return &transport{next: next, endpoints: endpoints, token: c.Token, counters: n}
}

// ownTransport is a transport that shares no connections and no settings with http.DefaultTransport.
func ownTransport(conf *tls.Config) *http.Transport {
	if conf == nil {
		conf = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 2 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig:        conf.Clone(),
		TLSHandshakeTimeout:    2 * time.Second,
		MaxIdleConnsPerHost:    2,
		IdleConnTimeout:        30 * time.Second,
		ForceAttemptHTTP2:      true,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// maxIDAttempts bounds how many URLs are asked for an id that the first one does not know.
const maxIDAttempts = 3

// RoundTrip tries each endpoint once. An endpoint that cannot be reached, or is failing, is passed over; so is one that does
// not know an id, because another one may have given it out a moment ago.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		defer req.Body.Close() // each attempt reads its own copy
	}
	var failures []error
	var unknown *http.Response
	asksID := strings.HasPrefix(req.URL.Path, "/schemas/ids/")
	first := int(t.preferred.Load())
	for i := range t.endpoints {
		at := (first + i) % len(t.endpoints)
		resp, err := t.try(req, t.endpoints[at])
		switch {
		case err != nil:
			failures = append(failures, fmt.Errorf("%s: %w", t.endpoints[at].base, err))
		case asksID && resp.StatusCode == http.StatusNotFound && i+1 < maxIDAttempts && i+1 < len(t.endpoints):
			closeUnknown(unknown)
			unknown = resp
		default:
			closeUnknown(unknown)
			t.preferred.Store(int32(at))
			return resp, nil
		}
		if req.Context().Err() != nil {
			break
		}
	}
	if unknown != nil {
		return unknown, nil
	}
	return nil, errors.Join(failures...)
}

func closeUnknown(resp *http.Response) {
	if resp != nil {
		resp.Body.Close()
	}
}

// try sends req to one endpoint. It returns only answers that a registry itself could have given.
func (t *transport) try(req *http.Request, e endpoint) (*http.Response, error) {
	out := req.Clone(req.Context())
	out.URL.Scheme, out.URL.Host, out.Host = e.base.Scheme, e.base.Host, ""
	out.URL.Path = e.base.Path + req.URL.Path
	out.URL.RawPath = e.base.EscapedPath() + req.URL.EscapedPath()
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		out.Body = body
	}
	switch {
	case t.token != "":
		out.Header.Set("Authorization", "Bearer "+t.token)
	case e.user != "" || e.password != "":
		out.Header.Set("Authorization", "Basic "+basic(e.user, e.password))
	}
	out.Header.Set("Accept", "application/vnd.schemaregistry.v1+json, application/json")
	t.counters.requests.Add(1)
	resp, err := t.next.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	if err := refusal(resp); err != nil {
		resp.Body.Close()
		return nil, err
	}
	resp.Body = &boundedBody{body: resp.Body, left: maxResponseBytes}
	return resp, nil
}

// refusal tells whether an answer says something about the service rather than about the schema asked for.
func refusal(resp *http.Response) error {
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return fmt.Errorf("HTTP %d: the registry does not accept our credentials; check User, Password, Token and TLS of registry.Config", code)
	case code >= 300 && code < 400:
		// Following it would hand our credentials to whoever is named there.
		return fmt.Errorf("HTTP %d: it redirects; name the final URL in registry.Config", code)
	case code == http.StatusNotFound && (resp.ContentLength == 0 || !strings.Contains(resp.Header.Get("Content-Type"), "json")):
		return errors.New("HTTP 404 from something that is no registry; check the path of the URL (Apicurio's is /apis/ccompat/v7)")
	case code == http.StatusRequestTimeout || code == http.StatusTooManyRequests || code >= 500:
		return fmt.Errorf("HTTP %d %s", code, http.StatusText(code))
	}
	return nil
}

func basic(user, password string) string {
	return base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
}

// errTooLarge is what reading an endless answer ends with.
var errTooLarge = fmt.Errorf("the answer is larger than %d bytes", maxResponseBytes)

// A boundedBody fails, instead of pretending that a long answer ended.
type boundedBody struct {
	body io.ReadCloser
	left int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLarge
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.body.Read(p)
	b.left -= int64(n)
	return n, err
}

func (b *boundedBody) Close() error { return b.body.Close() }
