package trimtab.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.apache.pulsar.broker.PulsarService;
import org.apache.pulsar.broker.loadbalance.extensions.channel.ServiceUnitStateChannel;
import org.apache.pulsar.broker.loadbalance.extensions.filter.BrokerFilter;
import org.apache.pulsar.broker.loadbalance.extensions.policies.AntiAffinityGroupPolicyHelper;
import org.apache.pulsar.broker.loadbalance.extensions.policies.IsolationPoliciesHelper;
import org.apache.pulsar.common.naming.NamespaceName;

/** Which bundles may go where, and whose they are, as a round says instead of a whole broker. */
final class Policies {
    private Map<String, String> owners = new HashMap<>();
    private Set<String> namespaces = new HashSet<>();
    private Map<String, Set<String>> filtered = new HashMap<>();

    void update(JsonNode round) {
        if (round.has("owners")) {
            owners = new HashMap<>();
            LoadStores.each(round.get("owners"),
                    (bundle, broker) -> owners.put(bundle, broker.textValue()));
        }
        if (round.has("namespaces_with_policies")) {
            namespaces = Json.set(round.get("namespaces_with_policies"));
        }
        if (round.has("filtered")) {
            filtered = new HashMap<>();
            LoadStores.each(round.get("filtered"),
                    (bundle, brokers) -> filtered.put(bundle, Json.set(brokers)));
        }
    }

    /** Gives a shedder what it has in a broker, and that its constructor for tests leaves out. */
    void give(Object shedder) {
        Reflected.write(shedder, "pulsar", new PulsarService());
        Reflected.write(shedder, "isolationPoliciesHelper", new IsolationPoliciesHelper(null) {
            @Override
            public boolean hasIsolationPolicy(NamespaceName namespace) {
                return isIsolated(namespace.toString());
            }
        });
        Reflected.write(shedder, "antiAffinityGroupPolicyHelper",
                new AntiAffinityGroupPolicyHelper(null, null) {
                    @Override
                    public boolean hasAntiAffinityGroupPolicy(String bundle) {
                        String namespace = bundle.substring(0, bundle.lastIndexOf('/'));
                        return namespaces.contains(namespace) && !isIsolated(namespace);
                    }
                });
        Reflected.write(shedder, "brokerFilterPipeline", List.of(filter()));
        Reflected.write(shedder, "channel", channel());
    }

    /** Says of half the namespaces with a policy that it is one of isolation. */
    private boolean isIsolated(String namespace) {
        return namespaces.contains(namespace) && namespace.hashCode() % 2 == 0;
    }

    private BrokerFilter filter() {
        return LoadStores.proxy(BrokerFilter.class, (proxy, method, arguments) -> {
            Map<?, ?> candidates = (Map<?, ?>) arguments[0];
            Set<String> left = filtered.get(arguments[1].toString());
            if (left != null) {
                candidates.keySet().retainAll(left);
            }
            boolean isLater = method.getReturnType() == CompletableFuture.class;
            return isLater ? CompletableFuture.completedFuture(candidates) : candidates;
        });
    }

    private ServiceUnitStateChannel channel() {
        return LoadStores.proxy(ServiceUnitStateChannel.class, (proxy, method, arguments) -> {
            if (!method.getName().equals("isOwner") || arguments.length != 2) {
                throw new UnsupportedOperationException(method.toString());
            }
            return !owners.containsKey(arguments[0]) || arguments[1].equals(owners.get(arguments[0]));
        });
    }
}
