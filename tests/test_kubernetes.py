"""What is given to Kubernetes: by its schemas, and each command in it as it would run there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import kubernetes_validate
import pytest
import yaml

from tests import fake_admin as fake
from tests.test_wrapped import few_logs
from tools import chart
from trimtab.cli import main
from trimtab.ingest.recording import open_recording
from trimtab.live.watch.metrics import dashboard, rules

DEPLOY = Path(__file__).parent.parent / "deploy"
JOB, WATCH = DEPLOY / "gather-job.yaml", chart.MANIFEST
#: The oldest release that is still kept by somebody, and the newest of which there are schemas.
RELEASES = ("1.29", "1.37")
#: Kinds of operators, which are no part of Kubernetes.
FOREIGN = {"PodMonitor", "VMPodScrape"}
#: Everything that the chart can make.
EVERYTHING = (
    "--set=podMonitor.enabled=true,vmPodScrape.enabled=true,pulsar.clientConfSecret=s",
    "--set=watch.strategy=AvgShedder,watch.settings.loadBalancerSheddingIntervalMinutes=2",
    "--set=storage.existingClaim=c,watch.arguments={--every=30s}",
)


def documents(text: str) -> list[dict[str, Any]]:
    return [it for it in yaml.safe_load_all(text) if it]


def of_kind(text: str, kind: str) -> dict[str, Any]:
    [document] = [it for it in documents(text) if it["kind"] == kind]
    return document


def helm(*arguments: str) -> str:
    """Render the chart by the real helm, or skip where there is none."""
    if shutil.which("helm") is None:
        pytest.skip("no helm on PATH: tools/chart.py says where it comes from")
    return chart.rendered(*arguments)


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("path", [JOB, WATCH], ids=lambda path: path.name)
def test_manifests_are_as_kubernetes_wants_them(path: Path, release: str) -> None:
    every = documents(path.read_text(encoding="utf-8"))
    assert every
    for document in every:
        kubernetes_validate.validate(document, release, strict=True)


def test_the_schemas_find_a_slip() -> None:
    job = of_kind(JOB.read_text(encoding="utf-8"), "Job")
    job["spec"]["template"]["spec"]["containers"][0]["resource"] = {}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(job, RELEASES[0], strict=True)


@pytest.mark.parametrize("options", [(), EVERYTHING], ids=["as it is", "everything"])
def test_what_the_chart_makes_is_as_kubernetes_wants_it(options: tuple[str, ...]) -> None:
    every = documents(helm(*options))
    for document in every:
        if document["kind"] not in FOREIGN:
            for release in RELEASES:
                kubernetes_validate.validate(document, release, strict=True)
    kinds = {it["kind"] for it in every}
    assert FOREIGN.issubset(kinds) == (options == EVERYTHING)
    labels = of_kind("\n---\n".join(map(yaml.safe_dump, every)), "Deployment")["spec"]["template"][
        "metadata"
    ]["labels"]
    for monitor in (it for it in every if it["kind"] in FOREIGN):
        selector = monitor["spec"]["selector"]["matchLabels"]
        assert selector.items() <= labels.items()
        [endpoint] = monitor["spec"]["podMetricsEndpoints"]
        assert endpoint["port"] == "metrics"


def test_the_manifest_beside_the_chart_is_what_it_makes() -> None:
    assert WATCH.read_text(encoding="utf-8") == chart.head() + helm()


def test_the_manifest_is_of_the_chart_as_it_stands() -> None:
    """Also where there is no helm: `python -m tools.chart` makes it anew."""
    assert WATCH.read_text(encoding="utf-8").startswith(chart.head())


def test_rules_and_dashboard_are_those_that_are_printed() -> None:
    maps = {
        it["metadata"]["name"]: it
        for it in documents(WATCH.read_text(encoding="utf-8"))
        if it["kind"] == "ConfigMap"
    }
    assert maps["trimtab-dashboard"]["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert maps["trimtab-dashboard"]["data"]["trimtab.json"].strip() == dashboard().strip()
    assert maps["trimtab-rules"]["data"]["trimtab.yaml"].strip() == rules().strip()


# ------------------------------------------------------------------ what runs in the pods


def containers(pod: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {it["name"]: it for it in [*pod.get("initContainers", ()), *pod["containers"]]}


@pytest.fixture
def job() -> dict[str, dict[str, Any]]:
    text = JOB.read_text(encoding="utf-8")
    return containers(of_kind(text, "Job")["spec"]["template"]["spec"])


@pytest.fixture
def watch() -> dict[str, Any]:
    text = WATCH.read_text(encoding="utf-8")
    return containers(of_kind(text, "Deployment")["spec"]["template"]["spec"])["watch"]


@pytest.fixture
def cluster() -> Iterator[list[fake.Broker]]:
    with fake.brokers(2) as running:
        yield running


def parsed(arguments: list[str]) -> dict[str, Any]:
    """Parse a command line as trimtab does, without running it."""
    name, *rest = arguments
    command = main.commands[name]
    with click.Context(main, **main.context_settings) as above:
        return command.make_context(name, rest, parent=above).params


def filled(container: Mapping[str, Any]) -> list[str]:
    """Give the arguments of a container with its variables in them."""
    arguments = container["args"]
    for variable in container.get("env", ()):
        name, value = variable["name"], variable["value"]
        arguments = [it.replace(f"$({name})", value) for it in arguments]
    return arguments


def ran(arguments: list[str], **env: str) -> subprocess.CompletedProcess[str]:
    tools = str(Path(sys.executable).parent)
    path = os.pathsep.join(filter(None, (env.pop("PATH", ""), tools, os.environ["PATH"])))
    done = subprocess.run(
        arguments,
        env={**os.environ, **env, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


#: Says of the brokers of a test what Kubernetes would: their pods and logs, one with an earlier.
KUBECTL = """#!/bin/sh
case "$*" in
  "get pods -l component=broker -o jsonpath={.items[*].metadata.name}") echo "127.0.0.1 pod-9" ;;
  "logs 127.0.0.1 --tail=-1") cat "$LOG" ;;
  "logs 127.0.0.1 --tail=-1 --previous") head -n 20 "$LOG" ;;
  "logs pod-9 --tail=-1") tail -n 20 "$LOG" ;;
  *) echo "previous terminated container not found" >&2; exit 1 ;;
esac
"""


def test_the_job_leaves_one_archive_that_explain_takes(
    job: dict[str, dict[str, Any]], cluster: list[fake.Broker], tmp_path: Path
) -> None:
    arguments = filled(job["gather"])
    assert parsed(arguments)["metadata"] == "zk://pulsar-zookeeper:2181"
    assert job["gather"]["command"] == ["trimtab"]
    recording = tmp_path / "recording"
    # The cluster of a test has no ZooKeeper, so the store is the one thing that is not asked.
    here = [it for it in arguments if not it.startswith("--metadata=")]
    here = [it.replace("http://pulsar-broker:8080", cluster[0].address) for it in here]
    here = [it.replace("/work/recording", str(recording)) for it in here]
    assert "2 brokers, 1 looks" in ran(["trimtab", *here]).stdout

    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "kubectl").write_text(KUBECTL)
    (tools / "kubectl").chmod(0o755)
    log = tmp_path / "log"
    log.write_text("".join(f"{line}\n" for line in few_logs()["broker1"]), encoding="utf-8")
    env = {it["name"]: it["value"] for it in job["logs"]["env"]}
    ran(
        [*job["logs"]["command"], *job["logs"]["args"]],
        **env,
        RECORDING=str(recording),
        LOG=str(log),
        PATH=str(tools),
    )
    # The pod's logs lie where its settings do, by the broker's id; one of no broker, by its own.
    broker = sorted(recording.glob("runtime-config/*"))[-1].stem
    assert (recording / f"logs/{broker}/broker.log").read_bytes() == log.read_bytes()
    assert (recording / f"logs/{broker}/previous.log").is_file()
    assert [it.name for it in (recording / "logs/pod-9").iterdir()] == ["broker.log"]

    ran(
        [*job["archive"]["command"], *job["archive"]["args"]],
        WORK=str(tmp_path),
        STAYS="0",
    )
    archive = tmp_path / "recording.tar.gz"
    with tarfile.open(archive) as names:
        assert "recording/recording.toml" in names.getnames()
    with open_recording(archive) as opened:
        assert f"logs/{broker}/broker.log" in {it.name for it in opened.files["log"]}
        assert opened.cluster == "h1"


@pytest.mark.slow
def test_the_watch_runs_as_its_pod_runs_it(
    watch: dict[str, Any], cluster: list[fake.Broker], tmp_path: Path
) -> None:
    arguments = watch["args"]
    params = parsed(["watch", "--output=x", *arguments])
    assert (params["duration"], params["metadata"]) == (86_400.0, "zk://pulsar-zookeeper:2181")
    assert params["metrics"] == "0.0.0.0:9464"
    assert not params["act"]
    here = [it for it in arguments if not it.startswith(("--metadata=", "--metrics="))]
    here = [it.replace("http://pulsar-broker:8080", cluster[0].address) for it in here]
    done = ran([*watch["command"], *here, "--once"], RECORDINGS=str(tmp_path))
    [recording] = tmp_path.iterdir()
    assert done.stdout.splitlines()[-1] == f"Recording: {recording}"
    assert (recording / "recording.toml").is_file()


def test_nobody_runs_as_root_or_with_more_rights_than_it_takes() -> None:
    for path, kind in ((JOB, "Job"), (WATCH, "Deployment")):
        text = path.read_text(encoding="utf-8")
        pod = of_kind(text, kind)["spec"]["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"] is True
        for container in containers(pod).values():
            context = container["securityContext"]
            assert context["readOnlyRootFilesystem"] is True
            assert context["capabilities"] == {"drop": ["ALL"]}
    verbs = {verb for it in of_kind(JOB.read_text(), "Role")["rules"] for verb in it["verbs"]}
    assert verbs == {"get", "list"}
    assert of_kind(WATCH.read_text(), "ServiceAccount")["automountServiceAccountToken"] is False


def test_the_page_has_the_jobs_own_commands() -> None:
    page = (DEPLOY.parent / "docs/kubernetes.md").read_text(encoding="utf-8")
    head = JOB.read_text(encoding="utf-8").partition("apiVersion")[0]
    commands = [line.removeprefix("#   ") for line in head.splitlines() if line.startswith("#   ")]
    assert len(commands) == 5
    for command in commands:
        assert command.replace("-f gather", "-f deploy/gather") in page.splitlines()
    name, *arguments = commands[-1].split()
    assert name == "trimtab"
    assert parsed(arguments)["recordings"] == ("recording.tar.gz",)
