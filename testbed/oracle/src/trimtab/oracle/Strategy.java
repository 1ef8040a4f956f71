package trimtab.oracle;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.Multimap;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
// Whole packages, since BundleData moved from the one to the other after 2.10.
import org.apache.pulsar.broker.*;
import org.apache.pulsar.broker.loadbalance.LoadData;
import org.apache.pulsar.broker.loadbalance.LoadSheddingStrategy;
import org.apache.pulsar.policies.data.loadbalancer.*;

/** One strategy object of Pulsar's with the memory that it gathers over a sequence. */
final class Strategy {
    private static final String PACKAGE = "org.apache.pulsar.broker.loadbalance.impl.";

    private final Object strategy;
    private final ServiceConfiguration conf;
    private final boolean isPlanner;

    Strategy(String name, ServiceConfiguration conf) throws ReflectiveOperationException {
        this.conf = conf;
        this.strategy = make(Class.forName(PACKAGE + name), conf);
        this.isPlanner = Reflected.read(strategy, "bundleBrokerMap") != null
                || Reflected.read(strategy, "pendingBundleToUnload") != null;
    }

    private static Object make(Class<?> type, ServiceConfiguration conf)
            throws ReflectiveOperationException {
        try {
            return type.getDeclaredConstructor().newInstance();
        } catch (NoSuchMethodException olderRelease) {
            return type.getDeclaredConstructor(ServiceConfiguration.class).newInstance(conf);
        }
    }

    /** Says which brokers are left, to a class that listens. */
    void forget(Set<String> active) throws ReflectiveOperationException {
        for (Method method : strategy.getClass().getMethods()) {
            if (method.getName().equals("onActiveBrokersChange")) {
                method.invoke(strategy, active);
                return;
            }
        }
    }

    // ------------------------------------------------------------------ shedding

    void shed(Leader leader, ObjectNode answer, List<String> unloaded) {
        try {
            Multimap<String, String> found = ((LoadSheddingStrategy) strategy)
                    .findBundlesForUnloading(leader.known(), conf);
            ArrayNode unload = answer.putArray("unload");
            ArrayNode destinations = Json.array();
            for (Map.Entry<String, String> entry : found.entries()) {
                String bundle = entry.getValue();
                unloaded.add(bundle);
                unload.addArray().add(entry.getKey()).add(bundle);
                String planned = planned(leader, bundle);
                if (planned != null) {
                    destinations.add(planned);
                }
            }
            if (!destinations.isEmpty()) {
                answer.set("dest", destinations);
            }
        } catch (RuntimeException thrown) {
            tellError(answer, thrown);
        }
    }

    /** Tells what the class remembers after shedding; it may log in the course of this. */
    void tellMemory(Leader leader, ObjectNode answer) {
        ObjectNode state = Json.object();
        tellNumbers(state, "avg", "brokerAvgResourceUsage");
        tellNumbers(state, "hit_high", "brokerHitCountForHigh");
        tellNumbers(state, "hit_low", "brokerHitCountForLow");
        tellNumbers(state, "score", "brokerScoreMap");
        if (state.has("score")) {
            tellSorted(leader, answer);
        }
        if (!state.isEmpty()) {
            answer.set("state", state);
        }
    }

    private void tellNumbers(ObjectNode state, String name, String field) {
        Object map = Reflected.read(strategy, field);
        if (map != null) {
            state.set(name, Json.numbers((Map<?, ?>) map));
        }
    }

    /**
     * Asks AvgShedder for its sorted brokers once more: the sort looks at nothing but the load and
     * the settings, and fills the scores anew with the same numbers.
     */
    private void tellSorted(Leader leader, ObjectNode answer) {
        try {
            Method sort = strategy.getClass().getDeclaredMethod(
                    "calculateScoresAndSort", LoadData.class, ServiceConfiguration.class);
            sort.setAccessible(true);
            Object sorted = sort.invoke(strategy, leader.known(), conf);
            answer.set("sorted", Json.strings((Collection<?>) sorted));
        } catch (InvocationTargetException contractViolated) {
            // The sort threw in the call itself too, and that stands in the answer.
            return;
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    // ----------------------------------------------------------------- placement

    void select(Leader leader, String bundle, Set<String> candidates, ObjectNode answer) {
        if (isPlanner) {
            selectPlanned(leader, bundle, candidates, answer);
            return;
        }
        List<String> order = new ArrayList<>(candidates);
        try {
            Optional<?> chosen = call(leader, bundle, candidates);
            Collection<?> best = (Collection<?>) Reflected.read(strategy, "bestBrokers");
            if (best == null || chosen.isEmpty()) {
                answer.put("placed", (String) chosen.orElse(null));
            } else {
                tellBest(new ArrayList<>(best), order, (String) chosen.get(), answer);
            }
        } catch (RuntimeException thrown) {
            tellError(answer, thrown);
        }
        tellNumbers(answer, "avg", "brokerAvgResourceUsageWithWeight");
        Object count = Reflected.read(strategy, "count");
        if (count != null) {
            answer.put("count", count.toString());
        }
    }

    /** Tells among whom the class drew; whom it drew only if it could be nobody else. */
    static void tellBest(
            List<Object> best, List<String> order, String chosen, ObjectNode answer) {
        if (!best.contains(chosen)) {
            throw new AssertionError(chosen + " was drawn, but not from " + best);
        }
        answer.put("placed", best.size() == 1 ? chosen : null);
        if (best.equals(order)) {
            answer.put("set", "all");
        } else {
            answer.set("set", Json.strings(best));
        }
    }

    /** AvgShedder places by its plan; without one it draws, and what it drew becomes the plan. */
    private void selectPlanned(
            Leader leader, String bundle, Set<String> candidates, ObjectNode answer) {
        String planned = planned(leader, bundle);
        boolean isByName = Reflected.read(strategy, "bundleBrokerMap") == null;
        boolean isDrawn = !candidates.contains(planned);
        answer.put("planned", planned).put("placed", (String) null);
        if (isDrawn && !isByName) {
            answer.put("random", true);
        }
        try {
            Optional<?> chosen = call(leader, bundle, candidates);
            if (isByName) {
                // A destination that is overloaded by now is left for one that is not, and where
                // nobody is a candidate nobody is drawn.
                isDrawn = !chosen.equals(Optional.ofNullable(planned)) || planned == null;
                if (isDrawn && chosen.isPresent()) {
                    answer.put("random", true);
                }
            }
            answer.put(isDrawn ? "drawn" : "placed", (String) chosen.orElse(null));
        } catch (RuntimeException thrown) {
            tellError(answer, thrown);
        }
    }

    /** Reads the destination that AvgShedder planned, by averages up to 4.0 and then by name. */
    private String planned(Leader leader, String bundle) {
        Map<?, ?> plan = (Map<?, ?>) Reflected.read(strategy, "bundleBrokerMap");
        if (plan == null) {
            Map<?, ?> pending = (Map<?, ?>) Reflected.read(strategy, "pendingBundleToUnload");
            Object unload = pending == null ? null : pending.get(bundle);
            return unload == null ? null : (String) Reflected.read(unload, "destinationBroker");
        }
        BundleData averages = leader.averages(bundle);
        Object destination = averages == null ? null : plan.get(averages);
        destination = destination == null ? plan.get(bundle) : destination;
        return destination == null ? null : destination.toString();
    }

    /** Calls selectBroker with the arguments that the release asks for. */
    private Optional<?> call(Leader leader, String bundle, Set<String> candidates) {
        Method select = selectBroker();
        List<Object> arguments = new ArrayList<>();
        for (Class<?> type : select.getParameterTypes()) {
            arguments.add(type == Set.class ? candidates
                    : type == BundleData.class ? leader.averages(bundle)
                    : type == LoadData.class ? leader.known()
                    : type == String.class ? bundle
                    : conf);
        }
        try {
            return (Optional<?>) select.invoke(strategy, arguments.toArray());
        } catch (InvocationTargetException thrown) {
            if (thrown.getCause() instanceof RuntimeException) {
                throw (RuntimeException) thrown.getCause();
            }
            throw new IllegalStateException(thrown.getCause());
        } catch (IllegalAccessException error) {
            throw new AssertionError(error);
        }
    }

    private Method selectBroker() {
        // 5.0.1 asks by the bundle's name where a class plans by it.
        for (String name : List.of("selectBrokerForBundle", "selectBroker")) {
            for (Method method : strategy.getClass().getDeclaredMethods()) {
                if (method.getName().equals(name) && !method.isBridge()) {
                    return method;
                }
            }
        }
        throw new IllegalArgumentException(strategy.getClass() + " places nothing");
    }

    private static void tellError(ObjectNode answer, RuntimeException thrown) {
        answer.put("error", thrown.getClass().getName());
        if (thrown.getMessage() != null) {
            answer.put("error_message", thrown.getMessage());
        }
    }
}
