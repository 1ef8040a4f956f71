package trimtab.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.pulsar.broker.ServiceConfiguration;
import org.apache.pulsar.broker.loadbalance.extensions.LoadManagerContext;
import org.apache.pulsar.broker.loadbalance.extensions.models.Unload;
import org.apache.pulsar.broker.loadbalance.extensions.models.UnloadCounter;
import org.apache.pulsar.broker.loadbalance.extensions.models.UnloadDecision;
import org.apache.pulsar.broker.loadbalance.extensions.scheduler.TransferShedder;
import org.apache.pulsar.broker.loadbalance.extensions.strategy.LeastResourceUsageWithWeight;

/** Asks the strategies of the extensible load manager: one object of each, and all its rounds. */
final class Extensible implements Rounds {
    private final LoadStores stores;
    private final Policies policies = new Policies();
    private final TransferShedder shedder = new TransferShedder(new UnloadCounter());
    private final LeastResourceUsageWithWeight placer = new LeastResourceUsageWithWeight();

    Extensible(ServiceConfiguration conf) {
        stores = new LoadStores(conf);
        policies.give(shedder);
    }

    @Override
    public ObjectNode answer(ObjectNode round) {
        ObjectNode answer = stores.update(round);
        policies.update(round);
        if (round.path("shed").asBoolean(false)) {
            shed(answer);
        }
        if (round.has("select")) {
            ArrayNode answers = answer.putArray("select");
            round.get("select").forEach(asked -> select(asked, answers.addObject()));
        }
        return answer;
    }

    // ------------------------------------------------------------------ shedding

    /** Sheds as often as it takes to do it within a millisecond: the class looks at the clock. */
    private void shed(ObjectNode answer) {
        Object hits = Reflected.read(shedder, "unloadConditionHitCount");
        while (true) {
            long clock = System.currentTimeMillis();
            long shift = stores.moveTo(clock);
            Map<String, Long> recentBrokers = new HashMap<>();
            stores.recentBrokers().forEach((name, time) -> recentBrokers.put(name, time + shift));
            UnloadCounter counter = new UnloadCounter();
            Reflected.write(shedder, "counter", counter);
            Reflected.write(shedder, "unloadConditionHitCount", hits);
            Set<UnloadDecision> found = shedder.findBundlesForUnloading(
                    stores.context(), stores.recentBundles(), recentBrokers);
            if (System.currentTimeMillis() == clock) {
                tell(found, counter, answer);
                tellLeft(recentBrokers, shift, answer);
                return;
            }
        }
    }

    private void tell(Set<UnloadDecision> found, UnloadCounter counter, ObjectNode answer) {
        // The set is walked in an order that changes from run to run, so it means nothing.
        TreeSet<List<String>> sorted = new TreeSet<>(Comparator.comparing(Object::toString));
        for (UnloadDecision decision : found) {
            Unload unload = decision.getUnload();
            List<String> told = new ArrayList<>(List.of(unload.sourceBroker(), unload.serviceUnit()));
            told.add(unload.destBroker().orElse(null));
            told.add(decision.getReason().toString());
            sorted.add(told);
        }
        ArrayNode unload = answer.putArray("unload");
        sorted.forEach(told -> {
            ArrayNode one = unload.addArray();
            told.forEach(one::add);
        });
        Map<?, ?> labels = (Map<?, ?>) Reflected.read(counter, "breakdownCounters");
        labels.forEach((label, reasons) -> ((Map<?, ?>) reasons).forEach((reason, count) -> {
            if (((AtomicLong) count).get() == 0) {
                return;
            }
            if (!label.toString().equals("Skip")) {
                // The class catches what is thrown in it, and nothing asked here should be.
                throw new IllegalStateException("the class says " + label + ", " + reason);
            }
            answer.put("skip", reason.toString());
        }));
        Object stats = Reflected.read(shedder, "stats");
        ObjectNode state = answer.putObject("state");
        state.put("hits", (Integer) Reflected.read(shedder, "unloadConditionHitCount"));
        state.put("avg", (Double) Reflected.read(stats, "avg"));
        state.put("std", (Double) Reflected.read(stats, "std"));
    }

    /** Keeps and tells which brokers still count as just unloaded: the class takes some out. */
    private void tellLeft(Map<String, Long> recentBrokers, long shift, ObjectNode answer) {
        if (!stores.recentBrokers().isEmpty()) {
            answer.set("recently_unloaded_brokers", Json.strings(new TreeSet<>(recentBrokers.keySet())));
        }
        recentBrokers.replaceAll((name, time) -> time - shift);
        stores.setRecentBrokers(recentBrokers);
    }

    // ----------------------------------------------------------------- placement

    private void select(JsonNode asked, ObjectNode answer) {
        Set<String> candidates = new HashSet<>();
        List<String> given = new ArrayList<>();
        for (JsonNode candidate : asked.get("candidates")) {
            candidates.add(candidate.textValue());
            given.add(candidate.textValue());
        }
        List<String> walked = new ArrayList<>(candidates);
        if (!walked.equals(given)) {
            answer.set("candidate_order", Json.strings(walked));
        }
        LoadManagerContext context = stores.context();
        Optional<String> chosen = placer.select(candidates, null, context);
        if (chosen.isEmpty()) {
            answer.put("placed", (String) null);
            return;
        }
        Object best = ((ThreadLocal<?>) Reflected.read(placer, "bestBrokers")).get();
        Strategy.tellBest(new ArrayList<>((Collection<?>) best), walked, chosen.get(), answer);
    }
}
