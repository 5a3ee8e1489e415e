package weirstream.nexmark;

import java.time.LocalDate;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.tuple.Tuple4;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/** Per day, bids, different bidders and different auctions, in all and by price. */
final class Q15 {
  static final long DAY = 86_400_000;

  private Q15() {}

  static DataStream<?> build(DataStream<Event> in) {
    return Queries.bids(in)
        .map(b -> Tuple4.of(b.time / DAY, b.bidder, b.auction, b.price)).returns(Types.TUPLE(Types.LONG, Types.LONG, Types.LONG, Types.LONG))
        .keyBy(b -> b.f0)
        .process(new Days());
  }

  static String show(Object row) {
    Tuple2<?, ?> r = (Tuple2<?, ?>) row;
    return LocalDate.ofEpochDay((Long) r.f0) + " = " + r.f1;
  }

  /** Keeps, beside a day's counts, the ranks that each of its bidders and auctions was seen with. */
  private static final class Days extends KeyedProcessFunction<Long, Tuple4<Long, Long, Long, Long>, Tuple2<Long, Statistics>> {
    private transient ValueState<Statistics> counts;
    private transient MapState<Long, Integer> bidders;
    private transient MapState<Long, Integer> auctions;

    @Override
    public void open(OpenContext context) {
      counts = getRuntimeContext().getState(new ValueStateDescriptor<>("counts", Statistics.class));
      bidders = getRuntimeContext().getMapState(new MapStateDescriptor<>("bidders", Types.LONG, Types.INT));
      auctions = getRuntimeContext().getMapState(new MapStateDescriptor<>("auctions", Types.LONG, Types.INT));
    }

    @Override
    public void processElement(Tuple4<Long, Long, Long, Long> b, Context c, Collector<Tuple2<Long, Statistics>> out) throws Exception {
      Statistics s = counts.value();
      if (s == null) {
        s = new Statistics();
      }
      int rank = Statistics.rank(b.f3);
      s.bids.add(rank);
      bidders.put(b.f1, s.bidders.distinct(bidders.get(b.f1), rank));
      auctions.put(b.f2, s.auctions.distinct(auctions.get(b.f2), rank));
      counts.update(s);
      out.collect(Tuple2.of(b.f0, s.copy()));
    }
  }
}
