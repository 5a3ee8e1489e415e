// Package hugepage makes memory that is read at random lie on large pages.
//
// A lookup in a table of a million rows waits for memory, and before that for the page table, whose entries for pages of 4 KiB no cache holds either.
// With pages of 2 MiB they fit. Most systems give those to whoever asks (transparent_hugepage=madvise); Go's heap does not, because of memory
// that comes and goes in small pieces. Tables of state are large and dense.
package hugepage

import "unsafe"

// Page is the size of a large page. Where it is another, as on some ARM systems, the advice is worth less and costs nothing.
const Page = 2 << 20

// Make is make([]T, n), on large pages where it fills one. Of those it takes up to one more of address space, which is no
// memory until it is touched.
func Make[T any](n int) []T {
	each := int(unsafe.Sizeof(*new(T)))
	size := n * each
	if size < Page {
		return make([]T, n)
	}
	all := make([]T, n+Page/each+1)
	begin := unsafe.Pointer(unsafe.SliceData(all))
	offset := int(-uintptr(begin) % Page) // of the first page that is all ours
	first := (offset + each - 1) / each
	end := min((size+Page-1)/Page*Page, (len(all)*each-offset)/Page*Page)
	advise(unsafe.Slice((*byte)(unsafe.Add(begin, offset)), end))
	return all[first : first+n : first+n]
}
