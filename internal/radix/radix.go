// Package radix puts keys in order by their first bytes, a byte at a time: for many short keys that costs a tenth of comparing them.
package radix

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// An Item is a key to be sorted: eight bytes of it, for which the key itself need not be looked at, and where it is.
type Item struct {
	Head uint64
	ID   uint32
}

// Few is the length below which comparing is cheaper than the tables of [Sort].
const Few = 256

// Sort orders items by their heads. Items with the same head stay in the order they were in.
func Sort(list []Item) {
	if len(list) == 0 {
		return
	}
	var counts [8][256]uint32
	for _, l := range list {
		for b := range counts {
			counts[b][byte(l.Head>>(8*b))]++
		}
	}
	from, to := list, []Item(nil)
	for b := range counts {
		at := &counts[b]
		if at[byte(from[0].Head>>(8*b))] == uint32(len(list)) {
			continue // bytes that all heads share cost nothing more than counting them
		}
		if to == nil {
			to = make([]Item, len(list))
		}
		sum := uint32(0)
		for i, n := range at {
			at[i], sum = sum, sum+n
		}
		for _, l := range from {
			i := byte(l.Head >> (8 * b))
			to[at[i]] = l
			at[i]++
		}
		from, to = to, from
	}
	if &from[0] != &list[0] {
		copy(list, from)
	}
}

// Head is the first eight bytes of b as a number that sorts as they do.
func Head(b []byte) uint64 {
	if len(b) >= 8 {
		return binary.BigEndian.Uint64(b)
	}
	var first [8]byte
	copy(first[:], b)
	return binary.BigEndian.Uint64(first[:])
}

// Order lists the places of n keys in the order of the keys; equal keys stay in the order of their places.
func Order(n int, key func(i uint32) []byte) []Item {
	list := make([]Item, n)
	for i := range list {
		list[i].ID = uint32(i)
	}
	By(list, key)
	return list
}

// By sorts items by their keys, equal ones by their IDs. It uses their heads for itself.
func By(list []Item, key func(id uint32) []byte) { order(list, key, 0) }

// order sorts keys that have the first so many bytes in common, eight bytes behind all that they share at a time.
func order(list []Item, key func(i uint32) []byte, depth int) {
	if len(list) < Few {
		compare(list, key, depth)
		return
	}
	first := key(list[0].ID)
	depth = len(first)
	for _, l := range list[1:] {
		depth = Common(first, key(l.ID), depth)
	}
	for i := range list {
		list[i].Head = Head(key(list[i].ID)[depth:])
	}
	ByHead(list, key, depth)
}

// ByHead is [By] for items whose heads are there: each is [Head] of what follows the first depth bytes of its key, which all keys share. Of most keys no
// more is looked at. Items come in the order of their IDs.
func ByHead(list []Item, key func(id uint32) []byte, depth int) {
	Sort(list)
	for i := 0; i < len(list); {
		j := i + 1
		for j < len(list) && list[j].Head == list[i].Head {
			j++
		}
		equal(list[i:j], key, depth)
		i = j
	}
}

// compare sorts keys by comparing what is behind depth.
func compare(list []Item, key func(i uint32) []byte, depth int) {
	slices.SortFunc(list, func(a, b Item) int {
		if c := bytes.Compare(key(a.ID)[depth:], key(b.ID)[depth:]); c != 0 {
			return c
		}
		return int(a.ID) - int(b.ID)
	})
}

// equal sorts keys whose heads behind depth are the same. A head of a key that ends there has been filled up with zeros, which another key may
// have: what ends comes first, so that one short key among long ones costs them nothing.
func equal(list []Item, key func(i uint32) []byte, depth int) {
	if len(list) == 1 {
		return
	}
	short := 0
	for i, l := range list {
		if len(key(l.ID)) <= depth+8 {
			list[i], list[short] = list[short], l
			short++
		}
	}
	compare(list[:short], key, depth)
	if short < len(list) {
		order(list[short:], key, depth+8)
	}
}

// Common is how many bytes a and b share, at most most, which a has.
func Common(a, b []byte, most int) int {
	most = min(most, len(b))
	if bytes.Equal(a[:most], b[:most]) {
		return most
	}
	n := 0
	for n < most && a[n] == b[n] {
		n++
	}
	return n
}
