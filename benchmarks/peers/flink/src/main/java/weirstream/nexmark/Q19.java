package weirstream.nexmark;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.util.Collector;

/** The ten highest bids on each auction, highest first. */
final class Q19 {
  private Q19() {}

  static DataStream<?> build(DataStream<Event> in) {
    return Queries.bids(in).keyBy(b -> b.auction).process(new TopTen());
  }

  static String show(Object row) {
    Tuple2<?, ?> r = (Tuple2<?, ?>) row;
    return r.f0 + " = [" + ((List<?>) r.f1).stream().map(Object::toString).collect(Collectors.joining(" ")) + "]";
  }

  private static final class TopTen extends KeyedProcessFunction<Long, Event.Bid, Tuple2<Long, List<Event.Bid>>> {
    private static final int PLACES = 10;

    private transient ValueState<List<Event.Bid>> best;

    @Override
    public void open(OpenContext context) {
      best = getRuntimeContext().getState(new ValueStateDescriptor<>("best", Types.LIST(Types.POJO(Event.Bid.class))));
    }

    @Override
    public void processElement(Event.Bid b, Context c, Collector<Tuple2<Long, List<Event.Bid>>> out) throws Exception {
      List<Event.Bid> top = best.value();
      if (top == null) {
        top = new ArrayList<>(PLACES + 1);
      }
      int place = top.size();
      while (place > 0 && b.beats(top.get(place - 1)) > 0) {
        place--;
      }
      if (place == PLACES) {
        return;
      }
      top.add(place, b);
      if (top.size() > PLACES) {
        top.remove(PLACES);
      }
      best.update(top);
      out.collect(Tuple2.of(b.auction, new ArrayList<>(top)));
    }
  }
}
