package main

import (
	"testing"
	"time"

	"github.com/weirstream/weir/stream/streamtest"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func TestOrdersHaveThePriceOfTheirTime(t *testing.T) {
	d := streamtest.New(t, topology(), streamtest.StartAt(noon))
	d.In[string, string]("countries").Send("at", "Austria")
	d.In[string, Customer]("customers").SendAt(noon, "ann", Customer{"at"})
	prices := d.In[string, Price]("prices")
	prices.SendAt(noon, "tea", Price{300})
	orders := d.In[string, Order]("orders")
	order := func(customer string, seconds int) {
		at := noon.Add(time.Duration(seconds) * time.Second)
		orders.SendAt(at, "o", Order{Customer: customer, SKU: "tea", Quantity: 2, Placed: at})
	}
	order("ann", 1)
	order("bob", 5)
	prices.SendAt(noon.Add(3*time.Second), "tea", Price{400}) // later than the first order, earlier than the second
	orders.End()
	prices.End()
	type line struct {
		country string
		cents   int64
	}
	got := map[string]line{}
	for _, r := range d.Out[string, Enriched]("enriched").Read() {
		got[r.Value.Order.Customer] = line{r.Value.Country, r.Value.Cents}
	}
	if want := (line{"Austria", 600}); got["ann"] != want {
		t.Errorf("ann: %v, want %v", got["ann"], want)
	}
	if want := (line{"", 800}); got["bob"] != want {
		t.Errorf("bob, who is no customer: %v, want %v", got["bob"], want)
	}
}
