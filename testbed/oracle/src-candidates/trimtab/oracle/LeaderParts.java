package trimtab.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.Range;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Constructor;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.pulsar.broker.PulsarService;
import org.apache.pulsar.broker.ServiceConfiguration;
import org.apache.pulsar.broker.loadbalance.BrokerFilter;
import org.apache.pulsar.broker.loadbalance.LoadData;
import org.apache.pulsar.broker.loadbalance.ModularLoadManagerStrategy;
import org.apache.pulsar.broker.loadbalance.impl.BrokerLoadManagerClassFilter;
import org.apache.pulsar.broker.loadbalance.impl.BrokerVersionFilter;
import org.apache.pulsar.broker.loadbalance.impl.BundleRangeCache;
import org.apache.pulsar.broker.loadbalance.impl.LoadManagerShared;
import org.apache.pulsar.broker.loadbalance.impl.ModularLoadManagerImpl;
import org.apache.pulsar.broker.loadbalance.impl.SimpleResourceAllocationPolicies;
import org.apache.pulsar.broker.namespace.NamespaceService;
import org.apache.pulsar.broker.resources.LocalPoliciesResources;
import org.apache.pulsar.broker.resources.PulsarResources;
import org.apache.pulsar.common.naming.NamespaceBundle;
import org.apache.pulsar.common.naming.NamespaceName;
import org.apache.pulsar.common.policies.data.AutoFailoverPolicyDataImpl;
import org.apache.pulsar.common.policies.data.AutoFailoverPolicyType;
import org.apache.pulsar.common.policies.data.LocalPolicies;
import org.apache.pulsar.common.policies.data.NamespaceIsolationDataImpl;
import org.apache.pulsar.common.policies.impl.NamespaceIsolationPolicies;
import org.apache.pulsar.metadata.api.coordination.LockManager;
import org.apache.pulsar.policies.data.loadbalancer.BrokerData;
import org.apache.pulsar.policies.data.loadbalancer.BundleData;
import org.apache.pulsar.policies.data.loadbalancer.LocalBrokerData;
import org.apache.pulsar.policies.data.loadbalancer.NamespaceBundleStats;
import org.apache.pulsar.policies.data.loadbalancer.ResourceUsage;
import org.apache.pulsar.policies.data.loadbalancer.TimeAverageBrokerData;
import org.apache.pulsar.policies.data.loadbalancer.TimeAverageMessageData;

/** Asks ModularLoadManagerImpl what it does around its strategies: a JSON object a line. */
public final class LeaderParts {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final ModularLoadManagerImpl manager;
    private final ServiceConfiguration conf = new ServiceConfiguration();
    private final LoadData loadData = new LoadData();
    private final BundleRangeCache ranges = new BundleRangeCache();
    private final Map<String, String> domains = new HashMap<>();
    private final Map<String, String> groups = new HashMap<>();
    private final Set<String> registered = new HashSet<>();
    private final PulsarService pulsar;
    private SimpleResourceAllocationPolicies policies;

    private LeaderParts() throws ReflectiveOperationException {
        GroupResources groupResources = Bare.of(GroupResources.class);
        groupResources.groups = groups;
        PulsarResources resources = Bare.of(PulsarResources.class);
        Bare.set(resources, "localPolicies", groupResources);
        pulsar = new PulsarService(conf, resources);
        manager = Bare.of(ModularLoadManagerImpl.class);
        NamespaceBundleStats defaults = new NamespaceBundleStats();
        defaults.msgThroughputIn = defaults.msgThroughputOut
                = ModularLoadManagerImpl.DEFAULT_MESSAGE_THROUGHPUT;
        defaults.msgRateIn = defaults.msgRateOut = ModularLoadManagerImpl.DEFAULT_MESSAGE_RATE;
        for (Map.Entry<String, Object> field : Map.ofEntries(
                Map.entry("brokerCandidateCache", new HashSet<String>()),
                Map.entry("conf", conf),
                Map.entry("pulsar", pulsar),
                Map.entry("pulsarResources", resources),
                Map.entry("loadData", loadData),
                Map.entry("defaultStats", defaults),
                Map.entry("preallocatedBundleToBroker", new ConcurrentHashMap<String, String>()),
                Map.entry("brokerToNamespaceToBundleRange", ranges),
                Map.entry("brokerToFailureDomainMap", domains),
                Map.entry("brokersData", registry()),
                Map.entry("filterPipeline", new ArrayList<BrokerFilter>(
                        List.of(new BrokerLoadManagerClassFilter(), new BrokerVersionFilter())))
        ).entrySet()) {
            Bare.set(manager, field.getKey(), field.getValue());
        }
        Constructor<?> predicate = Class.forName(ModularLoadManagerImpl.class.getName() + "$1")
                .getDeclaredConstructor(ModularLoadManagerImpl.class);
        predicate.setAccessible(true);
        Bare.set(manager, "brokerTopicLoadingPredicate", predicate.newInstance(manager));
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JsonNode asked = JSON.readTree(line);
            ObjectNode answer = switch (asked.get("ask").textValue()) {
                case "select" -> new LeaderParts().select(asked);
                case "gate" -> new LeaderParts().gate(asked);
                default -> new LeaderParts().looks(asked);
            };
            System.out.println(JSON.writeValueAsString(answer));
        }
    }

    // ------------------------------------------------------------------ who may get a bundle

    private ObjectNode select(JsonNode asked) throws ReflectiveOperationException {
        configure(asked.get("conf"));
        asked.get("brokers").forEach(this::register);
        asked.get("groups").fields().forEachRemaining(
                group -> groups.put(group.getKey(), group.getValue().textValue()));
        policies = new Isolation(asked.get("policies"));
        Bare.set(manager, "policies", policies);
        Recorder recorder = new Recorder(asked.get("choose").intValue());
        Bare.set(manager, "placementStrategy", recorder);
        NamespaceBundle bundle = bundle(asked.get("bundle").textValue());
        Bare.set(bundle, "hasNonPersistentTopic", asked.get("non_persistent").booleanValue());

        ObjectNode answer = JSON.createObjectNode();
        try {
            var select = ModularLoadManagerImpl.class.getDeclaredMethod("selectBroker",
                    org.apache.pulsar.common.naming.ServiceUnitId.class);
            select.setAccessible(true);
            select.invoke(manager, bundle);
        } catch (java.lang.reflect.InvocationTargetException e) {
            answer.put("error", e.getCause().getClass().getSimpleName());
        }
        answer.set("candidates", JSON.valueToTree(recorder.asked));
        answer.put("stays", staysForItsGroup(bundle, asked.get("owner").textValue()));
        return answer;
    }

    private boolean staysForItsGroup(NamespaceBundle bundle, String owner) {
        try {
            Set<String> allowed = new HashSet<>();
            var predicate = ModularLoadManagerImpl.class
                    .getDeclaredField("brokerTopicLoadingPredicate");
            predicate.setAccessible(true);
            LoadManagerShared.applyNamespacePolicies(bundle, policies, allowed, registered,
                    (LoadManagerShared.BrokerTopicLoadingPredicate) predicate.get(manager));
            return !LoadManagerShared.shouldAntiAffinityNamespaceUnload(
                    bundle.getNamespaceObject().toString(), owner, pulsar, ranges, allowed);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private void configure(JsonNode given) {
        conf.setClusterName("c");
        conf.setPreferLaterVersions(given.get("preferLaterVersions").booleanValue());
        conf.setFailureDomainsEnabled(given.get("failureDomainsEnabled").booleanValue());
        conf.setLoadBalancerDistributeBundlesEvenlyEnabled(
                given.get("loadBalancerDistributeBundlesEvenlyEnabled").booleanValue());
        conf.setLoadBalancerBrokerMaxTopics(given.get("loadBalancerBrokerMaxTopics").intValue());
        conf.setLoadManagerClassName(given.get("loadManagerClassName").textValue());
    }

    private void register(JsonNode broker) {
        String name = broker.get("name").textValue();
        registered.add(name);
        if (broker.hasNonNull("domain")) {
            domains.put(name, broker.get("domain").textValue());
        }
        ranges.reloadFromBundles(name, texts(broker.get("bundles")).stream());
        if (!broker.get("reported").booleanValue()) {
            return;
        }
        LocalBrokerData local = new LocalBrokerData();
        local.setPersistentTopicsEnabled(broker.get("persistent").booleanValue());
        local.setNonPersistentTopicsEnabled(broker.get("non_persistent").booleanValue());
        local.setNumTopics(broker.get("topics").intValue());
        local.setLoadManagerClassName(broker.get("load_manager").textValue());
        local.setBrokerVersionString(broker.get("version").textValue());
        local.setCpu(new ResourceUsage(broker.get("cpu_percent").doubleValue(), 100.0));
        BrokerData data = new BrokerData(local);
        int number = 0;
        for (JsonNode topics : broker.get("topics_ahead")) {
            BundleData ahead = new BundleData(10, 1000);
            ahead.setTopics(topics.intValue());
            data.getPreallocatedBundleData().put("t/ahead/" + number++, ahead);
        }
        loadData.getBrokerData().put(name, data);
    }

    // ------------------------------------------------------------- when a report is written

    private ObjectNode gate(JsonNode asked) throws ReflectiveOperationException {
        conf.setLoadBalancerReportUpdateThresholdPercentage(asked.get("threshold").intValue());
        conf.setLoadBalancerReportUpdateMaxIntervalMinutes(asked.get("minutes").intValue());
        LocalBrokerData current = measured(asked.get("current"));
        current.setLastUpdate(System.currentTimeMillis() - asked.get("age_ms").longValue());
        Bare.set(manager, "lastData", measured(asked.get("written")));
        Bare.set(manager, "localData", current);
        return JSON.createObjectNode()
                .put("written", (Boolean) Bare.call(manager, "needBrokerDataUpdate"));
    }

    private static LocalBrokerData measured(JsonNode numbers) {
        LocalBrokerData data = new LocalBrokerData();
        data.setMsgRateIn(numbers.get(0).doubleValue());
        data.setMsgRateOut(numbers.get(1).doubleValue());
        data.setMsgThroughputIn(numbers.get(2).doubleValue());
        data.setMsgThroughputOut(numbers.get(3).doubleValue());
        data.setNumBundles(numbers.get(4).intValue());
        data.setCpu(new ResourceUsage(numbers.get(5).doubleValue(), 100.0));
        return data;
    }

    // ---------------------------------------------------------------- looks at the reports

    private ObjectNode looks(JsonNode asked) throws ReflectiveOperationException {
        ArrayNode answers = JSON.createArrayNode();
        for (JsonNode look : asked.get("looks")) {
            take(look);
            answers.add(state());
        }
        ObjectNode answer = JSON.createObjectNode();
        answer.set("looks", answers);
        return answer;
    }

    private void take(JsonNode look) throws ReflectiveOperationException {
        look.get("reports").fields().forEachRemaining(entry -> {
            LocalBrokerData local = new LocalBrokerData();
            Map<String, NamespaceBundleStats> stats = new LinkedHashMap<>();
            entry.getValue().fields().forEachRemaining(bundle ->
                    stats.put(bundle.getKey(), stats(bundle.getValue())));
            local.setLastStats(stats);
            local.setBundles(new HashSet<>(stats.keySet()));
            loadData.getBrokerData().computeIfAbsent(entry.getKey(), name -> new BrokerData(local))
                    .setLocalData(local);
        });
        for (JsonNode given : look.get("preallocate")) {
            var preallocate = ModularLoadManagerImpl.class
                    .getDeclaredMethod("preallocateBundle", String.class, String.class);
            preallocate.setAccessible(true);
            preallocate.invoke(manager, given.get(0).textValue(), given.get(1).textValue());
        }
        Set<NamespaceBundle> owned = new HashSet<>();
        for (String name : texts(look.get("own"))) {
            owned.add(bundle(name));
        }
        NamespaceService.owned = owned;
        Bare.call(manager, "updateBundleData");
    }

    private ObjectNode state() throws ReflectiveOperationException {
        ObjectNode state = JSON.createObjectNode();
        ObjectNode bundles = state.putObject("bundles");
        loadData.getBundleData().forEach((name, data) -> {
            ArrayNode row = bundles.putArray(name);
            add(row, data.getShortTermData());
            add(row, data.getLongTermData());
            row.add(data.getTopics());
        });
        ObjectNode brokers = state.putObject("brokers");
        loadData.getBrokerData().forEach((name, data) -> {
            ObjectNode broker = brokers.putObject(name);
            TimeAverageBrokerData sums = data.getTimeAverageData();
            broker.putArray("long").add(sums.getLongTermMsgRateIn())
                    .add(sums.getLongTermMsgRateOut()).add(sums.getLongTermMsgThroughputIn())
                    .add(sums.getLongTermMsgThroughputOut());
            ObjectNode ahead = broker.putObject("ahead");
            data.getPreallocatedBundleData().forEach((bundle, of) ->
                    ahead.putArray(bundle).add(of.getLongTermData().getMsgRateIn())
                            .add(of.getLongTermData().getMsgRateOut()).add(of.getTopics()));
        });
        var assigned = ModularLoadManagerImpl.class.getDeclaredField("preallocatedBundleToBroker");
        assigned.setAccessible(true);
        state.set("assigned", JSON.valueToTree(assigned.get(manager)));
        return state;
    }

    private static void add(ArrayNode row, TimeAverageMessageData data) {
        row.add(data.getMsgRateIn()).add(data.getMsgRateOut()).add(data.getMsgThroughputIn())
                .add(data.getMsgThroughputOut()).add(data.getNumSamples());
    }

    private static NamespaceBundleStats stats(JsonNode numbers) {
        NamespaceBundleStats stats = new NamespaceBundleStats();
        stats.msgRateIn = numbers.get(0).doubleValue();
        stats.msgRateOut = numbers.get(1).doubleValue();
        stats.msgThroughputIn = numbers.get(2).doubleValue();
        stats.msgThroughputOut = numbers.get(3).doubleValue();
        stats.topics = numbers.get(4).intValue();
        return stats;
    }

    // -------------------------------------------------------------------- what stands by

    private LockManager<?> registry() {
        return (LockManager<?>) Proxy.newProxyInstance(LeaderParts.class.getClassLoader(),
                new Class<?>[] {LockManager.class}, (proxy, method, arguments) ->
                        CompletableFuture.completedFuture(new ArrayList<>(registered)));
    }

    private static NamespaceBundle bundle(String name) throws ReflectiveOperationException {
        NamespaceBundle bundle = Bare.of(NamespaceBundle.class);
        int slash = name.lastIndexOf('/');
        Bare.set(bundle, "nsname", NamespaceName.get(name.substring(0, slash)));
        Bare.set(bundle, "key", name);
        Bare.set(bundle, "bundleRange", name.substring(slash + 1));
        // Bundles are the same if their ranges are.
        long begin = name.hashCode() & 0x7fffffffL;
        Bare.set(bundle, "keyRange", Range.closedOpen(begin, begin + 1));
        return bundle;
    }

    private static List<String> texts(JsonNode array) {
        List<String> texts = new ArrayList<>();
        array.forEach(text -> texts.add(text.textValue()));
        return texts;
    }

    /** Names the group of a namespace. */
    static final class GroupResources extends LocalPoliciesResources {
        private Map<String, String> groups;

        private GroupResources() {
            super(null, 0);
        }

        @Override
        public CompletableFuture<Optional<LocalPolicies>> getLocalPoliciesAsync(NamespaceName name) {
            return CompletableFuture.completedFuture(Optional.ofNullable(groups.get(name.toString()))
                    .map(group -> new LocalPolicies(null, null, group)));
        }
    }

    /** Has the policies that a line gives, not those of a store. */
    static final class Isolation extends SimpleResourceAllocationPolicies {
        private final NamespaceIsolationPolicies given;

        Isolation(JsonNode policies) {
            super(null);
            Map<String, NamespaceIsolationDataImpl> byName = new LinkedHashMap<>();
            policies.forEach(policy -> byName.put(String.valueOf(byName.size()),
                    NamespaceIsolationDataImpl.builder()
                            .namespaces(texts(policy.get("namespaces")))
                            .primary(texts(policy.get("primary")))
                            .secondary(texts(policy.get("secondary")))
                            .autoFailoverPolicy(AutoFailoverPolicyDataImpl.builder()
                                    .policyType(AutoFailoverPolicyType.min_available)
                                    .parameters(Map.of("min_limit", policy.get("min").asText(),
                                            "usage_threshold", "80"))
                                    .build())
                            .build()));
            given = new NamespaceIsolationPolicies(byName);
        }

        @Override
        public boolean areIsolationPoliciesPresent(NamespaceName namespace) {
            return given.getPolicyByNamespace(namespace) != null;
        }

        @Override
        public boolean isPrimaryBroker(NamespaceName namespace, String broker) {
            return given.getPolicyByNamespace(namespace).isPrimaryBroker(broker);
        }

        @Override
        public boolean isSecondaryBroker(NamespaceName namespace, String broker) {
            return given.getPolicyByNamespace(namespace).isSecondaryBroker(broker);
        }

        @Override
        public boolean isSharedBroker(String broker) {
            return given.isSharedBroker(broker);
        }

        @Override
        public boolean shouldFailoverToSecondaries(NamespaceName namespace, int primaries) {
            return given.getPolicyByNamespace(namespace).shouldFailover(primaries);
        }
    }

    /** Takes down whom it may choose from, and chooses one of them. */
    static final class Recorder implements ModularLoadManagerStrategy {
        private final List<Set<String>> asked = new ArrayList<>();
        private final int choice;

        Recorder(int choice) {
            this.choice = choice;
        }

        @Override
        public Optional<String> selectBroker(Set<String> candidates, BundleData bundle,
                LoadData loadData, ServiceConfiguration conf) {
            TreeSet<String> sorted = new TreeSet<>(candidates);
            asked.add(sorted);
            return sorted.stream().skip(sorted.isEmpty() ? 0 : choice % sorted.size()).findFirst();
        }
    }
}
