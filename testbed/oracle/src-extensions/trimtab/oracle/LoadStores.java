package trimtab.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.pulsar.broker.ServiceConfiguration;
import org.apache.pulsar.broker.loadbalance.extensions.BrokerRegistry;
import org.apache.pulsar.broker.loadbalance.extensions.LoadManagerContext;
import org.apache.pulsar.broker.loadbalance.extensions.data.BrokerLoadData;
import org.apache.pulsar.broker.loadbalance.extensions.data.BrokerLookupData;
import org.apache.pulsar.broker.loadbalance.extensions.data.TopBundlesLoadData;
import org.apache.pulsar.broker.loadbalance.extensions.store.LoadDataStore;
import org.apache.pulsar.policies.data.loadbalancer.NamespaceBundleStats;
import org.apache.pulsar.policies.data.loadbalancer.ResourceUsage;
import org.apache.pulsar.policies.data.loadbalancer.SystemResourceUsage;

/** What the leader of the extensible load manager has before it, changed from round to round. */
final class LoadStores {
    private final ServiceConfiguration conf;
    // Table views keep their rows in such maps, and it is these that are walked.
    private final Map<String, BrokerLoadData> loads = new ConcurrentHashMap<>();
    private final Map<String, TopBundlesLoadData> tops = new ConcurrentHashMap<>();
    private final Map<String, Long> updatedAt = new HashMap<>();
    private Map<String, BrokerLookupData> available;
    private Map<String, Long> recentBundles = new HashMap<>();
    private Map<String, Long> recentBrokers = new HashMap<>();
    private List<String> order = List.of();
    private long now;

    LoadStores(ServiceConfiguration conf) {
        this.conf = conf;
    }

    /** Applies what happened before a round and answers with what the brokers published. */
    ObjectNode update(JsonNode round) {
        ObjectNode answer = Json.object();
        now = round.path("now").asLong(now);
        ObjectNode published = Json.object();
        each(round.path("broker_load_data"), (broker, given) -> publish(broker, given, published));
        if (!published.isEmpty()) {
            answer.set("load_data", published);
        }
        each(round.path("top_bundles"), this::publishTop);
        if (round.has("available_brokers")) {
            available = new HashMap<>();
            round.get("available_brokers").forEach(name -> available.put(name.textValue(), null));
        }
        if (round.has("recently_unloaded")) {
            recentBundles = new HashMap<>();
            round.get("recently_unloaded").forEach(name -> recentBundles.put(name.textValue(), 1L));
        }
        if (round.has("recently_unloaded_brokers")) {
            recentBrokers = new HashMap<>();
            each(round.get("recently_unloaded_brokers"),
                    (broker, time) -> recentBrokers.put(broker, time.longValue()));
        }
        List<String> walked = new ArrayList<>(loads.keySet());
        if (!walked.equals(order)) {
            order = walked;
            answer.set("broker_order", Json.strings(walked));
        }
        return answer;
    }

    Map<String, Long> recentBundles() {
        return recentBundles;
    }

    Map<String, Long> recentBrokers() {
        return recentBrokers;
    }

    void setRecentBrokers(Map<String, Long> left) {
        recentBrokers = left;
    }

    /** Moves all times so that the clock shows what the round says it does; says by how much. */
    long moveTo(long clock) {
        long shift = clock - now;
        loads.forEach((broker, data) ->
                Reflected.write(data, "updatedAt", updatedAt.get(broker) + shift));
        return shift;
    }

    LoadManagerContext context() {
        Map<String, BrokerLookupData> registered = available;
        if (registered == null) {
            registered = new HashMap<>();
            for (String broker : loads.keySet()) {
                registered.put(broker, null);
            }
        }
        Map<String, Object> registry = Map.of("getAvailableBrokerLookupDataAsync",
                CompletableFuture.completedFuture(registered));
        return proxy(LoadManagerContext.class, answers(Map.of(
                "brokerConfiguration", conf,
                "brokerLoadDataStore", store(loads),
                "topBundleLoadDataStore", store(tops),
                "brokerRegistry", proxy(BrokerRegistry.class, answers(registry)))));
    }

    // ------------------------------------------------------------------- proxies

    static <T> T proxy(Class<T> type, InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
    }

    private static InvocationHandler answers(Map<String, Object> byMethod) {
        return (proxy, method, arguments) -> {
            if (!byMethod.containsKey(method.getName())) {
                throw new UnsupportedOperationException(method.toString());
            }
            return byMethod.get(method.getName());
        };
    }

    private static Object store(Map<String, ?> rows) {
        return proxy(LoadDataStore.class, (proxy, method, arguments) -> {
            switch (method.getName()) {
                case "get":
                    return Optional.ofNullable(rows.get(arguments[0]));
                case "entrySet":
                    return rows.entrySet();
                default:
                    throw new UnsupportedOperationException(method.toString());
            }
        });
    }

    // ------------------------------------------------------------ what is published

    /** Lets a broker publish its load: as given, or smoothed by itself from its usage. */
    private void publish(String broker, JsonNode given, ObjectNode published) {
        if (given.isNull()) {
            loads.remove(broker);
            updatedAt.remove(broker);
            return;
        }
        boolean isFirst = !loads.containsKey(broker);
        BrokerLoadData data = loads.computeIfAbsent(broker, name -> new BrokerLoadData());
        if (given.has("weightedMaxEMA")) {
            Reflected.write(data, "weightedMaxEMA", given.get("weightedMaxEMA").doubleValue());
            Reflected.write(data, "msgThroughputEMA", given.path("msgThroughputEMA").asDouble(0.0));
            Reflected.write(data, "msgThroughputIn", given.path("msgThroughputIn").asDouble(0.0));
            Reflected.write(data, "msgThroughputOut", given.path("msgThroughputOut").asDouble(0.0));
        } else {
            Reflected.write(data, "updatedAt", isFirst ? 0L : 1L);
            sample(data, given);
            published.putArray(broker).add(data.getWeightedMaxEMA()).add(data.getMsgThroughputEMA());
        }
        updatedAt.put(broker, given.path("updatedAt").asLong(0));
    }

    private void sample(BrokerLoadData data, JsonNode given) {
        SystemResourceUsage usage = new SystemResourceUsage();
        usage.setCpu(usage(given.get("cpu")));
        usage.setMemory(usage(given.get("memory")));
        usage.setDirectMemory(usage(given.get("directMemory")));
        usage.setBandwidthIn(usage(given.get("bandwidthIn")));
        usage.setBandwidthOut(usage(given.get("bandwidthOut")));
        try {
            for (Method update : BrokerLoadData.class.getMethods()) {
                // The counts of bundles and topics were int, and became long.
                if (update.getName().equals("update") && update.getParameterCount() == 8) {
                    update.invoke(data, usage, given.path("msgThroughputIn").asDouble(0.0),
                            given.path("msgThroughputOut").asDouble(0.0), 0.0, 0.0, 0, 0, conf);
                    return;
                }
            }
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
        throw new IllegalStateException("BrokerLoadData has no update of eight arguments");
    }

    private static ResourceUsage usage(JsonNode given) {
        return given == null
                ? new ResourceUsage()
                : new ResourceUsage(given.get(0).doubleValue(), given.get(1).doubleValue());
    }

    private void publishTop(String broker, JsonNode given) {
        if (given.isNull()) {
            tops.remove(broker);
            return;
        }
        TopBundlesLoadData top = new TopBundlesLoadData();
        for (JsonNode bundle : given) {
            NamespaceBundleStats stats = new NamespaceBundleStats();
            stats.msgThroughputIn = bundle.get(1).doubleValue();
            stats.msgThroughputOut = bundle.get(2).doubleValue();
            top.getTopBundlesLoadData().add(
                    new TopBundlesLoadData.BundleLoadData(bundle.get(0).textValue(), stats));
        }
        tops.put(broker, top);
    }

    interface Setter {
        void set(String name, JsonNode value);
    }

    static void each(JsonNode object, Setter setter) {
        for (Iterator<Map.Entry<String, JsonNode>> all = object.fields(); all.hasNext();) {
            Map.Entry<String, JsonNode> entry = all.next();
            setter.set(entry.getKey(), entry.getValue());
        }
    }
}
