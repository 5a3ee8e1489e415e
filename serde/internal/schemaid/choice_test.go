package schemaid_test

import (
	"testing"

	"github.com/weirstream/weir/serde"
	"github.com/weirstream/weir/serde/internal/schemaid"
	"github.com/weirstream/weir/serde/registry"
	"github.com/weirstream/weir/serde/registry/registrytest"
)

func TestChoice(t *testing.T) {
	reg := registrytest.New()
	var ids []int
	for _, text := range []string{`"string"`, `["null","string"]`} {
		id, err := reg.Register(t.Context(), "orders-value", serde.Schema{Format: serde.FormatAvro, Text: text})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	own := schemaid.NewChoice(registry.TopicName)
	latest, first, last := own, own, own
	latest.UseVersion(1)
	latest.UseLatest()
	first.UseLatest()
	first.UseVersion(1)
	last.UseVersion(2)
	if own.Given() {
		t.Error("a new Choice does not register its own schema")
	}
	for _, c := range []struct {
		choice schemaid.Choice
		want   int
	}{{latest, ids[1]}, {first, ids[0]}, {last, ids[1]}} {
		if !c.choice.Given() {
			t.Errorf("%+v: not given", c.choice)
		}
		if id, _, err := c.choice.Find(reg, "orders-value"); err != nil || id != c.want {
			t.Errorf("%+v: id %d, %v; want %d", c.choice, id, err, c.want)
		}
	}
}

func TestChoiceOfSubject(t *testing.T) {
	at := serde.Binding{Topic: "orders", Key: true}
	byTopic := schemaid.NewChoice(registry.TopicName)
	byTopic.UseStrategy(nil)
	named := byTopic
	named.UseStrategy(registry.RecordName)
	for want, c := range map[string]schemaid.Choice{"orders-key": byTopic, "shop.Order": named} {
		if got, err := c.Subject(at, "shop.Order"); err != nil || got != want {
			t.Errorf("subject %q, %v; want %q", got, err, want)
		}
	}
	if _, err := named.Subject(at, ""); err == nil {
		t.Error("a record without a name has a subject of its name")
	}
}
