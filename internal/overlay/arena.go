package overlay

import "math/bits"

// An arena keeps byte strings outside the garbage collector's sight: a few large blocks instead of an object each.
// A string is found by its place and its length, which says its size class.
type arena struct {
	classes [classes]class
}

// A class has the strings of one size, or in the last one those that are too long for any: a block each.
type class struct {
	blocks [][]byte
	free   []uint32
	n      uint32
}

const (
	smallStep  = 16
	smallLimit = 256 // up to it, classes are multiples of smallStep
	largeLimit = 4096
	smallClass = smallLimit / smallStep
	classes    = smallClass + 4 + 1 // 512, 1024, 2048, 4096, and what is longer
)

// classOf returns the class for n bytes, their size in it, and how many bits of a place count within a block.
func classOf(n int) (c, size int, inBlock uint) {
	switch {
	case n <= smallLimit:
		c = max(n-1, 0) / smallStep
		return c, (c + 1) * smallStep, 8
	case n <= largeLimit:
		c = bits.Len(uint(n-1)) - 9
		return smallClass + c, smallLimit << (c + 1), 4
	}
	return classes - 1, n, 0
}

func (a *arena) alloc(n int) (place uint32) {
	c, size, inBlock := classOf(n)
	cl := &a.classes[c]
	if last := len(cl.free) - 1; last >= 0 {
		place = cl.free[last]
		cl.free = cl.free[:last]
	} else {
		place = cl.n
		cl.n++
	}
	block := int(place >> inBlock)
	switch {
	case block < len(cl.blocks):
	case inBlock > 0:
		cl.blocks = addBlocks(cl.blocks, size<<inBlock)
	default:
		cl.blocks = append(cl.blocks, nil)
	}
	if cl.blocks[block] == nil {
		cl.blocks[block] = make([]byte, size)
	}
	return place
}

func (a *arena) bytes(place uint32, n int) []byte {
	c, size, inBlock := classOf(n)
	at := int(place&(1<<inBlock-1)) * size
	return a.classes[c].blocks[place>>inBlock][at : at+n : at+n]
}

func (a *arena) release(place uint32, n int) {
	c, _, inBlock := classOf(n)
	cl := &a.classes[c]
	cl.free = append(cl.free, place)
	if inBlock == 0 {
		cl.blocks[place] = nil
	}
}
