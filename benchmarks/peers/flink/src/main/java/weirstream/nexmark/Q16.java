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
import org.apache.flink.api.java.tuple.Tuple5;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/** Query 15 per channel and day, with the last minute that had a bid. */
final class Q16 {
  private Q16() {}

  static DataStream<?> build(DataStream<Event> in) {
    return Queries.bids(in)
        .map(b -> Tuple5.of(b.channel, b.time, b.bidder, b.auction, b.price))
        .returns(Types.TUPLE(Types.STRING, Types.LONG, Types.LONG, Types.LONG, Types.LONG))
        .keyBy(b -> Tuple2.of(b.f0, b.f1 / Q15.DAY), Types.TUPLE(Types.STRING, Types.LONG))
        .process(new Channels());
  }

  static String show(Object row) {
    Tuple4<?, ?, ?, ?> r = (Tuple4<?, ?, ?, ?>) row;
    return "{Channel:" + r.f0 + " Day:" + LocalDate.ofEpochDay((Long) r.f1) + "} = {Minute:" + r.f2 + " Row15:" + r.f3 + "}";
  }

  private static String minute(int ofDay) {
    int h = ofDay / 60;
    int m = ofDay % 60;
    return (h < 10 ? "0" : "") + h + (m < 10 ? ":0" : ":") + m;
  }

  private static final class Channels
      extends KeyedProcessFunction<Tuple2<String, Long>, Tuple5<String, Long, Long, Long, Long>, Tuple4<String, Long, String, Statistics>> {
    private transient ValueState<Statistics> counts;
    private transient ValueState<Integer> minute;
    private transient MapState<Long, Integer> bidders;
    private transient MapState<Long, Integer> auctions;

    @Override
    public void open(OpenContext context) {
      counts = getRuntimeContext().getState(new ValueStateDescriptor<>("counts", Statistics.class));
      minute = getRuntimeContext().getState(new ValueStateDescriptor<>("minute", Types.INT));
      bidders = getRuntimeContext().getMapState(new MapStateDescriptor<>("bidders", Types.LONG, Types.INT));
      auctions = getRuntimeContext().getMapState(new MapStateDescriptor<>("auctions", Types.LONG, Types.INT));
    }

    @Override
    public void processElement(Tuple5<String, Long, Long, Long, Long> b, Context c, Collector<Tuple4<String, Long, String, Statistics>> out)
        throws Exception {
      Statistics s = counts.value();
      if (s == null) {
        s = new Statistics();
      }
      int rank = Statistics.rank(b.f4);
      s.bids.add(rank);
      bidders.put(b.f2, s.bidders.distinct(bidders.get(b.f2), rank));
      auctions.put(b.f3, s.auctions.distinct(auctions.get(b.f3), rank));
      counts.update(s);
      int now = (int) (b.f1 % Q15.DAY / 60_000);
      Integer last = minute.value();
      if (last == null || now > last) {
        minute.update(now);
      } else {
        now = last;
      }
      out.collect(Tuple4.of(b.f0, b.f1 / Q15.DAY, minute(now), s.copy()));
    }
  }
}
