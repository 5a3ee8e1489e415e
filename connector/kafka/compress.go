package kafka

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy/xerial"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/weirstream/weir/internal/wire"
)

// codecs keep what compresses and decompresses between batches, because making one costs more than a batch.
type codecs struct {
	gzipIn, gzipOut, lz4In, lz4Out, zstdIn, zstdOut sync.Pool

	rates [wire.Zstd + 1]rate
}

// shrink is the compressed form of a batch's records.
func (c *codecs) shrink(how wire.Compression, b []byte) ([]byte, error) {
	switch how {
	case wire.Gzip:
		w, _ := c.gzipOut.Get().(*gzip.Writer)
		if w == nil {
			w = gzip.NewWriter(nil)
		}
		defer c.gzipOut.Put(w)
		return writeAll(w, b)
	case wire.Snappy:
		return xerial.Encode(nil, b), nil
	case wire.LZ4:
		w, _ := c.lz4Out.Get().(*lz4.Writer)
		if w == nil {
			w = lz4.NewWriter(nil)
			if err := w.Apply(lz4.BlockSizeOption(lz4.Block64Kb)); err != nil {
				return nil, err
			}
		}
		defer c.lz4Out.Put(w)
		return writeAll(w, b)
	case wire.Zstd:
		w, _ := c.zstdOut.Get().(*zstd.Encoder)
		if w == nil {
			var err error
			if w, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithZeroFrames(true)); err != nil {
				return nil, err
			}
		}
		defer c.zstdOut.Put(w)
		return w.EncodeAll(b, nil), nil
	}
	return nil, fmt.Errorf("compression %d is not known", how)
}

// A compressor writes a stream of its own into out after Reset.
type compressor interface {
	io.WriteCloser
	Reset(out io.Writer)
}

func writeAll(w compressor, b []byte) ([]byte, error) {
	var out bytes.Buffer
	w.Reset(&out)
	if _, err := w.Write(b); err != nil {
		return nil, err
	}
	err := w.Close()
	return out.Bytes(), err
}
