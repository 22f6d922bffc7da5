import type { Deployment } from 'kubernetes-types/apps/v1.d.ts';
import type { HorizontalPodAutoscaler } from 'kubernetes-types/autoscaling/v2.d.ts';
import type { ConfigMap, Container, PodSpec, Secret, Service } from 'kubernetes-types/core/v1.d.ts';
import type { NetworkPolicy } from 'kubernetes-types/networking/v1.d.ts';
import type { PodDisruptionBudget } from 'kubernetes-types/policy/v1.d.ts';
import { describe, expect, it } from 'vitest';
import { listSettings } from '../../../src/config/load.ts';
import { settingsSchema } from '../../../src/config/schema.ts';
import { deployYaml } from '../../support/deploy-files.ts';
import { type Manifest, typeErrorsOf } from '../../support/kubernetes-types.ts';

const FILES = ['kubernetes/shared.yaml', 'kubernetes/sidecar.yaml'];

/** What toncache needs beside its memory tier, as docs/operations.md says. */
const BESIDE_MEMORY_MIB = 450;

const SETTINGS = new Set([...listSettings().map(({ env }) => env), 'CONFIG_FILE']);

describe('the Kubernetes manifests', () => {
  it('have the fields and types of the API, each of its kind', () => {
    expect(typeErrorsOf(FILES.flatMap((file) => deployYaml<Manifest>(file)))).toEqual([]);
  });

  it('would fail for a field that does not exist or has another type', () => {
    const [manifest] = deployYaml<Manifest>('kubernetes/shared.yaml');
    if (manifest === undefined) throw new Error('no manifest');
    expect(typeErrorsOf([{ ...manifest, dta: {} } as Manifest])).toEqual([expect.stringContaining('"dta"')]);
    expect(typeErrorsOf([{ ...manifest, data: { x: 1 } } as Manifest])).toHaveLength(1);
  });
});

describe.each(FILES)('%s', (file) => {
  const manifests = deployYaml<Manifest>(file);
  const all = <T>(kind: string) => manifests.filter((manifest) => manifest.kind === kind) as T[];
  const deployments = all<Deployment>('Deployment');
  const pods = deployments.flatMap(({ spec }) => spec?.template ?? []);
  const containersOf = (pod: PodSpec | undefined) => [...(pod?.initContainers ?? []), ...(pod?.containers ?? [])];
  const containers = pods.flatMap(({ spec }) => containersOf(spec));
  const toncache = containers.find(({ name }) => name === 'toncache');

  const names = (kind: string) => all<Manifest>(kind).map(({ metadata }) => metadata.name);

  /** Whether some pod has all of these labels. */
  const selects = (labels: Readonly<Record<string, string>> | undefined) =>
    labels !== undefined &&
    pods.some(({ metadata }) => Object.entries(labels).every(([name, value]) => metadata?.labels?.[name] === value));

  it('sets no variable of toncache that is not a setting', () => {
    expect(toncache?.env?.map(({ name }) => name).filter((name) => !SETTINGS.has(name))).toEqual([]);
    expect(toncache?.env?.map(({ name }) => name)).toContain('UPSTREAM_URL');
  });

  it('mounts a settings file that toncache accepts', () => {
    const settings = all<ConfigMap>('ConfigMap').map(({ data }) => data?.['settings.json'] ?? '');
    expect(settings).toHaveLength(1);
    expect(settingsOf(settings[0])).toBeTypeOf('object');
    const file = toncache?.env?.find(({ name }) => name === 'CONFIG_FILE')?.value ?? '';
    const mount = toncache?.volumeMounts?.find(({ mountPath }) => file === `${mountPath}/settings.json`);
    const volume = pods.flatMap(({ spec }) => spec?.volumes ?? []).find(({ name }) => name === mount?.name);
    expect(names('ConfigMap')).toContain(volume?.configMap?.name);
  });

  it('gives memory and time for what the settings say', () => {
    const { memory, http } = settingsOf(all<ConfigMap>('ConfigMap')[0]?.data?.['settings.json']);
    const limit = Number(/^(\d+)Mi$/.exec(toncache?.resources?.limits?.['memory'] ?? '')?.[1]);
    expect(limit).toBeGreaterThanOrEqual(memory.maxSize / 1024 ** 2 + BESIDE_MEMORY_MIB);
    const graceMs = 1000 * (pods[0]?.spec?.terminationGracePeriodSeconds ?? 30);
    expect(graceMs).toBeGreaterThanOrEqual(http.shutdownDelay + http.drain + 3000);
  });

  it('probes ports that the container has, at paths that the admin port serves', () => {
    const probes = containers.flatMap((container) => probesOf(container).map((probe) => ({ container, probe })));
    expect(probes.length).toBeGreaterThanOrEqual(2);
    for (const { container, probe } of probes) {
      expect(container.ports?.map(({ name }) => name)).toContain(probe.port);
      expect(['/healthz', '/readyz']).toContain(probe.path);
    }
  });

  it('selects pods that exist', () => {
    const selectors = [
      ...deployments.map(({ spec }) => spec?.selector.matchLabels),
      ...all<Service>('Service').map(({ spec }) => spec?.selector),
      ...all<PodDisruptionBudget>('PodDisruptionBudget').map(({ spec }) => spec?.selector?.matchLabels),
      ...all<NetworkPolicy>('NetworkPolicy').map(({ spec }) => spec?.podSelector.matchLabels),
    ];
    for (const labels of selectors) expect(selects(labels), JSON.stringify(labels)).toBe(true);
  });

  it('names ports that the pods have', () => {
    const ports = new Set(containers.flatMap((container) => container.ports?.map(({ name }) => name) ?? []));
    const named = [
      ...all<Service>('Service').flatMap(({ spec }) => spec?.ports?.map(({ targetPort }) => targetPort) ?? []),
      ...all<NetworkPolicy>('NetworkPolicy').flatMap(({ spec }) =>
        (spec?.ingress ?? []).flatMap((rule) => rule.ports?.map(({ port }) => port) ?? []),
      ),
    ];
    for (const port of named) expect(ports).toContain(port);
  });

  it('lets only the namespace of Prometheus reach the admin port', () => {
    const rules = all<NetworkPolicy>('NetworkPolicy').flatMap(({ spec }) => spec?.ingress ?? []);
    const toAdmin = rules.filter(({ ports }) => ports === undefined || ports.some(({ port }) => port === 'admin'));
    expect(toAdmin).toHaveLength(1);
    expect(toAdmin[0]?.ports).toEqual([{ protocol: 'TCP', port: 'admin' }]);
    expect(toAdmin[0]?.from).toEqual([
      { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } },
    ]);
  });

  it('scales a deployment that exists, on a container that it has', () => {
    for (const { spec } of all<HorizontalPodAutoscaler>('HorizontalPodAutoscaler')) {
      expect(names('Deployment')).toContain(spec?.scaleTargetRef.name);
      const scaledOn = spec?.metrics?.map(({ containerResource }) => containerResource?.container);
      expect(scaledOn).toEqual(['toncache']);
      expect(toncache?.resources?.requests?.['cpu']).toBeDefined();
      // Applying the manifest again must not undo what the autoscaler did.
      expect(deployments[0]?.spec?.replicas).toBeUndefined();
    }
  });

  it('reads secrets that the file names', () => {
    const secrets = new Map(all<Secret>('Secret').map((secret) => [secret.metadata?.name, secret.stringData ?? {}]));
    for (const { valueFrom } of toncache?.env ?? []) {
      const wanted = valueFrom?.secretKeyRef;
      if (wanted === undefined || wanted.optional === true) continue;
      expect(Object.keys(secrets.get(wanted.name) ?? {})).toContain(wanted.key);
    }
  });

  it('runs toncache without rights, on a read-only file system', () => {
    expect(toncache?.securityContext).toMatchObject({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    const user = toncache?.securityContext?.runAsUser ?? pods[0]?.spec?.securityContext?.runAsUser;
    expect(user).toBeGreaterThan(0);
  });
});

function settingsOf(text = '') {
  return settingsSchema.parse({ ...JSON.parse(text), upstream: { url: 'http://x', ...JSON.parse(text).upstream } });
}

function probesOf({ startupProbe, readinessProbe, livenessProbe }: Container): { port: unknown; path: unknown }[] {
  return [startupProbe, readinessProbe, livenessProbe].flatMap((probe) =>
    probe?.httpGet === undefined ? [] : [{ port: probe.httpGet.port, path: probe.httpGet.path }],
  );
}
