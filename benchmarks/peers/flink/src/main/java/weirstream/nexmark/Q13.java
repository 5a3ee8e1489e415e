package weirstream.nexmark;

import java.util.HashMap;
import java.util.Map;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichFlatMapFunction;
import org.apache.flink.api.java.tuple.Tuple5;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.util.Collector;

/** Every bid with the row of a side input, which is loaded before the first bid. */
final class Q13 {
  private Q13() {}

  static DataStream<?> build(DataStream<Event> in) {
    return Queries.bids(in).flatMap(new Lookup());
  }

  private static final class Lookup extends RichFlatMapFunction<Event.Bid, Tuple5<Long, Long, Long, Long, String>> {
    private static final long ROWS = 10_000;

    private transient Map<Long, String> side;

    @Override
    public void open(OpenContext context) {
      side = new HashMap<>();
      for (long key = 0; key < ROWS; key++) {
        if (key % 7 != 0) { // as in Go, so that the join has something to leave out
          side.put(key, "side " + key);
        }
      }
    }

    @Override
    public void flatMap(Event.Bid b, Collector<Tuple5<Long, Long, Long, Long, String>> out) {
      String value = side.get(b.auction % ROWS);
      if (value != null) {
        out.collect(Tuple5.of(b.auction, b.bidder, b.price, b.time, value));
      }
    }
  }
}
