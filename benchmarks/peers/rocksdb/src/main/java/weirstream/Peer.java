package weirstream;

import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.WriteOptions;

/**
 * The micro-benchmark's RocksDB side, with the settings that Kafka Streams gives it: 50 MiB of block cache, write buffers of
 * 16 MiB, three of them, bloom filters, no log. Prints lines as go test -bench does. Arguments: folder, keys,
 * operations of each kind (a tenth for ranges), as many again before to warm up.
 */
public final class Peer {
  private final RocksDB db;
  private final WriteOptions unlogged = new WriteOptions().setDisableWAL(true);
  private final long keys;
  private final int operations;

  private interface Operation {
    void run(long key) throws RocksDBException;
  }

  public static void main(String[] args) throws Exception {
    RocksDB.loadLibrary();
    Path dir = Files.createTempDirectory(Path.of(args[0]), "rocksdb");
    BlockBasedTableConfig table =
        new BlockBasedTableConfig().setBlockCache(new LRUCache(50 << 20)).setBlockSize(4096).setFilterPolicy(new BloomFilter());
    try (Options options =
            new Options().setCreateIfMissing(true).setTableFormatConfig(table).setWriteBufferSize(16 << 20).setMaxWriteBufferNumber(3);
        RocksDB db = RocksDB.open(options, dir.toString())) {
      new Peer(db, Long.parseLong(args[1]), Integer.parseInt(args[2])).run();
    }
  }

  private Peer(RocksDB db, long keys, int operations) {
    this.db = db;
    this.keys = keys;
    this.operations = operations;
  }

  private void run() throws RocksDBException {
    for (long n = 0; n < keys; n++) {
      put(n);
    }
    // RocksDB has no store of decoded values: what weir calls hot and cold is one thing here.
    for (String heat : new String[] {"hot", "cold"}) {
      measure("put-" + heat, this::put, 2 * operations);
      measure("get-" + heat, this::get, operations);
      measure("update-" + heat, this::update, operations);
      measure("range100-" + heat, this::range, operations / 10);
    }
  }

  private void measure(String name, Operation op, int times) throws RocksDBException {
    for (long n = 0; n < times; n++) {
      op.run(key(n)); // warms the compiler
    }
    long wall = System.nanoTime();
    long cpu = cpu();
    for (long n = 0; n < times; n++) {
      op.run(key(times + n));
    }
    System.out.printf("BenchmarkState/%s/rocksdbjni-1 %d %.1f ns/op %.1f cpu-ns/rec%n", name, times,
        (System.nanoTime() - wall) / (double) times, (cpu() - cpu) / (double) times);
  }

  private static long cpu() {
    return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
  }

  private long key(long n) {
    return Long.remainderUnsigned(n * 0x9e3779b97f4a7c15L >>> 20, keys);
  }

  private static byte[] encoded(long key) {
    return ByteBuffer.allocate(8).putLong(key).array();
  }

  private void put(long key) throws RocksDBException {
    byte[] value = new byte[100];
    ByteBuffer.wrap(value).putLong(key);
    db.put(unlogged, encoded(key), value);
  }

  private void get(long key) throws RocksDBException {
    if (db.get(encoded(key)).length != 100) {
      throw new IllegalStateException("key " + key + " has another length");
    }
  }

  private void update(long key) throws RocksDBException {
    byte[] value = db.get(encoded(key));
    value[99]++;
    db.put(unlogged, encoded(key), value);
  }

  private void range(long key) {
    long from = Math.min(key, keys - 100);
    byte[] bound = encoded(from + 100);
    int n = 0;
    try (RocksIterator i = db.newIterator()) {
      for (i.seek(encoded(from)); i.isValid() && compare(i.key(), bound) < 0; i.next()) {
        n += i.value().length / 100;
      }
    }
    if (n != 100) {
      throw new IllegalStateException("a range of 100 keys has " + n);
    }
  }

  private static int compare(byte[] a, byte[] b) {
    return java.util.Arrays.compareUnsigned(a, b);
  }
}
