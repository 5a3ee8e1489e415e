package main

import (
	"bytes"
	"os"
	"testing"
)

// The story as the example tells it, with the broker and registry that it brings along.
func TestStory(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), "", "", &out); err != nil {
		t.Fatalf("%v after\n%s", err, &out)
	}
	want, err := os.ReadFile("testdata/story.txt")
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
}
