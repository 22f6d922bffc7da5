import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Logger } from 'pino';

export interface SpanExportOptions {
  /** The collector, without `/v1/traces`. */
  readonly endpoint: string;
  /** A name of `OTEL_TRACES_SAMPLER`. */
  readonly sampler: string;
  /** The sampled part of the traces, 0 to 1, for samplers by ratio. */
  readonly sampledShare: number;
  readonly logger: Logger;
}

/**
 * Makes and exports spans: in the background, in batches, by OTLP over HTTP. Spans that the collector does not accept
 * are dropped, and that is logged once. The SDK reads `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES` and the other
 * `OTEL_EXPORTER_OTLP_*` variables from the environment by itself.
 */
export function openSpanExport({ endpoint, sampler, sampledShare, logger }: SpanExportOptions): TracerProvider {
  const exporter = new OTLPTraceExporter({ url: `${endpoint}/v1/traces` });
  return new TracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': 'toncache' }))
      .merge(detectResources({ detectors: [envDetector] })),
    sampler: samplerOf(sampler, sampledShare),
    spanProcessors: [new BatchSpanProcessor({ exporter: logged(exporter, logger) })],
  });
}

function samplerOf(name: string, share: number): Sampler {
  const [, isParentBased, kind] = /^(parentbased_)?(.*)$/.exec(name) ?? [];
  const root =
    kind === 'traceidratio'
      ? new TraceIdRatioBasedSampler(share)
      : kind === 'always_off'
        ? new AlwaysOffSampler()
        : new AlwaysOnSampler();
  return isParentBased === undefined ? root : new ParentBasedSampler({ root });
}

/** Wraps an exporter, to log when exports begin to fail and when they succeed again. */
function logged(exporter: SpanExporter, logger: Logger): SpanExporter {
  let exports = true;
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const { error } = result;
        const succeeded = error === undefined && result.code === 0;
        if (succeeded && !exports) logger.info('traces are exported again');
        if (!succeeded && exports) {
          logger.warn(
            { reason: error?.message },
            'traces are not exported: spans are dropped until the collector takes them',
          );
        }
        exports = succeeded;
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
  };
}
