package registrytest

import (
	"net/http"
	"net/http/httptest"
	"sync"

	"github.com/weirstream/weir/serde/registry"
)

// A Fault stands before the API: it answers a request itself and returns true, or leaves it to the registry.
type Fault func(w http.ResponseWriter, req *http.Request) bool

// faults is the part of a Registry that tests play with.
type faults struct {
	faultMu  sync.Mutex
	fault    Fault
	requests int
}

// SetFault puts f before the API; nil takes it away. It does not concern calls that go without HTTP.
func (f *faults) SetFault(fault Fault) {
	f.faultMu.Lock()
	defer f.faultMu.Unlock()
	f.fault = fault
}

// Requests returns how many HTTP requests have come in, those that a fault answered included.
func (f *faults) Requests() int {
	f.faultMu.Lock()
	defer f.faultMu.Unlock()
	return f.requests
}

// meet counts a request and lets the fault have it.
func (f *faults) meet(w http.ResponseWriter, req *http.Request) bool {
	f.faultMu.Lock()
	f.requests++
	fault := f.fault
	f.faultMu.Unlock()
	return fault != nil && fault(w, req)
}

// Status is a fault that answers everything with an HTTP status and no JSON, as something in front of a registry does.
func Status(code int) Fault {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(code)
		w.Write([]byte("<html>no</html>"))
		return true
	}
}

// Credentials is a fault that wants this exact Authorization header.
func Credentials(authorization string) Fault {
	return func(w http.ResponseWriter, req *http.Request) bool {
		if req.Header.Get("Authorization") == authorization {
			return false
		}
		(&failure{http.StatusUnauthorized, "Unauthorized"}).write(w)
		return true
	}
}

// Config returns the configuration of a client that reaches the registry by function calls in place of sockets, so
// that it also works inside a testing/synctest bubble.
func (r *Registry) Config() registry.Config {
	return registry.Config{URLs: []string{"http://registry.test"}, Transport: inProcess{r}}
}

// inProcess is an http.RoundTripper that calls a handler.
type inProcess struct{ handler http.Handler }

func (d inProcess) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	w := httptest.NewRecorder()
	d.handler.ServeHTTP(w, req)
	return w.Result(), nil
}
