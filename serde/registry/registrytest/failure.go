package registrytest

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/weirstream/weir/serde"
)

// A failure is an error of the API: the code's first three digits are the HTTP status.
type failure struct {
	code    int
	message string
}

func fail(code int, format string, args ...any) *failure {
	return &failure{code, fmt.Sprintf(format, args...)}
}

func (f *failure) status() int {
	if f.code >= 10000 {
		return f.code / 100
	}
	return f.code
}

func (f *failure) write(w http.ResponseWriter) {
	w.WriteHeader(f.status())
	json.NewEncoder(w).Encode(map[string]any{"error_code": f.code, "message": f.message})
}

// direct is the failure as callers without HTTP get it.
func direct(f *failure) error {
	if f == nil {
		return nil
	}
	kind := serde.ErrRegistryUnavailable
	switch f.status() {
	case http.StatusNotFound:
		kind = serde.ErrUnknownSchema
	case http.StatusConflict, http.StatusUnprocessableEntity:
		kind = serde.ErrIncompatible
	}
	return fmt.Errorf("registrytest: %w: %s (error %d)", kind, f.message, f.code)
}

func asError[T any](v T, f *failure) (T, error) { return v, direct(f) }
