package main

import (
	"context"
	"errors"
)

// soak is built with the engine's issue: it needs an app that can be killed.
func soak(context.Context, []string) error { return errors.New("soak is not built yet") }
