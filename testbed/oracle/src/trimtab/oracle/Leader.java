package trimtab.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Constructor;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
// Whole packages, since these classes moved from the one to the other after 2.10.
import org.apache.pulsar.broker.*;
import org.apache.pulsar.broker.loadbalance.LoadData;
import org.apache.pulsar.policies.data.loadbalancer.*;

/** What the leader knows of its cluster, changed from round to round as the manager changes it. */
final class Leader {
    private final LoadData known = new LoadData();
    private List<String> brokerOrder;
    private List<String> bundleOrder;

    LoadData known() {
        return known;
    }

    boolean hasAverages(String bundle) {
        return known.getBundleData().containsKey(bundle);
    }

    BundleData averages(String bundle) {
        return known.getBundleData().get(bundle);
    }

    /** Applies what happened before a round and answers with the orders that changed by it. */
    ObjectNode update(JsonNode round) {
        ObjectNode answer = Json.object();
        each(round.path("brokers"), this::setBroker);
        each(round.path("bundle_data"), this::setBundle);
        if (round.has("recently_unloaded")) {
            known.getRecentlyUnloadedBundles().clear();
            for (JsonNode bundle : round.get("recently_unloaded")) {
                known.getRecentlyUnloadedBundles().put(bundle.textValue(), 1L);
            }
        }
        if (round.has("preallocated")) {
            preallocate(round.get("preallocated"), answer);
        }
        List<String> order = new ArrayList<>(known.getBrokerData().keySet());
        if (!order.equals(brokerOrder)) {
            brokerOrder = order;
            answer.set("broker_order", Json.strings(order));
        }
        return answer;
    }

    /** Tells the order in which a shedder walks the bundles, if it is not the one told last. */
    void tellBundleOrder(ObjectNode answer) {
        List<String> order = new ArrayList<>(known.getBundleDataForLoadShedding().keySet());
        if (!order.equals(bundleOrder)) {
            bundleOrder = order;
            answer.set("bundle_order", Json.strings(order));
        }
    }

    private interface Setter {
        void set(String name, JsonNode value);
    }

    private static void each(JsonNode object, Setter setter) {
        for (Iterator<Map.Entry<String, JsonNode>> all = object.fields(); all.hasNext();) {
            Map.Entry<String, JsonNode> entry = all.next();
            setter.set(entry.getKey(), entry.getValue());
        }
    }

    private void setBroker(String name, JsonNode given) {
        if (given.isNull()) {
            known.getBrokerData().remove(name);
            return;
        }
        LocalBrokerData report = report(name, given);
        BrokerData broker = known.getBrokerData().computeIfAbsent(name, id -> new BrokerData(report));
        broker.setLocalData(report);
        TimeAverageBrokerData averages = new TimeAverageBrokerData();
        if (given.has("longTerm")) {
            averages.setLongTermMsgRateIn(given.get("longTerm").get(0).doubleValue());
            averages.setLongTermMsgRateOut(given.get("longTerm").get(1).doubleValue());
        }
        broker.setTimeAverageData(averages);
    }

    private static LocalBrokerData report(String name, JsonNode given) {
        LocalBrokerData report = emptyReport(name);
        report.setCpu(usage(given.get("cpu")));
        report.setMemory(usage(given.get("memory")));
        report.setDirectMemory(usage(given.get("directMemory")));
        report.setBandwidthIn(usage(given.get("bandwidthIn")));
        report.setBandwidthOut(usage(given.get("bandwidthOut")));
        report.setMsgRateIn(given.path("msgRateIn").asDouble(0.0));
        report.setMsgRateOut(given.path("msgRateOut").asDouble(0.0));
        report.setMsgThroughputIn(given.path("msgThroughputIn").asDouble(0.0));
        report.setMsgThroughputOut(given.path("msgThroughputOut").asDouble(0.0));
        Set<String> bundles = Json.set(given.get("bundles"));
        report.setBundles(bundles);
        report.setNumBundles(bundles.size());
        return report;
    }

    /** Makes a report by the constructor that the release has: 5.0 wants the broker's id first. */
    private static LocalBrokerData emptyReport(String name) {
        String web = "http://" + name;
        String binary = "pulsar://" + name;
        try {
            for (Constructor<?> make : LocalBrokerData.class.getConstructors()) {
                Class<?>[] types = make.getParameterTypes();
                if (types.length == 4) {
                    return (LocalBrokerData) make.newInstance(web, null, binary, null);
                }
                if (types.length == 5 && types[4] == String.class) {
                    return (LocalBrokerData) make.newInstance(name, web, null, binary, null);
                }
            }
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(name, error);
        }
        throw new IllegalStateException("LocalBrokerData has no constructor of addresses alone");
    }

    private static ResourceUsage usage(JsonNode given) {
        return given == null
                ? new ResourceUsage()
                : new ResourceUsage(given.get(0).doubleValue(), given.get(1).doubleValue());
    }

    /** Changes averages in place, as the manager does: a strategy may hold on to the object. */
    private void setBundle(String name, JsonNode given) {
        if (given.isNull()) {
            known.getBundleData().remove(name);
            return;
        }
        // 10 and 1000 samples, as in ModularLoadManagerImpl.
        BundleData bundle =
                known.getBundleData().computeIfAbsent(name, key -> new BundleData(10, 1000));
        setAverages(bundle.getShortTermData(), given.get("short"));
        setAverages(bundle.getLongTermData(), given.get("long"));
    }

    private static void setAverages(TimeAverageMessageData averages, JsonNode given) {
        if (given == null) {
            return;
        }
        averages.setMsgRateIn(given.get(0).doubleValue());
        averages.setMsgRateOut(given.get(1).doubleValue());
        averages.setMsgThroughputIn(given.get(2).doubleValue());
        averages.setMsgThroughputOut(given.get(3).doubleValue());
        if (given.size() > 4) {
            averages.setNumSamples(given.get(4).intValue());
        }
    }

    private void preallocate(JsonNode given, ObjectNode answer) {
        known.getBrokerData().values().forEach(broker -> broker.getPreallocatedBundleData().clear());
        ObjectNode orders = Json.object();
        each(given, (broker, bundles) -> {
            Map<String, BundleData> held =
                    known.getBrokerData().get(broker).getPreallocatedBundleData();
            for (JsonNode bundle : bundles) {
                held.put(bundle.textValue(), averages(bundle.textValue()));
            }
            orders.set(broker, Json.strings(held.keySet()));
        });
        if (!orders.isEmpty()) {
            answer.set("prealloc_order", orders);
        }
    }
}
