package engine

import (
	"errors"
	"testing"

	"github.com/weirstream/weir/internal/wire"
)

// TestAnAppKnowsItsOwnTransactionalIDs: foo must not end the transactions of foo-2.
func TestAnAppKnowsItsOwnTransactionalIDs(t *testing.T) {
	session := func(app string) *session { return &session{plan: &Plan{App: app}} }
	foo, foo2 := session("foo"), session("foo-2")
	for _, instance := range []string{"host", "pod-0", "r4x", "2"} {
		for _, id := range foo.ids(instance) {
			if !foo.isOwnID(id) {
				t.Errorf("foo does not know its own %s", id)
			}
			if foo2.isOwnID(id) {
				t.Errorf("foo-2 takes %s of foo for its own", id)
			}
		}
		for _, id := range foo2.ids(instance) {
			if foo.isOwnID(id) {
				t.Errorf("foo takes %s of foo-2 for its own", id)
			}
		}
	}
	for _, id := range []string{"foo", "foo-", "foo-x", "foo-x-2", "other-x-0"} {
		if foo.isOwnID(id) {
			t.Errorf("foo takes %s for its own", id)
		}
	}
}

func TestVerifyTopic(t *testing.T) {
	want := wire.TopicSpec{Name: "app-x-changelog", Partitions: 4, Configs: compactedConfigs}
	good := wire.Topic{Name: want.Name, Partitions: 4, Configs: map[string]string{"cleanup.policy": "compact"}}
	for what, c := range map[string]struct {
		change func(*wire.Topic)
		ok     bool
	}{
		"as it should be":       {func(*wire.Topic) {}, true},
		"unknown setting":       {func(t *wire.Topic) { t.Configs = nil }, true},
		"other partition count": {func(t *wire.Topic) { t.Partitions = 3 }, false},
		"delete policy":         {func(t *wire.Topic) { t.Configs = map[string]string{"cleanup.policy": "delete"} }, false},
	} {
		topic := good
		c.change(&topic)
		err := verifyTopic(want, map[string]wire.Topic{want.Name: topic})
		if (err == nil) != c.ok || err != nil && !errors.Is(err, ErrTopic) {
			t.Errorf("%s: got %v", what, err)
		}
	}
	if err := verifyTopic(want, nil); !errors.Is(err, ErrTopic) {
		t.Errorf("missing: got %v", err)
	}
}
