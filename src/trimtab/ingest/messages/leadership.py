"""Messages of leadership: who is elected, who follows, who lets go."""

from __future__ import annotations

from trimtab.ingest.messages.message import line, message

_SERVICE = "broker.PulsarService"
_ELECTION = "metadata.coordination.impl.LeaderElectionImpl"
_EXTENSIBLE = "broker.loadbalance.extensions.ExtensibleLoadManagerImpl"
_BROKER = "LeaderBroker(brokerId=10.213.0.11:8080, serviceUrl=http://10.213.0.11:8080)"
_STORE = "metadata-store-10-1"
_AGAIN = "metadata-store-coordination-service-12-1"

MESSAGES = (
    message(
        "elected-leader",
        "PulsarService",
        "This broker {?{broker} ?}was elected leader",
        line(_SERVICE, "This broker 10.213.0.11:8080 was elected leader", thread=_STORE),
        releases="4.0.8; older ones without the name",
        meaning="The broker leads, and sheds.",
    ),
    message(
        "follower",
        "PulsarService",
        "This broker {?{broker} ?}is a follower. {?No leader has been elected yet?}"
        "{?Current leader is {*}?}",
        line(
            _SERVICE,
            "This broker 10.213.0.11:8080 is a follower. No leader has been elected yet",
            thread=_STORE,
        ),
        releases="4.0.8; older ones without the name",
        meaning="The broker does not lead.",
    ),
    message(
        "leadership-acquired",
        "LeaderElectionImpl",
        "Acquired leadership on /loadbalance/{?extension/?}leader"
        "{? with LeaderBroker(brokerId={broker}, {*})?}",
        line(
            _ELECTION, f"Acquired leadership on /loadbalance/leader with {_BROKER}", thread=_STORE
        ),
        releases="4.0.8; older ones without the broker",
        meaning="The broker's name stands in the leader's node.",
    ),
    message(
        "leadership-released",
        "LeaderElectionImpl",
        "Leadership released for /loadbalance/{?extension/?}leader",
        line(_ELECTION, "Leadership released for /loadbalance/leader", "WARN", _STORE),
        releases="posted by users",
        meaning="The leader's node is gone; an election follows.",
    ),
    message(
        "leadership-revalidated",
        "LeaderElectionImpl",
        "Revalidating leadership for /loadbalance/{?extension/?}leader{?, event:{*}?}",
        line(
            _ELECTION,
            "Revalidating leadership for /loadbalance/leader, event:Reconnected",
            thread=_AGAIN,
        ),
        releases="4.0.8",
        meaning="The connection was lost, and who leads is looked up again.",
    ),
    message(
        "leading-after-resync",
        "LeaderElectionImpl",
        "Resynced leadership for /loadbalance/{?extension/?}leader - State: Leading",
        line(
            _ELECTION,
            "Resynced leadership for /loadbalance/leader - State: Leading",
            thread=_STORE,
        ),
        releases="4.0.8",
        meaning="The broker leads after the connection came back.",
    ),
    message(
        "following-after-resync",
        "LeaderElectionImpl",
        "Resynced leadership for /loadbalance/{?extension/?}leader - State: Following",
        line(
            _ELECTION,
            "Resynced leadership for /loadbalance/leader - State: Following",
            thread=_STORE,
        ),
        releases="4.0.8",
        meaning="The broker follows after the connection came back.",
    ),
    message(
        "leadership-kept",
        "LeaderElectionImpl",
        "Keeping the existing value LeaderBroker(brokerId={broker}, {*}) for "
        "/loadbalance/{?extension/?}leader as it's from the same session {*}",
        line(
            _ELECTION,
            f"Keeping the existing value {_BROKER} for /loadbalance/leader as it's from the same "
            "session stat=Stat(path=/loadbalance/leader, version=0)",
            thread=_STORE,
        ),
        releases="4.0.8",
        meaning="The broker led before the connection was lost and leads on.",
    ),
    message(
        "leadership-conflict",
        "LeaderElectionImpl",
        "There was a conflict between {count} participants trying to become leaders at the same "
        "time on /loadbalance/{?extension/?}leader. Attempted with value "
        "LeaderBroker(brokerId={broker}, {*}). Retrying.",
        line(
            _ELECTION,
            "There was a conflict between 2 participants trying to become leaders at the same "
            f"time on /loadbalance/leader. Attempted with value {_BROKER}. Retrying.",
            thread=_STORE,
        ),
        releases="4.0.8",
        meaning="Two brokers stood for election at once.",
    ),
    message(
        "plays-leader",
        "ExtensibleLoadManagerImpl",
        "This broker:{broker} plays the leader now.",
        line(_EXTENSIBLE, "This broker:10.213.0.11:8080 plays the leader now."),
        releases="4.0.8, extensible manager",
        meaning="The broker leads, and sheds.",
    ),
    message(
        "plays-follower",
        "ExtensibleLoadManagerImpl",
        "This broker:{broker} plays a follower now.",
        line(_EXTENSIBLE, "This broker:10.213.0.11:8080 plays a follower now."),
        releases="4.0.8, extensible manager",
        meaning="The broker does not lead.",
    ),
    message(
        "role-failed",
        "ExtensibleLoadManagerImpl",
        "The broker:{broker} failed to set the role. Retrying {count} th ...",
        line(
            _EXTENSIBLE,
            "The broker:10.213.0.13:8080 failed to set the role. Retrying 1 th ...",
            "WARN",
        ),
        releases="4.0.8, extensible manager",
        meaning="The broker could not become what it was elected to be.",
    ),
    message(
        "channel-leader-found",
        "ServiceUnitStateChannelImpl",
        "Successfully found the channel leader:LeaderBroker(brokerId={broker}, {*}).",
        line(
            "broker.loadbalance.extensions.channel.ServiceUnitStateChannelImpl",
            f"Successfully found the channel leader:{_BROKER}.",
            thread="main",
        ),
        releases="4.0.8, extensible manager",
        meaning="Who leads, as a starting broker sees it.",
    ),
)
