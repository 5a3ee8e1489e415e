package weirstream.nexmark;

import java.time.LocalDate;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/** Per auction and day, how many bids there were, and their prices. */
public final class Q17 {
  private Q17() {}

  static DataStream<?> build(DataStream<Event> in) {
    return Queries.bids(in)
        .map(b -> Tuple3.of(b.auction, b.time / Q15.DAY, b.price)).returns(Types.TUPLE(Types.LONG, Types.LONG, Types.LONG))
        .keyBy(b -> Tuple2.of(b.f0, b.f1), Types.TUPLE(Types.LONG, Types.LONG))
        .process(new Days());
  }

  static String show(Object row) {
    Tuple3<?, ?, ?> r = (Tuple3<?, ?, ?>) row;
    return "{Auction:" + r.f0 + " Day:" + LocalDate.ofEpochDay((Long) r.f1) + "} = " + r.f2;
  }

  /** What is known of the prices of an auction's day. */
  public static final class Prices {
    public Statistics.Ranks bids = new Statistics.Ranks();
    public long min = Long.MAX_VALUE;
    public long max = Long.MIN_VALUE;
    public long sum;

    public Prices() {}

    Prices copy() {
      Prices p = new Prices();
      p.bids = bids.copy();
      p.min = min;
      p.max = max;
      p.sum = sum;
      return p;
    }

    /** As Go prints it. */
    @Override
    public String toString() {
      return "{Bids:" + bids + " Min:" + min + " Max:" + max + " Avg:" + sum / bids.total + " Sum:" + sum + "}";
    }
  }

  private static final class Days extends KeyedProcessFunction<Tuple2<Long, Long>, Tuple3<Long, Long, Long>, Tuple3<Long, Long, Prices>> {
    private transient ValueState<Prices> prices;

    @Override
    public void open(OpenContext context) {
      prices = getRuntimeContext().getState(new ValueStateDescriptor<>("prices", Prices.class));
    }

    @Override
    public void processElement(Tuple3<Long, Long, Long> b, Context c, Collector<Tuple3<Long, Long, Prices>> out) throws Exception {
      Prices p = prices.value();
      if (p == null) {
        p = new Prices();
      }
      p.bids.add(Statistics.rank(b.f2));
      p.min = Math.min(p.min, b.f2);
      p.max = Math.max(p.max, b.f2);
      p.sum += b.f2;
      prices.update(p);
      out.collect(Tuple3.of(b.f0, b.f1, p.copy()));
    }
  }
}
