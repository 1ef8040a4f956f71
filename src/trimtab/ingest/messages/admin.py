"""Messages of people's and programs' calls of the admin interface: unload and split."""

from __future__ import annotations

from trimtab.ingest.messages.message import line, message

_BUNDLE = "lb/ns1/0xf0000000_0xf8000000"
_BASE = "broker.admin.impl.NamespacesBase"
_V2 = "broker.admin.v2.Namespaces"
_CLASSES = "NamespacesBase Namespaces"
_WEB = "pulsar-web-38-8"

MESSAGES = (
    message(
        "admin-unload",
        _CLASSES,
        "[{*}] Unloading namespace bundle {bundle}",
        line(_BASE, f"[null] Unloading namespace bundle {_BUNDLE}", thread=_WEB),
        releases="4.0.8",
        meaning="Somebody, maybe the leader, asked this broker to unload the bundle.",
    ),
    message(
        "admin-unload-namespace",
        _CLASSES,
        "[{*}] Unloading namespace {bundle}",
        line(_BASE, "[null] Unloading namespace lb/adm", thread=_WEB),
        releases="4.0.8",
        meaning="Somebody asked to unload all bundles of the namespace that stands for bundle.",
    ),
    message(
        "admin-unload-done",
        _CLASSES,
        "[{*}] Successfully unloaded namespace bundle {bundle}",
        line(_V2, "[null] Successfully unloaded namespace bundle 0xf0000000_0xf8000000"),
        releases="4.0.8",
        meaning="The unload that was asked for is done; the bundle is a range without namespace.",
    ),
    message(
        "admin-unload-namespace-done",
        _CLASSES,
        "[{*}] Successfully unloaded all the bundles in namespace {bundle}",
        line(_V2, "[null] Successfully unloaded all the bundles in namespace lb/adm"),
        releases="4.0.8",
        meaning="All bundles of the namespace that stands for bundle are unloaded.",
    ),
    message(
        "admin-unload-needless",
        _CLASSES,
        "[{*}] Namespace bundle is not owned by any broker {bundle}",
        line(_BASE, f"[null] Namespace bundle is not owned by any broker {_BUNDLE}", thread=_WEB),
        releases="4.0.8",
        meaning="The bundle to be unloaded has no owner.",
    ),
    message(
        "admin-unload-refused",
        _CLASSES,
        "[{*}] Failed to unload namespace bundle {bundle} to inactive broker {target}.",
        line(
            _BASE,
            f"[null] Failed to unload namespace bundle {_BUNDLE} to inactive broker "
            "10.213.0.99:8080.",
            "WARN",
            _WEB,
        ),
        releases="4.0.8",
        meaning="The destination that was asked for is not registered.",
    ),
    message(
        "admin-unload-failed",
        _CLASSES,
        "[{*}] Failed to unload namespace bundle {bundle}",
        line(_V2, f"[null] Failed to unload namespace bundle {_BUNDLE}", "ERROR", _WEB),
        releases="4.0.8",
        meaning="The unload that was asked for failed; an exception may follow.",
    ),
    message(
        "admin-split",
        _CLASSES,
        "[{*}] Split namespace bundle {bundle}",
        line(_BASE, "[null] Split namespace bundle lb/admx/0xb0000000_0xc0000000", thread=_WEB),
        releases="4.0.8",
        meaning="Somebody asked to split the bundle.",
    ),
    message(
        "admin-split-done",
        _CLASSES,
        "[{*}] Successfully split namespace bundle {bundle}",
        line(_V2, "[null] Successfully split namespace bundle 0xb0000000_0xc0000000"),
        releases="4.0.8",
        meaning="The split that was asked for is done; the bundle is a range without namespace.",
    ),
    message(
        "admin-split-failed",
        _CLASSES,
        "[{*}] Failed to split namespace bundle {bundle}{? due to {*}?}",
        line(
            _V2,
            f"[null] Failed to split namespace bundle {_BUNDLE} due to "
            "org.apache.pulsar.broker.web.RestException: Invalid upper boundary for bundle",
            "ERROR",
            _WEB,
        ),
        releases="4.0.8",
        meaning="The split that was asked for failed.",
    ),
    message(
        "admin-bundle-invalid",
        "PulsarWebResource",
        "[{*}] Invalid bundle range {bundle}, {*}",
        line(
            "broker.web.PulsarWebResource",
            f"[null] Invalid bundle range {_BUNDLE}, Cannot find bundle {_BUNDLE} in the "
            "bundles list",
            "ERROR",
            _WEB,
        ),
        releases="4.0.8",
        meaning="The bundle asked for does not exist; it may have been split.",
    ),
    message(
        "admin-bundle-invalid",
        "PulsarWebResource",
        "[{*}] Failed to validate namespace bundle {bundle}",
        line(
            "broker.web.PulsarWebResource",
            f"[null] Failed to validate namespace bundle {_BUNDLE}",
            "ERROR",
            _WEB,
        ),
        releases="old releases; posted by users",
        meaning="The bundle asked for does not exist; it may have been split.",
    ),
    message(
        "access-unload",
        "RequestLog",
        '{*}"PUT /admin/{?v2/?}namespaces/{bundle}/unload{*} HTTP/{*}" {n_status}{? {*}?}',
        line(
            "org.eclipse.jetty.server.RequestLog",
            '10.61.8.118 - - [02/Nov/2026:11:11:57 +0000] "PUT /admin/v2/namespaces/shop/orders/'
            '0x80000000_0xc0000000/unload?destinationBroker=b2:8080 HTTP/1.1" 204 0 "-" "-" 31',
            thread="pulsar-web-38-8",
        ),
        releases="posted by users",
        meaning="Who asked for an unload, and the status that was answered.",
        needle="/unload",
        is_telling=False,
    ),
    message(
        "access-split",
        "RequestLog",
        '{*}"PUT /admin/{?v2/?}namespaces/{bundle}/split{*} HTTP/{*}" {n_status}{? {*}?}',
        line(
            "org.eclipse.jetty.server.RequestLog",
            '10.61.8.118 - - [02/Nov/2026:11:11:57 +0000] "PUT /admin/v2/namespaces/shop/orders/'
            '0x80000000_0xc0000000/split?unload=true HTTP/1.1" 204 0 "-" "-" 31',
            thread="pulsar-web-38-8",
        ),
        releases="by the source",
        meaning="Who asked for a split, and the status that was answered.",
        needle="/split",
        is_telling=False,
    ),
    message(
        "admin-call-failed",
        "BaseResource",
        "[{*}/namespaces/{bundle}/unload{*}] Failed to perform http put request: {*}",
        line(
            "client.admin.internal.BaseResource",
            "[http://10.61.9.174:8080/admin/v2/namespaces/t1/public/0xb0000000_0xc0000000/unload] "
            "Failed to perform http put request: javax.ws.rs.InternalServerErrorException: "
            "HTTP 500 Internal Server Error",
            "WARN",
            "AsyncHttpClient-48-1",
        ),
        releases="posted by users",
        meaning="The leader's call for an unload was answered with an error.",
        needle="/unload",
        is_telling=False,
    ),
    message(
        "setting-changed",
        "BrokersBase",
        "[{*}] Updated Service configuration {*}/{*}",
        line(
            "broker.admin.impl.BrokersBase",
            "[null] Updated Service configuration loadBalancerSheddingEnabled/false",
            thread=_WEB,
        ),
        releases="4.0.8",
        meaning="Somebody changed a dynamic setting; the text has key and value.",
    ),
)
